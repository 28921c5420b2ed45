// The dialogs that change several documents: delete, time to live, patch. Each says how many, shows how far it is, can be
// cancelled, and lists what was refused.
import { useRef, useState } from 'preact/hooks'
import { json, runQuery } from './api'
import { change, type BulkResult, type Change, type PatchOperation } from './bulk'
import type { In } from './container'
import { Progress } from './progress'
import { plural, tell } from './state'
import { Bad, Choice, Dialog, Table, Text } from './ui'
import { undoCost, undoIsOn, withUndo } from './undo'

export type BulkKind = 'delete' | 'ttl' | 'patch'

interface BulkProps extends In {
	kind: BulkKind
	docs: any[] // those that are selected; without meaning where query is given
	query?: string // of all documents, where all are selected
	total?: number
	close: () => void
	done: () => void // called when documents have been changed
}

const patchOps = ['set', 'add', 'replace', 'remove', 'incr'] // as Cosmos DB names them

interface Form {
	life: string
	seconds: string
	op: string
	path: string
	value: string
}

// operations are those of a form, for PATCH.
function operations(kind: BulkKind, f: Form): PatchOperation[] {
	if (kind === 'patch') {
		if (!f.path.startsWith('/')) throw new Error('The path begins with /, such as /status.')
		if (f.op === 'remove') return [{ op: f.op, path: f.path }]
		const value = json('value', f.value)
		if (f.op === 'incr' && typeof value !== 'number')
			throw new Error('The value of incr is a number.')
		return [{ op: f.op, path: f.path, value }]
	}
	if (f.life === 'never') return [{ op: 'set', path: '/ttl', value: -1 }]
	if (f.life === 'default') return [{ op: 'remove', path: '/ttl' }]
	if (!/^[1-9]\d*$/.test(f.seconds))
		throw new Error('The time to live is a whole number of seconds from 1.')
	return [{ op: 'set', path: '/ttl', value: Number(f.seconds) }]
}

// everyDocument reads all documents of a query before any is changed: a change moves what is still to be read.
async function everyDocument(p: In, query: string, signal: AbortSignal): Promise<any[]> {
	const paths = p.of.partitionKey.paths
	const all: any[] = []
	for (let continuation: string | null = null; ;) {
		const page = await runQuery(p.db, p.coll, query, [], { continuation, count: 1000, signal })
		// only what addresses it is kept
		for (const doc of page.rows) all.push(slim(doc, paths))
		if (!(continuation = page.continuation)) return all
	}
}

function slim(doc: any, paths: string[]) {
	const out: any = { id: doc.id, _self: doc._self, ttl: doc.ttl }
	for (const path of paths) {
		const name = path.slice(1).split('/')[0].replace(/^"|"$/g, '')
		if (doc[name] !== undefined) out[name] = doc[name]
	}
	return out
}

