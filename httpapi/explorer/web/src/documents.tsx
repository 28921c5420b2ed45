// The documents of a container: a grid that draws the rows in sight, loads a page at a time, and counts down.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { exact, partitionKey, runQuery } from './api'
import type { Container, In } from './container'
import { DocumentPanel } from './document'
import { firstPage, takeDocuments } from './early'
import { readFilter } from './filter'
import { ProblemList, problemsIn } from './problemlist'
import { moved as movedTo, type Problem } from './problems'
import { countdown, go, nowOf, stamp, useShown, useSignal, useTick } from './state'
import { Button, Empty } from './ui'
import { stay } from './unsaved'

const rowHeight = 32
const laterPages = 500

// expiry is when a document dies by its own ttl and the container's default, in ms; null: it does not.
// Its life counts from the number at the container's ttlPropertyPath, if there is one, or else from its _ts.
// A lease is not in it: the document's own panel asks the server.
export function expiry(doc: any, of: Container): number | null {
	if (of.defaultTtl === undefined || typeof doc._ts !== 'number') return null
	const ttl = Number.isInteger(doc.ttl) ? doc.ttl : of.defaultTtl
	const base = of.ttlPropertyPath ? partitionKey(doc, [of.ttlPropertyPath])[0] : undefined
	const from = typeof base === 'number' ? Math.floor(base) : doc._ts
	return ttl > 0 ? (from + ttl) * 1000 : null
}

export function Countdown(p: { at: number | null; db: string }) {
	if (p.at === null) return <span class="soft">never</span>
	const left = (p.at - nowOf(p.db)) / 1000
	return left <= 0 ? (
		<span class="tag dead">expired</span>
	) : (
		<span class={left < 60 ? 'soon' : ''}>{countdown(left)}</span>
	)
}

const previews = new WeakMap<object, string>()

// preview is a document without what has a column of its own. It is made once: a document may be large.
export function preview(doc: any, paths: string[]): string {
	const known = previews.get(doc)
	if (known !== undefined) return known
	let text = ''
	for (const [name, v] of Object.entries(doc)) {
		if (name.startsWith('_') || name === 'id' || paths.includes('/' + name)) continue
		const value = typeof v === 'string' ? v.slice(0, 400) : v
		text += `${text && ','}${JSON.stringify(name)}:${JSON.stringify(value)}`
		if (text.length > 400) break
	}
	previews.set(doc, (text = text.slice(0, 400)))
	return text
}

