import { collPath, Failure, get, remove } from './api'
import { takeContainer } from './early'
import { Documents } from './documents'
import { FeedTab } from './feed'
import { QueryTab } from './query'
import { RangesTab } from './ranges'
import { ScriptsTab } from './scripts'
import { SettingsTab } from './settings'
import { formatDuration } from './duration'
import { State } from './loading'
import { go, tell, url, useData, useSignal } from './state'
import { ExpiryTab } from './expiry'
import { Confirm, Tabs } from './ui'
import { undoCost, undoIsOn, withUndo } from './undo'

// Container is a container's definition, as the server has it.
export interface Container {
	id: string
	partitionKey: { paths: string[] }
	defaultTtl?: number
	ttlPropertyPath?: string
	indexingPolicy: any
	uniqueKeyPolicy?: any
	_rid: string
	_etag: string
	[k: string]: any
}
export interface In {
	db: string
	coll: string
	of: Container
}

const tabs: [string, string][] = [
	['documents', 'Documents'],
	['query', 'Query'],
	['time', 'Time'],
	['settings', 'Settings'],
	['feed', 'Changes'],
	['scripts', 'Scripts'],
	['ranges', 'Ranges'],
]

export function ContainerPage(p: { db: string; coll: string; tab: string; rest: string[] }) {
	const changed = useSignal('container')
	const loaded = useData<Container | 'absent'>(
		async () => {
			try {
				return await (takeContainer(p.db, p.coll) ?? get(collPath(p.db, p.coll)))
			} catch (e) {
				if (e instanceof Failure && e.status === 404) return 'absent'
				throw e
			}
		},
		[p.db, p.coll, changed],
	)
	if (loaded.data === 'absent')
		return (
			<>
				<h1>Nothing here</h1>
				<p class="empty">
					There is no container {p.coll} in the database {p.db}. <a href={url('db', p.db)}>{p.db}</a>
				</p>
			</>
		)
	const of = loaded.data
	const at = { db: p.db, coll: p.coll, of: of! }
	const ttl =
		of &&
		(of.defaultTtl === undefined
			? 'TTL off'
			: of.defaultTtl === -1
				? 'TTL on, no default'
				: `TTL ${formatDuration(of.defaultTtl)}`) + (of.ttlPropertyPath ? ` from ${of.ttlPropertyPath}` : '')
	return (
		<>
			<header class="page-head">
				<h1>
					<a class="soft" href={url('db', p.db)}>
						{p.db}
					</a>{' '}
					<span class="soft">/</span> {p.coll}
				</h1>
				<div class="row">
					{of && (
						<>
							<span class="chip mono">{of.partitionKey.paths.join(', ')}</span>
							<span class="chip">{ttl}</span>
						</>
					)}
					{of && (
						<Confirm
							word="Delete container"
							typed={p.coll}
							what={
								`This deletes ${p.coll} and all its documents.` +
								(undoIsOn() ? ' ' + undoCost : ' It cannot be undone.')
							}
							do={() =>
								withUndo(`Container ${p.coll} is deleted.`, { db: p.db, coll: p.coll }, async () => {
									await remove(collPath(p.db, p.coll))
									tell('tree')
									go('db', p.db)
								})
							}
						/>
					)}
				</div>
			</header>
			<Tabs label="Container" of={tabs} at={p.tab} to={t => url('db', p.db, p.coll, t)} />
			<State of={{ ...loaded, data: of }}>
				{() => (
				<div class="tab">
					{p.tab === 'query' ? (
						<QueryTab {...at} />
					) : p.tab === 'settings' ? (
						<SettingsTab {...at} />
					) : p.tab === 'time' ? (
						<ExpiryTab {...at} />
					) : p.tab === 'feed' ? (
						<FeedTab {...at} />
					) : p.tab === 'scripts' ? (
						<ScriptsTab {...at} at={p.rest} />
					) : p.tab === 'ranges' ? (
						<RangesTab {...at} />
					) : (
						<Documents {...at} open={p.rest} />
					)}
				</div>
				)}
			</State>
		</>
	)
}
