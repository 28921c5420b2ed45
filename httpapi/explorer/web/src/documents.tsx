// The documents of a container: their grid, with a filter, and the one that is open.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { exact, partitionKey } from './api'
import type { In } from './container'
import { DocumentPanel, example } from './document'
import './browser.css'
import type { BulkKind } from './bulkdialog'
import { byExpiry, documentColumns } from './documentcells'
import { pageSizes, useDocuments, type DocumentRows } from './documentrows'
import { Drop } from './drop'
import type { ExportSource } from './exportdialog'
import { Grid } from './grid'
import { lazy } from './lazy'
import { ProblemList } from './problemlist'
import { Progress } from './progress'
import { isSelected, noRows } from './selection'
import { go, tell, useShown, useSignal } from './state'
import { Button, Empty } from './ui'
import { leave } from './unsaved'

export { Countdown, preview } from './documentcells'

const BulkDialog = lazy(() => import('./bulkdialog'))
const ImportDialog = lazy(() => import('./importdialog'))
const ExportDialog = lazy(() => import('./exportdialog'))

export function Documents(p: In & { open: string[] }) {
	const [filter, setFilter] = useShown('filter'),
		[sort, setSort] = useShown('sort'),
		[typed, type] = useState(filter)
	const [selection, select] = useState(noRows),
		[making, make] = useState<string | null>(null), // the text of a new document
		[exporting, openExport] = useState(false),
		[importing, importFrom] = useState<File[] | null>(null),
		[bulk, openBulk] = useState<BulkKind | null>(null)
	const grid = useRef<HTMLDivElement>(null),
		field = useRef<HTMLInputElement>(null)
	const moved = useSignal('data'),
		paths = p.of.partitionKey.paths
	const docs = useDocuments({
		...p,
		filter,
		sort,
		moved,
		held: () => (grid.current?.scrollTop ?? 0) > 0,
		inOrder: sort.endsWith('expires in') ? byExpiry(p.of, sort.startsWith('-')) : undefined,
	})
	const fresh = p.open.length ? null : making,
		panel = fresh !== null || p.open.length > 0,
		had = useRef(panel)
	const shownDoc = p.open.length ? docs.rows.find(r => is(r, p.open, paths)) : undefined

	useLayoutEffect(() => type(filter), [filter])
	useLayoutEffect(() => select(noRows), [docs.text])
	useLayoutEffect(() => {
		if (p.open.length) make(null)
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
	const columns = useMemo(() => documentColumns(docs.rows, p.of, p.db, !docs.more), [docs.rows, p.of, docs.more])

	const chosen = docs.rows.filter((doc, i) => isSelected(selection, keyOf(doc, i)))
	const exported: ExportSource = {
		name: p.coll.replace(/[^\w.-]+/g, '_'),
		loaded: docs.rows,
		selected: chosen.length ? chosen : undefined,
		every: selection.all,
		query: { ...p, text: docs.text, parameters: [] },
		total: docs.total,
		documents: true,
	}
	const show = (doc: any) => follow(p, doc.id, ...partitionKey(doc, paths).map(v => JSON.stringify(v)))
	const close = () => {
		make(null)
		follow(p)
	}
	const create = () => {
		if (fresh !== null) return
		leave(() => {
			follow(p)
			make(example(paths))
		})
	}
	const sample = async () => {
		const { loadExample } = await import('./example')
		await loadExample(p)
		tell('data')
	}
	// showNew leads to the documents that have come. Those that are not among the rows that are loaded are the newest.
	const showNew = async () => {
		const el = grid.current!
		if (docs.more && sort !== '-written') return setSort('-written')
		await docs.show()
		el.scrollTop = sort === '-written' ? 0 : el.scrollHeight
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
					<Button do={() => openExport(true)}>Export</Button>
					<Button do={() => importFrom([])}>Import</Button>
					<Button kind="main" do={create}>
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
				<div class="grid-box">
					{docs.fresh > 0 && (
						<button type="button" class="btn fresh" onClick={showNew}>
							{docs.fresh.toLocaleString('en')} new
						</button>
					)}
					<Grid
						label="Documents"
						kept={`documents/${p.db}/${p.coll}`}
						columns={columns}
						rows={docs.rows}
						keyOf={keyOf}
						total={docs.total}
						more={docs.more}
						busy={docs.busy}
						place={docs.text}
						sight={docs.sight}
						atTop={docs.atTop}
						open={show}
						opened={shownDoc?._rid}
						selection={selection}
						select={select}
						sort={sort ? { column: sort.replace(/^-/, ''), down: sort.startsWith('-') } : null}
						setSort={s => setSort(s ? (s.down ? '-' : '') + s.column : '')}
						tick={500}
						at={grid}
						acts={[
							{ label: 'Delete', do: () => openBulk('delete'), bad: true },
							{ label: 'Set time to live', do: () => openBulk('ttl') },
							{ label: 'Patch', do: () => openBulk('patch') },
							{ label: 'Export', do: () => openExport(true) },
						]}
						foot={
							<>
								{docs.more && <LoadAll {...docs} />}
								<label class="page-size">
									Page size{' '}
									<select
										value={docs.pageSize}
										onChange={e => docs.setPageSize(Number(e.currentTarget.value))}
									>
										{pageSizes.map(n => (
											<option value={n}>{n.toLocaleString('en')}</option>
										))}
									</select>
								</label>
							</>
						}
						empty={
							docs.wrong.length ? null : filter ? (
								<Empty>No document fits the filter.</Empty>
							) : (
								<>
									<Empty>No document.</Empty>
									<div class="row">
										<Button do={create}>New document</Button>
										<Button do={() => importFrom([])}>Import</Button>
										<Button do={sample}>Load an example</Button>
									</div>
								</>
							)
						}
					/>
				</div>
			</div>
			{bulk && (
				<BulkDialog
					{...p}
					kind={bulk}
					docs={chosen}
					query={selection.all ? docs.text : undefined}
					total={docs.total}
					done={() => bulk === 'delete' && select(noRows)}
					close={() => openBulk(null)}
				/>
			)}
			{importing && <ImportDialog {...p} files={importing} close={() => importFrom(null)} />}
			<Drop word={`Import into ${p.coll}`} take={importFrom} />
			{exporting && <ExportDialog {...exported} close={() => openExport(false)} />}
			{panel && (
				<DocumentPanel
					{...p}
					key={fresh ?? p.open.join('/')}
					fresh={fresh}
					id={p.open[0] ?? ''}
					pk={p.open.slice(1).map(read)}
					close={close}
					copy={text => {
						follow(p)
						make(text)
					}}
					made={(doc: any) => {
						make(null)
						show(doc)
					}}
				/>
			)}
		</div>
	)
}

const keyOf = (doc: any, i: number): string => doc._rid ?? String(i)

// LoadAll reads every page, until it is cancelled.
function LoadAll(p: DocumentRows) {
	const [running, set] = useState<AbortController | null>(null)
	useLayoutEffect(() => () => running?.abort(), [running])
	if (running)
		return (
			<Progress
				what="Loading"
				done={p.rows.length}
				total={p.total}
				cancel={() => running.abort()}
			/>
		)
	const run = async () => {
		const mine = new AbortController()
		set(mine)
		await p.all(mine.signal).finally(() => set(null))
	}
	return (
		<Button kind="quiet" do={run}>
			Load all
		</Button>
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
