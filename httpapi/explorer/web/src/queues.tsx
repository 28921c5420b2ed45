// A queue, a topic or a subscription: its messages, its dead letters, its sessions, and what sends to it.
import { useState } from 'preact/hooks'
import { entityPath, get, post, remove } from './api'
import { Forecast } from './forecast'
import { Countdown } from './documents'
import { go, note, plural, stamp, tell, url, useClock, useData, useSignal, useTick } from './state'
import { Bad, Button, Confirm, Empty, Json, Panel, Stats, Table, Tabs, Text } from './ui'

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
				['sessions', 'Sessions'],
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
							<Sessions path={p.path} of={data} />
						) : p.tab === 'time' ? (
							<Panel title="When messages expire">
								<Forecast path={entityPath(p.path, 'forecast')} db="" />
							</Panel>
						) : p.tab === 'settings' ? (
							<Panel title="Settings">
								<Json of={data} />
							</Panel>
						) : (
							<>
								{!topic && <Messages path={p.path} />}
								<Send path={p.path} sessions={data.requiresSession} />
							</>
						)}
					</div>
				</>
			)}
		</>
	)
}

const page = 100

function Messages(p: { path: string; dead?: boolean }) {
	const moved = useSignal('data'),
		[from, setFrom] = useState(0),
		[open, setOpen] = useState(0)
	const { data, error } = useData<any>(
		() => post(entityPath(p.path, 'peek'), { count: page, from, deadLetters: !!p.dead }),
		[p.path, p.dead, from, moved],
	)
	const list: any[] = data?.messages ?? [],
		one = list.find(m => m.sequenceNumber === open)
	useTick(500)
	const take = async () => {
		const got = await post(entityPath(p.path, 'receive'), { count: 1, deadLetters: !!p.dead })
		note(got.messages.length ? `Message ${got.messages[0].id} is taken.` : 'There was none to take.')
		tell('data')
		tell('tree')
	}
	return (
		<Panel
			title={p.dead ? 'Dead letters' : 'Messages'}
			side={
				<>
					{p.dead && (
						<Button
							kind="main"
							disabled={!list.length}
							do={async () => {
								note(
									`${plural((await post(entityPath(p.path, 'resubmit'))).messages, 'message')} sent again.`,
								)
								tell('data')
								tell('tree')
							}}
						>
							Resubmit all
						</Button>
					)}
					<Button do={take} disabled={!list.length}>
						Take one
					</Button>
					<Confirm
						word="Purge"
						what={`All ${p.dead ? 'dead letters' : 'messages that nobody has locked'} are gone then.`}
						do={async () => {
							note(
								`${plural((await post(entityPath(p.path, 'purge'), { deadLetters: !!p.dead })).messages, 'message')} purged.`,
							)
							tell('data')
						}}
					/>
				</>
			}
		>
			<Bad text={error} />
			<Table
				label="Messages"
				head={['Number', 'Id', 'Session', 'State', 'Tried', 'Expires in', 'Body']}
				empty={p.dead ? 'No dead letter.' : 'No message.'}
				rows={list.map(m => [
					<button
						type="button"
						class="btn quiet num"
						aria-expanded={m === one}
						onClick={() => setOpen(m === one ? 0 : m.sequenceNumber)}
					>
						{m.sequenceNumber}
					</button>,
					<span class="mono">{m.id}</span>,
					m.session ?? '',
					m.life.lockedUntil ? 'locked' : m.state,
					m.deliveryCount,
					<Countdown at={m.life.expires ? Date.parse(m.life.expires) : null} db="" />,
					<span class="mono soft cut">{m.text ?? m.base64 ?? ''}</span>,
				])}
			/>
			{one && (
				<div class="message">
					<p>{one.life.why}</p>
					{p.dead && (
						<p>
							<b>{one.properties?.DeadLetterReason}</b>{' '}
							{one.properties?.DeadLetterErrorDescription}
						</p>
					)}
					<Json of={body(one)} />
				</div>
			)}
			<div class="row">
				{from > 0 && <Button do={() => setFrom(0)}>First</Button>}
				{list.length === page && (
					<Button do={() => setFrom(list[page - 1].sequenceNumber + 1)}>Next {page}</Button>
				)}
			</div>
		</Panel>
	)
}

// body is a message with its body as JSON, where it is some.
function body(m: any) {
	try {
		return { ...m, text: undefined, body: JSON.parse(m.text) }
	} catch {
		return m
	}
}

function Sessions(p: { path: string; of: any }) {
	const moved = useSignal('data')
	const { data, error } = useData<any>(
		() => post(entityPath(p.path, 'peek'), { count: 1000 }),
		[p.path, moved],
	)
	const by = new Map<string, any[]>()
	for (const m of data?.messages ?? [])
		if (m.session !== undefined) by.set(m.session, [...(by.get(m.session) ?? []), m])
	return (
		<Panel title="Sessions">
			<Bad text={error} />
			{!p.of.requiresSession && (
				<Empty>This entity has no sessions: a session is chosen when a queue is made.</Empty>
			)}
			{p.of.requiresSession && (
				<Table
					label="Sessions"
					head={['Session', 'Messages', 'First since', '']}
					empty="No session has a message."
					rows={[...by].map(([id, list]) => [
						<b class="mono">{id}</b>,
						list.length,
						<span class="num">{stamp(Date.parse(list[0].enqueued))}</span>,
						<Button
							do={async () => {
								const got = await post(entityPath(p.path, 'receive'), {
									count: 1,
									session: id,
								})
								note(
									got.messages.length
										? `Message ${got.messages[0].id} is taken.`
										: 'Somebody has this session locked.',
								)
								tell('data')
							}}
						>
							Take one
						</Button>,
					])}
				/>
			)}
		</Panel>
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
