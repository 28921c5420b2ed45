// The server's clock, the forecast of all containers, purges, and snapshots.
import { useState } from 'preact/hooks'
import { get, own, post, put, remove } from './api'
import { Forecast } from './forecast'
import {
	note,
	nowOf,
	plural,
	readClock,
	say,
	stamp,
	tell,
	useClock,
	useData,
	useSignal,
	useTick,
} from './state'
import { Bad, Button, Confirm, Panel, Stats, Table, Text } from './ui'

const steps = ['1s', '10s', '1m', '10m', '1h', '1d', '7d', '30d']

export function TimePage() {
	return (
		<>
			<header class="page-head">
				<h1>Time and snapshots</h1>
			</header>
			<div class="halves">
				<div>
					<ClockPanel />
					<Reapers />
				</div>
				<Snapshots />
			</div>
			<Panel title="What is going to expire, in all containers">
				<Forecast path={own('forecast')} db="" />
			</Panel>
		</>
	)
}

function ClockPanel() {
	const clock = useClock(''),
		[by, setBy] = useState('90s'),
		[rate, setRate] = useState('60'),
		[to, setTo] = useState('')
	useTick(200)
	const change = (body: unknown) => async () => {
		await put(own('clock'), body)
		await readClock('')
		tell('data')
	}
	if (!clock) return null
	return (
		<Panel
			title="Clock"
			side={
				clock.virtual && (
					<>
						<Button do={change({ freeze: !clock.frozen })}>
							{clock.frozen ? 'Let it run' : 'Freeze'}
						</Button>
						<Button do={change({ real: true })}>Real time</Button>
					</>
				)
			}
		>
			<p class="big num">
				{stamp(nowOf(''))} <span class="soft">UTC</span>
			</p>
			<Stats
				of={[
					['State', clock.frozen ? 'frozen' : 'running', clock.frozen ? 'warn' : ''],
					['Speed', `× ${clock.rate}`],
				]}
			/>
			{!clock.virtual ? (
				<p class="soft">This clock cannot be moved: start the server with --virtual-clock.</p>
			) : (
				<>
					<div class="row wrap" role="group" aria-label="Advance">
						{steps.map(s => (
							<Button do={change({ advance: s })} title={`Advance by ${s}`}>
								+{s}
							</Button>
						))}
					</div>
					<div class="fields">
						<div class="pair">
							<Text label="Advance by" value={by} set={setBy} mono />
							<Button do={change({ advance: by })}>Advance</Button>
						</div>
						<div class="pair">
							<Text label="Times real speed" value={rate} set={setRate} type="number" />
							<Button do={change({ rate: Number(rate) })}>Set speed</Button>
						</div>
						<div class="pair wide">
							<Text
								label="Set to"
								value={to}
								set={setTo}
								placeholder={stamp(nowOf('')).replace(' ', 'T') + 'Z'}
								mono
							/>
							<Button disabled={!to} do={change({ set: to })}>
								Set
							</Button>
						</div>
					</div>
				</>
			)}
		</Panel>
	)
}

function Reapers() {
	const moved = useSignal('data'),
		{ data, error, again } = useData<any>(() => get(own('reaper')), [moved])
	return (
		<Panel
			title="Purges"
			side={
				data && (
					<>
						<Button
							do={async () => {
								await put(own('reaper'), { paused: !data.paused })
								again()
							}}
						>
							{data.paused ? 'Let them go on' : 'Pause all'}
						</Button>
						<Button
							do={async () => {
								note(`${plural((await post(own('reaper/run'))).purged, 'ghost')} purged.`)
								tell('data')
							}}
						>
							Purge all now
						</Button>
					</>
				)
			}
		>
			<Bad text={error} />
			<p class="soft">
				{data?.paused
					? 'Paused: what expires stays as a ghost.'
					: 'What has expired is purged in the background.'}
			</p>
		</Panel>
	)
}

function Snapshots() {
	const changed = useSignal('snapshots'),
		[name, set] = useState('')
	const { data, error } = useData<any>(() => get(own('snapshots')), [changed])
	const at = (n: string, tail = '') => own(`snapshots/${encodeURIComponent(n)}${tail}`)
	return (
		<Panel title="Snapshots">
			<form
				class="row"
				onSubmit={e => {
					e.preventDefault()
					post(own('snapshots'), { name }).then(
						() => {
							set('')
							tell('snapshots')
							note(`Snapshot ${name} is kept.`)
						},
						x => note(say(x), true),
					)
				}}
			>
				<Text label="Name" value={name} set={set} />
				<button class="btn main" disabled={!name}>
					Take snapshot
				</button>
			</form>
			<Bad text={error} />
			{data && (
				<Table
					label="Snapshots"
					head={['Name', 'Taken', 'Databases', '']}
					empty="No snapshot yet."
					rows={data.snapshots.map((s: any) => [
						<b>{s.name}</b>,
						<span class="num">{stamp(Date.parse(s.time))}</span>,
						s.databases.join(', '),
						<div class="row">
							<Confirm
								word="Restore"
								what={`The whole store goes back to ${s.name}. What was written since is gone.`}
								do={async () => {
									await post(at(s.name, '/restore'))
									for (const what of ['tree', 'container', 'data', 'snapshots']) tell(what)
									note(`The store is as it was at ${s.name}.`)
								}}
							/>
							<Confirm
								word="Free"
								what={`Snapshot ${s.name} is gone then; the store stays as it is.`}
								do={async () => {
									await remove(at(s.name))
									tell('snapshots')
								}}
							/>
						</div>,
					])}
				/>
			)}
		</Panel>
	)
}
