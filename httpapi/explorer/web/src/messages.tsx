// The messages of an entity, or its dead letters, beside the one that is open.
import { useEffect, useRef, useState } from 'preact/hooks'
import { entityPath, Failure, post } from './api'
import { draftOf, EditDialog, emptyDraft, SendDialog, type Draft } from './compose'
import { Countdown } from './documentcells'
import { Grid, type GridColumn } from './grid'
import type { Entity } from './tree'
import { MenuButton } from './menu'
import { MessageDetail, reasonOf } from './messagedetail'
import { exportMessages } from './messageexport'
import { peek, useMessages } from './messagerows'
import { stateText } from './messagetext'
import { Progress } from './progress'
import { Received, ReceiveDialog } from './receive'
import { isSelected, noRows, type Selection } from './selection'
import { note, plural, stamp, tell, useShown } from './state'
import { Bad, Button, Dialog, Empty, Text } from './ui'
import { undoCost, undoIsOn, withUndo } from './undo'

export const Left = (p: { of: any }) => (
	<Countdown at={p.of.life.expires ? Date.parse(p.of.life.expires) : null} db="" />
)

const number = (m: any) => String(m.sequenceNumber?.rawJSON ?? m.sequenceNumber)
const bodyOf = (m: any) => m.text ?? m.base64 ?? ''

// messageColumns are the columns of a list of messages.
export function messageColumns(dead: boolean, sessions: boolean): GridColumn<any>[] {
	return [
		{ name: 'number', label: 'Number', value: number, width: 76, class: 'num' },
		{ name: 'id', label: 'Message id', value: m => m.id, share: 1 },
		...(sessions ? [{ name: 'session', label: 'Session', value: (m: any) => m.session ?? '', width: 90 }] : []),
		...(dead
			? [{ name: 'reason', label: 'Reason', value: (m: any) => reasonOf(m)[0], share: 1, class: 'plain' }]
			: [
					{ name: 'state', label: 'State', value: stateText, width: 90, class: 'plain' },
					{
						name: 'expires',
						label: 'Expires in',
						value: (m: any) => m.life.expires,
						cell: (m: any) => <Left of={m} />,
						width: 96,
						class: 'num',
					},
				]),
		{ name: 'tried', label: 'Delivery count', value: m => m.deliveryCount, width: 124, class: 'num', hidden: !dead },
		{ name: 'body', label: 'Body', value: bodyOf, share: 2, class: 'mono soft' },
		{ name: 'subject', label: 'Subject', value: m => m.subject ?? '', width: 110, hidden: true },
		{ name: 'correlation', label: 'Correlation id', value: m => m.correlationId ?? '', width: 110, hidden: true },
		{ name: 'enqueued', label: 'Enqueued', value: m => stamp(Date.parse(m.enqueued)), width: 160, hidden: true, class: 'num' },
	]
}

// told tells what became of messages that were named, and throws why one stayed.
function told(out: any, done: string) {
	if (out.messages) note(`${plural(out.messages, 'message')} ${done}.`)
	tell('data')
	if (out.failed?.length) throw new Failure(0, '', `Message ${out.failed[0].sequenceNumber}: ${out.failed[0].message}`)
}

