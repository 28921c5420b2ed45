// A request with what was sent and what came back, and what can be made of it.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { exact, get, own, post } from './api'
import { copyText } from './menu'
import { Plan } from './plan'
import { statusText, subject, type LoggedRequest, type Operation } from './requestlog'
import { note, stamp, url, useData } from './state'
import { pretty } from './text'
import { Bad, Button, Table } from './ui'

interface Header {
	name: string
	value: string
}
interface Body {
	text?: string
	base64?: string
	cut?: boolean
}
interface Details extends LoggedRequest {
	requestHeaders: Header[]
	requestBody?: Body
	responseHeaders: Header[]
	responseBody?: Body
	message?: Record<string, any>
}
interface Query {
	query: string
	parameters?: unknown[]
}

// queryOf is the query that a request asked for, if it did.
function queryOf(d: Details): Query | null {
	if (!d.container || !/^query_items$|^query_plan$/.test(d.operation ?? '') || d.requestBody?.cut) return null
	const text = d.requestBody?.text ?? ''
	try {
		const body = exact(text)
		return typeof body.query === 'string' ? body : null
	} catch {
		return null // application/sql is the text alone
	}
}

const unsent = new Set([
	'authorization',
	'x-ms-date',
	'host',
	'connection',
	'content-length',
	'accept-encoding',
	'x-mayfly-explorer',
])
const quoted = (text: string) => `'${text.replace(/'/g, `'\\''`)}'`

// curlOf is the command that sends the same request with the key of the variable MAYFLY_KEY.
function curlOf(d: Details): string {
	const lines = [`curl -X ${d.method} ${quoted(location.origin + '/' + d.path.replace(/^\/+/, ''))}`]
	lines.push(`-H "Authorization: Bearer $MAYFLY_KEY"`)
	for (const h of d.requestHeaders)
		if (!unsent.has(h.name.toLowerCase())) lines.push(`-H ${quoted(`${h.name.toLowerCase()}: ${h.value}`)}`)
	if (d.requestBody?.text) lines.push(`--data-raw ${quoted(d.requestBody.text)}`)
	return lines.join(' \\\n  ')
}

// faultOf leads to a new fault for the same operation.
function faultOf(r: LoggedRequest): string {
	const query = new URLSearchParams()
	if (r.faultOperation) query.set('operations', r.faultOperation)
	if (r.entity) query.set('entity', r.entity)
	if (r.database) query.set('database', r.database)
	if (r.database && r.container) query.set('container', r.container)
	return url('faults') + '?' + query
}

function Exchange(p: { title: string; headers: Header[]; body?: Body }) {
	const text = p.body?.text ?? p.body?.base64
	return (
		<section>
			<h3>{p.title}</h3>
			{p.headers.length > 0 && (
				<Table
					label={`${p.title}: headers`}
					head={['Header', 'Value']}
					rows={p.headers.map(h => [
						<span class="mono">{h.name}</span>,
						<span class="mono wrap">{h.value}</span>,
					])}
				/>
			)}
			{text && (
				<pre class="json" tabIndex={0}>
					{/^\s*[{[]/.test(text) && p.body!.text ? pretty(text) : text}
				</pre>
			)}
			{p.body?.cut && <p class="soft">The body was longer than what the log keeps.</p>}
			{!text && !p.headers.length && <p class="soft">Nothing.</p>}
		</section>
	)
}

// QueryPlan shows the plan of a query, when somebody asks for it: it runs the query once more.
function QueryPlan(p: { of: Details; query: Query }) {
	const [plan, set] = useState<any>(null)
	return (
		<section>
			<h3>Plan</h3>
			{plan ? (
				<Plan of={plan} />
			) : (
				<Button
					do={async () =>
						set(
							await post(own('explain'), {
								database: p.of.database,
								container: p.of.container,
								query: p.query.query,
								parameters: p.query.parameters ?? [],
							}),
						)
					}
				>
					Run it for its plan
				</Button>
			)}
		</section>
	)
}

// metricsOf are the metrics that came with a page of a query.
const metricsOf = (d: Details) =>
	(d.responseHeaders.find(h => h.name.toLowerCase() === 'x-ms-documentdb-query-metrics')?.value ?? '')
		.split(';')
		.filter(Boolean)
		.map(part => part.split('='))

export function RequestPanel(p: { of: Operation; close: () => void }) {
	const [id, show] = useState(p.of.last.id)
	const { data, error } = useData<Details>(() => get(own('requests/' + id)), [id])
	const head = useRef<HTMLHeadingElement>(null)
	useLayoutEffect(() => head.current?.focus(), [])
	const r = p.of.attempts.find(a => a.id === id) ?? p.of.last
	const query = data && queryOf(data)
	const facts: [string, string | undefined][] = [
		['Status', [statusText(r), r.condition].filter(Boolean).join(' ')],
		['Took', `${r.ms} ms`],
		['Charge', r.charge ? `${r.charge} RU` : undefined],
		['Time', stamp(Date.parse(r.time))],
		['Data clock', stamp(Date.parse(r.dataTime))],
		['Partition key', r.partitionKey],
		['Client', r.client],
		['Activity id', r.activityId],
		['Query', r.correlatedId],
	]
	return (
		<section class="panel doc request" aria-label={`Request ${id}`}>
			<header>
				<h2 tabIndex={-1} ref={head}>
					{r.operation || r.method} {subject(r)}
				</h2>
				<div class="row">
					<Button do={p.close}>Close</Button>
				</div>
			</header>
			<p class="mono wrap">
				{r.method} {r.path}
			</p>
			<dl class="facts">
				{facts.map(
					([name, value]) =>
						value && (
							<>
								<dt>{name}</dt>
								<dd class="mono wrap">{value}</dd>
							</>
						),
				)}
				{r.fault && (
					<>
						<dt>Fault</dt>
						<dd>
							<a href={url('faults')}>{r.fault}</a>
						</dd>
					</>
				)}
			</dl>
			{p.of.attempts.length > 1 && (
				<div class="row wrap" role="group" aria-label="Attempts">
					{p.of.attempts.map((a, i) => (
						<button type="button" class="btn" aria-pressed={a.id === id} onClick={() => show(a.id)}>
							{i + 1}: {statusText(a)}
						</button>
					))}
				</div>
			)}
			<div class="row wrap">
				{r.faultOperation && (
					<a class="btn" href={faultOf(r)}>
						Make a fault of this
					</a>
				)}
				{query && (
					<a
						class="btn"
						href={`${url('db', r.database!, r.container!, 'query')}?${new URLSearchParams({
							query: query.query,
							...(query.parameters?.length ? { parameters: JSON.stringify(query.parameters) } : {}),
						})}`}
					>
						Run this query
					</a>
				)}
				{data && r.protocol === 'http' && (
					<Button
						do={async () => {
							await copyText(curlOf(data))
							note('The command is copied. It takes the key from MAYFLY_KEY.')
						}}
					>
						Copy as curl
					</Button>
				)}
			</div>
			<Bad text={error} />
			{data && query && <QueryPlan of={data} query={query} />}
			{data && metricsOf(data).length > 0 && (
				<section>
					<h3>Query metrics</h3>
					<Table label="Query metrics" head={['Metric', 'Value']} rows={metricsOf(data)} />
				</section>
			)}
			{data?.message && (
				<section>
					<h3>Message</h3>
					<pre class="json" tabIndex={0}>
						{JSON.stringify(data.message, null, 2)}
					</pre>
				</section>
			)}
			{data && !data.message && (
				<>
					<Exchange title="Sent" headers={data.requestHeaders} body={data.requestBody} />
					<Exchange title="Came back" headers={data.responseHeaders} body={data.responseBody} />
				</>
			)}
		</section>
	)
}
