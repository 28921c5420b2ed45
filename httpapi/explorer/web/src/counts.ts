// The counters of queues, topics and subscriptions, which follow what happens to messages. The tree and the pages draw
// the same ones.
import { useLayoutEffect, useReducer } from 'preact/hooks'
import { ask, entityPath, Failure } from './api'
import type { Entity } from './tree'
import { useFollow } from './live'
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

// useCounts learns the counters of all entities from the tree.
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
	useFollow(
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
		{ every: 2000, signals: ['messages'] },
		[path, moved],
	)
	return { data: known.get(keyOf(path)) ?? null, error }
}
