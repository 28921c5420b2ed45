// The log of requests as it grows: what is shown, what has come since somebody scrolled away, and the attempts of one
// operation together.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, own } from './api'
import { say } from './state'

export interface LoggedRequest {
	id: number
	time: string
	dataTime: string
	protocol: string
	method: string
	path: string
	operation?: string
	faultOperation?: string
	database?: string
	container?: string
	item?: string
	entity?: string
	partitionKey?: string
	status: number
	substatus?: number
	condition?: string
	charge: number
	ms: number
	bytesIn: number
	bytesOut: number
	client?: string
	version?: string
	activityId?: string
	correlatedId?: string
	fault?: string
	attempt: number
	first: number
	explorer?: boolean
}

// Operation is the last attempt of an operation, with those before it.
export interface Operation {
	last: LoggedRequest
	attempts: LoggedRequest[] // all of them, the first one first
}

const most = 5000 // that are kept in the browser

// folded puts the attempts of one operation together, the newest operation first.
export function folded(list: LoggedRequest[]): Operation[] {
	const groups = new Map<number, Operation>()
	for (const r of list) {
		const known = groups.get(r.first)
		if (known) {
			known.attempts.push(r)
			known.last = r
		} else groups.set(r.first, { last: r, attempts: [r] })
	}
	return [...groups.values()].sort((a, b) => b.last.id - a.last.id)
}

// useRequestLog reads the log from its latest part on, and goes on until the page goes. Another filter begins anew.
export function useRequestLog(filter: string, paused: boolean) {
	const [list, setList] = useState<LoggedRequest[] | null>(null),
		[error, setError] = useState(''),
		[lost, setLost] = useState(false)
	const at = useRef(0),
		of = useRef('')
	useEffect(() => {
		if (of.current !== filter) {
			of.current = filter
			at.current = 0
			setList(null)
			setLost(false)
		}
		if (paused) return
		const stop = new AbortController()
		const read = async (wait: boolean) => {
			const query = new URLSearchParams(filter)
			query.set('limit', '1000')
			if (at.current) query.set('after', String(at.current))
			if (wait) query.set('wait', '20')
			const { body } = await ask('GET', own('requests'), { query: '?' + query, signal: stop.signal })
			if (stop.signal.aborted) return
			at.current = body.position
			setList(all => (all ?? []).concat(body.requests).slice(-most))
			if (body.lost) setLost(true)
			setError('')
		}
		const loop = async () => {
			for (let wait = at.current > 0; !stop.signal.aborted; wait = true)
				try {
					await read(wait)
				} catch (e) {
					if (stop.signal.aborted) return
					setError(say(e))
					await new Promise(then => setTimeout(then, 3000))
				}
		}
		loop()
		return () => stop.abort()
	}, [filter, paused])
	return { list, error, lost, clear: () => setList([]) }
}

// subject is what a request was about.
export function subject(r: LoggedRequest): string {
	if (r.entity) return r.entity
	if (r.container) return [r.database, r.container, r.item].filter(Boolean).join('/')
	return r.database || r.path
}

export const statusText = (r: LoggedRequest) =>
	r.status ? `${r.status}${r.substatus ? '/' + r.substatus : ''}` : 'no answer'

export const isFailed = (r: LoggedRequest) => !r.status || r.status >= 400
