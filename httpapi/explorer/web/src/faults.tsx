// Faults on demand: rules by which operations fail, and what they have done so far.
import { useEffect, useState } from 'preact/hooks'
import { get, own, post, remove } from './api'
import { durationHint, wrongDuration } from './duration'
import { State } from './loading'
import { offered, offeredList } from './offered'
import { useData, useSignal } from './state'
import { Bad, Button, Check, Choice, Confirm, FormPanel, Panel, Table, Text } from './ui'
import { wrongCount } from './valid'

const names: [string, string][] = [
	['429', '429 Too many requests'],
	['449', '449 Retry with'],
	['410', '410 Gone'],
	['503', '503 Service unavailable'],
	['408', '408 Request timeout'],
	['latency', 'Latency'],
	['drop', 'Drop the connection'],
	['lockLost', 'Message lock lost'],
	['detach', 'Detach the AMQP link'],
]

export function FaultsPage() {
	const moved = useSignal('data')
	const faults = useData<any>(() => get(own('faults')), [moved])
	const { data, again } = faults
	useEffect(() => {
		const timer = setInterval(() => {
			if (!document.hidden) again() // they count on
		}, 2000)
		return () => clearInterval(timer)
	}, [])
	const about = (f: any) =>
		[
			f.operations.join(', ') || 'all operations',
			f.database && `in ${f.database}${f.container ? '/' + f.container : ''}`,
			f.entity && `of ${f.entity}`,
			f.share < 1 && `${f.share * 100} %, random seed ${f.seed}`,
			f.skip > 0 && `skips the first ${f.skip}`,
			f.until && `until ${f.until}`,
		]
			.filter(Boolean)
			.join(', ')
	return (
		<>
			<header class="page-head">
				<h1>Faults on demand</h1>
				<div class="row">
					<Button do={again}>Reload</Button>
				</div>
			</header>
			<Panel
				title="Faults"
				side={
					data?.faults.length > 0 && (
						<Confirm
							word="Delete all"
							what="This deletes all faults. No operation fails on demand then."
							do={async () => {
								await remove(own('faults'))
								again()
							}}
						/>
					)
				}
			>
				<State of={faults} empty={d => !d.faults.length} nothing="No fault. Add one below.">
					{d => (
						<Table
							label="Faults"
							head={['Fault', 'Applies to', 'Seen', 'Hit', '']}
							rows={d.faults.map((f: any) => [
								<b>{names.find(([n]) => n === f.fault)?.[1] ?? f.fault}</b>,
								about(f),
								f.seen,
								`${f.hits}${f.count ? ' of ' + f.count : ''}${f.ended ? ', ended' : ''}`,
								<Button
									do={async () => {
										await remove(own('faults/' + encodeURIComponent(f.id)))
										again()
									}}
								>
									Delete {f.id}
								</Button>,
							])}
						/>
					)}
				</State>
			</Panel>
			<NewFault made={again} />
		</>
	)
}

const fresh = {
	database: '',
	container: '',
	entity: '',
	share: '100',
	seed: '0',
	skip: '',
	count: '10',
	for: '',
	latencyMs: '',
	retryAfterMs: '',
}
type Draft = typeof fresh

// requestOf is the rule as the server takes it. What is empty is left out.
function requestOf(fault: string, when: string, operations: string[], d: Draft) {
	const out: Record<string, unknown> = { fault, when, share: Number(d.share) / 100, seed: Number(d.seed) }
	for (const name of ['database', 'container', 'entity', 'for'] as const) if (d[name].trim()) out[name] = d[name].trim()
	for (const name of ['skip', 'count', 'latencyMs', 'retryAfterMs'] as const)
		if (d[name]) out[name] = Number(d[name])
	return operations.length ? { ...out, operations } : out
}

// operationsOf are the operations that the server knows, of its own description.
async function operationsOf(): Promise<string[]> {
	const { components } = await get(own('openapi.json'))
	return components.schemas.OperationNames.items.enum
}

function NewFault(p: { made: () => void }) {
	const [fault, setFault] = useState('429'),
		[when, setWhen] = useState('before'),
		[operations, tick] = useState<string[]>(() => offeredList('operations')),
		[d, set] = useState(() => offered(fresh))
	const known = useData(operationsOf, [])
	const share = Number(d.share)
	const wrongShare = d.share && share >= 0 && share <= 100 ? '' : 'from 0 to 100'
	const number = (name: keyof Draft, label: string, placeholder = '') => (
		<Text
			label={label}
			value={d[name]}
			set={v => set({ ...d, [name]: v })}
			bad={wrongCount(d[name], 0)}
			placeholder={placeholder}
			type="number"
		/>
	)
	const text = (name: keyof Draft, label: string, placeholder: string, hint?: string, bad?: string) => (
		<Text
			label={label}
			value={d[name]}
			set={v => set({ ...d, [name]: v })}
			placeholder={placeholder}
			hint={hint}
			bad={bad}
		/>
	)
	const counts = ['seed', 'skip', 'count', 'latencyMs', 'retryAfterMs'] as const
	const wrongFor = wrongDuration(d.for)
	return (
		<FormPanel
			title="New fault"
			word="Add fault"
			main
			blocked={!!wrongShare || !!wrongFor || counts.some(n => wrongCount(d[n], 0))}
			save={async () => {
				const made = await post(own('faults'), requestOf(fault, when, operations, d))
				p.made()
				return `Fault ${made.id} is added.`
			}}
		>
			<div class="fields faults">
				<Choice label="Fault" value={fault} set={setFault} of={names} />
				{fault === 'latency' && number('latencyMs', 'Latency, in ms')}
				{fault === '429' && number('retryAfterMs', 'Retry after, in ms', '100')}
				{text('database', 'Database', 'any')}
				{text('container', 'Container', 'any', 'Give its database, too')}
				{text('entity', 'Queue or topic', 'any')}
				{number('count', 'Stop after, hits', 'never')}
			</div>
			<details class="wide">
				<summary>Operations{operations.length ? `: ${operations.join(', ')}` : ': all'}</summary>
				<Bad text={known.error} />
				<div class="ticks" role="group" aria-label="Operations">
					{(known.data ?? []).map(name => (
						<Check
							value={operations.includes(name)}
							set={on => tick(on ? [...operations, name] : operations.filter(o => o !== name))}
						>
							{name}
						</Check>
					))}
				</div>
			</details>
			<details class="wide">
				<summary>When, how often, how long</summary>
				<div class="fields">
					<Choice
						label="When"
						value={when}
						set={setWhen}
						of={[
							['before', 'Before the write'],
							['after', 'After the write'],
						]}
					/>
					{number('skip', 'Skip first', '0')}
					<Text
						label="Share that fails, in %"
						value={d.share}
						set={share => set({ ...d, share })}
						bad={wrongShare}
					/>
					{number('seed', 'Random seed')}
					{text('for', 'Stop after, time', 'never', `By the data clock: ${durationHint}`, wrongFor)}
				</div>
			</details>
		</FormPanel>
	)
}
