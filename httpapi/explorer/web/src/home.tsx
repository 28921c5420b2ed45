import { useState } from 'preact/hooks'
import { get, has, own, post } from './api'
import { Connect } from './connect'
import { Forecast } from './forecast'
import { State } from './loading'
import type { Tree } from './tree'
import { question } from './question'
import { note, plural, tell, tellAll, url, useData, useSignal } from './state'
import { Bad, Button, Confirm, Panel, Stats, Table } from './ui'
import { undoCost, undoIsOn, withUndo } from './undo'

const most = 200 // of queues that are listed

export function Home(p: { tree: Tree | null; make: (what: string) => void }) {
	const moved = useSignal('data')
	useSignal('undo')
	const docs = useData(() => has('/_explorer/docs/'), [])
	const account = useData(() => get('/'), []),
		reaper = useData(() => get(own('reaper')), [moved])
	const dbs = p.tree?.databases ?? [],
		queues = p.tree?.entities ?? []
	return (
		<>
			<header class="page-head">
				<h1>Overview</h1>
				<div class="row">
					<Button kind="main" do={() => p.make('database')}>
						New database
					</Button>
					<Button do={() => p.make('entity')}>New queue or topic</Button>
					<Confirm
						word="Reset"
						what={
							'This replaces everything with the state after the start, clocks and faults included.' +
							(undoIsOn() ? ' ' + undoCost : '')
						}
						do={() =>
							withUndo('The store is as it was at its start.', {}, async () => {
								await post(own('reset'))
								tellAll()
							})
						}
					/>
				</div>
			</header>
			<Bad text={account.error || reaper.error} />
			<Connect />
			<Stats
				of={[
					['Databases', p.tree ? dbs.length : '…'],
					['Containers', p.tree ? dbs.reduce((n, d) => n + d.containers.length, 0) : '…'],
					['Queues and topics', p.tree ? queues.length : '…'],
					[
						'Dead letters',
						queues.reduce((n, q) => n + q.deadLetters, 0),
						queues.some(q => q.deadLetters) ? 'warn' : '',
					],
					['Consistency', account.data?.userConsistencyPolicy?.defaultConsistencyLevel ?? '…'],
					['Purges', reaper.data?.paused ? 'paused' : 'running'],
				]}
			/>
			<div class="halves">
				<Panel title="Databases">
					<State
						of={{ data: p.tree, error: '' }}
						empty={t => !t.databases.length}
						nothing={
							<>
								<p>No database yet. Connect a client, create one here, or try some data.</p>
								<div class="row">
									<Button kind="main" do={() => p.make('database')}>
										New database
									</Button>
									<Sample queues={!!p.tree?.queues} />
								</div>
							</>
						}
					>
						{() => (
							<>
								<Table
									label="Databases"
									head={['Database', 'Containers']}
									rows={dbs.map(d => [
										<a href={url('db', d.id)}>{d.id}</a>,
										<>
											{d.containers.slice(0, 8).map(c => (
												<a class="chip" href={url('db', d.id, c)}>
													{c}
												</a>
											))}
											{d.containers.length > 8 && ` and ${d.containers.length - 8} more`}
										</>,
									])}
								/>
								<div class="row">
									<Sample queues={!!p.tree?.queues} />
								</div>
							</>
						)}
					</State>
				</Panel>
				<Panel title="Queues and topics">
					<State
						of={{ data: p.tree, error: '' }}
						empty={t => !t.entities.length}
						nothing={<p>No queue or topic yet.</p>}
					>
						{() => (
							<Table
								label="Queues"
								head={['Entity', 'Messages', 'Dead letters']}
								rows={queues.slice(0, most).map(q => [
									<a href={url('queue', q.path)}>{q.path}</a>,
									plural(q.active, 'message'),
									q.deadLetters,
								])}
							/>
						)}
					</State>
					{queues.length > most && (
						<p class="soft">
							And {(queues.length - most).toLocaleString('en')} more: filter the tree, or press Ctrl K.
						</p>
					)}
				</Panel>
			</div>
			<Coming />
			<p class="soft">
				For programs: <a href="/_mayfly/openapi.json">openapi.json</a>, and{' '}
				<a href="/_mayfly/">the same on a page</a>; <a href="/_mayfly/metrics">metrics</a>.
				{docs.data && (
					<>
						{' '}
						For people: <a href="/_explorer/docs/">Documentation</a>.
					</>
				)}
			</p>
		</>
	)
}

// Coming is the chart of expiries, once there is one to come.
function Coming() {
	const moved = useSignal('data'),
		changed = useSignal('tree')
	const { data } = useData<any>(() => get(own('forecast')), [moved, changed])
	return data?.coming || data?.overdue ? (
		<Panel title="Upcoming expiries">
			<Forecast path={own('forecast')} db="" />
		</Panel>
	) : null
}

function Sample(p: { queues: boolean }) {
	const [busy, set] = useState(false)
	return (
		<Button
			disabled={busy}
			do={async () => {
				const { isThere, loadSample, sampleDatabase } = await import('./sample')
				const there = await isThere()
				const yes =
					!there.length ||
					(await question({
						title: 'Load sample data?',
						text: `There is a ${there.join(' and a ')} already. Documents with the ids of the sample are overwritten; messages are added.`,
						word: 'Overwrite',
						bad: true,
					}))
				if (!yes) return
				set(true)
				try {
					await loadSample(p.queues)
				} finally {
					set(false)
					tell('tree')
					tell('data')
				}
				note(`The database ${sampleDatabase} has 110 documents${p.queues ? ', and the queue sample-emails four messages' : ''}.`)
			}}
		>
			Load sample data
		</Button>
	)
}
