// The rows of a container's documents: a page at a time, and how many there are.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { runQuery } from './api'
import { orderOf } from './documentcells'
import { firstPage, takeDocuments } from './early'
import { countOf, inOrder, readFilter } from './filter'
import { problemsIn } from './problemlist'
import { moved, type Problem } from './problems'

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
}

export function useDocuments(p: {
	db: string
	coll: string
	filter: string
	sort: string
	moved: number
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
		inSight = useRef(0)
	const filter = readFilter(p.filter),
		text = inOrder(filter, orderOf(p.sort)),
		sought = useRef(text)
	const ask = (from: string | null, count: number) =>
		(text === readFilter('').query && !from && takeDocuments(p.db, p.coll)) ||
		runQuery(p.db, p.coll, text, [], { continuation: from, count })

	const count = async (mine: number) => {
		const query = countOf(filter)
		if (!query) return setTotal(undefined)
		const page = await runQuery(p.db, p.coll, query, []).catch(() => null) // its rows told what is wrong
		if (mine === asked.current) setTotal(page?.rows[0])
	}
	// load reads a page more, or all anew: as many rows then as reach to what is in sight.
	const load = async (from: string | null, anew: boolean, keep = true) => {
		if (running.current && !anew) return
		const mine = anew ? ++asked.current : asked.current
		running.current = true
		try {
			const need = anew && keep ? inSight.current : 0
			let page = await ask(from, from ? pageSize : Math.max(firstPage, Math.min(need, 500))),
				got = page.rows
			while (got.length < need && page.continuation && mine === asked.current) {
				page = await ask(page.continuation, 500)
				got = got.concat(page.rows)
			}
			if (mine !== asked.current) return
			setRows(r => (anew ? got : r.concat(got)))
			setMore(page.continuation)
			setWrong([])
			setStuck(null)
			if (!page.continuation && anew) setTotal(got.length)
			else if (anew) count(mine)
		} catch (e) {
			if (mine !== asked.current) return
			setWrong(moved(problemsIn(e, text), filter.before))
			setStuck(from) // and more is not asked for until somebody says so
			if (anew) setRows([])
			setMore(null)
		} finally {
			if (mine === asked.current) {
				running.current = false
				setBusy(false)
			}
		}
	}
	useLayoutEffect(() => {
		const same = sought.current === text
		sought.current = text
		if (!same) {
			setBusy(true)
			setTotal(undefined)
		}
		load(null, true, same)
	}, [text, p.moved])
	const all = async (signal: AbortSignal) => {
		const mine = ++asked.current // what scrolling asks for is not read twice
		running.current = true
		try {
			for (let from = more ?? stuck; from && mine === asked.current && !signal.aborted;) {
				const page = await runQuery(p.db, p.coll, text, [], {
					continuation: from,
					count: 1000,
					signal,
				})
				if (mine !== asked.current) return
				setRows(r => r.concat(page.rows))
				setMore((from = page.continuation))
				setStuck(null)
			}
		} catch (e) {
			if (!signal.aborted) throw e
		} finally {
			if (mine === asked.current) running.current = false
		}
	}
	return {
		rows,
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
		reload: () => load(null, true),
		next: () => load(more ?? stuck, false),
		all,
		sight: (_, last) => {
			inSight.current = last
			if (more && last > rows.length - 200) load(more, false)
		},
	}
}
