// A queue, a topic or a subscription: its messages, its dead letters, its sessions, and what sends to it.
import { entityPath, remove } from './api'
import { SendPanel } from './compose'
import { useEntity } from './counts'
import { parseDuration, typed } from './duration'
import { EntitySettings } from './entity'
import { Forecast } from './forecast'
import { Messages } from './messages'
import './queue.css'
import { Rules } from './rules'
import { Sessions } from './sessions'
import { go, tell, url, useClock } from './state'
import { Bad, Confirm, Panel, Stats, Tabs } from './ui'
import { undoCost, undoIsOn, withUndo } from './undo'

export function QueuePage(p: { path: string; tab: string }) {
	const { data, error } = useEntity(p.path)
	useClock('')
	const topic = data?.kind === 'topic',
		dead = data?.deadLetters ?? 0
	const tabs: [string, string][] = topic
		? [
				['messages', 'Send'],
				['settings', 'Settings'],
			]
		: [
				['messages', 'Messages'],
				['dead', `Dead letters${dead ? ` (${dead})` : ''}`],
				...(data?.requiresSession ? [['sessions', 'Sessions'] as [string, string]] : []),
				...(data?.kind === 'subscription' ? [['rules', 'Rules'] as [string, string]] : []),
				['time', 'Time'],
				['settings', 'Settings'],
			]
	return (
		<>
			<header class="page-head">
				<h1>
					{p.path} {data && <span class="chip">{data.kind}</span>}
				</h1>
				{data && (
					<div class="row">
						<Confirm
							word="Delete"
							what={
								`This deletes ${p.path} and all its messages.` +
								(undoIsOn() ? ' ' + undoCost : ' It cannot be undone.')
							}
							do={() =>
								withUndo(`${p.path} is deleted.`, {}, async () => {
									await remove(entityPath(p.path))
									tell('tree')
									go()
								})
							}
						/>
					</div>
				)}
			</header>
			<Bad text={error} />
			{!data && !error && (
				<p class="soft" aria-busy="true">
					Loading…
				</p>
			)}
			{data && (
				<>
					<Stats
						of={[
							...((topic
								? []
								: [
										['Active', data.active],
										['Scheduled', data.scheduled],
										['Dead-lettered', dead, dead ? 'warn' : ''],
									]) as any),
							['Size', `${data.bytes.toLocaleString('en')} B`],
							['Time to live', <span class="mono">{data.defaultTimeToLive ? typed(parseDuration(data.defaultTimeToLive)) : 'none'}</span>],
						]}
					/>
					<Tabs label="Entity" of={tabs} at={p.tab} to={t => url('queue', p.path, t)} />
					<div class="tab">
						{p.tab === 'dead' && !topic ? (
							<Messages key="dead" of={data} dead />
						) : p.tab === 'sessions' ? (
							<Sessions of={data} />
						) : p.tab === 'rules' ? (
							<Rules path={p.path} />
						) : p.tab === 'time' ? (
							<Panel title="When messages expire">
								<Forecast path={entityPath(p.path, 'forecast')} db="" />
							</Panel>
						) : p.tab === 'settings' ? (
							<EntitySettings of={data} />
						) : topic ? (
							<SendPanel path={p.path} />
						) : (
							<Messages key="main" of={data} />
						)}
					</div>
				</>
			)}
		</>
	)
}
