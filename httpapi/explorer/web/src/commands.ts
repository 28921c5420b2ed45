// What the palette offers: commands, then the places that exist.
import { ask, own, post, put, signOut } from './api'
import type { Command } from './palette'
import { clockMoved, doing, go, note, plural, tell } from './state'
import type { Tree } from './tree'

interface Scene {
	tree: Tree | null
	path: string[]
	make: (what: string) => void
	keys: () => void
	lock: () => void
}

export function commands(p: Scene): Command[] {
	const [kind, name, coll] = p.path
	const db = kind === 'db' ? (name ?? '') : '',
		container = db && coll ? [db, coll] : null
	return [
		{ text: 'Overview', run: () => go() },
		{ text: 'Time and snapshots', run: () => go('time') },
		{ text: 'Faults on demand', run: () => go('faults') },
		{ text: 'Requests', run: () => go('requests') },
		{ text: 'Documentation', run: () => void open('/_explorer/docs/') },
		{ text: 'Keys', hint: '?', run: p.keys },
		{ text: 'New database', run: () => p.make('database') },
		{ text: 'New queue or topic', run: () => p.make('entity') },
		...(db ? [{ text: `New container in ${db}`, run: () => p.make('container') }] : []),
		...(container
			? [{ text: `New document in ${coll}`, run: () => newDocument(db, coll!) }]
			: [{ text: 'New document', hint: 'open a container first', run: () => note('Open a container first.') }]),
		{ text: 'Take snapshot', run: takeSnapshot },
		{ text: 'Restore a snapshot', run: () => go('time') },
		{ text: 'Purge what has expired', run: purge },
		...['1s', '1m', '1h', '1d', '30d'].map(by => ({
			text: `Advance the clock by ${by}`,
			run: () =>
				doing(async () => {
					await put(own('clock'), { advance: by })
					clockMoved()
				}, `The clock went on by ${by}.`),
		})),
		...['light', 'dark', 'system'].map(t => ({ text: `Colours: ${t}`, run: () => dress(t) })),
		...places(p.tree),
		{
			text: 'Forget the key',
			run: () => {
				signOut()
				p.lock()
			},
		},
	]
}

const places = (tree: Tree | null): Command[] => [
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
]

// newDocument opens the list of documents and presses its button, once it is drawn.
function newDocument(db: string, coll: string) {
	go('db', db, coll)
	let left = 100
	const press = () => {
		const button = [...document.querySelectorAll<HTMLElement>('main .btn')].find(
			b => b.textContent === 'New document',
		)
		if (button) button.click()
		else if (--left) requestAnimationFrame(press)
	}
	requestAnimationFrame(press)
}

const takeSnapshot = () =>
	doing(async () => {
		const name = 'at-' + new Date().toISOString().slice(0, 19).toLowerCase().replace(/:/g, '-')
		await post(own('snapshots'), { name })
		tell('snapshots')
		note(`Snapshot ${name} is kept.`)
	})

const purge = () =>
	doing(async () => {
		const { purged } = (await ask('POST', own('reaper/run'), { body: {} })).body
		tell('data')
		note(`${plural(purged, 'expired item')} purged.`)
	})

// dress sets light, dark, or what the system has.
export function dress(theme: string) {
	if (theme === 'system') {
		delete document.documentElement.dataset.theme
		localStorage.removeItem('mayfly-theme')
	} else {
		document.documentElement.dataset.theme = theme
		localStorage.setItem('mayfly-theme', theme)
	}
}
