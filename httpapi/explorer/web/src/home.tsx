import { get, has, own, post } from './api'
import { Forecast } from './forecast'
import type { Tree } from './main'
import { note, plural, tellAll, url, useData, useSignal } from './state'
import { Bad, Button, Confirm, Empty, Panel, Stats, Table } from './ui'

const most = 200 // of queues that are listed

export function Home(p: { tree: Tree | null; make: (what: string) => void }) {
	const moved = useSignal('data')
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
						what="The store goes back to what it had at its start, clocks and faults included."
						do={async () => {
							await post(own('reset'))
							tellAll()
							note('The store is as it was at its start.')
						}}
					/>
				</div>
			</header>
			<Bad text={account.error || reaper.error} />
			<Stats
				of={[
					['Databases', dbs.length],
					['Containers', dbs.reduce((n, d) => n + d.containers.length, 0)],
					['Queues and topics', queues.length],
					[
						'Dead letters',
						queues.reduce((n, q) => n + q.deadLetters, 0),
						queues.some(q => q.deadLetters) ? 'warn' : '',
					],
					['Consistency', account.data?.userConsistencyPolicy?.defaultConsistencyLevel ?? '…'],
					['Purges', reaper.data?.paused ? 'paused' : 'running'],
				]}
			/>
			<Panel title="What is going to expire">
				<Forecast path={own('forecast')} db="" />
			</Panel>
			<div class="halves">
				<Panel title="Databases">
					{dbs.length ? (
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
					) : (
						<Empty>No database yet. Make one here, or point an SDK at this address.</Empty>
					)}
				</Panel>
				<Panel title="Queues and topics">
					{queues.length ? (
						<Table
							label="Queues"
							head={['Entity', 'Messages', 'Dead']}
							rows={queues.slice(0, most).map(q => [
								<a href={url('queue', q.path)}>{q.path}</a>,
								plural(q.active, 'message'),
								q.deadLetters,
							])}
						/>
					) : (
						<Empty>None.</Empty>
					)}
					{queues.length > most && (
						<p class="soft">
							And {(queues.length - most).toLocaleString('en')} more: filter the tree, or press Ctrl K.
						</p>
					)}
				</Panel>
			</div>
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
