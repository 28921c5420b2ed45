// The sessions of an entity that have messages, a page at a time, and the messages of one of them.
import { entityPath, post } from './api'
import { Body, Left, takeOne } from './messages'
import { stamp, useData, useShown, useSignal } from './state'
import { Bad, Button, Panel, Table } from './ui'

const page = 100,
	most = 1000

export function Sessions(p: { path: string }) {
	const moved = useSignal('data'),
		[open, setOpen] = useShown('session'),
		[fromText, setFrom] = useShown('from', '0')
	const from = Number(fromText)
	const { data, error } = useData<any>(
		() => post(entityPath(p.path, 'sessions'), { skip: from, count: page }),
		[p.path, from, moved],
	)
	const ids: string[] = data?.sessions ?? []
	return (
		<Panel title="Sessions">
			<Bad text={error} />
			<Table
				label="Sessions"
				head={['Session', '']}
				empty={from ? 'No more sessions.' : 'No session has a message.'}
				rows={ids.map(id => [
					<button
						type="button"
						class="btn quiet mono"
						aria-expanded={'=' + id === open}
						onClick={() => setOpen('=' + id === open ? '' : '=' + id, true)}
					>
						{id || '(empty)'}
					</button>,
					<Button do={() => takeOne(p.path, { session: id })}>
						Take one<span class="unseen"> of {id}</span>
					</Button>,
				])}
			/>
			<div class="row">
				{from > 0 && <Button do={() => setFrom('0', true)}>First</Button>}
				{ids.length === page && (
					<Button do={() => setFrom(String(from + page), true)}>Next {page}</Button>
				)}
			</div>
			{open && <Session key={open} path={p.path} id={open.slice(1)} />}
		</Panel>
	)
}

function Session(p: { path: string; id: string }) {
	const moved = useSignal('data')
	const { data, error } = useData<any>(
		() => post(entityPath(p.path, 'peek'), { session: p.id, count: most }),
		[p.id, moved],
	)
	const list: any[] = data?.messages ?? []
	return (
		<>
			<h3>Messages of {p.id || 'the empty session'}</h3>
			<Bad text={error} />
			<Table
				label="Messages of the session"
				head={['Number', 'Id', 'State', 'Since', 'Expires in', 'Body']}
				empty="No message."
				rows={list.map(m => [
					<span class="num">{m.sequenceNumber}</span>,
					<span class="mono">{m.id}</span>,
					m.life.lockedUntil ? 'locked' : m.state,
					<span class="num">{stamp(Date.parse(m.enqueued))}</span>,
					<Left of={m} />,
					<Body of={m} />,
				])}
			/>
			{list.length === most && <p class="soft">These are the first {most}.</p>}
		</>
	)
}
