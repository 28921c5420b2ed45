// Dialogs that make things.
import { useState } from 'preact/hooks'
import { ask, dbPath, own, post } from './api'
import { definitionOf, draftOf, Policies, wrongDraft } from './policies'
import { go, tell } from './state'
import { Check, Choice, Dialog, Text } from './ui'
import { durationHint, secondsOf, wrongDuration } from './duration'
import { lines, withSlash, wrongCount } from './valid'

export function NewDatabase(p: { close: () => void }) {
	const [id, set] = useState('')
	return (
		<Dialog
			title="New database"
			word="Create"
			close={p.close}
			send={async () => {
				await post('/dbs', { id })
				tell('tree')
				go('db', id)
			}}
		>
			<Text label="Id" value={id} set={set} wide />
		</Dialog>
	)
}

// least is the least throughput that there can be.
const least: Record<string, number> = { manual: 400, auto: 1000 }

export function NewContainer(p: { db: string; close: () => void }) {
	const [id, setID] = useState(''),
		[pk, setPK] = useState(''),
		[ttl, setTTL] = useState('off')
	const [seconds, setSeconds] = useState('1h'),
		[unique, setUnique] = useState(''),
		[ru, setRU] = useState(''),
		[scale, setScale] = useState('manual'),
		[draft, setDraft] = useState(() => draftOf(null))
	const [from, setFrom] = useState('')
	const paths = pk.split(',').map(withSlash).filter(Boolean)
	const bad =
		wrongDraft(draft) ||
		(ttl === 'on'
			? wrongDuration(seconds, { whole: true }) || (seconds.trim() ? '' : 'The default time to live is missing.')
			: '') ||
		wrongCount(ru, least[scale])
	return (
		<Dialog
			title={`New container in ${p.db}`}
			word="Create"
			close={p.close}
			send={async () => {
				if (!id) throw new Error('The container needs an id.')
				if (!paths.length)
					throw new Error('The container needs a partition key, such as /userId: it cannot be changed later.')
				if (bad) throw new Error(bad)
				const body: any = {
					id,
					partitionKey: { paths, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 },
					...definitionOf(draft, null),
				}
				if (ttl !== 'off') body.defaultTtl = ttl === 'on' ? secondsOf(seconds) : -1
				if (ttl !== 'off' && from.trim()) body.ttlPropertyPath = withSlash(from)
				if (unique.trim())
					body.uniqueKeyPolicy = {
						uniqueKeys: lines(unique).map(l => ({ paths: l.split(',').map(withSlash).filter(Boolean) })),
					}
				const headers: Record<string, string> = !ru
					? {}
					: scale === 'manual'
						? { 'x-ms-offer-throughput': ru }
						: {
								'x-ms-cosmos-offer-autopilot-settings': JSON.stringify({
									maxThroughput: Number(ru),
								}),
							}
				await ask('POST', `${dbPath(p.db)}/colls`, { body, headers })
				tell('tree')
				go('db', p.db, id)
			}}
		>
			<Text label="Id" value={id} set={setID} />
			<Text
				label="Partition key"
				value={pk}
				set={setPK}
				placeholder="/userId"
				hint={
					paths.length && paths.join(', ') !== pk.trim()
						? `It will be ${paths.join(', ')}`
						: 'Required; it cannot be changed later. Up to three paths: /tenantId, /userId'
				}
				mono
			/>
			<Choice
				label="Time to live"
				value={ttl}
				set={setTTL}
				of={[
					['off', 'Off'],
					['own', 'On, no default (only by their own ttl)'],
					['on', 'On, with a default'],
				]}
			/>
			{ttl === 'on' && (
				<Text
					label="Default time to live"
					value={seconds}
					set={setSeconds}
					bad={wrongDuration(seconds, { whole: true })}
					hint={durationHint}
					mono
				/>
			)}
			{ttl !== 'off' && (
				<Text
					label="TTL property path"
					value={from}
					set={setFrom}
					placeholder="none: from the last write"
					hint="A property with seconds since 1970, such as /lastSeen"
					mono
				/>
			)}
			<Choice
				label="Throughput"
				value={scale}
				set={setScale}
				of={[
					['manual', 'Manual'],
					['auto', 'Autoscale (max)'],
				]}
			/>
			<Text
				label={scale === 'manual' ? 'RU/s' : 'Maximum RU/s'}
				value={ru}
				set={setRU}
				bad={wrongCount(ru, least[scale])}
				placeholder={String(least[scale])}
			/>
			<Text
				label="Unique keys"
				value={unique}
				set={setUnique}
				lines={2}
				mono
				wide
				placeholder="/email"
				hint="One per line; several paths of one key with commas: /firstName, /lastName. They cannot be changed later."
			/>
			<details class="wide">
				<summary>Vectors, full text, computed properties</summary>
				<Policies of={draft} set={setDraft} />
			</details>
		</Dialog>
	)
}

