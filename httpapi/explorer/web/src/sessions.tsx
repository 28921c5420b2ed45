// The sessions of an entity that have messages.
import { entityPath, post } from './api'
import { Body, Left, takeOne } from './messages'
import { stamp, useData, useShown, useSignal } from './state'
import { Bad, Button, Panel, Table } from './ui'

const most = 1000

export function Sessions(p: { path: string }) {
	const moved = useSignal('data'),
		[open, setOpen] = useShown('session')
	const { data, error } = useData<any>(
		() => post(entityPath(p.path, 'peek'), { count: most }),
		[p.path, moved],
	)
	const by = new Map<string, any[]>()
	for (const m of data?.messages ?? [])
		if (m.session !== undefined) by.set(m.session, [...(by.get(m.session) ?? []), m])
	return (
		<Panel title="Sessions">
			<Bad text={error} />
			<Table
				label="Sessions"
				head={['Session', 'Messages', 'Locked', 'First since', '']}
				empty="No session has a message."
				rows={[...by].map(([id, list]) => [
					<button
						type="button"
						class="btn quiet mono"
						aria-expanded={id === open}
						onClick={() => setOpen(id === open ? '' : id, true)}
					>
						{id || '(empty)'}
					</button>,
					list.length,
					list.some(m => m.life.lockedUntil) ? 'yes' : 'no',
					<span class="num">{stamp(Date.parse(list[0].enqueued))}</span>,
					<Button do={() => takeOne(p.path, { session: id })}>Take one</Button>,
				])}
			/>
			{data?.messages.length === most && (
				<p class="soft">These are the sessions of the first {most} messages.</p>
			)}
			{by.has(open) && (
				<Table
					label="Messages of the session"
					head={['Number', 'Id', 'State', 'Expires in', 'Body']}
					rows={by
						.get(open)!
						.map(m => [
							<span class="num">{m.sequenceNumber}</span>,
							<span class="mono">{m.id}</span>,
							m.life.lockedUntil ? 'locked' : m.state,
							<Left of={m} />,
							<Body of={m} />,
						])}
				/>
			)}
		</Panel>
	)
}
