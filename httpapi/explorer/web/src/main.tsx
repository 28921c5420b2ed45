import { render, type ComponentChildren } from 'preact'
import { useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { dbPath, Failure, get, hasKey, list, onUnauthorized, own, put, remove, signIn, signOut } from './api'
import { ContainerPage } from './container'
import { useCount, useCounts } from './counts'
import { begin } from './early'
import { NewContainer, NewDatabase, NewEntity } from './create'
import { Home } from './home'
import { Palette, type Command } from './palette'
import { QueuePage } from './queues'
import {
	clockMoved,
	doing,
	go,
	isAway,
	nowOf,
	say,
	stamp,
	tell,
	url,
	useClock,
	useData,
	usePath,
	useSignal,
	useTick,
} from './state'
import { FaultsPage } from './faults'
import { Requests } from './lazyrequests'
import { ClockPanel, TimePage } from './time'
import { Bad, Button, Confirm, Empty, Notes, Panel, Table, Text } from './ui'
import { guard } from './unsaved'

export interface Entity {
	kind: string
	path: string
	active: number
	deadLetters: number
	scheduled: number
	[k: string]: any
}
export interface Tree {
	databases: { id: string; containers: string[] }[]
	entities: Entity[]
}

async function loadTree(): Promise<Tree> {
	const [dbs, bus] = await Promise.all([
		list('/dbs', 'Databases'),
		get(own('entities')).catch(e => {
			if (!(e instanceof Failure && e.status === 404)) throw e
			return { entities: [] } // a server without queues
		}),
	])
	const databases = await Promise.all(
		dbs.map(async db => ({
			id: db.id as string,
			containers: (await list(`${dbPath(db.id)}/colls`, 'DocumentCollections')).map(
				c => c.id as string,
			),
		})),
	)
	return { databases, entities: bus.entities }
}

function SignIn(p: { done: () => void }) {
	const [key, set] = useState(''),
		[bad, setBad] = useState('')
	const send = async (e: Event) => {
		e.preventDefault()
		signIn(key)
		try {
			await get('/dbs')
			p.done()
		} catch (x) {
			signOut()
			setBad(say(x))
		}
	}
	return (
		<main class="sign-in">
			<form onSubmit={send}>
				<img src="/_explorer/icon.svg" alt="" width="40" height="40" />
				<h1>Mayfly explorer</h1>
				<p class="soft">
					This server has a key of its own. It signs each request in this tab and is forgotten with
					it.
				</p>
				<Text label="Master key" value={key} set={set} type="password" bad={bad} auto wide />
				<button class="btn main">Sign in</button>
			</form>
		</main>
	)
}

function ClockChip(p: { db: string }) {
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
		<a class={`clock ${clock.frozen ? 'frozen' : ''}`} href={url('time')} title="The data clock, in UTC">
			<span class="mono">{stamp(nowOf(p.db))}</span>
			<span class="tag">
				{p.db && clock.own ? p.db + ' · ' : ''}
				{how}
			</span>
		</a>
	)
}

// Count is how many messages an entity has, as the server has told last.
function Count(p: { of: Entity }) {
	const q = useCount(p.of)
	return <>{q.deadLetters ? `${q.active} · ${q.deadLetters} dead` : q.active}</>
}

function Nav(p: { tree: Tree | null; path: string[]; make: (what: string) => void }) {
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
						link(
							['queue', q.path],
							q.path,
							<Count of={q} />,
							true,
						),
					)}
				<button type="button" class="btn quiet" onClick={() => p.make('entity')}>
					New queue or topic
				</button>
			</div>
		</nav>
	)
}

function DatabasePage(p: { db: string; tree: Tree | null; make: () => void }) {
	const found = p.tree?.databases.find(d => d.id === p.db),
		containers = found?.containers ?? []
	if (p.tree && !found) return <Nowhere what={`There is no database ${p.db}.`} />
	return (
		<>
			<header class="page-head">
				<h1>{p.db}</h1>
				<div class="row">
					<Button kind="main" do={p.make}>
						New container
					</Button>
					<Confirm
						word="Delete database"
						what={`${p.db} and all its containers are gone then.`}
						do={async () => {
							await remove(dbPath(p.db))
							tell('tree')
							go()
						}}
					/>
				</div>
			</header>
			<Panel title="Containers">
				<Table
					label="Containers"
					head={['Container', '']}
					empty="No container yet."
					rows={containers.map(c => [
						<a href={url('db', p.db, c)}>{c}</a>,
						<a href={url('db', p.db, c, 'query')}>
							query<span class="unseen"> {c}</span>
						</a>,
					])}
				/>
			</Panel>
			<ClockPanel db={p.db} />
		</>
	)
}

function Nowhere(p: { what: string }) {
	return (
		<>
			<h1>Nothing here</h1>
			<Empty>
				{p.what} <a href="#/">Overview</a>
			</Empty>
		</>
	)
}

// Place is the page of a place. What goes wrong while it is drawn is told in it, and the rest stays usable.
function Place(p: { path: string[]; tree: Tree | null; make: (what: string) => void }) {
	const [wrong, again] = useErrorBoundary()
	useLayoutEffect(again, [p.path.join('/')]) // what is wrong with one place is not with another
	const [kind, name, coll, tab, ...rest] = p.path
	if (wrong) return <Bad text={`This page cannot be shown: ${(wrong as Error).message}`} />
	if (!kind) return <Home tree={p.tree} make={p.make} />
	if (kind === 'time') return <TimePage />
	if (kind === 'faults') return <FaultsPage />
	if (kind === 'requests') return <Requests />
	if (kind === 'queue' && name) return <QueuePage key={name} path={name} tab={coll ?? 'messages'} />
	if (kind !== 'db' || !name) return <Nowhere what="There is no such place." />
	if (!coll) return <DatabasePage db={name} tree={p.tree} make={() => p.make('container')} />
	return (
		<ContainerPage key={`${name}/${coll}`} db={name} coll={coll} tab={tab ?? 'documents'} rest={rest} />
	)
}

