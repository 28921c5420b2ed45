// The documents of a container: their grid, with a filter, and the one that is open.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { exact, partitionKey } from './api'
import type { In } from './container'
import { DocumentPanel } from './document'
import { documentColumns } from './documentcells'
import { useDocuments } from './documentrows'
import { Grid } from './grid'
import { ProblemList } from './problemlist'
import { noRows } from './selection'
import { go, useShown, useSignal } from './state'
import { Button, Empty } from './ui'
import { stay } from './unsaved'

export { Countdown, preview } from './documentcells'

export function Documents(p: In & { open: string[] }) {
	const [filter, setFilter] = useShown('filter'),
		[sort, setSort] = useShown('sort'),
		[typed, type] = useState(filter)
	const [selection, select] = useState(noRows),
		[making, make] = useState(false)
	const grid = useRef<HTMLDivElement>(null),
		field = useRef<HTMLInputElement>(null)
	const moved = useSignal('data'),
		paths = p.of.partitionKey.paths
	const docs = useDocuments({ ...p, filter, sort, moved })
	const fresh = making && !p.open.length,
		panel = fresh || p.open.length > 0,
		had = useRef(panel)
	const shownDoc = p.open.length ? docs.rows.find(r => is(r, p.open, paths)) : undefined

	useLayoutEffect(() => type(filter), [filter])
	useLayoutEffect(() => select(noRows), [docs.text])
	useLayoutEffect(() => {
		if (p.open.length) make(false)
	}, [p.open.join('/')])
	useLayoutEffect(() => {
		// what had the focus is gone with the panel
		if (
			had.current &&
			!panel &&
			[null, document.body].includes(document.activeElement as HTMLElement)
		)
			grid.current!.focus()
		had.current = panel
	}, [panel])
	const columns = useMemo(() => documentColumns(docs.rows, p.of, p.db), [docs.rows, p.of])

	const show = (doc: any) => follow(p, doc.id, ...partitionKey(doc, paths).map(v => JSON.stringify(v)))
	const close = () => {
		make(false)
		follow(p)
	}
	return (
		<div class={`documents ${panel ? 'two' : ''}`}>
			<div class="list">
				<form
					class="bar"
					onSubmit={e => {
						e.preventDefault()
						setFilter(typed, true)
					}}
				>
					<input
						class="mono grow"
						ref={field}
						aria-label="Filter: a condition, words to search for, or the end of a query"
						value={typed}
						placeholder="c.n > 1, words to search for, or WHERE … ORDER BY …"
						onInput={e => type((e.target as HTMLInputElement).value)}
					/>
					<button class="btn">Filter</button>
					<Button do={docs.reload} title="Load again">
						Reload
					</Button>
					<Button
						kind="main"
						do={() => {
							if (fresh || stay()) return
							follow(p)
							make(true)
						}}
					>
						New document
					</Button>
				</form>
				{docs.says && (
					<p class="soft foot" role="status">
						{docs.says}
					</p>
				)}
				<ProblemList
					of={docs.wrong}
					text={filter}
					label="What is wrong with the filter"
					echo
					show={(from, to) => {
						field.current!.focus()
						field.current!.setSelectionRange(from, to)
					}}
				/>
				{docs.stuck && <Button do={docs.next}>Load more</Button>}
				<Grid
					label="Documents"
					kept={`documents/${p.db}/${p.coll}`}
					columns={columns}
					rows={docs.rows}
					keyOf={(doc, i) => doc._rid ?? String(i)}
					total={docs.total}
					more={docs.more}
					busy={docs.busy}
					place={docs.text}
					sight={docs.sight}
					open={show}
					opened={shownDoc?._rid}
					selection={selection}
					select={select}
					sort={sort ? { column: sort.replace(/^-/, ''), down: sort.startsWith('-') } : null}
					setSort={s => setSort(s ? (s.down ? '-' : '') + s.column : '')}
					tick={500}
					at={grid}
					empty={
						docs.wrong.length ? null : <Empty>No document{filter && ' that fits the filter'}.</Empty>
					}
				/>
			</div>
			{panel && (
				<DocumentPanel
					{...p}
					key={fresh ? '' : p.open.join('/')}
					fresh={fresh}
					id={p.open[0] ?? ''}
					pk={p.open.slice(1).map(read)}
					close={close}
					made={(doc: any) => {
						make(false)
						show(doc)
					}}
				/>
			)}
		</div>
	)
}

// follow leads to a document, or to none, and keeps the filter.
function follow(p: In, ...parts: string[]) {
	const [, shown] = location.hash.split('?')
	go('db', p.db, p.coll, 'documents', ...parts)
	if (shown) history.replaceState(null, '', `${location.hash}?${shown}`)
}

const read = (text: string) => {
	try {
		return exact(text)
	} catch {
		return text
	}
}
const is = (doc: any, open: string[], paths: string[]) =>
	doc.id === open[0] && partitionKey(doc, paths).every((v, i) => JSON.stringify(v) === open[i + 1])
