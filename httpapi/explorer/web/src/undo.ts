// Undo of what deletes: a snapshot is kept before it, and the note that says it is done takes it back.
import { get, own, post, remove } from './api'
import { note, say, tell, tellAll } from './state'

// A snapshot shares its files with the data: it is made in milliseconds, and what is deleted later keeps its
// room on disk until the snapshot is gone.
export const undoCost =
	'A snapshot is made in milliseconds. What is deleted keeps its disk space until the snapshot is removed.'
export const mostUndo = 3 // snapshots that are kept
const setting = 'mayfly-undo',
	prefix = 'undo-'

export const undoIsOn = () => localStorage.getItem(setting) !== 'off'
export function setUndo(on: boolean) {
	if (on) localStorage.removeItem(setting)
	else localStorage.setItem(setting, 'off')
	tell('undo')
}

// Part is what an undo puts back: a container, a database, or the whole store.
export interface Part {
	db?: string
	coll?: string
}

const at = (name: string, tail = '') => own(`snapshots/${encodeURIComponent(name)}${tail}`)

// withUndo does what deletes, keeps a snapshot of before, and says what was done in a note with Undo.
// What fails leaves no snapshot. Where no snapshot can be kept, the note says why.
export async function withUndo<T>(
	done: string | ((out: T) => string),
	part: Part,
	act: () => Promise<T>,
): Promise<T> {
	const kept = undoIsOn() ? await keep() : { name: '', why: '' }
	let out: T
	try {
		out = await act()
	} catch (e) {
		if (kept.name) await remove(at(kept.name)).catch(() => {})
		throw e
	}
	const text = typeof done === 'string' ? done : done(out)
	if (!kept.name) {
		note(kept.why ? `${text} It cannot be undone: ${kept.why}` : text, !!kept.why)
		return out
	}
	note(text, false, { word: 'Undo', title: undoes(part), run: () => undo(kept.name, part) })
	tell('snapshots')
	prune()
	return out
}

async function keep(): Promise<{ name: string; why: string }> {
	const stamp = new Date().toISOString().replace(/[^0-9]/g, '')
	const name = prefix + stamp + Math.random().toString(36).slice(2, 6)
	try {
		await post(own('snapshots'), { name })
		return { name, why: '' }
	} catch (e) {
		return { name: '', why: say(e) }
	}
}

// prune removes all undo snapshots but the newest.
async function prune() {
	try {
		const { snapshots } = await get(own('snapshots'))
		const old = snapshots
			.map((s: any) => s.name as string)
			.filter((n: string) => n.startsWith(prefix))
			.sort()
			.slice(0, -mostUndo)
		for (const name of old) await remove(at(name))
		if (old.length) tell('snapshots')
	} catch {
		// the next one removes them
	}
}

const nameOf = (p: Part) => (p.coll ? `container ${p.coll}` : p.db ? `database ${p.db}` : 'whole store')
const undoes = (p: Part) =>
	`Put the ${nameOf(p)} back to what it was before. What was written to it since is lost.`

async function undo(name: string, p: Part) {
	await post(at(name, '/restore'), {
		...(p.db && { database: p.db }),
		...(p.coll && { container: p.coll }),
	})
	tellAll()
	note(`The ${nameOf(p)} is as it was before.`)
	await remove(at(name)).catch(() => {})
	tell('snapshots')
}
