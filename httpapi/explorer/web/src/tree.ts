// What exists on the server, as it changes.
import { useRef, useState } from 'preact/hooks'
import { dbPath, Failure, get, list, own } from './api'
import { useFollow } from './live'
import { answered, say } from './state'

export interface Entity {
	kind: string
	path: string
	active: number
	deadLetters: number
	scheduled: number
	[k: string]: any
}
export interface Tree {
	databases: { id: string; containers: string[] }[]
	entities: Entity[]
	queues: boolean // the server has queues
}

async function loadTree(): Promise<Tree> {
	const [dbs, bus] = await Promise.all([
		list('/dbs', 'Databases'),
		get(own('entities')).catch(e => {
			if (!(e instanceof Failure && e.status === 404)) throw e
			return { entities: [], none: true } // a server without queues
		}),
	])
	const databases = await Promise.all(
		dbs.map(async db => ({
			id: db.id as string,
			containers: (await list(`${dbPath(db.id)}/colls`, 'DocumentCollections')).map(
				c => c.id as string,
			),
		})),
	)
	return { databases, entities: bus.entities, queues: !bus.none }
}

const every = 4000 // milliseconds between two looks where no event tells of changes

// useTree follows what exists, and the counters of its queues and topics.
export function useTree(locked: boolean): { data: Tree | null; error: string } {
	const [state, set] = useState<{ data: Tree | null; error: string }>({ data: null, error: '' })
	const text = useRef(''),
		known = useRef<Tree | null>(null)
	const take = (data: Tree) => {
		known.current = data
		answered(true)
		const now = JSON.stringify(data)
		if (now !== text.current) set({ data, error: '' })
		else set(s => (s.error ? { ...s, error: '' } : s))
		text.current = now
	}
	const fail = (e: unknown) => {
		if (e instanceof Failure && e.status === 0) answered(false)
		set(s => ({ ...s, error: say(e) }))
	}
	useFollow(
		async signal => {
			if (locked) return
			try {
				const data = await loadTree()
				if (!signal.aborted) take(data)
			} catch (e) {
				if (!signal.aborted) fail(e)
			}
		},
		{ every, signals: ['tree'] },
		[locked],
	)
	useFollow(
		async signal => {
			if (locked || !known.current?.queues) return
			try {
				const { entities } = await get(own('entities'))
				if (!signal.aborted && known.current) take({ ...known.current, entities })
			} catch {
				// the look at everything tells
			}
		},
		{ every: 60_000, signals: ['messages'] },
		[locked],
	)
	return state
}
