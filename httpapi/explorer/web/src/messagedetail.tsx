// One message: its body, its properties, what becomes of it.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Left } from './messages'
import { copyText } from './menu'
import { bodyText, stateText, typeWords, valueText, viewsOf, type BodyView } from './messagetext'
import { note, span, stamp } from './state'
import { Button, Panel } from './ui'

const viewWords: Record<BodyView, string> = { json: 'JSON', text: 'Text', hex: 'Hex' }

// reasonOf is why a message was dead-lettered, and in more words.
export const reasonOf = (m: any): [string, string] => [
	String(m.properties?.DeadLetterReason ?? ''),
	String(m.properties?.DeadLetterErrorDescription ?? ''),
]

export function MessageDetail(p: { of: any; side?: ComponentChildren }) {
	const m = p.of,
		[reason, description] = reasonOf(m)
	const facts: [string, ComponentChildren][] = [
		['Message id', <span class="mono">{m.id}</span>],
		['State', stateText(m)],
		['Delivery count', m.deliveryCount],
		['Expires in', <Left of={m} />],
	]
	return (
		<Panel title={`Message ${m.sequenceNumber}`} class="message" side={p.side}>
			<dl class="facts-row">
				{facts.map(([name, value]) => (
					<div>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
			</dl>
			{(reason || description) && (
				<p class="reason">
					<b>{reason}</b> {description}
				</p>
			)}
			<p class="soft">{m.life.why}</p>
			<Body of={m} />
			<Properties of={m} />
		</Panel>
	)
}

function Body(p: { of: any }) {
	const views = viewsOf(p.of),
		[chosen, choose] = useState<BodyView | ''>('')
	const view = chosen && views.includes(chosen) ? chosen : views[0]
	const text = bodyText(p.of, view)
	return (
		<div class="message-body">
			<div class="bar">
				<h3>Body</h3>
				<div class="seg" role="group" aria-label="Show the body as">
					{views.map(v => (
						<button type="button" aria-pressed={v === view} onClick={() => choose(v)}>
							{viewWords[v]}
						</button>
					))}
				</div>
				<Button
					do={async () => {
						await copyText(text)
						note('Body copied.')
					}}
				>
					Copy body
				</Button>
			</div>
			<pre class="json" tabIndex={0} aria-label="Body">
				{text || '(empty)'}
			</pre>
		</div>
	)
}

// Properties are those of the broker, of the sender, and the annotations.
function Properties(p: { of: any }) {
	const m = p.of
	const at = (text?: string | null) => text && stamp(Date.parse(text))
	const system: [string, unknown][] = [
		['Sequence number', m.sequenceNumber],
		['Enqueued sequence number', m.enqueuedSequenceNumber],
		['Enqueued time', at(m.enqueued)],
		['Scheduled enqueue time', at(m.scheduled)],
		['Expires at', at(m.life.expires)],
		['Time to live', m.life.effectiveTtl && span(m.life.effectiveTtl)],
		['Locked until', m.session && m.life.lockedUntil ? 'with its session' : at(m.life.lockedUntil)],
		['Lock token', m.lockToken],
		['Content type', m.contentType],
		['Subject', m.subject],
		['Correlation id', m.correlationId],
		['Session id', m.session],
		['To', m.to],
		['Reply to', m.replyTo],
		['Reply to session id', m.replyToSession],
		['Partition key', m.partitionKey],
		['Dead-letter source', m.deadLetterSource],
	]
	return (
		<>
			<Pairs label="System properties" rows={system.filter(([, v]) => v !== undefined && v !== null && v !== '').map(([n, v]) => [n, valueText(v)])} />
			<Pairs
				label="Application properties"
				rows={Object.entries(m.properties ?? {}).map(([n, v]) => [
					n,
					valueText(v),
					typeWords[m.propertyTypes?.[n]] ?? m.propertyTypes?.[n] ?? '',
				])}
				typed
			/>
			<Pairs
				label="Annotations"
				rows={Object.entries(m.annotations ?? {}).map(([n, v]) => [n, valueText(v)])}
			/>
		</>
	)
}

function Pairs(p: { label: string; rows: string[][]; typed?: boolean }) {
	if (!p.rows.length) return null
	return (
		<table class="pairs" aria-label={p.label}>
			<caption>{p.label}</caption>
			<tbody>
				{p.rows.map(([name, value, type]) => (
					<tr>
						<th scope="row">{name}</th>
						<td class="mono">{value}</td>
						{p.typed && <td class="soft">{type}</td>}
					</tr>
				))}
			</tbody>
		</table>
	)
}
