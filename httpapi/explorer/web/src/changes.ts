// What is written to a container while a page shows it.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, collPath, Failure } from './api'
import { answered } from './state'

const every = 1500 // milliseconds between two looks at the change feed
const rest = 5000 // behind a failure, and between two looks at how many documents there are
const page = 100

export interface Changes {
	written: number // documents that were written since the page was up to date
	removed: boolean // some were deleted, or have expired
	version: number // it grows with each change
	seen: () => void // the page is up to date again
}

// useChanges follows a container from now on, by its change feed, for as long as the page is seen. Deletes and
// expiries are found by the number of documents. A list reads itself anew when version grows, or offers to,
// where the reader has scrolled.
export function useChanges(db: string, coll: string): Changes {
	const [state, set] = useState({ written: 0, removed: false, version: 0 })
	const count = useRef<number | null>(null)
	useEffect(() => {
		const stop = new AbortController()
		count.current = null
		follow(db, coll, stop.signal, (written, total) => {
			const was = count.current
			if (total !== null) count.current = total
			const removed = was !== null && total !== null && total < was + written
			if (written || (was !== null && total !== null && total !== was))
				set(s => ({ written: s.written + written, removed: s.removed || removed, version: s.version + 1 }))
		})
		return () => stop.abort()
	}, [db, coll])
	return { ...state, seen: () => set(s => (s.written || s.removed ? { ...s, written: 0, removed: false } : s)) }
}

const pause = (ms: number, signal: AbortSignal) =>
	new Promise<void>(then => {
		const timer = setTimeout(then, ms)
		signal.addEventListener('abort', () => (clearTimeout(timer), then()), { once: true })
	})

async function follow(
	db: string,
	coll: string,
	signal: AbortSignal,
	tell: (written: number, total: number | null) => void,
) {
	let at = '*', // from now on
		counted = 0
	while (!signal.aborted) {
		if (document.hidden) {
			await pause(every, signal)
			continue
		}
		try {
			const feed = await ask('GET', `${collPath(db, coll)}/docs`, {
				signal,
				headers: { 'a-im': 'Incremental feed', 'x-ms-max-item-count': String(page), 'if-none-match': at },
			})
			at = feed.headers.get('etag') ?? at
			const written: number = feed.status === 304 ? 0 : feed.body.Documents.length
			let total: number | null = null
			if (written || performance.now() - counted > rest) {
				total = await documentsIn(db, coll, signal)
				counted = performance.now()
			}
			if (signal.aborted) return
			answered(true)
			tell(written, total)
			if (written < page) await pause(every, signal)
		} catch (e) {
			if (signal.aborted) return
			if (e instanceof Failure && e.status === 0) answered(false)
			else at = '*' // the container was restored, or made anew
			await pause(rest, signal)
		}
	}
}

// documentsIn is how many documents a container has by its quota; null where the server does not say.
async function documentsIn(db: string, coll: string, signal: AbortSignal): Promise<number | null> {
	const a = await ask('GET', collPath(db, coll), {
		signal,
		headers: { 'x-ms-documentdb-populatequotainfo': 'True' },
	})
	const n = /documentsCount=(\d+)/.exec(a.headers.get('x-ms-resource-usage') ?? '')
	return n ? Number(n[1]) : null
}
