// What changes and what expires, as it happens.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, collPath, get, ownColl, partitionKey, patch } from './api'
import type { In } from './container'
import { preview } from './documentcells'
import { signalled } from './live'
import { Loading } from './loading'
import { plural, say, stamp, url, useData } from './state'
import { pretty } from './text'
import { Bad, Button, Choice, Empty, Panel, Text } from './ui'

const shown = 500

// useFeed runs step again and again until the page goes: step takes the place that the last one reached. It begins
// anew where deps change.
function useFeed(
	step: (at: string, signal: AbortSignal) => Promise<{ at: string; rows: any[] }>,
	deps: unknown[],
) {
	const [state, set] = useState<{ rows: any[]; ready: boolean }>({ rows: [], ready: false }),
		[error, setError] = useState(''),
		[paused, pause] = useState(false)
	const at = useRef(''),
		of = useRef('')
	useEffect(() => {
		if (paused) return
		const now = JSON.stringify(deps)
		if (of.current !== now) {
			of.current = now
			at.current = ''
			set({ rows: [], ready: false })
		}
		const stop = new AbortController()
		const loop = async () => {
			while (!stop.signal.aborted) {
				try {
					const next = await step(at.current, stop.signal)
					if (stop.signal.aborted) return // another one goes on from where this one began
					at.current = next.at
					set(s =>
						next.rows.length || !s.ready
							? { rows: next.rows.reverse().concat(s.rows).slice(0, shown), ready: true }
							: s,
					)
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
	return { ...state, error, paused, pause }
}

export function FeedTab(p: In) {
	const settings = useData<any>(() => get(ownColl(p.db, p.coll, 'settings')), [])
	const on = !!settings.data?.expiryEvents
	return (
		<>
			<div class={on ? 'halves' : 'feed'}>
				<Changes {...p} />
				{on && <ExpiredLog {...p} />}
			</div>
			<Bad text={settings.error} />
			{settings.data && !on && (
				<div class="row">
					<span class="soft">This container keeps no log of expired documents.</span>
					<Button
						do={async () => {
							await patch(ownColl(p.db, p.coll, 'settings'), { expiryEvents: {} })
							settings.again()
						}}
					>
						Keep a log
					</Button>
				</div>
			)}
		</>
	)
}

// startOf is the header that a feed begins with.
function startOf(from: string, time: string): Record<string, string> {
	if (from === 'now') return { 'if-none-match': '*' }
	const ms = from === 'time' ? Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(time) ? time : time + 'Z') : NaN
	return Number.isNaN(ms) ? {} : { 'if-modified-since': new Date(ms).toUTCString() }
}

function Changes(p: In) {
	const [from, setFrom] = useState('start'),
		[time, setTime] = useState(''),
		[filter, setFilter] = useState(''),
		[open, setOpen] = useState<any>(null)
	const wrong =
		from === 'time' && Number.isNaN(Date.parse(time + (/[zZ]$/.test(time) ? '' : 'Z'))) ? 'such as 2030-01-01T00:00' : ''
	const start = from === 'time' && wrong ? 'start' : from
	const f = useFeed(
		async (at, signal) => {
			const a = await ask('GET', `${collPath(p.db, p.coll)}/docs`, {
				signal,
				exact: true,
				headers: {
					'a-im': 'Incremental feed',
					'x-ms-max-item-count': '100',
					...(at ? { 'if-none-match': at } : startOf(start, time)),
				},
			})
			const rows = a.status === 304 ? [] : a.body.Documents
			if (!rows.length) await signalled('items', 10_000)
			return { at: a.headers.get('etag') ?? at, rows }
		},
		[p.db, p.coll, start, start === 'time' ? time : ''],
	)
	const rows = filter
		? f.rows.filter(d => JSON.stringify(d).toLowerCase().includes(filter.toLowerCase()))
		: f.rows
	return (
		<Panel
			title="Change feed"
			side={<Button do={() => f.pause(!f.paused)}>{f.paused ? 'Follow' : 'Pause'}</Button>}
		>
			<div class="fields">
				<Choice
					label="Start"
					value={from}
					set={setFrom}
					of={[
						['start', 'Beginning'],
						['now', 'Now'],
						['time', 'A time (UTC)'],
					]}
				/>
				{from === 'time' && (
					<Text label="Start time (UTC)" value={time} set={setTime} bad={wrong} placeholder="2030-01-01T00:00" mono />
				)}
				<Text label="Filter" type="search" value={filter} set={setFilter} placeholder="text in the document" />
			</div>
			<Bad text={f.error} />
			<Live
				label="Changes, the newest first"
				head={['LSN', 'Written (UTC)', 'id', 'Document']}
				ready={f.ready || !!f.error}
				nothing={filter && f.rows.length ? 'No change matches the filter.' : 'No change yet. New ones appear here.'}
				rows={rows}
				keyOf={d => `${d._rid} ${d._lsn}`}
				cells={d => [
					<span class="num">{d._lsn}</span>,
					<span class="num">{stamp(d._ts * 1000)}</span>,
					<button type="button" class="btn quiet mono" aria-pressed={open === d} onClick={() => setOpen(open === d ? null : d)}>
						{d.id}
					</button>,
					<span class="mono soft cut">{preview(d, [])}</span>,
				]}
			/>
			{open && (
				<section class="opened" aria-label={`Change ${open._lsn}`}>
					<div class="row">
						<h3 class="grow">
							{open.id}, LSN {open._lsn}
						</h3>
						<a
							href={url(
								'db',
								p.db,
								p.coll,
								'documents',
								open.id,
								...partitionKey(open, p.of.partitionKey.paths).map(k => JSON.stringify(k)),
							)}
						>
							Open document
						</a>
						<Button do={() => setOpen(null)}>Close</Button>
					</div>
					<pre class="json" tabIndex={0}>
						{pretty(JSON.stringify(open))}
					</pre>
				</section>
			)}
			<p class="soft">{plural(rows.length, 'change')} shown, at most {shown}.</p>
		</Panel>
	)
}

function ExpiredLog(p: In) {
	const f = useFeed(
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
			<Live
				label="Expiries, the newest first"
				head={['Expired (UTC)', 'id', 'Partition key']}
				ready
				nothing="Nothing has expired yet. Expiries appear here."
				rows={f.rows}
				keyOf={e => JSON.stringify([e.id, e.partitionKey, e.expiredAt])}
				cells={e => [
					<span class="num">{stamp(e.expiredAt * 1000)}</span>,
					<span class="mono">{e.id}</span>,
					<span class="mono">{JSON.stringify(e.partitionKey)}</span>,
				]}
			/>
		</Panel>
	)
}

// Live is a table that grows at its top. Where the reader has scrolled down it stands still, and says how many are new.
function Live(p: {
	label: string
	head: string[]
	rows: any[]
	ready: boolean
	nothing: string
	keyOf: (row: any) => string
	cells: (row: any) => any[]
}) {
	const ref = useRef<HTMLDivElement>(null),
		[held, hold] = useState<any[] | null>(null)
	if (!p.ready) return <Loading />
	if (!p.rows.length) return <Empty>{p.nothing}</Empty>
	const rows = held?.length && p.rows.includes(held[0]) ? held : p.rows
	const fresh = p.rows.indexOf(rows[0])
	return (
		<div class="live">
			{fresh > 0 && (
				<button
					type="button"
					class="btn main fresh"
					onClick={() => {
						hold(null)
						ref.current!.scrollTop = 0
					}}
				>
					{fresh} new
				</button>
			)}
			<div
				class="scroll"
				tabIndex={0}
				role="region"
				aria-label={p.label}
				ref={ref}
				onScroll={e => {
					const down = (e.target as HTMLElement).scrollTop > 4
					if (down !== !!held) hold(down ? p.rows : null)
				}}
			>
				<table>
					<thead>
						<tr>
							{p.head.map(h => (
								<th scope="col">{h}</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.map(r => (
							<tr key={p.keyOf(r)}>
								{p.cells(r).map(c => (
									<td>{c}</td>
								))}
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</div>
	)
}
