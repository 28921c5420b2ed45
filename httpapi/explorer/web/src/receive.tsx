// Receiving in peek-lock: messages that this page has locked, and what to do with them.
import { useState } from 'preact/hooks'
import { Countdown } from './documentcells'
import { propertiesOf } from './compose'
import { Grid, type GridColumn } from './grid'
import { forget, isLost, lockedUntil, openReceiver, receive, renew, settle, useReceiver } from './receivers'
import type { Receiver, Settlement } from './receivers'
import { Rows, type Column, type Row } from './rows'
import { isSelected, noRows, type Selection } from './selection'
import { note, plural } from './state'
import { Bad, Button, Dialog, Panel, Text } from './ui'
import { typeWords } from './messagetext'
import { wrongCount } from './valid'

// shortHeight is the height of a grid of few rows.
export const shortHeight = (rows: number) => `${Math.min(260, 108 + 32 * Math.max(1, rows))}px`

// ReceiveDialog locks messages: the next ones, or deferred ones by their numbers.
export function ReceiveDialog(p: {
	path: string
	dead: boolean
	session?: string
	sessions?: boolean // the entity requires them
	close: () => void
}) {
	const [count, setCount] = useState('1'),
		[numbers, setNumbers] = useState(''),
		[session, setSession] = useState(p.session ?? '')
	return (
		<Dialog
			title="Receive in peek-lock"
			close={p.close}
			word="Receive"
			send={async () => {
				const wanted = !p.sessions
					? {}
					: session || p.session !== undefined
						? { session }
						: { nextSession: true }
				const r = await openReceiver(p.path, p.dead, wanted)
				const list = numbers.split(/[\s,]+/).filter(Boolean)
				if (list.some(n => !/^\d+$/.test(n))) throw new Error('A sequence number is a whole number.')
				const n = await receive(
					r,
					list.length ? { sequenceNumbers: list.map(Number) } : { count: Number(count) || 1 },
				)
				note(n ? `${plural(n, 'message')} locked.` : 'There was none to receive.')
			}}
		>
			<Text label="Messages, at most" value={count} set={setCount} bad={wrongCount(count)} type="number" />
			{p.sessions && (
				<Text
					label="Session id"
					value={session}
					set={setSession}
					placeholder="the next free one"
					disabled={p.session !== undefined}
				/>
			)}
			<Text
				label="Deferred messages by sequence number"
				value={numbers}
				set={setNumbers}
				placeholder="12, 15"
				hint="Instead of the next messages"
				wide
			/>
			<p class="hint">The locks end when the receiver is closed, or with this browser tab.</p>
		</Dialog>
	)
}

const outcomeWords: Record<string, string> = {
	complete: 'completed',
	abandon: 'abandoned',
	defer: 'deferred',
	'dead-letter': 'dead-lettered',
	release: 'released',
}

const columns: Column[] = [
	{ name: 'name', label: 'Name', fresh: '', wrong: v => (v ? '' : 'a name') },
	{ name: 'type', label: 'Type', fresh: 'string', of: Object.entries(typeWords) },
	{ name: 'value', label: 'Value', fresh: '' },
]

// SettleDialog asks for what an outcome can have: properties, and the reason of a dead letter.
function SettleDialog(p: { title: string; reason: boolean; do: (how: Partial<Settlement>) => Promise<unknown>; close: () => void }) {
	const [reason, setReason] = useState(''),
		[description, setDescription] = useState(''),
		[rows, setRows] = useState<Row[]>([])
	return (
		<Dialog
			title={p.title}
			close={p.close}
			word={p.title.split(' ')[0]}
			send={() =>
				p.do({
					...(p.reason && reason && { reason }),
					...(p.reason && description && { description }),
					...(rows.length && propertiesOf(rows)),
				})
			}
		>
			{p.reason && (
				<>
					<Text label="Reason" value={reason} set={setReason} />
					<Text label="Description" value={description} set={setDescription} wide />
				</>
			)}
			<div class="wide">
				<Rows title="Properties to set" one="property" columns={columns} rows={rows} set={setRows} />
			</div>
		</Dialog>
	)
}

