// The messages of an entity, or its dead letters: looked at, taken, sent again.
import { entityPath, exact, post } from './api'
import { Countdown } from './documents'
import { note, plural, tell, useData, useShown, useSignal, useTick } from './state'
import { Bad, Button, Confirm, Json, Panel, Table } from './ui'

const page = 100

export function Messages(p: { path: string; dead?: boolean }) {
	const moved = useSignal('data'),
		[fromText, setFrom] = useShown('from', '0'),
		[open, setOpen] = useShown('message')
	const from = Number(fromText)
	const { data, error } = useData<any>(
		() => post(entityPath(p.path, 'peek'), { count: page, from, deadLetters: !!p.dead }),
		[p.path, p.dead, from, moved],
	)
	const list: any[] = data?.messages ?? [],
		one = list.find(m => String(m.sequenceNumber) === open)
	useTick(500)
	const resubmit = async (which: unknown) => {
		const done = await post(entityPath(p.path, 'resubmit'), which)
		note(`${plural(done.messages, 'message')} sent again.`)
		tell('data')
		tell('tree')
	}
	const take = () => takeOne(p.path, { deadLetters: !!p.dead })
	return (
		<Panel
			title={p.dead ? 'Dead letters' : 'Messages'}
			side={
				<>
					{p.dead && (
						<Button kind="main" disabled={!list.length} do={() => resubmit({})}>
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
				head={[
					'Number',
					'Id',
					'Session',
					'State',
					'Tried',
					p.dead ? 'Died of' : 'Expires in',
					'Body',
					...(p.dead ? [''] : []),
				]}
				empty={p.dead ? 'No dead letter.' : 'No message.'}
				rows={list.map(m => [
					<button
						type="button"
						class="btn quiet num"
						aria-expanded={m === one}
						onClick={() => setOpen(m === one ? '' : String(m.sequenceNumber), true)}
					>
						{m.sequenceNumber}
					</button>,
					<span class="mono">{m.id}</span>,
					m.session ?? '',
					m.life.lockedUntil ? 'locked' : m.state,
					m.deliveryCount,
					p.dead ? String(m.properties?.DeadLetterReason ?? '') : <Left of={m} />,
					<Body of={m} />,
					...(p.dead
						? [
								<Button do={() => resubmit({ sequenceNumber: m.sequenceNumber })}>
									Resubmit {m.sequenceNumber}
								</Button>,
							]
						: []),
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
				{from > 0 && <Button do={() => setFrom('0', true)}>First</Button>}
				{list.length === page && (
					<Button do={() => setFrom(String(list[page - 1].sequenceNumber + 1), true)}>
						Next {page}
					</Button>
				)}
			</div>
		</Panel>
	)
}

// takeOne takes the first message, of a session where one is named.
export async function takeOne(path: string, of: { session?: string; deadLetters?: boolean }) {
	const { messages } = await post(entityPath(path, 'receive'), { count: 1, ...of })
	note(messages.length ? `Message ${messages[0].id} is taken.` : 'There was none to take.')
	tell('data')
	tell('tree')
}

export const Left = (p: { of: any }) => (
	<Countdown at={p.of.life.expires ? Date.parse(p.of.life.expires) : null} db="" />
)
export const Body = (p: { of: any }) => (
	<span class="mono soft cut">{(p.of.text ?? p.of.base64 ?? '').slice(0, 300)}</span>
)

// body is a message with its body as JSON, where it is some.
function body(m: any) {
	try {
		return { ...m, text: undefined, body: exact(m.text) }
	} catch {
		return m
	}
}
