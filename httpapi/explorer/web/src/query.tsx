// Queries on a container: tabs, an editor that knows the container's names, rows, charge and the plan.
import type { EditorView } from '@codemirror/view'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useCompletion } from './completion'
import type { In } from './container'
import { Editor } from './editor'
import { Plan } from './plan'
import { ProblemList } from './problemlist'
import { HistoryDialog, openFile, save, SaveDialog, saveFile, SavedDialog } from './querylists'
import { keyOf, useRuns, type Run } from './queryruns'
import { noParameters, useDrafts } from './querystore'
import { closing, QueryTabs, titleOf } from './querytabs'
import { Results } from './results'
import { doing, useShown } from './state'
import { Bad, Button, Empty, Stats } from './ui'

const pageSizes = [100, 500, 1000]
const keptSize = 'mayfly-query-rows'
const readSize = () => {
	const n = Number(localStorage.getItem(keptSize))
	return pageSizes.includes(n) ? n : 100
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

const views = [
	['table', 'Table'],
	['json', 'JSON'],
	['plan', 'Plan'],
]

export function QueryTab(p: In) {
	const [asked, setAsked] = useShown('query'),
		[given, setGiven] = useShown('parameters', noParameters),
		[show, setShow] = useShown('show', 'table')
	const drafts = useDrafts(`${p.db}/${p.coll}`),
		runs = useRuns(p),
		complete = useCompletion(p),
		now = drafts.now,
		run = runs.get(now.id)
	const [dialog, setDialog] = useState<'' | 'save' | 'saved' | 'history'>(''),
		[count, setCount] = useState(readSize)
	const field = useRef<HTMLInputElement>(null),
		view = useRef<EditorView | null>(null),
		[cursor, setCursor] = useState<{ at: number } | null>(null) // another one is where somebody types next

	useLayoutEffect(() => {
		if (!asked || runs.get(drafts.now.id).asked === keyOf(asked, given)) return
		// A link leads to the rows. A text that has been run is in the history, and makes room for another one.
		const room = !now.saved && run.asked === keyOf(now.text, now.params)
		if (room) drafts.change({ text: asked, params: given })
		runs.run(room ? now.id : drafts.open(asked, given).id, asked, given, count)
	}, [asked, given])
	// shown puts what a tab has run into the URL.
	const shown = (id: number) => {
		const { asked } = runs.get(id),
			[query, params] = asked ? JSON.parse(asked) : ['', noParameters]
		setAsked(query)
		setGiven(params)
	}
	const start = () => {
		runs.run(now.id, now.text, now.params, count)
		setAsked(now.text, !!asked && asked !== now.text) // the back button leads to the one before
		setGiven(now.params)
	}
	const atEnd = () => setCursor({ at: Infinity })
	const open = (text: string, params = noParameters, saved = '') => {
		shown(drafts.open(text, params, saved).id)
		atEnd()
	}
	const actions = {
		add: () => {
			shown(drafts.add().id)
			atEnd()
		},
		show: (id: number) => {
			drafts.show(id)
			shown(id)
			setCursor(null)
		},
		close: (d: typeof now) =>
			closing(drafts, d, () => {
				runs.drop(d.id)
				setCursor(null)
				if (d.id === now.id) shown(0)
			}),
		save: () => {
			if (!now.saved) return setDialog('save')
			doing(async () => {
				await save(p, now.saved, now.text, now.params)
				drafts.keptAs(now.saved)
			}, 'Saved.')
		},
		saveAs: () => setDialog('save'),
		saved: () => setDialog('saved'),
		history: () => setDialog('history'),
		openFile: () => openFile(text => open(text)),
		saveFile: () => saveFile(titleOf(now), now.text),
	}
	useKeys({ start, ...actions })
	const { ran, rows, wrong } = run
	const marks = useMemo(
		() => (wrong && !wrong.inParameters ? wrong.of.filter(x => x.from >= 0) : []),
		[wrong],
	)
	const close = () => setDialog('')
	return (
		<div class="query">
			<QueryTabs of={drafts} do={actions} />
			<Editor
				key={now.id}
				label="Text of the query"
				mode="sql"
				value={now.text}
				handle={view}
				cursor={cursor}
				marks={marks}
				set={text => drafts.change({ text })}
				run={start}
				height="short"
				complete={complete}
			/>
			<div class="bar">
				<Button kind="main" do={start} title="Ctrl Enter or Shift Enter">
					Run
				</Button>
				<kbd>Ctrl Enter</kbd>
				{run.busy && (
					<button type="button" class="btn" onClick={() => runs.cancel(now.id)}>
						Cancel
					</button>
				)}
				<input
					ref={field}
					class="mono grow"
					aria-label="Parameters, as JSON"
					value={now.params}
					placeholder='[{"name":"@n","value":1}]'
					onInput={e => drafts.change({ params: (e.target as HTMLInputElement).value })}
				/>
				<select
					class="short"
					aria-label="Rows per page"
					value={count}
					onChange={e => {
						const n = Number((e.target as HTMLSelectElement).value)
						localStorage.setItem(keptSize, String(n))
						setCount(n)
					}}
				>
					{pageSizes.map(n => (
						<option value={n} selected={n === count}>
							{n.toLocaleString('en')} rows
						</option>
					))}
				</select>
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
					show={(from, to) =>
						wrong.inParameters ? select(field.current!, from, to) : point(view.current, from, to)
					}
				/>
			)}
			{ran && <Figures of={run} />}
			{!ran && !wrong && !run.asked && (
				<Empty>Names come from the container's own documents: press Ctrl Space after a dot.</Empty>
			)}
			{ran && show !== 'plan' && (
				<Results key={now.id} at={p} ran={ran} rows={rows} json={show === 'json'} tab={now.id} />
			)}
			{ran &&
				show === 'plan' &&
				(run.plan?.failed ? <Bad text={run.plan.failed} /> : run.plan && <Plan of={run.plan} at={p} applied={() => runs.explainAgain(now.id)} />)}
			{ran?.continuation && show !== 'plan' && (
				<div class="row">
					<Button do={() => runs.pages(now.id, count, false)}>Next page</Button>
					<Button do={() => runs.pages(now.id, 1000, true)}>All pages</Button>
				</div>
			)}
			{dialog === 'save' && (
				<SaveDialog
					{...p}
					query={now.text}
					params={now.params}
					name={now.saved}
					close={close}
					done={drafts.keptAs}
				/>
			)}
			{dialog === 'saved' && <SavedDialog {...p} close={close} open={open} renamed={drafts.forget} />}
			{dialog === 'history' && <HistoryDialog {...p} close={close} open={open} />}
		</div>
	)
}

