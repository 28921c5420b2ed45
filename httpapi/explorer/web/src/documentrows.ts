// The rows of a container's documents: a page at a time, and how many there are.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { runQuery, type Page } from './api'
import { orderOf } from './documentcells'
import { firstPage, takeDocuments } from './early'
import { countOf, inOrder, readFilter } from './filter'
import { problemsIn } from './problemlist'
import { useFollow } from './live'
import { moved, type Problem } from './problems'

const followed = 1000, // rows that are read again where something changes; of more those in sight
	ahead = 200 // rows below those in sight that are loaded before they are reached

// differ reports whether rows that have been read again are other ones.
const differ = (a: any[], b: any[]) =>
	a.length !== b.length || a.some((doc, i) => !doc?._etag || doc._etag !== b[i]?._etag)

const kept = 'mayfly-page-size'
export const pageSizes = [50, 100, 500, 1000]
const readPageSize = () => {
	const n = Number(localStorage.getItem(kept))
	return pageSizes.includes(n) ? n : 500
}

export interface DocumentRows {
	rows: any[]
	more: boolean
	total: number | undefined
	busy: boolean // no page has come yet
	says: string // what has been made of the filter
	wrong: Problem[] // with it or with its answer, at places of its text
	stuck: boolean // the next page could not be had
	text: string // the query
	pageSize: number
	setPageSize: (n: number) => void
	reload: () => void
	next: () => void // a page more, where there is one
	all: (signal: AbortSignal) => Promise<void> // every page
	sight: (first: number, last: number) => void
	fresh: number // documents that have come since, and are not shown
	show: () => void // reads them, where they are among the rows that are loaded
	atTop: () => void // the reader has scrolled back: rows that were left where they are are read again
}

