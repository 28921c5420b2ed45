// The server's clock, the forecast of all containers, purges, and snapshots.
import { useState } from 'preact/hooks'
import { get, own, post, put, remove } from './api'
import { durationHint, wrongDuration } from './duration'
import { Forecast } from './forecast'
import {
	clockMoved,
	moment,
	note,
	nowOf,
	plural,
	readClock,
	say,
	stamp,
	tell,
	tellAll,
	useClock,
	useData,
	useSignal,
	useTick,
} from './state'
import { State } from './loading'
import { Bad, Button, Check, Choice, Confirm, Dialog, Pair, Panel, Stats, Table, Text } from './ui'
import { mostUndo, setUndo, undoCost, undoIsOn, withUndo } from './undo'

const steps = ['1s', '10s', '1m', '10m', '1h', '1d', '7d', '30d']

export function TimePage() {
	return (
		<>
			<header class="page-head">
				<h1>Time and snapshots</h1>
			</header>
			<div class="halves">
				<div>
					<ClockPanel db="" />
					<Reapers />
				</div>
				<Snapshots />
			</div>
			<Panel title="Upcoming expiries, all containers">
				<Forecast path={own('forecast')} db="" />
			</Panel>
		</>
	)
}

// ClockPanel is the server's clock, or a database's: one of its own, which may be given to it.
export function ClockPanel(p: { db: string }) {
	const at = p.db ? own(`dbs/${encodeURIComponent(p.db)}/clock`) : own('clock')
	const clock = useClock(p.db),
		[by, setBy] = useState('90s'),
		[rate, setRate] = useState('60'),
		[to, setTo] = useState('')
	useTick(200)
	const change = (body: unknown) => async () => {
		await put(at, body)
		await readClock(p.db)
		clockMoved()
	}
	if (!clock) return null
	return (
		<Panel
			title="Clock"
			side={
				clock.virtual && (
					<>
						<Button do={change({ freeze: !clock.frozen })}>
							{clock.frozen ? 'Resume' : 'Freeze'}
						</Button>
						{!p.db ? (
							<Button do={change({ real: true })}>Real time</Button>
						) : (
							clock.own && (
								<Button
									do={async () => {
										await remove(at)
										await readClock(p.db)
										clockMoved()
									}}
								>
									Follow the server
								</Button>
							)
						)}
					</>
				)
			}
		>
			<p class="big num">
				{stamp(nowOf(p.db))} <span class="soft">UTC</span>
			</p>
			<Stats
				of={[
					['State', clock.frozen ? 'frozen' : 'running', clock.frozen ? 'warn' : ''],
					['Speed', `× ${clock.rate}`],
					...(p.db ? [['Source', clock.own ? 'database' : 'server'] as [string, string]] : []),
				]}
			/>
			{!clock.virtual ? (
				<p class="soft">This clock cannot be moved. Start the server with --virtual-clock to move it.</p>
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
						<Pair
							label="Advance by"
							value={by}
							set={setBy}
							bad={wrongDuration(by, { least: 0.001 })}
							hint={durationHint}
							blocked={!by.trim() || !!wrongDuration(by, { least: 0.001 })}
							mono
							word="Advance"
							do={change({ advance: by.trim().replace(/\s+/g, ' ') })}
						/>
						<Pair
							label="Speed, times real time"
							value={rate}
							set={setRate}
							type="number"
							word="Set speed"
							do={change({ rate: Number(rate) })}
						/>
						<Pair
							label="Set to (UTC)"
							value={to}
							set={setTo}
							placeholder={stamp(nowOf(p.db)).replace(' ', 'T') + 'Z'}
							mono
							wide
							word="Set"
							blocked={!to}
							do={change({ set: to })}
						/>
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
							{data.paused ? 'Resume all' : 'Pause all'}
						</Button>
						<Button
							do={async () => {
								note(`${plural((await post(own('reaper/run'))).purged, 'expired item')} purged.`)
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
					? 'Paused: expired items stay on disk. No read returns them.'
					: 'Expired items are removed from disk in the background.'}
			</p>
		</Panel>
	)
}

function Snapshots() {
	const changed = useSignal('snapshots'),
		[name, set] = useState('')
	useSignal('undo')
	const snapshots = useData<any>(() => get(own('snapshots')), [changed])
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
			<Check value={undoIsOn()} set={setUndo}>
				Keep a snapshot before what deletes, for Undo (the last {mostUndo})
			</Check>
			<p class="soft">{undoCost}</p>
			<State of={snapshots} empty={d => !d.snapshots.length} nothing="No snapshot yet.">
				{data => (
				<Table
					label="Snapshots"
					head={['Name', 'Taken (UTC)', 'Databases', '']}
					rows={data.snapshots.map((s: any) => [
						<b>{s.name}</b>,
						<span class="num">{stamp(Date.parse(s.time))}</span>,
						s.databases.join(', '),
						<div class="row">
							<Restore of={s} at={at(s.name)} />
							{s.databases.length > 0 && <Fork of={s} at={at(s.name)} />}
							<Confirm
								word="Delete"
								what={`This deletes the snapshot ${s.name}. The store stays as it is.`}
								do={async () => {
									await remove(at(s.name))
									tell('snapshots')
								}}
							/>
						</div>,
					])}
				/>
				)}
			</State>
		</Panel>
	)
}

interface Kept {
	of: { name: string; time: string; databases: string[] }
	at: string
}

const choices = (list: string[]): [string, string][] => list.map(d => [d, d])

// Restore puts back the whole store or one database.
function Restore(p: Kept) {
	const [open, set] = useState(false),
		[db, choose] = useState('')
	return (
		<>
			<Button kind="bad" do={() => set(true)}>
				Restore
			</Button>
			{open && (
				<Dialog
					title={`Restore ${p.of.name}?`}
					word="Restore"
					bad
					close={() => set(false)}
					send={async () => {
						await withUndo(`${db || 'The store'} is as it was at ${p.of.name}.`, { db }, async () => {
							await post(`${p.at}/restore`, db ? { database: db } : {})
							tellAll()
						})
					}}
				>
					<Choice
						label="What"
						value={db}
						set={choose}
						of={[['', 'The whole store'], ...choices(p.of.databases)]}
					/>
					<p>
						This deletes what was written since {moment(Date.parse(p.of.time))}.
						{undoIsOn() && ' ' + undoCost}
					</p>
				</Dialog>
			)}
		</>
	)
}

// Fork copies a database out of a snapshot under another name.
function Fork(p: Kept) {
	const [open, set] = useState(false),
		[db, choose] = useState(p.of.databases[0]),
		[as, name] = useState('')
	return (
		<>
			<Button do={() => set(true)}>Fork</Button>
			{open && (
				<Dialog
					title={`Fork a database of ${p.of.name}`}
					word="Fork"
					close={() => set(false)}
					send={async () => {
						await post(`${p.at}/fork`, { database: db, as })
						tell('tree')
						note(`${as} is ${db} as it was at ${p.of.name}.`)
					}}
				>
					<Choice label="Database" value={db} set={choose} of={choices(p.of.databases)} />
					<Text label="Id of the copy" value={as} set={name} />
				</Dialog>
			)}
		</>
	)
}
