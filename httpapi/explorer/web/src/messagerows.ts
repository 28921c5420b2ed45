// The messages of an entity, or its dead letters, as a list that follows what happens to them.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, entityPath } from './api'
import { useFollow } from './live'
import { say, useSignal } from './state'

const page = 100,
	followed = 500 // rows that are read again and again; where more are loaded, Reload reads them

// peek reads one page of messages from a number on.
export async function peek(path: string, of: Record<string, unknown>, signal?: AbortSignal): Promise<any[]> {
	return (await ask('POST', entityPath(path, 'peek'), { body: of, signal, exact: true })).body.messages
}

// peekUpTo reads so many messages; more reports that there may be others.
async function peekUpTo(path: string, of: Record<string, unknown>, count: number, signal?: AbortSignal) {
	const rows: any[] = []
	for (let from = 0; ; ) {
		const got = await peek(path, { ...of, from, count: page }, signal)
		rows.push(...got)
		if (!got.length) return { rows, more: false }
		if (rows.length >= count) return { rows, more: true }
		from = got[got.length - 1].sequenceNumber + 1
	}
}

export interface MessageRows {
	rows: any[]
	more: boolean
	busy: boolean // nothing has come yet
	error: string
	fresh: number // messages that have come since, and are not shown while the reader is elsewhere
	show: () => void // shows them
	reload: () => void
	loadMore: () => void
}

// useMessages follows the messages of an entity. held reports that the reader has scrolled: then rows stay where they
// are, and what is new is counted.
export function useMessages(
	path: string,
	of: { deadLetters?: boolean; session?: string },
	held: () => boolean,
): MessageRows {
	const moved = useSignal('data'),
		key = JSON.stringify([path, of])
	const [state, set] = useState<{ key: string; rows: any[]; more: boolean }>({ key: '', rows: [], more: false }),
		[error, setError] = useState(''),
		[latest, setLatest] = useState<any[] | null>(null)
	const now = useRef(state),
		text = useRef(''),
		loading = useRef(false)
	now.current = state
	const load = async (count: number, signal?: AbortSignal, keep = false) => {
		try {
			const got = await peekUpTo(path, of, count, signal)
			if (signal?.aborted) return
			setError('')
			const next = JSON.stringify(got.rows)
			if (next === text.current && now.current.key === key) return
			if (keep && now.current.key === key && held()) {
				setLatest(got.rows)
				return
			}
			text.current = next
			setLatest(null)
			set({ key, ...got })
		} catch (e) {
			if (!signal?.aborted) setError(say(e))
		}
	}
	const loaded = state.key === key ? state.rows.length : 0
	const again = useFollow(
		async signal => {
			const rows = now.current.key === key ? now.current.rows.length : 0
			if (rows <= followed) await load(Math.max(page, rows), signal, true)
		},
		{ every: 2000, signals: ['messages'] },
		[key],
	)
	useEffect(() => {
		// what this page itself has done is seen at once
		if (now.current.key === key) load(Math.max(page, Math.min(loaded, followed)))
	}, [moved])
	const show = () => {
		if (!latest) return
		text.current = JSON.stringify(latest)
		set(s => ({ ...s, rows: latest }))
		setLatest(null)
	}
	const had = new Set(state.rows.map(m => String(m.sequenceNumber)))
	return {
		rows: state.key === key ? state.rows : [],
		more: state.key === key && state.more,
		busy: state.key !== key && !error,
		error,
		fresh: latest?.filter(m => !had.has(String(m.sequenceNumber))).length ?? 0,
		show,
		reload: () => {
			setLatest(null)
			text.current = ''
			again()
			load(Math.max(page, loaded))
		},
		loadMore: async () => {
			if (loading.current || !state.more || state.key !== key || !state.rows.length) return
			loading.current = true
			try {
				const from = state.rows[state.rows.length - 1].sequenceNumber + 1,
					got = await peek(path, { ...of, from, count: page })
				set(s => (s.key === key ? { ...s, rows: s.rows.concat(got), more: got.length > 0 } : s))
			} catch (e) {
				setError(say(e))
			}
			loading.current = false
		},
	}
}
