// The page of the log of requests: what clients sent, what came back, and what it cost.
import { useMemo, useRef, useState } from 'preact/hooks'
import { ask, own, remove } from './api'
import { Grid, type GridColumn } from './grid'
import { RequestPanel } from './requestpanel'
import { folded, isFailed, statusText, subject, useRequestLog, type Operation } from './requestlog'
import './requests.css'
import { note, plural, useShown } from './state'
import { Bad, Button, Check, Choice, Confirm, Empty, Text } from './ui'
import { wrongCount } from './valid'

const protocols: [string, string][] = [
	['', 'Any'],
	['http', 'HTTP'],
	['direct', 'Direct mode'],
	['amqp', 'AMQP'],
]
const statuses: [string, string][] = [
	['', 'Any'],
	['failed', 'Failed'],
	['2xx', '2xx'],
	['4xx', '4xx'],
	['429', '429: too many requests'],
	['410', '410: gone'],
	['449', '449: retry with'],
	['5xx', '5xx'],
]

const number = (n: number, digits: number) =>
	n.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })

const columns: GridColumn<Operation>[] = [
	{ name: 'time', label: 'Time', width: 124, value: o => o.last.time.slice(11, 23).replace('Z', '') },
	{
		name: 'status',
		label: 'Status',
		width: 110,
		value: o => statusText(o.last),
		cell: o => (
			<>
				<span class={`tag ${isFailed(o.last) ? 'dead' : ''}`}>{statusText(o.last)}</span>
				{o.attempts.length > 1 && (
					<span class="attempts" title={plural(o.attempts.length, 'attempt')}>
						×{o.attempts.length}
					</span>
				)}
			</>
		),
	},
	{ name: 'subject', label: 'Resource', value: o => subject(o.last), class: 'mono' },
	{ name: 'operation', label: 'Operation', width: 160, value: o => o.last.operation || o.last.method },
	{ name: 'ms', label: 'ms', width: 80, class: 'num', value: o => number(o.last.ms, 1) },
	{
		name: 'charge',
		label: 'RU',
		width: 80,
		class: 'num',
		value: o => (o.last.charge ? number(o.last.charge, 2) : ''),
	},
	{ name: 'fault', label: 'Fault', width: 70, value: o => o.last.fault ?? '' },
	{ name: 'protocol', label: 'Protocol', width: 90, value: o => o.last.protocol },
	{ name: 'key', label: 'Partition key', width: 140, hidden: true, value: o => o.last.partitionKey ?? '' },
	{ name: 'client', label: 'Client', width: 220, hidden: true, value: o => o.last.client ?? '' },
	{ name: 'method', label: 'Method', width: 90, hidden: true, value: o => o.last.method },
	{ name: 'in', label: 'Bytes in', width: 90, hidden: true, class: 'num', value: o => o.last.bytesIn },
	{ name: 'out', label: 'Bytes out', width: 90, hidden: true, class: 'num', value: o => o.last.bytesOut },
	{ name: 'activity', label: 'Activity id', width: 290, hidden: true, value: o => o.last.activityId ?? '' },
]

// save lets the browser keep a text as a file.
function save(name: string, text: string) {
	const a = document.createElement('a')
	a.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
	a.download = name
	a.click()
	URL.revokeObjectURL(a.href)
}

export default function RequestsPage() {
	const [protocol, setProtocol] = useShown('protocol'),
		[status, setStatus] = useShown('status'),
		[container, setContainer] = useShown('container'),
		[text, setText] = useShown('text'),
		[took, setTook] = useShown('took'),
		[explorer, setExplorer] = useShown('explorer')
	const [paused, pause] = useState(false),
		[open, setOpen] = useState<Operation | null>(null),
		[away, setAway] = useState(false) // somebody has scrolled: what comes waits, so that nothing moves
	const grid = useRef<HTMLDivElement>(null),
		frozen = useRef(0) // the newest request that was shown before
	const filter = useMemo(() => {
		const query = new URLSearchParams()
		const of = { protocol, status, container, text, explorer }
		for (const [name, value] of Object.entries(of)) if (value) query.set(name, value)
		if (took && !wrongCount(took, 0)) query.set('minMs', took)
		return query.toString()
	}, [protocol, status, container, text, took, explorer])
	const log = useRequestLog(filter, paused)
	const all = log.list ?? []
	const newest = all.length ? all[all.length - 1].id : 0
	if (!away) frozen.current = newest
	const until = frozen.current
	const shown = useMemo(() => folded(all.filter(r => r.id <= until)), [log.list, until])
	const come = all.filter(r => r.id > until).length
	const top = () => {
		grid.current?.scrollTo({ top: 0 })
		setAway(false)
	}
	const opened = open && (shown.find(o => o.last.first === open.last.first) ?? open)
	return (
		<>
			<header class="page-head">
				<h1>Requests</h1>
				<div class="row">
					<Button do={() => pause(!paused)}>{paused ? 'Follow' : 'Pause'}</Button>
					<Button
						do={async () => {
							const { text } = await ask('GET', own('requests.har'), { query: '?' + filter })
							save('requests.har', text)
							note('The archive is saved as requests.har.')
						}}
					>
						Download HAR
					</Button>
					<Confirm
						word="Clear"
						what="This deletes all requests in the log."
						do={async () => {
							await remove(own('requests'))
							setOpen(null)
							log.clear()
						}}
					/>
				</div>
			</header>
			<Bad text={log.error} />
			<div class="fields request-filters">
				<Choice label="Protocol" value={protocol} set={setProtocol} of={protocols} />
				<Choice label="Status" value={status} set={setStatus} of={statuses} />
				<Text label="Container" value={container} set={setContainer} placeholder="database/container" />
				<Text label="Text" value={text} set={setText} placeholder="id, path, client, body" />
				<Text label="Took at least (ms)" value={took} set={setTook} bad={wrongCount(took, 0)} />
				<Check value={explorer === 'true'} set={on => setExplorer(on ? 'true' : '')}>
					Requests of the explorer
				</Check>
			</div>
			<p class="request-news" role="status">
				{come > 0 ? (
					<button type="button" class="btn" onClick={top}>
						{come} new
					</button>
				) : (
					<span class="soft">
						{paused ? 'Paused.' : 'Live.'}
						{log.lost ? ' Some requests came faster than they could be shown.' : ''}
					</span>
				)}
			</p>
			<div class={`documents requests ${opened ? 'two' : ''}`}>
				<div
					class="list"
					onScrollCapture={e => {
						if (e.target === grid.current) setAway((e.target as Element).scrollTop > 0)
					}}
				>
					<Grid
						label="Requests, the newest first"
						kept="requests"
						columns={columns}
						rows={shown}
						keyOf={o => String(o.last.first)}
						place={filter}
						open={o => setOpen(o)}
						opened={opened ? String(opened.last.first) : undefined}
						busy={!log.list && !log.error}
						at={grid}
						empty={
							<Empty>
								No requests yet. Send one with an SDK or with <code>curl</code>: it appears here.
							</Empty>
						}
					/>
				</div>
				{opened && (
					<RequestPanel
						key={opened.last.id}
						of={opened}
						close={() => {
							setOpen(null)
							grid.current?.focus()
						}}
					/>
				)}
			</div>
		</>
	)
}
