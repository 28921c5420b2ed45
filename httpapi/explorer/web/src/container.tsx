import { collPath, get, remove } from './api'
import { takeContainer } from './early'
import { Documents } from './documents'
import { FeedTab } from './feed'
import { QueryTab } from './query'
import { RangesTab } from './ranges'
import { ScriptsTab } from './scripts'
import { SettingsTab } from './settings'
import { go, span, tell, url, useData, useSignal } from './state'
import { ExpiryTab } from './expiry'
import { Bad, Confirm, Tabs } from './ui'

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
	const { data: of, error } = useData<Container>(
		() => takeContainer(p.db, p.coll) ?? get(collPath(p.db, p.coll)),
		[p.db, p.coll, changed],
	)
	const at = { db: p.db, coll: p.coll, of: of! }
	const ttl =
		of &&
		(of.defaultTtl === undefined
			? 'TTL off'
			: of.defaultTtl === -1
				? 'TTL by documents'
				: `TTL ${span(of.defaultTtl)}`) + (of.ttlPropertyPath ? ` from ${of.ttlPropertyPath}` : '')
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
					<Confirm
						word="Delete container"
						what={`${p.coll} and all its documents are gone then.`}
						do={async () => {
							await remove(collPath(p.db, p.coll))
							tell('tree')
							go('db', p.db)
						}}
					/>
				</div>
			</header>
			<Tabs label="Container" of={tabs} at={p.tab} to={t => url('db', p.db, p.coll, t)} />
			<Bad text={error} />
			{of && (
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
		</>
	)
}
