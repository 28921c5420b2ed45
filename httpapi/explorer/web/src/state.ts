// What all pages share: where the browser is, the server's clock, the tree, messages to the user.
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import { ask, Failure, get, own } from './api'
import { formatDuration } from './duration'

// Where the browser is: the parts of the URL behind #, unescaped. What follows a ? tells what is shown there.
export const here = () =>
	location.hash
		.slice(2)
		.split('?')[0]
		.split('/')
		.filter(Boolean)
		.map(p => {
			try {
				return decodeURIComponent(p)
			} catch {
				return p
			}
		})
// url escapes a place. Half a character, which JSON may hold and no URL, is shown as what cannot be read.
export const url = (...parts: string[]) =>
	'#/' + parts.map(p => encodeURIComponent((p as any).toWellFormed?.() ?? p)).join('/')
export const go = (...parts: string[]) => {
	location.hash = url(...parts)
}

const shown = () => new URLSearchParams(location.hash.split('?')[1] ?? '')

// useShown is a part of what is shown at a place, kept in the URL, so that links, the back button and a reload
// lead to it. set leaves a step for the back button where step is true.
export function useShown(name: string, otherwise = ''): [string, (v: string, step?: boolean) => void] {
	usePath()
	const set = (v: string, step = false) => {
		const all = shown()
		if (v === otherwise) all.delete(name)
		else all.set(name, v)
		const [place] = location.hash.split('?')
		const to = (place || '#/') + (all.size ? '?' + all : '')
		if (to === location.hash) return
		history[step ? 'pushState' : 'replaceState'](null, '', to)
		dispatchEvent(new Event('hashchange'))
	}
	return [shown().get(name) ?? otherwise, set]
}

// usePath is here(), drawn again when it changes. What listens, here and elsewhere, and what puts something into
// a field begins with the picture (useLayoutEffect): useEffect comes a frame later, and what somebody types or
// presses before that would be overwritten or missed.
export function usePath(): string[] {
	const [, again] = useReducer((n: number) => n + 1, 0)
	useLayoutEffect(() => {
		addEventListener('hashchange', again as () => void)
		return () => removeEventListener('hashchange', again as () => void)
	}, [])
	return here()
}

// Signals are told by name: 'tree' where what exists has changed, 'clock', 'data'.
const bus = new EventTarget()
export const tell = (what: string) => {
	bus.dispatchEvent(new Event(what))
}
// onSignal calls then at each signal, until what it returns is called.
export function onSignal(what: string, then: () => void) {
	bus.addEventListener(what, then)
	return () => bus.removeEventListener(what, then)
}
// tellAll tells that everything may have changed.
export const tellAll = () => ['tree', 'container', 'data', 'snapshots'].forEach(tell)

export function useSignal(what: string): number {
	const [n, again] = useReducer((n: number) => n + 1, 0)
	useLayoutEffect(() => {
		bus.addEventListener(what, again as () => void)
		return () => bus.removeEventListener(what, again as () => void)
	}, [what])
	return n
}

export interface Clock {
	now: string
	frozen: boolean
	rate: number
	virtual: boolean
	own?: boolean
}
interface Watch {
	clock: Clock | null
	at: number
	read: number
}
const watches = new Map<string, Watch>() // by database; '' is the server's
let reads = 0 // of clocks: what an older one brings late is dropped
const taken = new Map<string, number>()

// nowOf is the clock's time in milliseconds, reckoned on from when it was read last.
export function nowOf(db: string): number {
	const w = watches.get(db)
	if (!w?.clock) return Date.now()
	return w.at + (w.clock.frozen ? 0 : (performance.now() - w.read) * w.clock.rate)
}

export async function readClock(db: string): Promise<Clock> {
	const mine = ++reads
	const clock: Clock = await get(db ? own(`dbs/${encodeURIComponent(db)}/clock`) : own('clock'))
	if (mine < (taken.get(db) ?? 0)) return clock
	taken.set(db, mine)
	watches.set(db, { clock, at: Date.parse(clock.now), read: performance.now() })
	tell('clock')
	return clock
}

// clockMoved tells that a clock has been moved. What has expired by it is seen by nobody from then on; the reaper counts
// it and makes dead letters of messages a little later, and then it is told once more.
export function clockMoved() {
	tell('data')
	ask('PUT', own('clock'), { query: '?settle=true', body: { advance: '0s' } }).then(
		() => tell('data'),
		() => {
			/* the page itself tells */
		},
	)
}

