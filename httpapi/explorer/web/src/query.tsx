// Queries: an editor that knows the container's paths and the functions, rows, metrics, charge and the plan.
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import type { EditorView } from '@codemirror/view'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { collPath, exact, isObject, list, own as mayfly, post, runQuery, type Page } from './api'
import type { In } from './container'
import { Editor } from './editor'
import { functions } from './functions'
import { Plan } from './plan'
import { ProblemList, problemsIn } from './problemlist'
import { jsonProblem, type Problem } from './problems'
import { plural, say, useShown } from './state'
import { Bad, Button, Empty, Json, Stats, Table } from './ui'

const keywords = (
	'SELECT VALUE DISTINCT TOP FROM IN JOIN WHERE AND OR NOT BETWEEN LIKE ESCAPE EXISTS ARRAY ORDER BY RANK ASC ' +
	'DESC OFFSET LIMIT GROUP AS null true false undefined'
).split(' ')

// pathsOf collects the members of sampled documents: after "a.b." its next names are offered.
function pathsOf(doc: unknown, at: string, into: Map<string, Set<string>>) {
	if (Array.isArray(doc)) {
		doc.slice(0, 3).forEach(v => pathsOf(v, at, into))
		return
	}
	if (!isObject(doc)) return
	const names = into.get(at) ?? new Set<string>()
	into.set(at, names)
	for (const [name, v] of Object.entries(doc)) {
		names.add(name)
		pathsOf(v, at ? `${at}.${name}` : name, into)
	}
}

// bracketed puts a name that is no word into c["..."]: the dot before it goes.
const bracketed = (name: string) => (view: EditorView, _: Completion, from: number, to: number) =>
	view.dispatch({ changes: { from: from - 1, to, insert: `[${JSON.stringify(name)}]` } })

const most = 1000 // rows that are drawn at a time

const plain = /^[A-Za-z_]\w*$/

// aliases are what a query's JOIN ... IN ... and FROM ... IN name: the path that each stands for.
function aliases(text: string): Map<string, string> {
	const out = new Map<string, string>()
	for (const [, name, root, rest] of text.matchAll(/\b(?:JOIN|FROM)\s+(\w+)\s+IN\s+(\w+)((?:\.\w+)*)/gi))
		out.set(name, [out.get(root), rest.slice(1)].filter(Boolean).join('.'))
	return out
}

function complete(
	paths: Map<string, Set<string>>,
	own: string[],
	c: CompletionContext,
): CompletionResult | null {
	const word = c.matchBefore(/[\w.]*/)
	if (!word || (word.from === word.to && !c.explicit)) return null
	const dot = word.text.lastIndexOf('.')
	if (dot >= 0) {
		const [root, ...steps] = word.text.slice(0, dot).split('.'),
			named = aliases(c.state.doc.toString())
		const at = [named.get(root), ...steps].filter(Boolean).join('.')
		const from = word.from + dot + 1
		if (root === 'udf')
			return {
				from,
				options: own.map(f => ({ label: f.slice(4), type: 'function', apply: f.slice(4) + '(' })),
			}
		return {
			from,
			options: [...(paths.get(at) ?? [])].map(label => ({
				label,
				type: 'property',
				apply: plain.test(label) ? label : bracketed(label),
			})),
			validFor: /^\w*$/,
		}
	}
	return {
		from: word.from,
		validFor: /^\w*$/,
		options: [
			...keywords.map(label => ({ label, type: 'keyword' })),
			...functions.concat(own).map(label => ({ label, type: 'function', apply: label + '(' })),
			{ label: 'c', type: 'variable' },
		],
	}
}

interface Ran extends Page {
	query: string
	parameters: unknown[]
	took: number
}

// Wrong is what is wrong, and the text that its places are in: the query that was sent, or the parameters.
interface Wrong {
	of: Problem[]
	text: string
	inParameters?: boolean
}

// point puts an editor's cursor at a place.
function point(view: EditorView | null, from: number, to: number) {
	const end = view?.state.doc.length ?? 0
	view?.dispatch({ selection: { anchor: Math.min(from, end), head: Math.min(to, end) }, scrollIntoView: true })
	view?.focus()
}

function select(field: HTMLInputElement, from: number, to: number) {
	field.focus()
	field.setSelectionRange(from, to)
}