export function Messages(p: { of: Entity; dead?: boolean }) {
	const dead = !!p.dead,
		path = p.of.path,
		sessions = !!p.of.requiresSession
	const to = path.replace(/\/subscriptions\/.*$/i, '') // where what is sent again goes
	const grid = useRef<HTMLDivElement>(null)
	const list = useMessages(path, dead ? { deadLetters: true } : {}, () => (grid.current?.scrollTop ?? 0) > 0)
	const [open, setOpen] = useShown('message'),
		[selection, select] = useState<Selection>(noRows),
		[locked, showLocked] = useState<any>(null),
		[sending, send] = useState<Draft | null>(null),
		[editing, edit] = useState<any>(null),
		[receiving, ask] = useState(''),
		[elsewhere, setElsewhere] = useState<any>(null)
	const total = dead ? p.of.deadLetters : p.of.active + p.of.scheduled
	const inList = list.rows.find(m => number(m) === open)
	useEffect(() => {
		if (!open || inList || list.busy) return setElsewhere(null)
		let late = false
		peek(path, { deadLetters: dead, from: Number(open), count: 1 }).then(
			([m]) => !late && setElsewhere(m && number(m) === open ? m : null),
			() => !late && setElsewhere(null),
		)
		return () => {
			late = true
		}
	}, [open, !inList, list.busy])
	const shown = locked ?? inList ?? elsewhere,
		chosen = list.rows.filter(m => isSelected(selection, number(m))),
		all = selection.all && list.more
	const numbers = chosen.map(m => m.sequenceNumber)
	const show = (m: any) => {
		showLocked(null)
		setOpen(number(m))
	}
	const resubmit = async () => {
		const out = await post(
			entityPath(path, 'resubmit'),
			!chosen.length || all ? {} : { sequenceNumbers: numbers },
		)
		select(noRows)
		told(out, 'sent again')
	}
	const remove = async () => {
		const out = await withUndo(
			r => `${plural(r.messages, 'message')} deleted.`,
			{},
			() => post(entityPath(path, 'delete'), { sequenceNumbers: numbers, deadLetters: dead }),
		)
		select(noRows)
		told({ ...out, messages: 0 }, '')
	}
	return (
		<>
			<Received
				path={path}
				dead={dead}
				show={m => {
					setOpen('')
					showLocked(m)
				}}
				shown={locked}
			/>
			<div class="bar" role="group" aria-label={dead ? 'Dead letters' : 'Messages'}>
				{dead ? (
					<Button kind="main" disabled={!list.rows.length} do={resubmit}>
						{chosen.length && !all ? `Resubmit ${chosen.length}` : 'Resubmit all'}
					</Button>
				) : (
					p.of.kind === 'queue' && (
						<Button kind="main" do={() => send(emptyDraft())}>
							Send message
						</Button>
					)
				)}
				<MenuButton
					word="Receive"
					items={() => [
						{ label: 'Peek-lock…', do: () => ask('lock') },
						{ label: 'Receive and delete…', do: () => ask('delete'), bad: true },
					]}
				/>
				<Button disabled={!chosen.length || (!dead && sessions)} do={() => ask('remove')}>
					Delete{chosen.length ? ` ${chosen.length}` : ''}
				</Button>
				<Export path={path} dead={dead} list={chosen.length && !all ? chosen : undefined} total={total} />
				<Button do={list.reload}>Reload</Button>
				<button type="button" class="btn bad" onClick={() => ask('purge')}>
					Purge
				</button>
			</div>
			<Bad text={list.error} />
			{list.error && !list.rows.length ? (
				<Empty>
					The messages could not be read. <Button do={list.reload}>Try again</Button>
				</Empty>
			) : (
				<div class="split">
					<div class="grid-box">
						{list.fresh > 0 && (
							<button
								type="button"
								class="btn fresh"
								onClick={() => {
									list.show()
									grid.current!.scrollTop = grid.current!.scrollHeight
								}}
							>
								{list.fresh.toLocaleString('en')} new
							</button>
						)}
						<Grid
							label={dead ? 'Dead letters' : 'Messages'}
							kept={dead ? 'dead-letters' : 'messages'}
							columns={messageColumns(dead, sessions)}
							rows={list.rows}
							keyOf={number}
							total={Math.max(total, list.more ? total : list.rows.length)}
							more={list.more}
							sight={(_, last) => last >= list.rows.length - 20 && list.loadMore()}
							atTop={list.show}
							place={`${path} ${dead}`}
							open={show}
							moved={m => open && show(m)}
							opened={open}
							selection={selection}
							select={select}
							busy={list.busy}
							tick={500}
							at={grid}
							empty={
								dead ? (
									'No dead letter.'
								) : (
									<>
										<p>No message.</p>
										{p.of.kind === 'queue' && (
											<Button do={() => send(emptyDraft())}>Send the first one</Button>
										)}
									</>
								)
							}
						/>
					</div>
					{shown ? (
						<MessageDetail
							key={shown.lockToken ?? number(shown)}
							of={shown}
							side={
								<>
									{dead && !shown.lockToken && (
										<>
											<Button
												do={async () => {
													told(
														await post(entityPath(path, 'resubmit'), {
															sequenceNumber: shown.sequenceNumber,
														}),
														'sent again',
													)
												}}
											>
												Resubmit
											</Button>
											<Button do={() => edit(shown)}>Edit and resubmit</Button>
										</>
									)}
									<Button do={() => send(draftOf(shown))}>Send again</Button>
								</>
							}
						/>
					) : (
						<div class="panel message">
							<Empty>Choose a message to see its body and properties.</Empty>
						</div>
					)}
				</div>
			)}
			{sending && (
				<SendDialog path={to} of={sending} session={sessions && to === path} title={`Send to ${to}`} close={() => send(null)} />
			)}
			{editing && <EditDialog path={path} of={editing} close={() => edit(null)} />}
			{receiving === 'lock' && (
				<ReceiveDialog path={path} dead={dead} sessions={sessions && !dead} close={() => ask('')} />
			)}
			{receiving === 'delete' && (
				<TakeDialog path={path} dead={dead} sessions={sessions && !dead} close={() => ask('')} />
			)}
			{receiving === 'remove' && (
				<Dialog title={`Delete ${plural(chosen.length, 'message')}?`} close={() => ask('')} send={remove} word="Delete" bad>
					<p>{undoIsOn() ? undoCost : 'Deleted messages cannot be restored.'} Locked messages stay.</p>
				</Dialog>
			)}
			{receiving === 'purge' && <PurgeDialog path={path} dead={dead} close={() => ask('')} />}
		</>
	)
}

