// The counters of queues, topics and subscriptions, read again and again for as long as the page is seen. The tree and
// the pages draw the same ones.
import { useLayoutEffect, useReducer } from 'preact/hooks'
import { ask, entityPath, Failure } from './api'
import type { Entity } from './tree'
import { say, useSignal, tell } from './state'

const known = new Map<string, Entity>()
const keyOf = (path: string) => path.toLowerCase()
const signalOf = (path: string) => `count ${keyOf(path)}`

// learn takes what the server has told of entities, and tells of those that have changed.
export function learn(list: Entity[]) {
	for (const e of list) {
		const key = keyOf(e.path),
			was = known.get(key)
		known.set(key, e)
		if (!was || counters(was) !== counters(e)) tell(signalOf(e.path))
	}
}

const counters = (e: Entity) => `${e.active} ${e.scheduled} ${e.deadLetters} ${e.bytes}`

// useCount is an entity with the counters that were read last.
export function useCount(e: Entity): Entity {
	useSignal(signalOf(e.path))
	return known.get(keyOf(e.path)) ?? e
}

// usePolling calls step now, and again each so many ms for as long as the page is seen: less often where step itself
// takes long. again calls it at once. A step that is overtaken by another one is told by its signal.
export function usePolling(step: (signal: AbortSignal) => Promise<unknown>, every: number, deps: unknown[]) {
	const [n, again] = useReducer((n: number) => n + 1, 0)
	useLayoutEffect(() => {
		const stop = new AbortController()
		let timer = 0
		const run = async () => {
			const began = performance.now()
			if (!document.hidden) await step(stop.signal)
			if (!stop.signal.aborted)
				timer = window.setTimeout(run, Math.max(every, 10 * (performance.now() - began)))
		}
		const seen = () => {
			if (document.hidden) return
			clearTimeout(timer)
			run()
		}
		run()
		document.addEventListener('visibilitychange', seen)
		return () => {
			stop.abort()
			clearTimeout(timer)
			document.removeEventListener('visibilitychange', seen)
		}
	}, [...deps, n])
	return () => again(0 as never)
}

// useCounts learns the counters of all entities from the tree, which is read again and again.
export function useCounts(list: Entity[] | undefined) {
	useLayoutEffect(() => {
		if (list) learn(list)
	}, [list])
}

// useEntity follows one entity. It is read again at once when data has changed.
export function useEntity(path: string): { data: Entity | null; error: string } {
	const moved = useSignal('data')
	useSignal(signalOf(path))
	const [error, setError] = useReducer((_: string, to: string) => to, '')
	const [, drawn] = useReducer((n: number) => n + 1, 0)
	usePolling(
		async signal => {
			try {
				const e = (await ask('GET', entityPath(path), { signal })).body
				if (signal.aborted) return
				learn([e])
				drawn(0 as never)
				setError('')
			} catch (x) {
				if (signal.aborted) return
				if (x instanceof Failure && x.status === 404) known.delete(keyOf(path))
				setError(say(x))
			}
		},
		2000,
		[path, moved],
	)
	return { data: known.get(keyOf(path)) ?? null, error }
}
