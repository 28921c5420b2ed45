import { render } from 'preact'
import { useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get, hasKey, onUnauthorized, signIn, signOut } from './api'
import { commands, dress } from './commands'
import { ContainerPage } from './container'
import { useCounts } from './counts'
import { NewContainer, NewDatabase, NewEntity } from './create'
import { DatabasePage, Nowhere } from './database'
import { begin } from './early'
import { FaultsPage } from './faults'
import { Home } from './home'
import { isTyping, Keys, toFilter } from './keys'
import { ClockChip, Nav } from './nav'
import { useLive } from './live'
import { Requests } from './lazyrequests'
import { Palette } from './palette'
import { Questions } from './question'
import { QueuePage } from './queues'
import { isAway, say, usePath, useSignal } from './state'
import { TimePage } from './time'
import { useTree, type Tree } from './tree'
import { Bad, Notes, Text } from './ui'
import { guard } from './unsaved'

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
	const path = usePath()
	const [locked, lock] = useState(!hasKey()),
		[menu, setMenu] = useState(false)
	const [palette, setPalette] = useState(false),
		[keys, setKeys] = useState(false),
		[making, make] = useState('')
	const { data: tree, error } = useTree(locked)
	useCounts(tree?.entities)
	useLive(path[0] === 'db' && path[2] ? `${path[1]}/${path[2]}` : '', locked)
	const main = useRef<HTMLElement>(null)
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
		const pressed = (e: KeyboardEvent) => {
			if (e.key === 'Escape') setMenu(false)
			if (!isTyping(e) && !e.ctrlKey && !e.metaKey && !e.altKey && (e.key === '?' || e.key === '/')) {
				e.preventDefault()
				if (e.key === '?') setKeys(true)
				else toFilter()
			}
			if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
				e.preventDefault()
				setPalette(true)
			}
		}
		addEventListener('keydown', pressed)
		return () => removeEventListener('keydown', pressed)
	}, [])
	if (locked) return <SignIn done={() => lock(false)} />
	const db = path[0] === 'db' ? (path[1] ?? '') : ''
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
			{palette && <Palette of={() => commands({ tree, path, make, keys: () => setKeys(true), lock: () => lock(true) })} close={() => setPalette(false)} />}
			{keys && <Keys close={() => setKeys(false)} />}
			<Questions />
			<Notes />
		</div>
	)
}

begin()
guard()
dress(localStorage.getItem('mayfly-theme') ?? 'system')
render(<App />, document.getElementById('app')!)
