// Indexes that would help a query: what each would cost, and the change of the policy that adds them.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ask, collPath, runQuery } from './api'
import type { In } from './container'
import { replace } from './settings'
import { note, plural, say, useData } from './state'
import { Bad, Check, Dialog } from './ui'

// Advised is an index as index metrics name it: "/a/?", or for a composite one "/a ASC" and "/b DESC".
type Advised = string[]

export interface Indexes {
	utilized: { single: string[]; composite: string[][] }
	potential: { single: string[]; composite: string[][] }
	entryCharge: number
}

export const advised = (of: Indexes): Advised[] => [...of.potential.single.map(path => [path]), ...of.potential.composite]
const nameOf = (index: Advised) => index.join(', ')
const isSingle = (index: Advised) => index.length === 1 && !/ (ASC|DESC)$/.test(index[0])

// steps are the names in a path: /a/"b c"/[]/? has a, b c and [].
const steps = (path: string) =>
	[...path.replace(/ (ASC|DESC)$/, '').matchAll(/\/("(?:[^"\\]|\\.)*"|[^/]+)/g)]
		.map(([, name]) => (name.startsWith('"') ? (JSON.parse(name) as string) : name))
		.filter(name => name !== '?' && name !== '*')

// from is the FROM of a query with one row for each value of a path, and the expression of the value.
function from(path: string): [string, string] {
	let joins = 'FROM c',
		at = 'c',
		n = 0
	for (const step of steps(path)) {
		if (step === '[]') {
			joins += ` JOIN e${++n} IN ${at}`
			at = `e${n}`
		} else at += `[${JSON.stringify(step)}]`
	}
	return [joins, at]
}

const sampled = 200
const keyBytes = 24 // of an entry beside its values: its container, its path and its document

export interface Cost {
	entries: number
	bytes: number // about
}

// costOf counts the entries that an index would have, and measures them by a sample.
export async function costOf(p: In, index: Advised): Promise<Cost> {
	const single = isSingle(index)
	const [joins, first] = single ? from(index[0]) : ['FROM c', '']
	const values = single ? [first] : index.map(path => from(path)[1])
	const where = `${joins} WHERE ${values.map(v => `IS_DEFINED(${v})`).join(single ? '' : ' OR ')}`
	const count = await runQuery(p.db, p.coll, `SELECT VALUE COUNT(1) ${where}`, [])
	const rows = (await runQuery(p.db, p.coll, `SELECT TOP ${sampled} VALUE [${values}] ${where}`, [], { count: sampled })).rows
	const size = rows.reduce((sum, row) => sum + JSON.stringify(row).length, 0) / (rows.length || 1)
	const entries: number = count.rows[0] ?? 0
	return { entries, bytes: Math.round(entries * (size + keyBytes)) }
}

// withIndexes is an indexing policy with more indexes.
export function withIndexes(policy: any, indexes: Advised[]) {
	const paths = indexes.filter(isSingle).map(([path]) => path)
	const composites = indexes
		.filter(i => !isSingle(i))
		.map(i =>
			i.map(at => ({
				path: at.replace(/ (ASC|DESC)$/, ''),
				order: at.endsWith(' DESC') ? 'descending' : 'ascending',
			})),
		)
	return {
		...policy,
		includedPaths: [...(policy.includedPaths ?? []), ...paths.map(path => ({ path }))],
		excludedPaths: (policy.excludedPaths ?? []).filter((x: any) => !paths.includes(x.path)),
		...(composites.length && { compositeIndexes: [...(policy.compositeIndexes ?? []), ...composites] }),
	}
}

const bytes = (n: number) =>
	n < 1024 ? `${n} bytes` : n < 1 << 20 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / (1 << 20)).toFixed(1)} MiB`

// progressOf is how far the documents are indexed by the present policy, in percent.
const progressOf = async (p: In) => {
	const a = await ask('GET', collPath(p.db, p.coll), { headers: { 'x-ms-documentdb-populatequotainfo': 'true' } })
	return Number(a.headers.get('x-ms-documentdb-collection-index-transformation-progress') ?? 100)
}

export function Advice(p: { at: In; of: Indexes; applied: () => void }) {
	const list = advised(p.of),
		[open, setOpen] = useState(false),
		[progress, setProgress] = useState<number | null>(null),
		gone = useRef(false)
	useLayoutEffect(() => {
		gone.current = false
		return () => {
			gone.current = true
		}
	}, [])
	const follow = async () => {
		for (let at = 0; at < 100 && !gone.current; ) {
			setProgress((at = await progressOf(p.at)))
			if (at < 100) await new Promise(then => setTimeout(then, 300))
		}
		setProgress(null)
		if (gone.current) return
		note('All documents are indexed by the new policy.')
		p.applied()
	}
	if (progress !== null)
		return (
			<div class="advice" role="status">
				<label>
					Indexing: {progress} % <progress max={100} value={progress} />
				</label>
			</div>
		)
	if (!list.length) return null
	return (
		<div class="advice" role="region" aria-label="Index advice">
			<p>
				{list.length === 1 ? 'An index would help: ' : 'Indexes would help: '}
				{list.map(i => (
					<span class="chip warn mono">{nameOf(i)}</span>
				))}
			</p>
			<button type="button" class="btn" onClick={() => setOpen(true)}>
				Apply…
			</button>
			{open && (
				<Apply
					at={p.at}
					list={list}
					charge={p.of.entryCharge}
					close={() => setOpen(false)}
					done={() => follow().catch(e => (setProgress(null), note(say(e), true)))}
				/>
			)}
		</div>
	)
}

function Apply(p: { at: In; list: Advised[]; charge: number; close: () => void; done: () => void }) {
	const [left, leave] = useState<string[]>([]),
		chosen = p.list.filter(i => !left.includes(nameOf(i)))
	const { data, error } = useData(() => Promise.all(p.list.map(i => costOf(p.at, i))), [])
	return (
		<Dialog
			title="Add to the indexing policy"
			close={p.close}
			word="Update indexing policy"
			send={async () => {
				if (!chosen.length) throw new Error('Choose an index.')
				await replace(p.at, now => ({ indexingPolicy: withIndexes(now.indexingPolicy, chosen) }))
				p.done()
			}}
		>
			{p.list.map((i, n) => (
				<Check
					value={chosen.includes(i)}
					set={on => leave(on ? left.filter(x => x !== nameOf(i)) : [...left, nameOf(i)])}
				>
					<span class="mono">{nameOf(i)}</span>
					<br />
					<span class="soft">
						{data
							? `${plural(data[n].entries, 'entry', 'entries')} to build, about ${bytes(data[n].bytes)}; each later write of an entry costs ${p.charge} RU more.`
							: !error && 'Counting…'}
					</span>
				</Check>
			))}
			<Bad text={error} />
			<p class="soft">
				The entries are built in the background and charged to nobody; queries use the index when all are there.
			</p>
		</Dialog>
	)
}
