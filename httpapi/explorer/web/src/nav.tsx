// What is beside every page: the tree of what exists, and the clock.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useCount } from './counts'
import { Loading } from './loading'
import { nowOf, stamp, url, useClock, useTick } from './state'
import type { Entity, Tree } from './tree'

// Count is how many messages an entity has, as the server has told last.
function Count(p: { of: Entity }) {
	const q = useCount(p.of)
	return <>{q.deadLetters ? `${q.active} · ${q.deadLetters} dead` : q.active}</>
}

export function Nav(p: { tree: Tree | null; path: string[]; make: (what: string) => void }) {
	const [filter, set] = useState('')
	const has = (s: string) => s.toLowerCase().includes(filter.toLowerCase())
	const same = (a?: string, b?: string) => a?.toLowerCase() === b?.toLowerCase() // as paths of queues are
	const link = (parts: string[], text: string, count?: ComponentChildren, deep = false) => {
		const current =
			parts.every((part, i) => same(part, p.path[i])) && (deep || parts.length === p.path.length)
		return (
			<a href={url(...parts)} class={deep ? 'deep' : ''} aria-current={current ? 'page' : undefined}>
				<span class="name">{text}</span>
				{count && <span class="count">{count}</span>}
			</a>
		)
	}
	return (
		<nav class="tree" aria-label="What is in the store">
			<input
				type="search"
				placeholder="Filter"
				aria-label="Filter the tree"
				value={filter}
				onInput={e => set((e.target as HTMLInputElement).value)}
			/>
			<div class="group">
				{link([], 'Overview')}
				{link(['time'], 'Time and snapshots')}
				{link(['faults'], 'Faults on demand')}
				{link(['requests'], 'Requests')}
			</div>
			<div class="group">
				<h2>Databases</h2>
				{!p.tree && <Loading />}
				{p.tree?.databases.map(db => {
					const shown = db.containers.filter(c => has(c) || has(db.id))
					if (!shown.length && !has(db.id)) return null
					return (
						<div key={db.id}>
							{link(['db', db.id], db.id)}
							{shown.map(c => link(['db', db.id, c], c, undefined, true))}
						</div>
					)
				})}
				<button type="button" class="btn quiet" onClick={() => p.make('database')}>
					New database
				</button>
			</div>
			<div class="group">
				<h2>Queues and topics</h2>
				{p.tree?.entities
					.filter(q => has(q.path))
					.map(q =>
						link(['queue', q.path], q.path, <Count of={q} />, true),
					)}
				<button type="button" class="btn quiet" onClick={() => p.make('entity')}>
					New queue or topic
				</button>
			</div>
		</nav>
	)
}

export function ClockChip(p: { db: string }) {
	const clock = useClock(p.db)
	useTick(500)
	if (!clock) return null
	const how = clock.frozen
		? 'frozen'
		: clock.rate !== 1
			? `× ${clock.rate}`
			: clock.virtual
				? 'virtual'
				: 'real'
	return (
		<a class={`clock ${clock.frozen ? 'frozen' : ''}`} href={url('time')} title="The data clock">
			<span class="mono">
				<span class="date">{stamp(nowOf(p.db)).slice(0, 11)}</span>
				{stamp(nowOf(p.db)).slice(11)} <span class="soft">UTC</span>
			</span>
			<span class="tag">
				{p.db && clock.own ? p.db + ' · ' : ''}
				{how}
			</span>
		</a>
	)
}

