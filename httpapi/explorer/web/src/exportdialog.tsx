// The dialog that takes rows out: which ones, in which format, to the clipboard or to a file.
import { useRef, useState } from 'preact/hooks'
import {
	chosenFile,
	documentText,
	exportFile,
	exportText,
	formats,
	onePage,
	queryPages,
} from './exportrows'
import type { Format, Pages } from './exportrows'
import { copyText } from './menu'
import { Progress } from './progress'
import { note, plural, say } from './state'
import { Bad, Button, Choice, Dialog } from './ui'

export interface ExportSource {
	name: string // of the file, without what its format adds
	loaded: unknown[] // rows, as runQuery returns them
	selected?: unknown[] // those that are selected, where some are
	query?: { db: string; coll: string; text: string; parameters: unknown[] } // of all rows, also those that are not loaded
	total?: number // of all rows, where it is known
	documents?: boolean // rows are documents, written as the command export writes them
	every?: boolean // all rows are selected: they are what is offered first
}

const words: Record<Format, string> = {
	json: 'JSON: one array',
	ndjson: 'NDJSON: a row per line',
	csv: 'CSV: columns',
}

export default function ExportDialog(p: ExportSource & { close: () => void }) {
	const [of, choose] = useState(p.selected && !p.every ? 'selected' : p.query ? 'all' : 'loaded'),
		[format, setFormat] = useState<Format>('json')
	const [done, setDone] = useState<number | null>(null),
		[wrong, setWrong] = useState('')
	const running = useRef<AbortController | null>(null)
	const counted = (what: string, n: number | undefined) =>
		n === undefined ? what : `${what}: ${plural(n, 'row')}`
	const choices: [string, string][] = [['loaded', counted('Loaded', p.loaded.length)]]
	if (p.selected && !p.every) choices.unshift(['selected', counted('Selected', p.selected.length)])
	if (p.query) choices.push(['all', counted('All', p.total)])
	const rows = of === 'selected' ? p.selected! : p.loaded,
		total = of === 'all' ? p.total : rows.length
	const text = (row: string) => (p.documents ? documentText(row) : row)
	async function* pages(signal: AbortSignal): Pages {
		const q = p.query!
		const from =
			of === 'all'
				? queryPages(q.db, q.coll, q.text, q.parameters, signal)
				: onePage(rows.map(row => JSON.stringify(row)))
		for await (const page of from) yield page.map(text)
	}
	const run = async (what: (signal: AbortSignal) => Promise<unknown>) => {
		const mine = (running.current = new AbortController())
		setWrong('')
		setDone(0)
		try {
			await what(mine.signal)
			p.close()
		} catch (e) {
			if (!mine.signal.aborted) setWrong(say(e))
		} finally {
			running.current = null
			setDone(null)
		}
	}
	const exporting = (signal: AbortSignal) => ({
		pages: pages(signal),
		format,
		first: p.documents ? ['id'] : [],
		signal,
		progress: setDone,
	})
	const save = async () => {
		const name = `${p.name}.${format}`,
			file = await chosenFile(name, format)
		if (!file) return
		await run(async signal =>
			note(`${plural(await exportFile(exporting(signal), file), 'row')} written to ${name}.`),
		)
	}
	const copy = () =>
		run(async signal => {
			const { text, count } = await exportText(exporting(signal))
			await copyText(text)
			note(`${plural(count, 'row')} copied.`)
		})
	return (
		<Dialog
			title="Export"
			end="Close"
			close={() => {
				running.current?.abort()
				p.close()
			}}
		>
			<Choice label="Rows" value={of} set={choose} of={choices} />
			<Choice
				label="Format"
				value={format}
				set={v => setFormat(v as Format)}
				of={formats.map(f => [f, words[f]])}
			/>
			<Bad text={wrong} />
			{done === null ? (
				<div class="row">
					<Button kind="main" do={save}>
						Download
					</Button>
					<Button do={copy}>Copy</Button>
				</div>
			) : (
				<Progress
					what="Exporting"
					done={done}
					total={total}
					cancel={() => running.current?.abort()}
				/>
			)}
		</Dialog>
	)
}
