// What a container's first rows need is asked for before anything is drawn, all of it at once: a browser
// takes some frames to draw the page, and a request of what is drawn last would wait for them.
import { collPath, get, hasKey, runQuery, type Page } from './api'
import { readFilter } from './filter'
import { here } from './state'

export const firstPage = 50

const begun = new Map<string, Promise<unknown>>()

// begin asks for what the place needs that the browser opens first.
export function begin() {
	const [kind, db, coll, tab] = here()
	if (kind !== 'db' || !db || !coll || !hasKey()) return
	const start = <T>(name: string, what: Promise<T>) => {
		what.catch(() => {}) // who takes it tells what was wrong
		begun.set(`${name} ${db}/${coll}`, what)
	}
	start('container', get(collPath(db, coll)))
	if ((tab ?? 'documents') === 'documents' && !location.hash.includes('?'))
		start('documents', runQuery(db, coll, readFilter('').query, [], { count: firstPage }))
}

// take hands out what was asked for, once.
function take<T>(name: string, db: string, coll: string): Promise<T> | undefined {
	const at = `${name} ${db}/${coll}`,
		what = begun.get(at)
	begun.delete(at)
	return what as Promise<T> | undefined
}

export const takeContainer = (db: string, coll: string) => take<any>('container', db, coll)
export const takeDocuments = (db: string, coll: string) => take<Page>('documents', db, coll)