export function Documents(p: In & { open: string[] }) {
	const [filter, setFilter] = useShown('filter'),
		[typed, type] = useState(filter)
	const [rows, setRows] = useState<any[]>([]),
		[more, setMore] = useState<string | null>('')
	const [wrong, setWrong] = useState<Problem[]>([]),
		[stuck, setStuck] = useState<string | null>(null),
		[chosen, select] = useState(0),
		[making, make] = useState(false)
	const [top, scroll] = useState(0),
		[height, setHeight] = useState(400)
	const asks = useMemo(() => readFilter(filter), [filter]),
		field = useRef<HTMLInputElement>(null)
	const grid = useRef<HTMLDivElement>(null),
		asked = useRef(0),
		busy = useRef(false)
	const moved = useSignal('data'),
		paths = p.of.partitionKey.paths
	const fresh = making && !p.open.length,
		panel = fresh || p.open.length > 0,
		had = useRef(panel),
		sought = useRef(filter),
		at = Math.max(0, Math.min(chosen, rows.length - 1))
	const shownDoc = p.open.length ? rows.find(r => is(r, p.open, paths)) : undefined

	const ask = (from: string | null, count: number) =>
		(!filter && !from && takeDocuments(p.db, p.coll)) ||
		runQuery(p.db, p.coll, asks.query, asks.parameters, { continuation: from, count })

	// load reads a page more, or all anew: as many rows then as reach to what is in sight.
	const load = async (from: string | null, anew: boolean, keep = true) => {
		if (busy.current && !anew) return
		const mine = anew ? ++asked.current : asked.current
		busy.current = true
		try {
			const need = anew && keep ? last : 0
			let page = await ask(from, from ? laterPages : Math.max(firstPage, Math.min(need, laterPages))),
				got = page.rows
			while (got.length < need && page.continuation && mine === asked.current) {
				page = await ask(page.continuation, laterPages)
				got = got.concat(page.rows)
			}
			if (mine !== asked.current) return
			setRows(r => (anew ? got : r.concat(got)))
			setMore(page.continuation)
			setWrong([])
			setStuck(null)
		} catch (e) {
			if (mine === asked.current) {
				setWrong(movedTo(problemsIn(e, asks.query), asks.before))
				setStuck(from) // and more is not asked for until somebody says so
				if (anew) setRows([])
				setMore(null)
			}
		} finally {
			if (mine === asked.current) busy.current = false
		}
	}
	useLayoutEffect(() => {
		const same = sought.current === filter
		sought.current = filter
		if (!same) {
			// other rows have other places
			grid.current!.scrollTop = 0
			select(0)
		}
		load(null, true, same)
	}, [filter, moved])
	useLayoutEffect(() => type(filter), [filter])
	useLayoutEffect(() => {
		if (p.open.length) make(false)
	}, [p.open.join('/')])
	useLayoutEffect(() => {
		// what had the focus is gone with the panel
		if (had.current && !panel && [null, document.body].includes(document.activeElement as HTMLElement))
			grid.current!.focus()
		had.current = panel
	}, [panel])
	useEffect(() => {
		const el = grid.current!
		const sized = new ResizeObserver(() => setHeight(el.clientHeight))
		sized.observe(el)
		return () => sized.disconnect()
	}, [])
	const first = Math.max(0, Math.floor(top / rowHeight) - 10)
	const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + 10)
	useEffect(() => {
		if (more && last > rows.length - 200) load(more, false)
	}, [last, more, rows.length])
	useTick(500)

	const show = (doc: any) => follow(p, doc.id, ...partitionKey(doc, paths).map(v => JSON.stringify(v)))
	const open = (i: number) => {
		select(i)
		if (rows[i]) show(rows[i])
	}
	const move = (to: number) => {
		const i = Math.max(0, Math.min(rows.length - 1, to)),
			el = grid.current!
		select(i)
		const inner = el.clientHeight - rowHeight // the head stands over the rows
		if (i * rowHeight < el.scrollTop) el.scrollTop = i * rowHeight
		else if ((i + 1) * rowHeight > el.scrollTop + inner) el.scrollTop = (i + 1) * rowHeight - inner
	}
	const keys = (e: KeyboardEvent) => {
		const page = Math.floor(height / rowHeight) - 2
		const step: Record<string, number> = {
			ArrowDown: at + 1,
			ArrowUp: at - 1,
			PageDown: at + page,
			PageUp: at - page,
			Home: 0,
			End: rows.length - 1,
		}
		if (e.key in step) move(step[e.key])
		else if (e.key === 'Enter' || e.key === ' ') open(at)
		else return
		e.preventDefault()
	}
	const close = () => {
		make(false)
		follow(p)
	}
	const heads = ['id', ...paths.map(x => x.slice(1)), 'expires in', 'written', 'content']
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
					<Button do={() => load(null, true)} title="Load again">
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
				{asks.says && (
					<p class="soft foot" role="status">
						{asks.says}
					</p>
				)}
				<ProblemList
					of={wrong}
					text={filter}
					label="What is wrong with the filter"
					echo
					show={(from, to) => {
						field.current!.focus()
						field.current!.setSelectionRange(from, to)
					}}
				/>
				{stuck && <Button do={() => load(stuck, false)}>Load more</Button>}
				<div
					class="grid"
					role="grid"
					aria-label="Documents"
					tabIndex={0}
					ref={grid}
					onKeyDown={keys}
					aria-rowcount={more ? -1 : rows.length + 1}
					aria-activedescendant={rows.length ? `row-${at}` : undefined}
					onScroll={e => scroll((e.target as HTMLElement).scrollTop)}
				>
					<div class="grid-row grid-head" role="row">
						{heads.map(h => (
							<span role="columnheader" class={`c-${h.split(' ')[0]}`}>
								{h}
							</span>
						))}
					</div>
					<div class="grid-body" role="rowgroup" style={{ height: rows.length * rowHeight }}>
						{rows.slice(first, last).map((doc, n) => {
							const i = first + n
							return (
								<div
									role="row"
									id={`row-${i}`}
									key={doc._rid ?? i}
									aria-rowindex={i + 2}
									aria-selected={i === at}
									class={`grid-row ${doc === shownDoc ? 'open' : ''}`}
									style={{ top: i * rowHeight }}
									onClick={() => open(i)}
								>
									<span role="gridcell" class="c-id mono">
										{doc.id}
									</span>
									{partitionKey(doc, paths).map(v => (
										<span role="gridcell" class="mono">
											{JSON.stringify(v)}
										</span>
									))}
									<span role="gridcell" class="c-expires num">
										<Countdown at={expiry(doc, p.of)} db={p.db} />
									</span>
									<span role="gridcell" class="c-written num">
										{doc._ts ? stamp(doc._ts * 1000) : ''}
									</span>
									<span role="gridcell" class="c-content mono soft">
										{preview(doc, paths)}
									</span>
								</div>
							)
						})}
					</div>
				</div>
				{!rows.length && more === null && !wrong.length && (
					<Empty>No document{filter && ' that fits the filter'}.</Empty>
				)}
				<p class="soft foot">
					{rows.length.toLocaleString('en')} rows{more ? ' loaded, more when you scroll' : stuck ? ' loaded, more could not be' : ''}
				</p>
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
