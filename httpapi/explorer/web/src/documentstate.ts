// A document that is open: its text, what is stored, and what happens when somebody else has changed it.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ask, collPath, Failure, json, partitionKey, pkHeader, runQuery, type Answer } from './api'
import type { In } from './container'
import { problemOf } from './jsontext'
import { useFollow } from './live'
import { doing, note, tell, useData } from './state'
import { pretty } from './text'
import { forget } from './unsaved'

export interface DocProps extends In {
	id: string
	pk: unknown[]
	fresh: string | null // the text of a new document, null for one that is stored
	close: () => void
	made: (doc: any) => void
	copy?: (text: string) => void // begins a new document with a text, where the page can
}

export const systemNames = ['_rid', '_self', '_etag', '_attachments', '_ts', '_lsn']
export const bare = (a: Answer) => pretty(a.text, systemNames)

// documentPath is the path of a document. A browser takes . and .. out of a path however they are escaped: a document
// with such an id is asked for by its _self.
export async function documentPath(
	p: In & { id: string; pk: unknown[]; self?: string },
): Promise<string> {
	if (!/^\.{1,2}$/.test(p.id)) return `${collPath(p.db, p.coll)}/docs/${encodeURIComponent(p.id)}`
	if (p.self) return '/' + p.self.replace(/\/$/, '')
	const same = [{ name: '@id', value: p.id }],
		page = await runQuery(p.db, p.coll, 'SELECT * FROM c WHERE c.id = @id', same, { count: 1000 })
	const paths = p.of.partitionKey.paths,
		key = JSON.stringify(p.pk)
	const one = page.rows.find(d => JSON.stringify(partitionKey(d, paths)) === key)
	if (!one) throw new Failure(404, '', 'There is no such document.')
	return '/' + one._self.replace(/\/$/, '')
}

// stored is a document as it is stored, null where it is not.
async function stored(p: DocProps): Promise<Answer | null> {
	try {
		return await ask('GET', await documentPath(p), { headers: pkHeader(p.pk), exact: true })
	} catch (e) {
		if (e instanceof Failure && e.status === 404) return null
		throw e
	}
}

export function useDocument(p: DocProps) {
	const isNew = p.fresh !== null
	const [text, edit] = useState(p.fresh ?? ''),
		[base, setBase] = useState(isNew ? p.fresh! : ''), // the text that is stored
		[kept, keep] = useState<any>(null), // what is stored, with its system properties
		[theirs, setTheirs] = useState<Answer | null>(null),
		[gone, lost] = useState(false)
	const saving = useRef(false),
		left = useRef(false),
		now = useRef(text)
	now.current = text
	useLayoutEffect(
		() => () => {
			left.current = true
		},
		[],
	)
	const take = (a: Answer) => {
		keep(a.body)
		edit(bare(a))
		setBase(bare(a))
		setTheirs(null)
	}
	const { error } = useData(async () => {
		if (!isNew)
			take(await ask('GET', await documentPath(p), { headers: pkHeader(p.pk), exact: true }))
	}, [p.id])
	const etag: string = kept?._etag ?? ''
	const unchanged = useRef({ base, etag })
	unchanged.current = { base, etag }
	useFollow(
		async () => {
			if (isNew || !etag || saving.current) return
			const a = await stored(p).catch(() => null)
			const was = unchanged.current
			if (left.current || saving.current || !a || a.body._etag === was.etag) return
			if (now.current === was.base) take(a) // what somebody has typed is not touched: saving meets the conflict
		},
		{ every: 60_000, signals: ['items'], waits: true },
		[p.id],
	)
	// save writes the text over the version with an etag, or as a new document.
	const save = (match: string, anew = isNew) =>
		doing(async () => {
			if (saving.current || problemOf(text)) return // a second one would be in conflict with the first
			saving.current = true
			try {
				const doc = json('document', text),
					key = anew ? partitionKey(doc, p.of.partitionKey.paths) : p.pk
				const headers: Record<string, string> = pkHeader(key)
				if (match && !anew) headers['if-match'] = match
				const a = anew
					? await ask('POST', `${collPath(p.db, p.coll)}/docs`, { headers, text, exact: true })
					: await ask('PUT', await documentPath(p), { headers, text, exact: true })
				keep(a.body)
				setBase(text)
				setTheirs(null)
				lost(false)
				note(`Saved for ${a.headers.get('x-ms-request-charge')} RU.`)
				tell('data')
				if (left.current || now.current !== text) return // what has been typed meanwhile is not saved
				forget()
				if (anew || a.body.id !== p.id) p.made(a.body)
			} catch (e) {
				if (!(e instanceof Failure) || anew || ![404, 412].includes(e.status)) throw e
				const other = e.status === 412 ? await stored(p) : null
				setTheirs(other)
				lost(!other)
				if (!other) tell('data')
			} finally {
				saving.current = false
			}
		})
	return {
		text,
		edit,
		base,
		kept,
		etag,
		theirs,
		gone,
		error,
		isNew,
		there: isNew || etag !== '', // before, what is typed would be overwritten
		changed: text !== base,
		take,
		save,
		remove: async () => {
			await ask('DELETE', await documentPath(p), { headers: pkHeader(p.pk) })
			tell('data')
			forget()
			p.close()
		},
	}
}