export default function BulkDialog(p: BulkProps) {
	const [form, fill] = useState<Form>({
		life: 'seconds',
		seconds: '3600',
		op: 'set',
		path: '/',
		value: '',
	})
	const [through, setThrough] = useState<number | null>(null),
		[of, setOf] = useState(p.query ? p.total : p.docs.length),
		[result, setResult] = useState<BulkResult | null>(null)
	const running = useRef<AbortController | null>(null)
	const set = (name: keyof Form) => (v: string) => fill(f => ({ ...f, [name]: v }))
	const many = of === undefined ? 'all documents of the filter' : plural(of, 'document')
	const titles = {
		delete: `Delete ${many}`,
		ttl: `Set the time to live of ${many}`,
		patch: `Patch ${many}`,
	}
	const run = async () => {
		const what: Change = p.kind === 'delete' ? { delete: true } : { patch: operations(p.kind, form) }
		const mine = (running.current = new AbortController())
		setThrough(0)
		try {
			let docs = p.query ? await everyDocument(p, p.query, mine.signal) : p.docs
			if (p.kind === 'ttl' && form.life === 'default')
				docs = docs.filter(doc => doc.ttl !== undefined)
			setOf(docs.length)
			const all = () => change(p, docs, what, mine.signal, setThrough)
			const out =
				p.kind === 'delete'
					? await withUndo(r => `${plural(r.done, 'document')} deleted.`, { db: p.db, coll: p.coll }, all)
					: await all()
			p.done()
			tell('data')
			// an answer that says no more than the note would only stand before Undo
			if (p.kind === 'delete' && !out.failed && !out.gone && !out.stopped) return true
			setResult(out)
		} catch (e) {
			if (!mine.signal.aborted) throw e
			// it was still reading which documents there are
			setResult({
				done: 0,
				gone: 0,
				failed: 0,
				problems: [],
				stopped: 'Cancelled before anything was changed.',
			})
		} finally {
			running.current = null
			setThrough(null)
		}
		return false
	}
	const close = () => {
		running.current?.abort()
		p.close()
	}
	if (result)
		return (
			<Dialog title={titles[p.kind]} close={close} end="Close">
				<Outcome of={result} kind={p.kind} />
			</Dialog>
		)
	return (
		<Dialog
			title={titles[p.kind] + (p.kind === 'delete' ? '?' : '')}
			close={close}
			send={through === null ? run : undefined}
			word={p.kind === 'delete' ? 'Delete' : p.kind === 'ttl' ? 'Set time to live' : 'Patch'}
			bad={p.kind === 'delete'}
		>
			{p.kind === 'delete' && <p>
					This deletes {many}. {undoIsOn() ? undoCost : 'It cannot be undone.'}
				</p>}
			{p.kind === 'ttl' && <Life form={form} set={set} off={p.of.defaultTtl === undefined} />}
			{p.kind === 'patch' && <Patch form={form} set={set} />}
			{through !== null && (
				<Progress
					what="Changing"
					one="document"
					done={through}
					total={of}
					cancel={() => running.current?.abort()}
				/>
			)}
		</Dialog>
	)
}

type Setter = (name: keyof Form) => (v: string) => void

function Life(p: { form: Form; set: Setter; off: boolean }) {
	return (
		<>
			<Choice
				label="Time to live"
				value={p.form.life}
				set={p.set('life')}
				of={[
					['seconds', 'Seconds from the last write'],
					['never', 'Never expires'],
					['default', "The container's default"],
				]}
			/>
			{p.form.life === 'seconds' && (
				<Text label="Seconds" value={p.form.seconds} set={p.set('seconds')} type="number" />
			)}
			{p.off && (
				<p class="hint">Time to live is off in this container: nothing expires until it is on.</p>
			)}
		</>
	)
}

function Patch(p: { form: Form; set: Setter }) {
	return (
		<>
			<Choice
				label="Operation"
				value={p.form.op}
				set={p.set('op')}
				of={patchOps.map(op => [op, op === 'incr' ? 'incr (add to a number)' : op])}
			/>
			<Text label="Path" value={p.form.path} set={p.set('path')} mono placeholder="/status" />
			{p.form.op !== 'remove' && (
				<Text
					label="Value, as JSON"
					value={p.form.value}
					set={p.set('value')}
					mono
					wide
					placeholder={p.form.op === 'incr' ? '1' : '"paid"'}
				/>
			)}
		</>
	)
}

function Outcome(p: { of: BulkResult; kind: BulkKind }) {
	const r = p.of
	const parts = [
		`${plural(r.done, 'document')} ${p.kind === 'delete' ? 'deleted' : 'changed'}.`,
		r.gone && `${r.gone.toLocaleString('en')} were gone before.`,
		r.failed && `${r.failed.toLocaleString('en')} were refused.`,
	]
	return (
		<>
			<p role="status">{parts.filter(Boolean).join(' ')}</p>
			<Bad text={r.stopped} />
			{r.problems.length > 0 && (
				<div class="wide">
					<Table
						label="Documents that were refused"
						head={['id', 'Reason']}
						rows={r.problems.map(x => [<span class="mono">{x.id}</span>, x.text])}
					/>
				</div>
			)}
		</>
	)
}
