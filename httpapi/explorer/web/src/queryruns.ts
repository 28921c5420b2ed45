// The runs of a container's queries, one for each tab: they go on, and keep their rows, while another tab is shown.
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks'
import { exact, own, post, runQuery, type Page } from './api'
import type { In } from './container'
import { problemsIn } from './problemlist'
import { jsonProblem, type Problem } from './problems'
import { remember } from './querystore'
import { say } from './state'

export interface Ran extends Page {
	query: string
	parameters: unknown[]
	took: number // ms
}

// Wrong is what is wrong, and the text that its places are in: the query that was sent, or the parameters.
export interface Wrong {
	of: Problem[]
	text: string
	inParameters?: boolean
}

export interface Run {
	asked: string // the query and the parameters, as a key; '' for none yet
	ran: Ran | null
	rows: any[]
	plan: any // null while it is not there; failed: why it will not be
	wrong: Wrong | null
	busy: boolean
	charge: number // RU of all pages
}

const none: Run = { asked: '', ran: null, rows: [], plan: null, wrong: null, busy: false, charge: 0 }

export const keyOf = (query: string, params: string) => JSON.stringify([query, params])

interface Task {
	stop: AbortController
	explained: number
}

export function useRuns(p: In) {
	const all = useRef(new Map<number, Run>()),
		tasks = useRef(new Map<number, Task>()),
		[, draw] = useReducer((n: number) => n + 1, 0)
	const get = (id: number) => all.current.get(id) ?? none
	const set = (id: number, part: Partial<Run>) => {
		all.current.set(id, { ...get(id), ...part })
		draw(0 as never)
	}
	useLayoutEffect(() => () => tasks.current.forEach(t => t.stop.abort()), [])

	// attempt ends what a tab runs and runs something else: what an older run brings is dropped.
	const attempt = async (id: number, text: string, what: (signal: AbortSignal) => Promise<void>) => {
		const before = tasks.current.get(id)
		before?.stop.abort()
		const mine = { stop: new AbortController(), explained: before?.explained ?? 0 }
		tasks.current.set(id, mine)
		const current = () => tasks.current.get(id) === mine
		const timer = setTimeout(() => current() && set(id, { busy: true }), 300) // what is quick needs no button
		try {
			await what(mine.stop.signal)
		} catch (e) {
			if (!mine.stop.signal.aborted) set(id, { wrong: { text, of: problemsIn(e, text) } })
		} finally {
			clearTimeout(timer)
			if (current() && get(id).busy) set(id, { busy: false })
		}
	}
	// explain is not waited for: the rows are there, and the next page may be asked for.
	const explain = async (id: number, query: string, parameters: unknown[]) => {
		const task = tasks.current.get(id)!,
			mine = ++task.explained
		const plan = await post(own('explain'), { database: p.db, container: p.coll, query, parameters }).catch(e => ({
			failed: say(e),
		}))
		if (tasks.current.get(id) === task && mine === task.explained) set(id, { plan })
	}
	const run = (id: number, query: string, given: string, count: number) =>
		attempt(id, query, async signal => {
			const asked = keyOf(query, given),
				fault = jsonProblem(given)
			if (fault) {
				set(id, { ...none, asked, wrong: { text: given, of: [fault], inParameters: true } })
				return
			}
			set(id, { asked, wrong: null })
			try {
				const parameters = exact(given),
					began = performance.now()
				const page = await runQuery(p.db, p.coll, query, parameters, { signal, count })
				if (signal.aborted) return
				const took = performance.now() - began,
					charge = chargeOf(page)
				set(id, { ran: { ...page, query, parameters, took }, rows: page.rows, plan: null, charge })
				const { db, coll } = p
				const more = !!page.continuation
				remember({ db, coll, query, parameters: given, at: Date.now(), charge, rows: page.rows.length, more })
				explain(id, query, parameters)
			} catch (e) {
				set(id, { ran: null, rows: [] }) // rows of another query are no answer to this one
				throw e
			}
		})
	// pages reads the next page of a run, or all that are left. They belong to the query that has the pages before,
	// whatever stands in the editor by now.
	const pages = (id: number, count: number, toEnd: boolean) => {
		const of = get(id).ran!
		return attempt(id, of.query, async signal => {
			for (let from = of.continuation; from; ) {
				const began = performance.now()
				const page = await runQuery(p.db, p.coll, of.query, of.parameters, { continuation: from, signal, count })
				if (signal.aborted) return
				const was = get(id)
				set(id, {
					ran: { ...of, ...page, took: performance.now() - began },
					rows: was.rows.concat(page.rows),
					charge: was.charge + chargeOf(page),
					wrong: null,
				})
				from = toEnd ? page.continuation : null
			}
		})
	}
	return {
		get,
		run,
		pages,
		// explainAgain asks for the plan once more, as after a change of the index.
		explainAgain: (id: number) => {
			const { ran } = get(id)
			if (ran) explain(id, ran.query, ran.parameters)
		},
		cancel: (id: number) => {
			tasks.current.get(id)?.stop.abort()
			set(id, { busy: false })
		},
		drop: (id: number) => {
			tasks.current.get(id)?.stop.abort()
			tasks.current.delete(id)
			all.current.delete(id)
		},
	}
}

const chargeOf = (page: Page) => Number(page.headers.get('x-ms-request-charge')) || 0