const gridColumns = (r: Receiver): GridColumn<any>[] => [
	{ name: 'number', label: 'Number', value: m => m.sequenceNumber, width: 80, class: 'num' },
	{ name: 'id', label: 'Message id', value: m => m.id, share: 1 },
	{ name: 'tried', label: 'Delivery count', value: m => m.deliveryCount, width: 124, class: 'num' },
	{
		name: 'lock',
		label: 'Lock',
		value: m => m.life.lockedUntil,
		cell: m => (isLost(r, m) ? <span class="tag dead">lost</span> : <Countdown at={lockedUntil(r, m)} db="" />),
		width: 100,
		class: 'num',
	},
	{ name: 'body', label: 'Body', value: m => m.text ?? m.base64 ?? '', share: 2, class: 'mono soft' },
]

// Received is what a receiver of an entity holds; nothing where none is open.
export function Received(p: { path: string; dead: boolean; show: (m: any) => void; shown?: any }) {
	const r = useReceiver(p.path, p.dead)
	const [selection, select] = useState<Selection>(noRows),
		[asking, ask] = useState<Settlement['outcome'] | ''>('')
	if (!r) return null
	const chosen = r.messages.filter(m => isSelected(selection, m.lockToken)),
		list = chosen.length ? chosen : r.messages,
		live = list.filter(m => !isLost(r, m)),
		lost = r.messages.filter(m => isLost(r, m))
	const none = !live.length
	const done = async (outcome: Settlement['outcome'], more: Partial<Settlement> = {}) => {
		const { done, failed } = await settle(r, live, { outcome, ...more })
		select(noRows)
		if (done) note(`${plural(done, 'message')} ${outcomeWords[outcome]}.`)
		if (failed) throw new Error(failed)
	}
	const of = chosen.length ? ` ${chosen.length}` : r.messages.length > 1 ? ' all' : ''
	return (
		<Panel
			title={r.session === undefined ? 'Received in peek-lock' : `Received of session ${r.session || '(empty)'}`}
			class="received"
			side={
				<>
					<Button
						disabled={!!r.ended}
						do={async () => {
							const n = await receive(r, { count: 1 })
							if (!n) note('There was none to receive.')
						}}
					>
						Receive next
					</Button>
					<Button do={r.close}>Close receiver</Button>
				</>
			}
		>
			<Bad text={r.ended && `The receiver has ended: ${r.ended}`} />
			{r.session !== undefined && r.until && (
				<p class="soft">
					The session is locked for <Countdown at={r.until} db="" />.
				</p>
			)}
			<div class="bar" role="group" aria-label="Settle">
				<Button kind="main" disabled={none} do={() => done('complete')}>
					Complete{of}
				</Button>
				<Button disabled={none} do={() => ask('abandon')}>
					Abandon{of}
				</Button>
				<Button disabled={none} do={() => ask('defer')}>
					Defer{of}
				</Button>
				{!p.dead && (
					<Button disabled={none} do={() => ask('dead-letter')}>
						Dead-letter{of}
					</Button>
				)}
				<Button disabled={none} do={() => done('release')} title="Give back without counting the delivery">
					Release{of}
				</Button>
				<Button disabled={!!r.ended || (none && r.session === undefined)} do={() => renew(r, live)}>
					Renew{of}
				</Button>
				{lost.length > 0 && <Button do={() => forget(r, lost)}>Clear {lost.length} lost</Button>}
			</div>
			<div class="grid-box short" style={{ height: shortHeight(r.messages.length) }}>
				<Grid
					label="Received messages"
					kept="received"
					columns={gridColumns(r)}
					rows={r.messages}
					keyOf={m => m.lockToken}
					open={p.show}
					opened={p.shown?.lockToken}
					selection={selection}
					select={select}
					tick={500}
					empty="The receiver holds no message."
				/>
			</div>
			{(asking === 'abandon' || asking === 'defer' || asking === 'dead-letter') && (
				<SettleDialog
					title={
						{ abandon: 'Abandon', defer: 'Defer', 'dead-letter': 'Dead-letter' }[asking] +
						' ' +
						plural(live.length, 'message')
					}
					reason={asking === 'dead-letter'}
					do={how => done(asking, how)}
					close={() => ask('')}
				/>
			)}
		</Panel>
	)
}
