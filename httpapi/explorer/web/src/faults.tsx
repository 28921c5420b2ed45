// Faults on demand: rules by which operations fail, and what they have done so far.
import { useEffect, useState } from 'preact/hooks'
import { get, own, post, remove } from './api'
import { offered } from './offered'
import { note, useData, useSignal } from './state'
import { Bad, Button, Choice, Confirm, FormPanel, Panel, Table, Text } from './ui'
import { wrongCount } from './valid'

const names: [string, string][] = [
	['429', '429: too many requests'],
	['449', '449: try again'],
	['410', '410: gone'],
	['503', '503: not available'],
	['408', '408: too late'],
	['latency', 'latency'],
	['drop', 'the connection drops'],
	['lockLost', 'a message loses its lock'],
	['detach', 'a link of messages is detached'],
]

export function FaultsPage() {
	const moved = useSignal('data')
	const { data, error, again } = useData<any>(() => get(own('faults')), [moved])
	useEffect(() => {
		const timer = setInterval(() => {
			if (!document.hidden) again() // they count on
		}, 2000)
		return () => clearInterval(timer)
	}, [])
	const about = (f: any) =>
		[
			f.operations.join(', ') || 'all',
			f.database && `in ${f.database}${f.container ? '/' + f.container : ''}`,
			f.entity && `of ${f.entity}`,
			f.share < 1 && `${f.share * 100} % by seed ${f.seed}`,
			f.skip > 0 && `behind the first ${f.skip}`,
			f.until && `until ${f.until}`,
		]
			.filter(Boolean)
			.join(' ')
	return (
		<>
			<header class="page-head">
				<h1>Faults on demand</h1>
				<div class="row">
					<Button do={again}>Reload</Button>
				</div>
			</header>
			<Bad text={error} />
			<Panel
				title="Rules"
				side={
					<Confirm
						word="End all"
						what="No operation fails on demand then."
						do={async () => {
							await remove(own('faults'))
							again()
						}}
					/>
				}
			>
				{data && (
					<Table
						label="Faults"
						head={['Fault', 'Operations', 'Seen', 'Hit', '']}
						empty="No operation fails on demand."
						rows={data.faults.map((f: any) => [
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
								End {f.id}
							</Button>,
						])}
					/>
				)}
			</Panel>
			<NewFault made={again} />
		</>
	)
}

const fresh = {
	operations: '',
	database: '',
	container: '',
	entity: '',
	share: '1',
	seed: '0',
	skip: '',
	count: '10',
	for: '',
	latencyMs: '',
	retryAfterMs: '',
}
type Draft = typeof fresh

// requestOf is the rule as the server takes it. What is empty is left out.
function requestOf(fault: string, when: string, d: Draft) {
	const out: Record<string, unknown> = { fault, when, share: Number(d.share), seed: Number(d.seed) }
	for (const name of ['database', 'container', 'entity', 'for'] as const) if (d[name]) out[name] = d[name]
	for (const name of ['skip', 'count', 'latencyMs', 'retryAfterMs'] as const)
		if (d[name]) out[name] = Number(d[name])
	const operations = d.operations.split(/[\s,]+/).filter(Boolean)
	return operations.length ? { ...out, operations } : out
}

function NewFault(p: { made: () => void }) {
	const [fault, setFault] = useState('429'),
		[when, setWhen] = useState('before'),
		[d, set] = useState(() => offered(fresh))
	const wrongShare = Number(d.share) >= 0 && Number(d.share) <= 1 && d.share ? '' : 'from 0 to 1'
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
	const text = (name: keyof Draft, label: string, placeholder: string, hint?: string) => (
		<Text
			label={label}
			value={d[name]}
			set={v => set({ ...d, [name]: v })}
			placeholder={placeholder}
			hint={hint}
		/>
	)
	const counts = ['seed', 'skip', 'count', 'latencyMs', 'retryAfterMs'] as const
	return (
		<FormPanel
			title="New rule"
			word="Let them fail"
			blocked={!!wrongShare || counts.some(n => wrongCount(d[n], 0))}
			save={async () => {
				const made = await post(own('faults'), requestOf(fault, when, d))
				note(`${made.id} holds from now on.`)
				p.made()
			}}
		>
			<div class="fields">
				<Choice label="Fault" value={fault} set={setFault} of={names} />
				<Choice
					label="It comes"
					value={when}
					set={setWhen}
					of={[
						['before', 'before anything is written'],
						['after', 'behind what was written'],
					]}
				/>
				{text('operations', 'Operations', 'all', 'createItem, queryItems, send…')}
				{text('database', 'Database', 'any')}
				{text('container', 'Container', 'any', 'With its database')}
				{text('entity', 'Queue or topic', 'any')}
				<Text
					label="Share that fails"
					value={d.share}
					set={share => set({ ...d, share })}
					bad={wrongShare}
				/>
				{number('seed', 'Seed of the choice')}
				{number('skip', 'So many go by first', 'none')}
				{number('count', 'It ends after so many', 'never')}
				{text('for', 'It ends after', 'never', 'By the data clock: 90s, 1d')}
				{fault === 'latency' && number('latencyMs', 'Latency, in ms')}
				{fault === '429' && number('retryAfterMs', 'Retry after, in ms', '100')}
			</div>
		</FormPanel>
	)
}
