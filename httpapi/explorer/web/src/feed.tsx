// What changes and what expires, as it happens.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, collPath, get, ownColl, patch } from './api'
import type { In } from './container'
import { say, stamp, useData } from './state'
import { preview } from './documents'
import { Bad, Button, Empty, Panel, Table } from './ui'

const shown = 200

// follow runs step again and again until the page goes: step takes the place that the last one reached.
function useFollow(
	step: (at: string, signal: AbortSignal) => Promise<{ at: string; rows: any[] }>,
	deps: unknown[],
) {
	const [rows, setRows] = useState<any[]>([]),
		[error, setError] = useState(''),
		[paused, pause] = useState(false)
	const at = useRef('')
	useEffect(() => {
		if (paused) return
		const stop = new AbortController()
		const loop = async () => {
			while (!stop.signal.aborted) {
				try {
					const next = await step(at.current, stop.signal)
					if (stop.signal.aborted) return // another one goes on from where this one began
					at.current = next.at
					if (next.rows.length) setRows(r => next.rows.reverse().concat(r).slice(0, shown))
					setError('')
				} catch (e) {
					if (stop.signal.aborted) return
					setError(say(e))
					await new Promise(then => setTimeout(then, 3000))
				}
			}
		}
		loop()
		return () => stop.abort()
	}, [...deps, paused])
	return { rows, error, paused, pause }
}

export function FeedTab(p: In) {
	return (
		<div class="halves">
			<Changes {...p} />
			<Expired {...p} />
		</div>
	)
}

function Changes(p: In) {
	const f = useFollow(
		async (at, signal) => {
			const a = await ask('GET', `${collPath(p.db, p.coll)}/docs`, {
				signal,
				exact: true,
				headers: {
					'a-im': 'Incremental feed',
					'x-ms-max-item-count': '100',
					...(at && { 'if-none-match': at }),
				},
			})
			const rows = a.status === 304 ? [] : a.body.Documents
			if (!rows.length) await new Promise(then => setTimeout(then, 1000))
			return { at: a.headers.get('etag') ?? at, rows }
		},
		[p.db, p.coll],
	)
	return (
		<Panel
			title="Change feed"
			side={<Button do={() => f.pause(!f.paused)}>{f.paused ? 'Follow' : 'Pause'}</Button>}
		>
			<Bad text={f.error} />
			<Table
				label="Changes, the newest first"
				head={['LSN', 'Written', 'id', 'Document']}
				empty="No change yet."
				rows={f.rows.map(d => [
					<span class="num">{d._lsn}</span>,
					<span class="num">{stamp(d._ts * 1000)}</span>,
					<span class="mono">{d.id}</span>,
					<span class="mono soft cut">{preview(d, [])}</span>,
				])}
			/>
		</Panel>
	)
}

function Expired(p: In) {
	const { data, error, again } = useData<any>(() => get(ownColl(p.db, p.coll, 'settings')), [])
	if (!data) return <Bad text={error} />
	return data.expiryEvents ? (
		<ExpiredLog {...p} />
	) : (
		<Panel title="Expiry events">
			<Empty>This container keeps no log of what expires.</Empty>
			<Button
				kind="main"
				do={async () => {
					await patch(ownColl(p.db, p.coll, 'settings'), { expiryEvents: {} })
					again()
				}}
			>
				Keep a log
			</Button>
		</Panel>
	)
}

function ExpiredLog(p: In) {
	const f = useFollow(
		async (at, signal) => {
			const query = `?limit=100&wait=10${at && '&after=' + encodeURIComponent(at)}`
			const a = await ask('GET', ownColl(p.db, p.coll, 'events'), { query, signal })
			return { at: a.body.position, rows: a.body.events }
		},
		[p.db, p.coll],
	)
	return (
		<Panel
			title="Expiry events"
			side={<Button do={() => f.pause(!f.paused)}>{f.paused ? 'Follow' : 'Pause'}</Button>}
		>
			<Bad text={f.error} />
			<Table
				label="Expiries, the newest first"
				head={['Expired', 'id', 'Partition key']}
				empty="Nothing has expired yet."
				rows={f.rows.map(e => [
					<span class="num">{stamp(e.expiredAt * 1000)}</span>,
					<span class="mono">{e.id}</span>,
					<span class="mono">{JSON.stringify(e.partitionKey)}</span>,
				])}
			/>
		</Panel>
	)
}
