// The settings of a queue, a topic or a subscription: those that can be changed, and those that are fixed
// at its creation.
import { useState } from 'preact/hooks'
import { entityPath, patch } from './api'
import { durationHint, parseDuration, typed, wrongDuration } from './duration'
import { stamp, tell } from './state'
import { Check, Choice, FormPanel, Panel, Table, Text } from './ui'
import { wrongCount } from './valid'

export function EntitySettings(p: { of: any }) {
	const q = p.of,
		yes = (v: boolean) => (v ? 'yes' : 'no')
	const changing = ['status', ...spans, ...texts, 'maxDeliveryCount', 'deadLetterOnExpiration']
	return (
		<>
			<Change key={JSON.stringify(changing.map(name => q[name]))} of={q} />
			<Panel title="Fixed at creation">
				<Table
					label="Fixed at creation"
					head={['Property', 'Value']}
					rows={[
						...(q.kind === 'topic' ? [] : [['Sessions', yes(q.requiresSession)]]),
						...(q.kind === 'subscription'
							? []
							: [['Duplicate detection', yes(q.detectsDuplicates)]]),
						['Created', stamp(Date.parse(q.created))],
						['Last accessed', stamp(Date.parse(q.accessed))],
					]}
				/>
			</Panel>
		</>
	)
}

const spans = ['defaultTimeToLive', 'lockDuration', 'autoDeleteOnIdle', 'duplicatesWithin'],
	texts = ['forwardTo', 'forwardDeadLettersTo']

function Change(p: { of: any }) {
	const q = p.of,
		topic = q.kind === 'topic'
	const [now, setNow] = useState<Record<string, string>>(() =>
		Object.fromEntries([
			...spans.map(name => [name, typed(parseDuration(q[name] ?? ''))]),
			...texts.map(name => [name, q[name] ?? '']),
		]),
	)
	const [status, setStatus] = useState<string>(q.status),
		[most, setMost] = useState(String(q.maxDeliveryCount ?? '')),
		[dead, setDead] = useState<boolean>(q.deadLetterOnExpiration)
	const bad = spans.map(name => wrongDuration(now[name]!)).find(Boolean) || wrongCount(most)
	const text = (name: string, label: string, placeholder: string, hint?: string) => (
		<Text
			label={label}
			value={now[name]!}
			set={v => setNow({ ...now, [name]: v.trim() })}
			bad={spans.includes(name) ? wrongDuration(now[name]!) : ''}
			placeholder={placeholder}
			hint={hint}
			mono={spans.includes(name)}
		/>
	)
	return (
		<FormPanel
			title="Settings"
			word="Save settings"
			main
			blocked={!!bad}
			save={async () => {
				const change: Record<string, unknown> = {}
				const put = (name: string, value: unknown) => {
					if ((q[name] ?? null) !== value) change[name] = value
				}
				for (const name of texts) put(name, now[name] || null)
				for (const name of spans)
					if (parseDuration(q[name] ?? '') !== parseDuration(now[name]!)) change[name] = now[name] || null
				put('status', status)
				if (!topic) {
					put('maxDeliveryCount', most ? Number(most) : null)
					put('deadLetterOnExpiration', dead)
				}
				await patch(entityPath(q.path), change)
				tell('data')
				tell('tree')
			}}
		>
			<div class="fields">
				<Choice
					label="Status"
					value={status}
					set={setStatus}
					of={[
						['Active', 'Active'],
						['SendDisabled', 'Send disabled'],
						['ReceiveDisabled', 'Receive disabled'],
						['Disabled', 'Disabled'],
					]}
				/>
				{text('defaultTimeToLive', 'Time to live', 'messages stay', durationHint)}
				{!topic && (
					<>
						{text('lockDuration', 'Lock duration', 'PT1M', 'From 5 seconds to 5 minutes')}
						<Text
							label="Max delivery count"
							value={most}
							set={setMost}
							bad={wrongCount(most)}
							placeholder="10"
							type="number"
						/>
						<Check value={dead} set={setDead}>
							Dead-letter expired messages
						</Check>
						{text('forwardTo', 'Forward to', 'nothing')}
						{text('forwardDeadLettersTo', 'Forward dead letters to', 'nothing')}
					</>
				)}
				{q.detectsDuplicates && text('duplicatesWithin', 'Duplicate detection window', 'PT10M')}
				{text('autoDeleteOnIdle', 'Auto-delete after idle for', 'never', 'At least five minutes')}
			</div>
			<p class="hint">Saving settings ends the locks of all receivers.</p>
		</FormPanel>
	)
}
