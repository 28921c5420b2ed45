// The form of a message: to send one, to send one again, to resubmit an edited dead letter.
import { useState } from 'preact/hooks'
import { entityPath, exact, Failure, post } from './api'
import { typeWords } from './messagetext'
import { Rows, type Column, type Row } from './rows'
import { note, plural, tell, url } from './state'
import { Bad, Button, Choice, Dialog, Panel, Text } from './ui'
import { wrongCount } from './valid'

export interface Draft {
	kind: string // of the body: json, text, base64
	body: string
	texts: Record<string, string> // the broker's properties that are texts
	ttl: string
	scheduled: string
	repeat: string
	properties: Row[]
}

const brokerTexts: [string, string, string?][] = [
	['id', 'Message id', 'made by the server'],
	['subject', 'Subject'],
	['correlationId', 'Correlation id'],
	['session', 'Session id'],
	['contentType', 'Content type'],
	['to', 'To'],
	['replyTo', 'Reply to'],
	['replyToSession', 'Reply to session id'],
	['partitionKey', 'Partition key'],
]

const wrongValue = (type: string, v: string): string => {
	switch (type) {
		case 'long':
		case 'int':
			return /^-?\d+$/.test(v) ? '' : 'a whole number'
		case 'double':
			return v.trim() && Number.isFinite(Number(v)) ? '' : 'a number'
		case 'boolean':
			return v === 'true' || v === 'false' ? '' : 'true or false'
		case 'timestamp':
			return Number.isNaN(Date.parse(v)) ? 'a date such as 2030-01-01T00:00:00Z' : ''
		case 'uuid':
			return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(v) ? '' : 'a GUID'
	}
	return ''
}

const columns: Column[] = [
	{ name: 'name', label: 'Name', fresh: '', wrong: v => (v ? '' : 'a name') },
	{ name: 'type', label: 'Type', fresh: 'string', of: Object.entries(typeWords) },
	{ name: 'value', label: 'Value', fresh: '' },
]

export const emptyDraft = (): Draft => ({
	kind: 'json',
	body: '{"hello":"world"}',
	texts: { contentType: 'application/json' },
	ttl: '',
	scheduled: '',
	repeat: '1',
	properties: [],
})

// draftOf is the form of a message that is there.
export function draftOf(m: any): Draft {
	const own = ['DeadLetterReason', 'DeadLetterErrorDescription']
	const text = (v: unknown) => (typeof v === 'string' ? v : JSON.stringify(v))
	return {
		kind: m.base64 !== undefined ? 'base64' : /json/i.test(m.contentType ?? '') ? 'json' : 'text',
		body: m.base64 ?? m.text ?? '',
		texts: Object.fromEntries(brokerTexts.map(([name]) => [name, m[name] ?? ''])),
		ttl: m.life.ownTtl === null ? '' : String(m.life.ownTtl),
		scheduled: '',
		repeat: '1',
		properties: Object.entries(m.properties ?? {})
			.filter(([name]) => !own.includes(name))
			.map(([name, v]) => ({
				name,
				type: m.propertyTypes?.[name] in typeWords ? m.propertyTypes[name] : 'string',
				value: text(v),
			})),
	}
}