export function useDocuments(p: {
	db: string
	coll: string
	filter: string
	sort: string
	moved: number
	held: () => boolean // the reader has scrolled: rows stay where they are
	inOrder?: (a: any, b: any) => number // of rows that are all loaded, where the query has no order
}): DocumentRows {
	const [rows, setRows] = useState<any[]>([]),
		[more, setMore] = useState<string | null>(''),
		[total, setTotal] = useState<number>()
	const [wrong, setWrong] = useState<Problem[]>([]),
		[stuck, setStuck] = useState<string | null>(null),
		[busy, setBusy] = useState(true),
		[pageSize, setSize] = useState(readPageSize)
	const asked = useRef(0),
		running = useRef(false),
		inSight = useRef([0, 0]),
		[fresh, setFresh] = useState(0),
		left = useRef(false), // a change came while the reader had scrolled
		told = useRef<number>() // how many there were when the reader saw them last
	const place = useRef<string | null>('') // where the next page begins; a callback may know an older one
	const go = (next: string | null) => {
		place.current = next
		setMore(next)
	}
	const now = useRef<any[]>(rows)
	now.current = rows
	const whole = !more && stuck === null
	const shown = useMemo(() => (p.inOrder && whole ? [...rows].sort(p.inOrder) : rows), [rows, whole, p.sort])
	const filter = readFilter(p.filter),
		text = inOrder(filter, orderOf(p.sort)),
		sought = useRef(text)
	const ask = (from: string | null, count: number) =>
		(text === readFilter('').query && !from && takeDocuments(p.db, p.coll)) ||
		runQuery(p.db, p.coll, text, [], { continuation: from, count })

	// know takes how many there are. Those that have come since the reader saw them, and are not loaded, are new.
	const know = (n: number | undefined, seen: boolean) => {
		setTotal(n)
		if (seen) told.current = n
		const since = n === undefined || told.current === undefined ? 0 : n - told.current
		setFresh(Math.max(0, Math.min(since, (n ?? 0) - now.current.length)))
	}
	const count = async (mine: number, seen: boolean) => {
		const query = countOf(filter)
		if (!query) return know(undefined, seen)
		const page = await runQuery(p.db, p.coll, query, []).catch(() => null) // its rows told what is wrong
		if (mine === asked.current) know(page?.rows[0], seen)
	}
	// load reads a page more, or all anew: as many rows then as reach to what is in sight.
	const load = async (from: string | null, anew: boolean, keep = 0, quiet = false) => {
		if (!anew && (running.current || from !== place.current)) return
		const mine = anew ? ++asked.current : asked.current
		running.current = true
		let next: string | null = null
		try {
			const need = anew ? keep : 0
			let page = await ask(from, from ? pageSize : Math.max(firstPage, Math.min(need, 500))),
				got = page.rows
			while (got.length < need && page.continuation && mine === asked.current) {
				page = await ask(page.continuation, Math.min(500, need - got.length))
				got = got.concat(page.rows)
			}
			if (mine !== asked.current) return
			if (!anew) setRows(r => r.concat(got))
			else if (!quiet || differ(got, now.current)) setRows(got)
			go((next = page.continuation))
			setWrong([])
			setStuck(null)
			if (!anew && !page.continuation) know(now.current.length + got.length, true)
			if (!page.continuation && anew) know(got.length, true)
			else if (anew) count(mine, !quiet)
		} catch (e) {
			if (mine !== asked.current || quiet) return
			setWrong(moved(problemsIn(e, text), filter.before))
			setStuck(from) // and more is not asked for until somebody says so
			if (anew) setRows([])
			go(null)
			place.current = from
		} finally {
			if (mine === asked.current) {
				running.current = false
				setBusy(false)
			}
		}
		// who has scrolled meanwhile waits for more
		if (quiet && next && inSight.current[1] > now.current.length - ahead) load(next, false)
	}
	useLayoutEffect(() => {
		const same = sought.current === text
		sought.current = text
		if (!same) {
			setBusy(true)
			setTotal(undefined)
		}
		load(null, true, same ? inSight.current[1] : 0)
	}, [text, p.moved])
	// freshen reads the rows in sight again and puts them where they are.
	const freshen = async (mine: number, signal: AbortSignal) => {
		const seen = shown.slice(...inSight.current).filter(doc => typeof doc?._rid === 'string' && typeof doc.id === 'string')
		if (!seen.length || filter.rest === null) return
		const names = seen.map((doc, i) => ({ name: `@id${i}`, value: doc.id }))
		const query = `SELECT * FROM c WHERE c.id IN (${names.map(n => n.name).join(', ')})`
		const page = await runQuery(p.db, p.coll, query, names, { count: 1000, signal })
		if (mine !== asked.current) return
		const stored = new Map(page.rows.map(doc => [doc._rid, doc]))
		const differs = (doc: any) => stored.has(doc._rid) && stored.get(doc._rid)._etag !== doc._etag
		if (now.current.some(differs)) setRows(all => all.map(doc => (differs(doc) ? stored.get(doc._rid) : doc)))
	}
	useFollow(
		async signal => {
			while (running.current) await new Promise(then => setTimeout(then, 50)) // it may be older than the change
			if (signal.aborted || wrong.length) return
			left.current = p.held()
			if (left.current || now.current.length > followed)
				await Promise.all([count(asked.current, false), freshen(asked.current, signal)]).catch(() => {})
			else await load(null, true, now.current.length, true)
		},
		{ every: 5000, signals: ['items'], waits: true },
		[text],
	)
	const all = async (signal: AbortSignal) => {
		const mine = ++asked.current // what scrolling asks for is not read twice
		running.current = true
		let from = place.current,
			got: any[] = [],
			drawn = performance.now()
		const draw = () => {
			const some = got
			got = []
			drawn = performance.now()
			setRows(r => r.concat(some)) // which copies all of them: not for each page
			go(from)
			setStuck(null)
		}
		try {
			while (from && mine === asked.current && !signal.aborted) {
				const page: Page = await runQuery(p.db, p.coll, text, [], { continuation: from, count: 1000, signal })
				if (mine !== asked.current) return
				for (const row of page.rows) got.push(row)
				from = page.continuation
				if (performance.now() - drawn > 500) draw()
			}
		} catch (e) {
			if (!signal.aborted) throw e
		} finally {
			if (mine === asked.current) {
				running.current = false
				if (got.length) draw()
			}
		}
	}
	return {
		rows: shown,
		more: !!more || stuck !== null,
		total,
		busy: busy && !wrong.length,
		says: filter.says,
		wrong,
		stuck: stuck !== null,
		text,
		pageSize,
		setPageSize: n => {
			localStorage.setItem(kept, String(n))
			setSize(n)
		},
		fresh,
		show: () => load(null, true, now.current.length),
		atTop: () => {
			if (!left.current || now.current.length > followed) return
			left.current = false
			load(null, true, now.current.length, true)
		},
		reload: () => load(null, true, inSight.current[1]),
		next: () => load(more ?? stuck, false),
		all,
		sight: (first, last) => {
			inSight.current = [first, last]
			if (more && last > rows.length - ahead) load(more, false)
		},
	}
}