// isAway tells that the server did not answer when it was asked last.
export let isAway = false
// answered is told each time. All is read again when the server is back: it may be another one, or have less.
export function answered(yes: boolean) {
	if (isAway === !yes) return
	isAway = !yes
	tell('away')
	if (yes) tellAll()
}

// useClock follows a clock: read now, on each signal of a change, and each five seconds.
export function useClock(db: string): Clock | null {
	useSignal('clock')
	const moved = useSignal('data')
	useEffect(() => {
		const read = () => {
			readClock(db).then(
				() => answered(true),
				e => answered(!(e instanceof Failure) || e.status > 0), // what it refuses the page itself tells
			)
		}
		read()
		const timer = setInterval(read, 5000)
		return () => clearInterval(timer)
	}, [db, moved])
	return watches.get(db)?.clock ?? null
}

// useTick draws again so many times a second for as long as the page is seen.
export function useTick(ms = 500) {
	const [, again] = useReducer((n: number) => n + 1, 0)
	useEffect(() => {
		const timer = setInterval(() => {
			if (!document.hidden) again(0 as never)
		}, ms)
		return () => clearInterval(timer)
	}, [ms])
}

// useData loads something and loads it again when deps change; what an older request brings is dropped.
export function useData<T>(
	load: () => Promise<T>,
	deps: unknown[],
): { data: T | null; error: string; again: () => void } {
	const [state, set] = useState<{ data: T | null; error: string }>({ data: null, error: '' })
	const [n, again] = useReducer((n: number) => n + 1, 0)
	const latest = useRef(0)
	useLayoutEffect(() => {
		// and not behind the first picture, which takes a frame
		const mine = ++latest.current
		load().then(
			data => {
				if (mine === latest.current) set({ data, error: '' })
			},
			e => {
				if (mine === latest.current) set(s => ({ ...s, error: say(e) }))
			},
		)
		return () => {
			latest.current++
		}
	}, [...deps, n])
	return { ...state, again: () => again(0 as never) }
}

// What statuses mean, for people. Where the server's own sentence says it all there is none.
const meanings: Record<number, string> = {
	401: 'The server does not take the key.',
	403: 'The server refuses this.',
	408: 'It took too long.',
	409: 'There is one like it already.',
	410: 'It has moved: try again.',
	412: 'Somebody has changed it meanwhile.',
	413: 'It is too large.',
	429: 'There are more requests than the throughput allows: try again.',
	449: 'Somebody writes it at the same time: try again.',
	503: 'The server cannot do this now: try again.',
}

// say is an error in plain words, with what the server has told.
export function say(e: unknown): string {
	if (!(e instanceof Failure) || !e.status) return String((e as Error)?.message ?? e)
	return [meanings[e.status], e.message, `(${e.status})`].filter(Boolean).join(' ')
}

export interface Action {
	word: string
	title: string // what it does
	run: () => Promise<unknown>
}
export interface Note {
	id: number
	text: string
	bad: boolean
	action?: Action
}
// noted is the note that is shown: one at a time.
export let noted: Note | null = null
let lastNote = 0
export function note(text: string, bad = false, action?: Action) {
	const id = ++lastNote
	noted = { id, text, bad, action }
	tell('notes')
	setTimeout(() => dropNote(id), action ? 30000 : bad ? 10000 : 4000)
}
export function dropNote(id: number) {
	if (noted?.id !== id) return
	noted = null
	tell('notes')
}

// doing runs what a button does and says what became of it.
export async function doing<T>(what: () => Promise<T>, done?: string): Promise<T | undefined> {
	try {
		const out = await what()
		if (done) note(done)
		return out
	} catch (e) {
		note(say(e), true)
		return undefined
	}
}

// span is a length of time for people: 29d 23h 59m 12s, 1h 59m 13s; below ten seconds with a tenth.
export const span = (seconds: number) =>
	formatDuration(Math.abs(seconds) < 10 ? Math.round(seconds * 10) / 10 : Math.trunc(seconds))

// countdown is how long something has to live yet: whole seconds end when it does.
export const countdown = (seconds: number) => span(seconds < 10 ? seconds : Math.ceil(seconds))

// stamp is a moment in UTC without its zone, for columns that say it; moment has the zone.
export const stamp = (ms: number) => new Date(ms).toISOString().replace('T', ' ').slice(0, 19)
export const moment = (ms: number) => stamp(ms) + ' UTC'
export const plural = (n: number, one: string, many = one + 's') =>
	`${n.toLocaleString('en')} ${n === 1 ? one : many}`