// secondsOf reads a length of time: seconds, 90s, 1h30m, 2d, or as ISO 8601 writes it; NaN where it is none.
export function secondsOf(text: string): number {
	const t = text.trim().toLowerCase()
	if (/^\d+(\.\d+)?$/.test(t)) return Number(t)
	const iso = /^p(?=.)(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?)?$/.exec(t),
		plain = /^(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?$/.exec(t)
	const found = iso ?? plain
	if (!found) return NaN
	const [, d, h, m, s] = found.map(x => Number(x ?? 0))
	return d * 86400 + h * 3600 + m * 60 + s
}

const wrongLife = (text: string) =>
	text === '' || secondsOf(text) > 0 ? '' : 'a time such as 60, 90s, 2h, 14d or PT1H'
const wrongMoment = (text: string) =>
	text === '' || secondsOf(text) > 0 || !Number.isNaN(Date.parse(text))
		? ''
		: 'a date such as 2030-01-01T00:00:00Z, or a delay such as 10m'

export function wrongBody(d: Draft): string {
	if (d.kind === 'json' && d.body.trim()) {
		try {
			exact(Number(d.repeat) > 1 ? d.body.replaceAll('{i}', '1') : d.body)
		} catch (e) {
			return `This is no JSON: ${(e as Error).message}`
		}
	}
	if (d.kind === 'base64' && !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(d.body)) return 'This is no base64.'
	return ''
}

// wrongDraft is the first thing that is wrong with a form; '' for nothing.
export const wrongDraft = (d: Draft): string =>
	wrongBody(d) ||
	wrongLife(d.ttl) ||
	wrongMoment(d.scheduled) ||
	wrongCount(d.repeat) ||
	d.properties
		.map(r => (!r.name ? 'A property has no name.' : wrongValue(r.type, r.value) && `${r.name}: ${wrongValue(r.type, r.value)}`))
		.find(Boolean) ||
	''

const typedValue = (type: string, v: string): unknown => {
	if (type === 'long' || type === 'int') return exact(v)
	if (type === 'double') return Number(v)
	if (type === 'boolean') return v === 'true'
	return type === 'timestamp' ? new Date(v).toISOString() : v
}

// propertiesOf are properties of a form as the server takes them.
export const propertiesOf = (rows: Row[]) => ({
	properties: Object.fromEntries(rows.map(r => [r.name, typedValue(r.type, r.value)])),
	propertyTypes: Object.fromEntries(rows.map(r => [r.name, r.type])),
})

// messageOf is the form as the server takes a message.
export function messageOf(d: Draft): Record<string, unknown> {
	const wrong = wrongDraft(d)
	if (wrong) throw new Failure(0, '', wrong)
	const delay = secondsOf(d.scheduled)
	return {
		...(d.kind === 'base64' ? { base64: d.body.replace(/\s/g, '') } : { text: d.body }),
		...Object.fromEntries(Object.entries(d.texts).filter(([, v]) => v)),
		...(d.ttl && { ttl: secondsOf(d.ttl) }),
		...(d.scheduled && (delay > 0 ? { delay } : { scheduled: new Date(d.scheduled).toISOString() })),
		...(d.properties.length && propertiesOf(d.properties)),
	}
}

export function MessageFields(p: { of: Draft; set: (d: Draft) => void; repeats?: boolean; session?: boolean }) {
	const d = p.of,
		put = (change: Partial<Draft>) => p.set({ ...d, ...change })
	const field = ([name, label, placeholder]: [string, string, string?]) => (
		<Text
			label={label}
			value={d.texts[name] ?? ''}
			set={v => put({ texts: { ...d.texts, [name]: v } })}
			placeholder={placeholder}
			bad={name === 'session' && p.session && !d.texts.session ? 'This entity requires sessions.' : ''}
		/>
	)
	const first = brokerTexts.slice(0, p.session ? 4 : 3),
		rest = brokerTexts.slice(first.length)
	return (
		<>
			<Text label="Body" value={d.body} set={body => put({ body })} bad={wrongBody(d)} lines={5} mono wide />
			<Choice
				label="Body is"
				value={d.kind}
				set={kind => {
					const type = d.texts.contentType ?? '',
						plain = type === '' || type === 'application/json'
					put({
						kind,
						texts: plain ? { ...d.texts, contentType: kind === 'json' ? 'application/json' : '' } : d.texts,
					})
				}}
				of={[
					['json', 'JSON'],
					['text', 'Text'],
					['base64', 'Bytes, as base64'],
				]}
			/>
			{first.map(field)}
			<Text label="Time to live" value={d.ttl} set={ttl => put({ ttl })} bad={wrongLife(d.ttl)} placeholder="the entity's" />
			<Text
				label="Scheduled enqueue time"
				value={d.scheduled}
				set={scheduled => put({ scheduled })}
				bad={wrongMoment(d.scheduled)}
				placeholder="now"
				hint="A date, or a delay such as 10m"
			/>
			{p.repeats && (
				<Text
					label="Repeat send"
					value={d.repeat}
					set={repeat => put({ repeat })}
					bad={wrongCount(d.repeat)}
					type="number"
					hint="{i} in body and id is 1, 2, 3…"
				/>
			)}
			<details class="wide" open={rest.some(([name]) => name !== 'contentType' && d.texts[name])}>
				<summary>More broker properties</summary>
				<div class="fields">{rest.map(field)}</div>
			</details>
			<div class="wide">
				<Rows
					title="Application properties"
					one="property"
					columns={columns.map(c => (c.name === 'value' ? { ...c, wide: false } : c))}
					rows={d.properties}
					set={properties => put({ properties })}
				/>
			</div>
		</>
	)
}

// send sends what is in a form, and tells of a topic which subscriptions accept it.
async function send(path: string, d: Draft): Promise<any> {
	const repeat = Number(d.repeat || 1)
	const sent = await post(entityPath(path, 'send'), { ...messageOf(d), ...(repeat > 1 && { repeat }) })
	tell('data')
	note(`${plural(sent.messages ?? 1, 'message')} sent.`)
	return sent
}

export function SendDialog(p: { path: string; of: Draft; session: boolean; title: string; close: () => void }) {
	const [d, set] = useState(p.of)
	return (
		<Dialog title={p.title} close={p.close} word="Send" send={() => send(p.path, d)}>
			<MessageFields of={d} set={set} session={p.session} repeats />
		</Dialog>
	)
}

// EditDialog resubmits a dead letter with other contents.
export function EditDialog(p: { path: string; of: any; close: () => void }) {
	const [d, set] = useState(() => draftOf(p.of))
	return (
		<Dialog
			title={`Edit and resubmit message ${p.of.sequenceNumber}`}
			close={p.close}
			word="Resubmit"
			send={async () => {
				await post(entityPath(p.path, 'resubmit'), {
					sequenceNumber: p.of.sequenceNumber,
					edited: true,
					...messageOf(d),
				})
				note('1 message sent again.')
				tell('data')
			}}
		>
			<MessageFields of={d} set={set} />
		</Dialog>
	)
}

// SendPanel sends to a topic, and shows which subscriptions accepted the message.
export function SendPanel(p: { path: string }) {
	const [d, set] = useState(emptyDraft),
		[sent, setSent] = useState<string[] | null>(null)
	return (
		<Panel
			title="Send a message"
			side={
				<Button
					kind="main"
					disabled={!!wrongDraft(d)}
					do={async () => setSent((await send(p.path, d)).subscriptions ?? [])}
				>
					Send
				</Button>
			}
		>
			{sent && (
				<div class="accepted" role="status">
					{sent.length ? (
						<>
							Accepted by:{' '}
							{sent.map(path => (
								<a class="chip" href={url('queue', path)}>
									{path.split('/').pop()}
								</a>
							))}
						</>
					) : (
						<Bad text="No subscription accepts this message: the rules of none match it." />
					)}
				</div>
			)}
			<div class="fields">
				<MessageFields of={d} set={set} repeats />
			</div>
		</Panel>
	)
}