export function NewEntity(p: { close: () => void }) {
	const [path, setPath] = useState(''),
		[kind, setKind] = useState('queue'),
		[ttl, setTTL] = useState('')
	const [most, setMost] = useState('10'),
		[lock, setLock] = useState('1m')
	const [sessions, setSessions] = useState(false),
		[dead, setDead] = useState(true),
		[twice, setTwice] = useState(false)
	const [forward, setForward] = useState(''),
		[deadTo, setDeadTo] = useState(''),
		[idle, setIdle] = useState('')
	const topic = kind === 'topic'
	return (
		<Dialog
			title="New queue or topic"
			word="Create"
			close={p.close}
			send={async () => {
				const body: any = {
					path,
					...(ttl.trim() && { defaultTimeToLive: ttl }),
					...(idle.trim() && { autoDeleteOnIdle: idle }),
					...(twice && { detectsDuplicates: true }),
				}
				if (topic) body.topic = true
				else
					Object.assign(body, {
						maxDeliveryCount: Number(most),
						lockDuration: lock,
						requiresSession: sessions,
						deadLetterOnExpiration: dead,
						...(forward && { forwardTo: forward }),
						...(deadTo && { forwardDeadLettersTo: deadTo }),
					})
				await post(own('entities'), body)
				tell('tree')
				go('queue', path)
			}}
		>
			<Choice
				label="Kind"
				value={kind}
				set={setKind}
				of={[
					['queue', 'Queue or subscription'],
					['topic', 'Topic'],
				]}
			/>
			<Text label="Path" value={path} set={setPath} hint="A queue or topic; a subscription: topic/subscriptions/name" />
			<Text
				label="Message time to live"
				value={ttl}
				set={setTTL}
				bad={wrongDuration(ttl, { least: 0.001 })}
				placeholder="never"
				hint={durationHint}
				mono
			/>
			{!topic && (
				<>
					<Text label="Max delivery count" value={most} set={setMost} bad={wrongCount(most)} />
					<Text
						label="Lock duration"
						value={lock}
						set={setLock}
						bad={wrongDuration(lock)}
						hint={durationHint}
						mono
					/>
					<Check value={dead} set={setDead}>
						Dead-letter messages on expiration
					</Check>
					<Check value={sessions} set={setSessions}>
						Require sessions
					</Check>
				</>
			)}
			<Check value={twice} set={setTwice}>
				Duplicate detection, by message id
			</Check>
			<details class="wide">
				<summary>Forwarding, auto-delete on idle</summary>
				<div class="fields">
					{!topic && (
						<>
							<Text label="Forward to" value={forward} set={setForward} />
							<Text label="Forward dead letters to" value={deadTo} set={setDeadTo} />
						</>
					)}
					<Text
						label="Auto-delete on idle"
						value={idle}
						set={setIdle}
						bad={wrongDuration(idle)}
						placeholder="never"
						hint={durationHint}
						mono
					/>
				</div>
			</details>
		</Dialog>
	)
}