// Export writes messages to a file, until it is cancelled.
function Export(p: { path: string; dead: boolean; list?: any[]; total: number }) {
	const [running, run] = useState<AbortController | null>(null),
		[done, progress] = useState(0)
	useEffect(() => () => running?.abort(), [running])
	const start = async () => {
		const mine = new AbortController()
		progress(0)
		run(mine)
		try {
			await exportMessages(p.path, p.dead, p.list, mine.signal, progress)
		} catch (e) {
			if (!mine.signal.aborted) throw e
		} finally {
			run(null)
		}
	}
	return (
		<>
			<Button do={start} disabled={!!running}>
				Export{p.list ? ` ${p.list.length}` : ''}
			</Button>
			{running && (
				<Progress
					what="Exporting"
					one="message"
					done={done}
					total={p.list?.length ?? p.total}
					cancel={() => running.abort()}
				/>
			)}
		</>
	)
}

// TakeDialog receives and deletes.
function TakeDialog(p: { path: string; dead: boolean; sessions: boolean; close: () => void }) {
	const [count, setCount] = useState('1'),
		[session, setSession] = useState('')
	return (
		<Dialog
			title="Receive and delete"
			close={p.close}
			word="Receive and delete"
			bad
			send={async () => {
				const { messages } = await post(entityPath(p.path, 'receive'), {
					count: Number(count) || 1,
					deadLetters: p.dead,
					...(p.sessions && { session }),
				})
				note(messages.length ? `${plural(messages.length, 'message')} received and deleted.` : 'There was none to receive.')
				tell('data')
			}}
		>
			<Text label="Messages, at most" value={count} set={setCount} type="number" />
			{p.sessions && <Text label="Session id" value={session} set={setSession} />}
			<p>Messages that are received this way are deleted at once.</p>
		</Dialog>
	)
}

// PurgeDialog deletes everything after the name of the entity is typed.
function PurgeDialog(p: { path: string; dead: boolean; close: () => void }) {
	const [name, setName] = useState('')
	return (
		<Dialog
			title={p.dead ? 'Purge dead letters' : 'Purge messages'}
			close={p.close}
			word="Purge"
			bad
			send={async () => {
				if (name !== p.path) throw new Failure(0, '', `Type ${p.path} to purge it.`)
				await withUndo(
					out => `${plural(out.messages, 'message')} purged.`,
					{},
					() => post(entityPath(p.path, 'purge'), { deadLetters: p.dead }),
				)
				tell('data')
			}}
		>
			<p class="wide">
				This deletes all {p.dead ? 'dead letters' : 'messages that are not locked or scheduled'} of <b>{p.path}</b>.{' '}
				{undoIsOn() ? undoCost : 'They cannot be restored.'}
			</p>
			<Text label="Name of the entity" value={name} set={setName} hint={`Type ${p.path} to confirm`} wide />
		</Dialog>
	)
}
