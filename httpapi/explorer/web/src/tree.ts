// What exists on the server, read anew while the page is seen.
import { useEffect, useRef, useState } from 'preact/hooks'
import { dbPath, Failure, get, list, own } from './api'
import { answered, say, useSignal } from './state'

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

const every = 4000 // milliseconds between two looks; more where one takes long
const share = 20 // times as long as a look takes

// useTree follows what exists: on each signal of a change, and in between.
export function useTree(locked: boolean): { data: Tree | null; error: string; again: () => void } {
	const changed = useSignal('tree')
	const [state, set] = useState<{ data: Tree | null; error: string }>({ data: null, error: '' })
	const text = useRef(''),
		[n, again] = useState(0)
	useEffect(() => {
		if (locked) return
		let over = false,
			timer = 0
		const read = async () => {
			const began = performance.now()
			if (!document.hidden || !text.current)
				try {
					const data = await loadTree()
					if (over) return
					answered(true)
					const now = JSON.stringify(data)
					if (now !== text.current) set({ data, error: '' })
					else set(s => (s.error ? { ...s, error: '' } : s))
					text.current = now
				} catch (e) {
					if (over) return
					if (e instanceof Failure && e.status === 0) answered(false)
					set(s => ({ ...s, error: say(e) }))
				}
			timer = setTimeout(read, Math.max(every, (performance.now() - began) * share))
		}
		read()
		return () => {
			over = true
			clearTimeout(timer)
		}
	}, [changed, locked, n])
	return { ...state, again: () => again(n + 1) }
}