// useKeys are the keys of the page, wherever the focus is: a browser would save the page, or show its downloads.
function useKeys(to: { start: () => void; save: () => void; add: () => void }) {
	const latest = useRef(to)
	latest.current = to
	useLayoutEffect(() => {
		const press = (e: KeyboardEvent) => {
			if (e.altKey || document.querySelector('dialog[open]')) return
			const ctrl = e.ctrlKey || e.metaKey,
				key = e.key.toLowerCase(),
				panel = (e.target as Element).closest?.('.doc') // whose own keys these are
			const run = key === 'enter' && e.shiftKey && !ctrl && (e.target as Element).closest?.('.query > .editor, .query > .bar')
			if (run) latest.current.start()
			else if (ctrl && !e.shiftKey && key === 's' && !panel) latest.current.save()
			else if (ctrl && !e.shiftKey && key === 'j') latest.current.add()
			else return
			e.preventDefault()
			e.stopImmediatePropagation()
		}
		addEventListener('keydown', press, true)
		return () => removeEventListener('keydown', press, true)
	}, [])
}

function Figures(p: { of: Run }) {
	const { ran, rows, charge, plan } = p.of,
		m = plan?.metrics
	const round = (n: number, digits: number) => n.toLocaleString('en', { maximumFractionDigits: digits })
	return (
		<Stats
			of={[
				['Rows', rows.length.toLocaleString('en') + (ran!.continuation ? '+' : '')],
				['Charge', `${round(charge, 2)} RU`],
				['Round trip', `${round(ran!.took, 1)} ms`],
				...((m
					? [
							['In the store', `${round(m.elapsedMs, 2)} ms`],
							['Index entries', m.indexEntries.toLocaleString('en')],
							['Documents read', m.documentsLoaded.toLocaleString('en')],
							['Bytes read', m.bytesLoaded.toLocaleString('en')],
						]
					: []) as [string, string][]),
			]}
		/>
	)
}
