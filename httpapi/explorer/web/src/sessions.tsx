// The sessions of an entity that have messages or a state: their state, who holds their locks, their messages.
import { useRef, useState } from 'preact/hooks'
import { ask, entityPath, put } from './api'
import { useFollow } from './live'
import { Countdown } from './documentcells'
import { Grid, type GridColumn } from './grid'
import type { Entity } from './tree'
import { MessageDetail } from './messagedetail'
import { useMessages } from './messagerows'
import { messageColumns } from './messages'
import { openReceiver, receive } from './receivers'
import { Received, shortHeight } from './receive'
import { note, plural, say, tell, useShown, useSignal } from './state'
import { useUnsaved } from './unsaved'
import { Bad, Button, Empty, Panel, Text } from './ui'

const page = 100

const columns: GridColumn<any>[] = [
	{ name: 'id', label: 'Session', value: s => s.id || '(empty)', share: 2 },
	{
		name: 'messages',
		label: 'Messages',
		value: s => (s.messages < 10000 ? s.messages : '10,000 or more'),
		width: 90,
		class: 'num',
	},
	{ name: 'state', label: 'State', value: s => s.state ?? s.stateBase64 ?? '', share: 2, class: 'mono soft' },
	{ name: 'holder', label: 'Lock holder', value: s => (s.locked ? s.holder || 'a client' : ''), share: 1, class: 'plain' },
	{
		name: 'until',
		label: 'Lock',
		value: s => s.lockedUntil,
		cell: s => (s.locked ? <Countdown at={Date.parse(s.lockedUntil)} db="" /> : <span class="soft">free</span>),
		width: 96,
		class: 'num',
	},
]

// useSessions follows the sessions of an entity.
function useSessions(path: string) {
	const moved = useSignal('data')
	const [state, set] = useState<{ rows: any[] | null; error: string }>({ rows: null, error: '' }),
		count = useRef(page)
	const again = useFollow(
		async signal => {
			try {
				const { details } = (
					await ask('POST', entityPath(path, 'sessions'), { body: { count: count.current }, signal })
				).body
				if (!signal.aborted) set({ rows: details, error: '' })
			} catch (e) {
				if (!signal.aborted) set(s => ({ ...s, error: say(e) }))
			}
		},
		{ every: 2000, signals: ['messages'] },
		[path, moved],
	)
	const rows = state.rows ?? [],
		more = rows.length >= count.current && count.current < 1000
	return {
		...state,
		rows,
		busy: !state.rows && !state.error,
		more,
		again,
		loadMore: () => {
			if (!more) return
			count.current = 1000
			again()
		},
	}
}

export function Sessions(p: { of: Entity }) {
	const path = p.of.path,
		list = useSessions(path)
	const [open, setOpen] = useShown('session') // with = before the id, which may be empty
	const shown = list.rows.find(s => '=' + s.id === open)
	const [message, show] = useState<any>(null)
	const accept = async (session?: string) => {
		const r = await openReceiver(path, false, session === undefined ? { nextSession: true } : { session })
		const n = await receive(r, { count: 10 })
		setOpen('=' + (r.session ?? ''))
		note(`Session ${r.session || '(empty)'} accepted, ${plural(n, 'message')} locked.`)
	}
	return (
		<>
			<Received path={path} dead={false} show={show} shown={message} />
			<div class="bar">
				<Button kind="main" do={() => accept()}>
					Accept next session
				</Button>
				<Button do={list.again}>Reload</Button>
			</div>
			<Bad text={list.error} />
			<div class="split">
				<div class="grid-box">
					<Grid
						label="Sessions"
						kept="sessions"
						columns={columns}
						rows={list.rows}
						keyOf={s => '=' + s.id}
						more={list.more}
						sight={(_, last) => last >= list.rows.length && list.loadMore()}
						open={s => {
							show(null)
							setOpen('=' + s.id)
						}}
						moved={s => open && setOpen('=' + s.id)}
						opened={open}
						busy={list.busy}
						tick={500}
						empty="No session has a message or a state."
					/>
				</div>
				{message ? (
					<MessageDetail of={message} side={<Button do={() => show(null)}>Close message</Button>} />
				) : open ? (
					<Session key={open} of={p.of} id={open.slice(1)} known={shown} accept={() => accept(open.slice(1))} show={show} />
				) : (
					<div class="panel message">
						<Empty>Choose a session to see its state and messages.</Empty>
					</div>
				)}
			</div>
		</>
	)
}

function Session(p: { of: Entity; id: string; known?: any; accept: () => Promise<unknown>; show: (m: any) => void }) {
	const grid = useRef<HTMLDivElement>(null)
	const list = useMessages(p.of.path, { session: p.id }, () => (grid.current?.scrollTop ?? 0) > 0)
	return (
		<Panel
			title={`Session ${p.id || '(empty)'}`}
			class="message"
			side={
				<Button disabled={p.known?.locked} do={p.accept}>
					Accept session
				</Button>
			}
		>
			<State key={`${p.known?.state} ${p.known?.stateBase64}`} path={p.of.path} id={p.id} known={p.known} />
			<Bad text={list.error} />
			<div class="grid-box short" style={{ height: shortHeight(list.rows.length) }}>
				<Grid
					label="Messages of the session"
					kept="session-messages"
					columns={messageColumns(false, false)}
					rows={list.rows}
					keyOf={m => String(m.sequenceNumber)}
					more={list.more}
					sight={(_, last) => last >= list.rows.length - 20 && list.loadMore()}
					atTop={list.show}
					open={p.show}
					busy={list.busy}
					tick={500}
					at={grid}
					empty="No message."
				/>
			</div>
		</Panel>
	)
}

// State is the state of a session, which can be edited.
function State(p: { path: string; id: string; known?: any }) {
	const binary = p.known?.stateBase64 !== undefined,
		had: string = p.known?.stateBase64 ?? p.known?.state ?? ''
	const [text, set] = useState(had)
	useUnsaved(text !== had)
	return (
		<div class="session-state">
			<Text label={binary ? 'State, as base64' : 'State'} value={text} set={set} lines={3} mono wide placeholder="none" />
			<Button
				disabled={text === had}
				do={async () => {
					await put(entityPath(p.path, 'session-state'), {
						session: p.id,
						...(binary ? { stateBase64: text } : { state: text }),
					})
					note('Saved.')
					tell('data')
				}}
			>
				Save state
			</Button>
		</div>
	)
}
