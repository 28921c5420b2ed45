// Dialogs that make things.
import { useState } from 'preact/hooks'
import { ask, dbPath, own, post } from './api'
import { definitionOf, draftOf, Policies, wrongDraft } from './policies'
import { go, tell } from './state'
import { Check, Choice, Dialog, Text } from './ui'
import { lines, wrongCount, wrongPaths, wrongSpan } from './valid'

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
		[pk, setPK] = useState('/pk'),
		[ttl, setTTL] = useState('off')
	const [seconds, setSeconds] = useState('3600'),
		[unique, setUnique] = useState(''),
		[ru, setRU] = useState(''),
		[scale, setScale] = useState('manual'),
		[draft, setDraft] = useState(() => draftOf(null))
	const bad =
		wrongDraft(draft) ||
		wrongPaths(pk) ||
		wrongPaths(unique) ||
		(ttl === 'on' ? wrongCount(seconds) : '') ||
		wrongCount(ru, least[scale])
	return (
		<Dialog
			title={`New container in ${p.db}`}
			word="Create"
			close={p.close}
			send={async () => {
				if (bad) throw new Error(bad)
				const paths = pk.split(',').map(s => s.trim())
				const body: any = {
					id,
					partitionKey: { paths, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 },
					...definitionOf(draft, null),
				}
				if (ttl !== 'off') body.defaultTtl = ttl === 'on' ? Number(seconds) : -1
				if (unique.trim())
					body.uniqueKeyPolicy = {
						uniqueKeys: lines(unique).map(l => ({ paths: l.split(',').map(s => s.trim()) })),
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
				bad={wrongPaths(pk)}
				hint="Up to three paths: /tenant, /user"
				mono
			/>
			<Choice
				label="Time to live"
				value={ttl}
				set={setTTL}
				of={[
					['off', 'Off: nothing expires'],
					['own', 'On: by documents alone'],
					['on', 'On, with a default'],
				]}
			/>
			{ttl === 'on' && (
				<Text
					label="Default, in seconds"
					value={seconds}
					set={setSeconds}
					bad={wrongCount(seconds)}
				/>
			)}
			<Text
				label="Throughput, RU/s"
				value={ru}
				set={setRU}
				bad={wrongCount(ru, least[scale])}
				placeholder={String(least[scale])}
			/>
			<Choice
				label="The throughput is"
				value={scale}
				set={setScale}
				of={[
					['manual', 'Fixed'],
					['auto', 'The most: it scales by itself'],
				]}
			/>
			<Text
				label="Unique keys"
				value={unique}
				set={setUnique}
				lines={2}
				bad={wrongPaths(unique)}
				mono
				wide
				hint="One a line, paths with commas between. They cannot be changed later."
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
		[lock, setLock] = useState('PT1M')
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
					...(ttl && { defaultTimeToLive: ttl }),
					...(idle && { autoDeleteOnIdle: idle }),
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
			<Text label="Path" value={path} set={setPath} hint="A subscription: topic/subscriptions/name" />
			<Text
				label="Time to live"
				value={ttl}
				set={setTTL}
				bad={wrongSpan(ttl)}
				placeholder="PT10M"
				hint="ISO 8601; none: messages stay"
				mono
			/>
			{!topic && (
				<>
					<Text label="Deliveries at most" value={most} set={setMost} bad={wrongCount(most)} />
					<Text label="Lock" value={lock} set={setLock} bad={wrongSpan(lock)} mono />
					<Check value={dead} set={setDead}>
						Keep expired messages as dead letters
					</Check>
					<Check value={sessions} set={setSessions}>
						Sessions: a receiver takes a session at a time
					</Check>
				</>
			)}
			<Check value={twice} set={setTwice}>
				Drop what is sent twice, by its message id
			</Check>
			<details class="wide">
				<summary>Forwarding, deletion when idle</summary>
				<div class="fields">
					{!topic && (
						<>
							<Text label="Forward to" value={forward} set={setForward} />
							<Text label="Forward dead letters to" value={deadTo} set={setDeadTo} />
						</>
					)}
					<Text
						label="Delete when idle for"
						value={idle}
						set={setIdle}
						bad={wrongSpan(idle)}
						placeholder="never"
						hint="ISO 8601: PT1H"
						mono
					/>
				</div>
			</details>
		</Dialog>
	)
}