function App() {
	const path = usePath(),
		changed = useSignal('tree')
	const [locked, lock] = useState(!hasKey()),
		[menu, setMenu] = useState(false)
	const [palette, setPalette] = useState(false),
		[making, make] = useState('')
	const { data: tree, error } = useData(
		() => (locked ? Promise.resolve(null) : loadTree()),
		[changed, locked],
	)
	const main = useRef<HTMLElement>(null)
	useCounts(tree?.entities)
	useSignal('away')
	// There may be thousands in the tree: it is drawn anew where it changes alone.
	const nav = useMemo(() => <Nav tree={tree} path={path} make={make} />, [tree, path.join('\n')])
	useLayoutEffect(() => {
		onUnauthorized(() => lock(true))
	}, [])
	useLayoutEffect(() => {
		setMenu(false)
		document.title = [...path].reverse().concat('Mayfly').join(' · ')
	}, [path.join('/')])
	useLayoutEffect(() => {
		const keys = (e: KeyboardEvent) => {
			if (e.key === 'Escape') setMenu(false)
			if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
				e.preventDefault()
				setPalette(true)
			}
		}
		addEventListener('keydown', keys)
		return () => removeEventListener('keydown', keys)
	}, [])
	if (locked) return <SignIn done={() => lock(false)} />
	const db = path[0] === 'db' ? (path[1] ?? '') : ''
	const advance = (by: string) => () =>
		doing(async () => {
			await put(own('clock'), { advance: by })
			clockMoved()
		}, `The clock went on by ${by}.`)
	const commands = (): Command[] => [
		{ text: 'Overview', run: () => go() },
		{ text: 'Time and snapshots', run: () => go('time') },
		{ text: 'Faults on demand', run: () => go('faults') },
		{ text: 'Requests', run: () => go('requests') },
		{ text: 'New database', run: () => make('database') },
		{ text: 'New queue or topic', run: () => make('entity') },
		...(db ? [{ text: `New container in ${db}`, run: () => make('container') }] : []),
		...['1s', '1m', '1h', '1d', '30d'].map(by => ({
			text: `Advance the clock by ${by}`,
			run: advance(by),
		})),
		...['light', 'dark', 'system'].map(t => ({ text: `Colours: ${t}`, run: () => dress(t) })),
		...(tree?.databases.flatMap(d => [
			{ text: d.id, hint: 'database', run: () => go('db', d.id) },
			...d.containers.flatMap(c =>
				['', 'query', 'settings', 'time', 'feed', 'scripts', 'ranges'].map(t => ({
					text: t ? `${c} › ${t}` : c,
					hint: d.id,
					run: () => go(...['db', d.id, c, t].filter(Boolean)),
				})),
			),
		]) ?? []),
		...(tree?.entities.map(q => ({ text: q.path, hint: q.kind, run: () => go('queue', q.path) })) ?? []),
		{
			text: 'Forget the key',
			run: () => {
				signOut()
				lock(true)
			},
		},
	]
	return (
		<div class={`shell ${menu ? 'open' : ''}`}>
			<a
				class="skip"
				href="#main"
				onClick={e => {
					e.preventDefault()
					main.current?.focus()
				}}
			>
				Skip to content
			</a>
			<header class="top">
				<button
					type="button"
					class="btn menu"
					aria-expanded={menu}
					onClick={() => setMenu(!menu)}
					aria-label="Menu"
				>
					☰
				</button>
				<a class="brand" href="#/" aria-label="Mayfly: overview">
					<img src="/_explorer/icon.svg" alt="" width="24" height="24" />
					<span>Mayfly</span>
				</a>
				<ClockChip db={db} />
				<button
					type="button"
					class="btn find"
					onClick={() => setPalette(true)}
					aria-label="Command palette"
				>
					<span class="long">Go to…</span>
					<kbd>Ctrl K</kbd>
				</button>
			</header>
			{nav}
			<main id="main" ref={main} tabIndex={-1}>
				<Bad text={isAway ? 'The server does not answer: what you see may be out of date.' : error} />
				<Place key={path.slice(0, 3).join('/')} path={path} tree={tree} make={make} />
			</main>
			{making === 'database' && <NewDatabase close={() => make('')} />}
			{making === 'container' && <NewContainer db={db} close={() => make('')} />}
			{making === 'entity' && <NewEntity close={() => make('')} />}
			{palette && <Palette of={commands} close={() => setPalette(false)} />}
			<Notes />
		</div>
	)
}

// dress sets light, dark, or what the system has.
function dress(theme: string) {
	if (theme === 'system') {
		delete document.documentElement.dataset.theme
		localStorage.removeItem('mayfly-theme')
	} else {
		document.documentElement.dataset.theme = theme
		localStorage.setItem('mayfly-theme', theme)
	}
}

begin()
guard()
dress(localStorage.getItem('mayfly-theme') ?? 'system')
render(<App />, document.getElementById('app')!)
