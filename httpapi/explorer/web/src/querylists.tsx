// The dialogs of queries: those that are saved with the container, those that were run, and the name to save one as.
import { useState } from 'preact/hooks'
import { ask, ownColl } from './api'
import { forgetPasts, noParameters, pasts } from './querystore'
import { doing, note, plural, stamp, useData } from './state'
import { Bad, Button, Dialog, Empty, Text } from './ui'

interface Saved {
	name: string
	query: string
	parameters?: unknown[]
}
interface At {
	db: string
	coll: string
}

const list = (p: At): Promise<Saved[]> =>
	ask('GET', ownColl(p.db, p.coll, 'queries'), { exact: true }).then(a => a.body.queries)
const path = (p: At, name: string) => ownColl(p.db, p.coll, `queries/${encodeURIComponent(name)}`)

// save keeps a query under a name. text is that of the parameters: JSON.
export const save = (p: At, name: string, query: string, text: string) =>
	ask('PUT', path(p, name), { text: `{"query":${JSON.stringify(query)},"parameters":${text}}` })

export function SaveDialog(p: At & { query: string; params: string; name: string; close: () => void; done: (name: string) => void }) {
	const [name, setName] = useState(p.name)
	const { data } = useData(() => list(p), [])
	const taken = data?.some(q => q.name === name.trim())
	return (
		<Dialog
			title="Save query"
			close={p.close}
			word={taken ? 'Replace' : 'Save'}
			send={async () => {
				await save(p, name.trim(), p.query, p.params)
				p.done(name.trim())
				note('Saved.')
			}}
		>
			<Text
				label="Name"
				value={name}
				set={setName}
				wide
				auto
				hint={
					taken
						? 'There is a query with this name: it is replaced.'
						: 'It is kept with the container, in its snapshots and in the seeds that are exported.'
				}
			/>
		</Dialog>
	)
}

type Opens = (query: string, params: string, saved?: string) => void

export function SavedDialog(p: At & { close: () => void; open: Opens; renamed: (was: string, now: string) => void }) {
	const { data, error, again } = useData(() => list(p), []),
		[at, edit] = useState<{ name: string; to: string } | null>(null),
		[doomed, doom] = useState('')
	const rename = async () => {
		if (!at) return
		await ask('PATCH', path(p, at.name), { body: { name: at.to.trim() } })
		p.renamed(at.name, at.to.trim())
		edit(null)
		again()
	}
	return (
		<Dialog title="Saved queries" close={p.close} send={at ? rename : undefined} word="Rename">
			<Bad text={error} />
			{data && !data.length && <Empty>No saved query yet: Ctrl S saves the one in the editor.</Empty>}
			<ul class="query-list wide">
				{data?.map(q => (
					<li>
						{at?.name === q.name ? (
							<Text label={`New name of ${q.name}`} value={at.to} set={to => edit({ name: q.name, to })} auto />
						) : (
							<button
								type="button"
								class="query-open"
								onClick={() => {
									p.open(q.query, q.parameters ? JSON.stringify(q.parameters) : noParameters, q.name)
									p.close()
								}}
							>
								<b>{q.name}</b>
								<span class="mono soft">{q.query}</span>
							</button>
						)}
						{at?.name !== q.name && (
							<span class="row">
								<Button kind="plain" do={() => edit({ name: q.name, to: q.name })}>
									Rename <span class="unseen">{q.name}</span>
								</Button>
								<Button
									kind="bad"
									do={async () => {
										if (doomed !== q.name) return doom(q.name)
										await ask('DELETE', path(p, q.name))
										p.renamed(q.name, '')
										again()
									}}
								>
									{doomed === q.name ? 'Delete it?' : 'Delete'} <span class="unseen">{q.name}</span>
								</Button>
							</span>
						)}
					</li>
				))}
			</ul>
		</Dialog>
	)
}

export function HistoryDialog(p: At & { close: () => void; open: Opens }) {
	const [all, setAll] = useState(() => pasts(p.db, p.coll))
	return (
		<Dialog title="History" close={p.close}>
			{!all.length && <Empty>No query has been run on this container in this browser.</Empty>}
			<ul class="query-list wide">
				{all.map(h => (
					<li>
						<button
							type="button"
							class="query-open"
							onClick={() => {
								p.open(h.query, h.parameters)
								p.close()
							}}
						>
							<span class="mono">{h.query}</span>
							<span class="soft num">
								{stamp(h.at)}, {plural(h.rows, 'row')}
								{h.more && ' and more'}, {h.charge} RU
								{h.parameters !== noParameters && (
									<>
										, <span class="mono">{h.parameters}</span>
									</>
								)}
							</span>
						</button>
					</li>
				))}
			</ul>
			{all.length > 0 && (
				<Button
					do={() => {
						forgetPasts(p.db, p.coll)
						setAll([])
					}}
				>
					Clear history
				</Button>
			)}
		</Dialog>
	)
}

// openFile reads a file with a query that somebody chooses.
export function openFile(then: (text: string) => void) {
	const input = document.createElement('input')
	input.type = 'file'
	input.accept = '.sql,.txt,text/plain'
	input.onchange = () => {
		const file = input.files?.[0]
		if (!file) return
		if (file.size > 512 << 10) return note(`${file.name} is larger than a query may be: 512 KiB.`, true)
		doing(async () => then(await file.text()))
	}
	input.click()
}

export function saveFile(name: string, text: string) {
	const url = URL.createObjectURL(new Blob([text], { type: 'application/sql' })),
		a = document.createElement('a')
	a.href = url
	a.download = name.replace(/[^\p{L}\p{N} ._-]/gu, '_') + '.sql'
	a.click()
	setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
