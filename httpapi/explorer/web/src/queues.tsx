// A queue, a topic or a subscription: its messages, its dead letters, its sessions, and what sends to it.
import { useState } from 'preact/hooks'
import { entityPath, get, post, remove } from './api'
import { EntitySettings } from './entity'
import { Forecast } from './forecast'
import { Messages } from './messages'
import { Rules } from './rules'
import { Sessions } from './sessions'
import { go, tell, url, useClock, useData, useSignal } from './state'
import { Bad, Button, Confirm, Panel, Stats, Tabs, Text } from './ui'

export function QueuePage(p: { path: string; tab: string }) {
	const moved = useSignal('data')
	const { data, error } = useData<any>(() => get(entityPath(p.path)), [p.path, moved])
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
				<div class="row">
					<Confirm
						word="Delete"
						what={`${p.path} and all its messages are gone then.`}
						do={async () => {
							await remove(entityPath(p.path))
							tell('tree')
							go()
						}}
					/>
				</div>
			</header>
			<Bad text={error} />
			{data && (
				<>
					<Stats
						of={[
							...((topic
								? []
								: [
										['Active', data.active],
										['Scheduled', data.scheduled],
										['Dead', dead, dead ? 'warn' : ''],
									]) as any),
							['Size', `${data.bytes.toLocaleString('en')} B`],
							['Time to live', <span class="mono">{data.defaultTimeToLive || 'none'}</span>],
						]}
					/>
					<Tabs label="Entity" of={tabs} at={p.tab} to={t => url('queue', p.path, t)} />
					<div class="tab">
						{p.tab === 'dead' ? (
							<Messages path={p.path} dead />
						) : p.tab === 'sessions' ? (
							<Sessions path={p.path} />
						) : p.tab === 'rules' ? (
							<Rules path={p.path} />
						) : p.tab === 'time' ? (
							<Panel title="When messages expire">
								<Forecast path={entityPath(p.path, 'forecast')} db="" />
							</Panel>
						) : p.tab === 'settings' ? (
							<EntitySettings of={data} />
						) : (
							<>
								{!topic && <Messages path={p.path} />}
								{data.kind !== 'subscription' && (
									<Send path={p.path} sessions={data.requiresSession} />
								)}
							</>
						)}
					</div>
				</>
			)}
		</>
	)
}

function Send(p: { path: string; sessions: boolean }) {
	const [text, setText] = useState('{"hello":"world"}'),
		[id, setID] = useState(''),
		[ttl, setTTL] = useState('')
	const [delay, setDelay] = useState(''),
		[session, setSession] = useState(''),
		[subject, setSubject] = useState('')
	return (
		<Panel
			title="Send a message"
			side={
				<Button
					kind="main"
					do={async () => {
						await post(entityPath(p.path, 'send'), {
							text,
							contentType: 'application/json',
							...(id && { id }),
							...(subject && { subject }),
							...(ttl && { ttl: Number(ttl) }),
							...(delay && { delay: Number(delay) }),
							...(session && { session }),
						})
						tell('data')
						tell('tree')
					}}
				>
					Send
				</Button>
			}
		>
			<div class="fields">
				<Text label="Body" value={text} set={setText} lines={3} mono wide />
				<Text label="Id" value={id} set={setID} placeholder="made by the server" />
				<Text label="Subject" value={subject} set={setSubject} />
				<Text label="Time to live, in seconds" value={ttl} set={setTTL} type="number" />
				<Text label="Delay, in seconds" value={delay} set={setDelay} type="number" />
				{p.sessions && <Text label="Session" value={session} set={setSession} />}
			</div>
		</Panel>
	)
}
