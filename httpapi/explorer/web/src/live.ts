// What changes on the server, as it happens: one stream of events for the whole page, which says by signals what is
// worth reading again: 'tree', 'messages', 'items' (documents of the container that is shown).
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks'
import { listen, own } from './api'
import { onSignal, tell } from './state'

const signals: Record<string, string[]> = {
	ready: ['tree', 'messages', 'items'],
	catalog: ['tree'],
	messages: ['messages'],
	items: ['items'],
}
const longestPause = 10_000 // ms between two attempts to open the stream

let live = false // the stream is open

// useLive keeps the stream open for as long as the page is seen. container is database/id, or '' for none.
export function useLive(container: string, locked: boolean) {
	useEffect(() => {
		if (locked) return
		let stop: AbortController | null = null
		const run = async (mine: AbortController) => {
			for (let pause = 500; !mine.signal.aborted; pause = Math.min(longestPause, 2 * pause)) {
				const query = container && '?container=' + encodeURIComponent(container)
				try {
					await listen(own('changes'), { query, signal: mine.signal, method: 'GET' }, event => {
						live = true
						pause = 500
						for (const signal of signals[event] ?? []) tell(signal)
					})
				} catch {
					// what a page asks for itself tells what is wrong
				}
				if (mine.signal.aborted) return
				live = false
				await new Promise(then => setTimeout(then, pause))
			}
		}
		const seen = () => {
			if (document.hidden) {
				stop?.abort()
				stop = null
				live = false
			} else if (!stop) run((stop = new AbortController()))
		}
		seen()
		document.addEventListener('visibilitychange', seen)
		return () => {
			stop?.abort()
			live = false
			document.removeEventListener('visibilitychange', seen)
		}
	}, [container, locked])
}

const quickest = 250, // ms between the end of a step and the next one
	rarely = 15_000 // ms between two steps where the stream tells what changes: another server may have changed it

interface Following {
	every: number // ms between two steps while there is no stream
	signals: string[] // they begin a step
	waits?: boolean // the first step is that of the first signal
}

// follow calls step now, at each signal, and in between, for as long as the page is seen. A signal that comes during a
// step begins another one behind it. It returns what ends it.
export function follow(step: (signal: AbortSignal) => Promise<unknown>, f: Following): () => void {
	const stop = new AbortController()
	let timer = 0,
		running = false,
		again = false,
		next = 0 // when a step may begin
	const plan = (ms: number) => {
		clearTimeout(timer)
		timer = window.setTimeout(run, ms)
	}
	const run = async () => {
		const began = performance.now()
		running = true
		again = false
		if (!document.hidden) await step(stop.signal)
		running = false
		if (stop.signal.aborted) return
		const took = performance.now() - began,
			pause = Math.max(quickest, 3 * took)
		next = performance.now() + pause
		plan(again ? pause : Math.max(live ? rarely : f.every, 20 * took))
	}
	const heard = () => {
		if (running) again = true
		else plan(Math.max(0, next - performance.now()))
	}
	const seen = () => !document.hidden && heard()
	if (f.waits) plan(rarely)
	else run()
	const ends = f.signals.map(name => onSignal(name, heard))
	document.addEventListener('visibilitychange', seen)
	return () => {
		stop.abort()
		clearTimeout(timer)
		ends.forEach(end => end())
		document.removeEventListener('visibilitychange', seen)
	}
}

// useFollow is follow for as long as a page is drawn. It begins anew where deps change, and where what it returns is
// called.
export function useFollow(step: (signal: AbortSignal) => Promise<unknown>, f: Following, deps: unknown[]) {
	const [n, again] = useReducer((n: number) => n + 1, 0)
	const latest = useRef(step)
	latest.current = step
	useLayoutEffect(() => follow(signal => latest.current(signal), f), [...deps, n])
	return () => again(0 as never)
}

// signalled returns at a signal, or after some time.
export const signalled = (name: string, ms: number) =>
	new Promise<void>(then => {
		const over = () => {
			clearTimeout(timer)
			end()
			then()
		}
		const timer = setTimeout(over, live ? ms : Math.min(ms, 1000)),
			end = onSignal(name, over)
	})
