// The settings of a queue, a topic or a subscription: those that can be changed, and those that are chosen when
// it is made.
import { useState } from 'preact/hooks'
import { entityPath, patch } from './api'
import { stamp, tell } from './state'
import { Check, Choice, FormPanel, Panel, Table, Text } from './ui'
import { wrongCount, wrongSpan } from './valid'

export function EntitySettings(p: { of: any }) {
	const q = p.of,
		yes = (v: boolean) => (v ? 'yes' : 'no')
	const changing = ['status', ...spans, ...texts, 'maxDeliveryCount', 'deadLetterOnExpiration']
	return (
		<>
			<Change key={JSON.stringify(changing.map(name => q[name]))} of={q} />
			<Panel title="Chosen when it was made">
				<Table
					label="Chosen when it was made"
					head={['What', 'Value']}
					rows={[
						...(q.kind === 'topic' ? [] : [['Sessions', yes(q.requiresSession)]]),
						...(q.kind === 'subscription'
							? []
							: [['Drops what is sent twice', yes(q.detectsDuplicates)]]),
						['Made', stamp(Date.parse(q.created))],
						['Used last', stamp(Date.parse(q.accessed))],
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
		Object.fromEntries([...spans, ...texts].map(name => [name, q[name] ?? ''])),
	)
	const [status, setStatus] = useState<string>(q.status),
		[most, setMost] = useState(String(q.maxDeliveryCount ?? '')),
		[dead, setDead] = useState<boolean>(q.deadLetterOnExpiration)
	const bad = spans.map(name => wrongSpan(now[name]!)).find(Boolean) || wrongCount(most)
	const text = (name: string, label: string, placeholder: string, hint?: string) => (
		<Text
			label={label}
			value={now[name]!}
			set={v => setNow({ ...now, [name]: v.trim() })}
			bad={spans.includes(name) ? wrongSpan(now[name]!) : ''}
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
				for (const name of [...spans, ...texts]) put(name, now[name] || null)
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
						['SendDisabled', 'Takes no messages'],
						['ReceiveDisabled', 'Gives no messages'],
						['Disabled', 'Neither takes nor gives'],
					]}
				/>
				{text('defaultTimeToLive', 'Time to live', 'messages stay', 'ISO 8601: PT10M, P14D')}
				{!topic && (
					<>
						{text('lockDuration', 'Lock', 'PT1M', 'From 5 seconds to 5 minutes')}
						<Text
							label="Deliveries at most"
							value={most}
							set={setMost}
							bad={wrongCount(most)}
							placeholder="10"
							type="number"
						/>
						<Check value={dead} set={setDead}>
							Keep expired messages as dead letters
						</Check>
						{text('forwardTo', 'Forward to', 'nothing')}
						{text('forwardDeadLettersTo', 'Forward dead letters to', 'nothing')}
					</>
				)}
				{q.detectsDuplicates && text('duplicatesWithin', 'Ids are remembered for', 'PT10M')}
				{text('autoDeleteOnIdle', 'Delete when idle for', 'never', 'At least five minutes')}
			</div>
			<p class="hint">Locks that receivers hold are lost when settings are saved.</p>
		</FormPanel>
	)
}