export function QueryTab(p: In) {
	const kept = `mayfly-query-${p.db}/${p.coll}`,
		first = sessionStorage.getItem(kept) ?? 'SELECT * FROM c'
	const [asked, setAsked] = useShown('query'),
		[given, setGiven] = useShown('parameters', '[]'),
		[show, setShow] = useShown('show', 'table')
	const [text, edit] = useState(asked || first),
		[params, setParams] = useState(given),
		[ran, setRan] = useState<Ran | null>(null),
		[rows, setRows] = useState<any[]>([])
	const [plan, setPlan] = useState<any>(null),
		[wrong, setWrong] = useState<Wrong | null>(null),
		[busy, setBusy] = useState(false)
	const field = useRef<HTMLInputElement>(null),
		view = useRef<EditorView | null>(null),
		running = useRef<AbortController | null>(null),
		explained = useRef(0),
		last = useRef('') // the query and the parameters that the URL has
	const paths = useRef(new Map<string, Set<string>>()),
		own = useRef<string[]>([]),
		asking = useRef<Promise<unknown> | null>(null) // for names: who wants them sooner waits for them
	useLayoutEffect(() => {
		for (const path of p.of.partitionKey.paths)
			pathsOf(
				path
					.slice(1)
					.split('/')
					.reduceRight<any>((v, k) => ({ [k]: v }), 1),
				'',
				paths.current,
			)
		asking.current = Promise.allSettled([
			runQuery(p.db, p.coll, 'SELECT TOP 50 * FROM c', [], { count: 50 }).then(a =>
				a.rows.forEach(r => pathsOf(r, '', paths.current)),
			),
			list(`${collPath(p.db, p.coll)}/udfs`, 'UserDefinedFunctions').then(
				all => (own.current = all.map(f => `udf.${f.id}`)),
			),
		]).then(() => (asking.current = null)) // where one has failed completion goes without
	}, [])
	useLayoutEffect(() => () => running.current?.abort(), [])
	useLayoutEffect(() => {
		if (!asked || last.current === asked + given) return
		edit(asked) // a link leads to the rows
		setParams(given)
		run(asked, given)
	}, [asked, given])
	// attempt ends what runs and runs something else: what an older one brings is dropped.
	const attempt = async (query: string, what: (signal: AbortSignal) => Promise<void>) => {
		running.current?.abort()
		const mine = (running.current = new AbortController())
		const timer = setTimeout(() => setBusy(running.current === mine), 300) // what is quick needs no button
		try {
			await what(mine.signal)
		} catch (e) {
			if (!mine.signal.aborted) setWrong({ text: query, of: problemsIn(e, query) })
		} finally {
			clearTimeout(timer)
			if (running.current === mine) setBusy(false)
		}
	}
	const run = (query = text, given = params) =>
		attempt(query, async signal => {
			last.current = query + given
			sessionStorage.setItem(kept, query)
			setAsked(query, !!asked && asked !== query) // the back button leads to the one before
			setGiven(given)
			setWrong(null)
			const fault = jsonProblem(given)
			if (fault) {
				setRan(null)
				setWrong({ text: given, of: [fault], inParameters: true })
				return
			}
			try {
				const parameters = exact(given),
					began = performance.now()
				const page = await runQuery(p.db, p.coll, query, parameters, { signal })
				if (signal.aborted) return
				setRan({ ...page, query, parameters, took: performance.now() - began })
				setRows(page.rows)
				setPlan(null)
				explain(query, parameters)
			} catch (e) {
				setRan(null) // rows of another query are no answer to this one
				throw e
			}
		})
	// explain is not waited for: the rows are there, and the next page may be asked for.
	const explain = async (query: string, parameters: unknown[]) => {
		const mine = ++explained.current
		const plan = await post(mayfly('explain'), {
			database: p.db,
			container: p.coll,
			query,
			parameters,
		}).catch(e => ({ failed: say(e) }))
		if (mine === explained.current) setPlan(plan)
	}
	// A page belongs to the query that has the pages before it, whatever stands in the editor by now.
	const next = (of: Ran) =>
		attempt(of.query, async signal => {
			const began = performance.now(),
				options = { continuation: of.continuation, signal }
			const page = await runQuery(p.db, p.coll, of.query, of.parameters, options)
			if (signal.aborted) return
			setRan({ ...of, ...page, took: performance.now() - began })
			setRows(r => r.concat(page.rows))
			setWrong(null)
		})
	const cancel = () => {
		running.current?.abort()
		setBusy(false)
	}
	const marks = useMemo(
		() => (wrong && !wrong.inParameters ? wrong.of.filter(x => x.from >= 0) : []),
		[wrong],
	)
	// It is drawn when the rows change, and not with each key that is pressed in the editor.
	const table = useMemo(
		() => (show === 'json' ? <Json of={rows.slice(-most)} /> : <Rows of={rows.slice(-most)} />),
		[rows, show],
	)
	const keys = (e: KeyboardEvent) => {
		if (e.key !== 'Enter' || !e.shiftKey || e.ctrlKey || e.metaKey) return
		e.preventDefault()
		e.stopPropagation()
		run()
	}
	const views = [
		['table', 'Table'],
		['json', 'JSON'],
		['plan', 'Plan'],
	]
	return (
		<div class="query" onKeyDownCapture={keys}>
			<Editor
				label="Text of the query"
				mode="sql"
				value={text}
				handle={view}
				marks={marks}
				set={edit}
				run={() => run()}
				height="short"
				complete={c => {
					const offer = () => complete(paths.current, own.current, c)
					return asking.current?.then(offer) ?? offer()
				}}
			/>
			<div class="bar">
				<Button kind="main" do={() => run()}>
					Run
				</Button>
				<kbd>Ctrl Enter</kbd>
				{busy && (
					<button type="button" class="btn" onClick={cancel}>
						Cancel
					</button>
				)}
				<input
					ref={field}
					class="mono grow"
					aria-label="Parameters, as JSON"
					value={params}
					placeholder='[{"name":"@n","value":1}]'
					onInput={e => setParams((e.target as HTMLInputElement).value)}
				/>
				<div class="seg" role="group" aria-label="Show">
					{views.map(([v, t]) => (
						<button type="button" aria-pressed={show === v} onClick={() => setShow(v)}>
							{t}
						</button>
					))}
				</div>
			</div>
			{wrong && (
				<ProblemList
					of={wrong.of}
					text={wrong.text}
					label="What is wrong with the query"
					echo={wrong.inParameters}
					show={(from, to) => (wrong.inParameters ? select(field.current!, from, to) : point(view.current, from, to))}
				/>
			)}
			{ran && (
				<Stats
					of={[
						['Rows', rows.length.toLocaleString('en') + (ran.continuation ? '+' : '')],
						['Charge', `${ran.headers.get('x-ms-request-charge')} RU`],
						['Round trip', `${ran.took.toFixed(1)} ms`],
						...metrics(plan?.metrics),
					]}
				/>
			)}
			{!ran && !wrong && !last.current && (
				<Empty>Names come from the container's own documents: press Ctrl Space after a dot.</Empty>
			)}
			{ran && show !== 'plan' && rows.length > most && (
				<p class="soft">These are the last {plural(most, 'row')} of those that have been read.</p>
			)}
			{ran && show !== 'plan' && table}
			{ran &&
				show === 'plan' &&
				(plan?.failed ? <Bad text={plan.failed} /> : plan && <Plan of={plan} />)}
			{ran?.continuation && <Button do={() => next(ran)}>Next page</Button>}
		</div>
	)
}

function metrics(m: any): [string, string][] {
	if (!m) return []
	return [
		['In the store', `${m.elapsedMs.toFixed(2)} ms`],
		['Index entries', m.indexEntries.toLocaleString('en')],
		['Documents read', m.documentsLoaded.toLocaleString('en')],
		['Bytes read', m.bytesLoaded.toLocaleString('en')],
	]
}

const short = (v: unknown) => {
	const text = typeof v === 'string' ? v : (JSON.stringify(v) ?? '')
	return text.length > 120 ? text.slice(0, 120) + '…' : text
}

function Rows(p: { of: any[] }) {
	const objects = p.of.every(isObject)
	const names = objects
		? [...new Set(p.of.slice(0, 200).flatMap(r => Object.keys(r)))]
				.filter(n => !['_self', '_attachments', '_rid', '_etag'].includes(n))
				.slice(0, 30)
		: []
	return (
		<Table
			label="Rows"
			head={objects ? names : ['value']}
			empty="No rows."
			rows={p.of.map(r =>
				(objects ? names.map(n => r[n]) : [r]).map(v => <span class="mono">{short(v)}</span>),
			)}
		/>
	)
}
