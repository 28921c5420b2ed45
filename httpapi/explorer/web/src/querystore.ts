// What the browser keeps of queries: the tabs of a container with what stands in them, and a history of what was run.
import { useRef, useState } from 'preact/hooks'

// Draft is a tab with a query.
export interface Draft {
	id: number
	text: string
	params: string
	opened: string // the text and the parameters as they were opened or saved
	saved: string // the name of the saved query that it is, or '' for none
}

export interface Past {
	db: string
	coll: string
	query: string
	parameters: string
	at: number // ms
	charge: number // RU of the first page
	rows: number // of the first page
	more: boolean
}

const mostPasts = 100
const start = 'SELECT * FROM c'
export const noParameters = '[]'

const read = <T>(name: string, otherwise: T): T => {
	try {
		return JSON.parse(localStorage.getItem(name) ?? 'null') ?? otherwise
	} catch {
		return otherwise
	}
}
const keep = (name: string, value: unknown) => {
	try {
		localStorage.setItem(name, JSON.stringify(value))
	} catch {
		// there is no room: it is there until the page is closed
	}
}

const same = (text: string, params: string) => JSON.stringify([text, params])
export const isDirty = (d: Draft) => d.opened !== same(d.text, d.params) && d.text.trim() !== ''

const fresh = (id: number, text = start, params = noParameters, saved = ''): Draft => ({
	id,
	text,
	params,
	opened: same(text, params),
	saved,
})

interface Tabs {
	all: Draft[]
	at: number // the id of the one that is shown
}

export interface Drafts extends Tabs {
	now: Draft
	change: (part: Partial<Draft>) => void // of the one that is shown
	show: (id: number) => void
	open: (text?: string, params?: string, saved?: string) => Draft // in a tab that holds nothing of its own, or a new one
	add: () => Draft
	close: (id: number) => void
	keptAs: (name: string) => void
	forget: (name: string, now: string) => void // a saved query has another name, or none
}

// useDrafts are the tabs of a container.
export function useDrafts(of: string): Drafts {
	const name = `mayfly-queries-${of}`
	const [tabs, draw] = useState<Tabs>(() => {
		const kept = read<Tabs>(name, { all: [], at: 0 })
		return kept.all.length ? kept : { all: [fresh(1)], at: 1 }
	})
	const latest = useRef(tabs) // of several changes at once each knows the one before
	const set = (next: Tabs) => {
		latest.current = next
		keep(name, next)
		draw(next)
	}
	const add = (text?: string, params?: string, saved?: string) => {
		const { all } = latest.current,
			draft = fresh(Math.max(0, ...all.map(d => d.id)) + 1, text, params, saved)
		set({ all: [...all, draft], at: draft.id })
		return draft
	}
	const nowOf = (t: Tabs) => t.all.find(d => d.id === t.at) ?? t.all[0]
	const change = (part: Partial<Draft>) => {
		const { all, at } = latest.current
		set({ at, all: all.map(d => (d.id === at ? { ...d, ...part } : d)) })
	}
	return {
		...tabs,
		now: nowOf(tabs),
		change,
		show: at => set({ ...latest.current, at }),
		open: (text = start, params = noParameters, saved = '') => {
			const { all } = latest.current
			const there = all.find(d => d.text === text && d.params === params && (!saved || d.saved === saved))
			if (there) {
				set({ all, at: there.id })
				return there
			}
			const now = nowOf(latest.current)
			if (isDirty(now) || now.saved) return add(text, params, saved)
			change(fresh(now.id, text, params, saved))
			return nowOf(latest.current)
		},
		add: () => add(),
		close: id => {
			const { all, at } = latest.current,
				i = all.findIndex(d => d.id === id),
				left = all.filter(d => d.id !== id)
			if (!left.length) left.push(fresh(id + 1))
			set({ all: left, at: at === id ? left[Math.min(i, left.length - 1)].id : at })
		},
		keptAs: saved => {
			const { text, params } = nowOf(latest.current)
			change({ saved, opened: same(text, params) })
		},
		forget: (was, now) => {
			const { all, at } = latest.current
			set({ at, all: all.map(d => (d.saved === was ? { ...d, saved: now } : d)) })
		},
	}
}

const history = 'mayfly-query-history'

export const pasts = (db: string, coll: string) =>
	read<Past[]>(history, []).filter(p => p.db === db && p.coll === coll)

// remember puts a run at the head of the history. A query that is run again has its newest run there alone.
export function remember(past: Past) {
	const same = (p: Past) =>
		p.db === past.db && p.coll === past.coll && p.query === past.query && p.parameters === past.parameters
	const all = [past, ...read<Past[]>(history, []).filter(p => !same(p))],
		here = all.filter(p => p.db === past.db && p.coll === past.coll)
	const last = here[mostPasts]
	keep(
		history,
		all.filter(p => p !== last).slice(0, 20 * mostPasts),
	)
}

export const forgetPasts = (db: string, coll: string) =>
	keep(
		history,
		read<Past[]>(history, []).filter(p => p.db !== db || p.coll !== coll),
	)
