// The server as the explorer sees it: Cosmos DB's REST API and /_mayfly, each request signed here with the
// master key (HMAC-SHA256 over verb, resource type, resource link and date).
import { sentences } from './problems'

import { elementsOf, membersOf } from './jsontext'

const wellKnown = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=='
const kept = 'mayfly-key'
const loopback = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

export class Failure extends Error {
	constructor(
		readonly status: number,
		readonly substatus: string,
		message: string,
		readonly raw = message, // as the server wrote it, with what the sentence leaves out
	) {
		super(message)
	}
}

export interface Answer {
	status: number
	headers: Headers
	body: any
	text: string // body as it came
}

let key: Promise<CryptoKey> | null = null
const strangers = new Set<() => void>()

// onUnauthorized is told each time that the server does not take the key.
export function onUnauthorized(then: () => void) {
	strangers.add(then)
	return () => strangers.delete(then)
}

export function signIn(text: string) {
	sessionStorage.setItem(kept, text.trim())
	key = null
}
export function signOut() {
	sessionStorage.removeItem(kept)
	key = null
}
export function hasKey() {
	return sessionStorage.getItem(kept) !== null || loopback.test(location.hostname)
}

// secretKey is the key in use, as text.
export const secretKey = () =>
	sessionStorage.getItem(kept) ?? (loopback.test(location.hostname) ? wellKnown : '')

function signingKey(): Promise<CryptoKey> {
	return (key ??= (async () => {
		const text = secretKey()
		if (!crypto.subtle)
			throw new Failure(0, '', 'A browser signs only on https or on localhost: open this page there.')
		let raw: Uint8Array<ArrayBuffer>
		try {
			raw = Uint8Array.from(atob(text), c => c.charCodeAt(0))
		} catch {
			raw = new Uint8Array()
		}
		if (!raw.length) throw new Failure(401, '', 'The key must be base64 text.')
		return crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
	})())
}

const keywords = new Set([
	'dbs',
	'colls',
	'docs',
	'pkranges',
	'offers',
	'sprocs',
	'triggers',
	'udfs',
	'users',
])

// link is what of a path is signed: the resource's own path, or the parent's where the path ends
// in a keyword.
function link(path: string): { type: string; link: string } {
	const parts = path.split('/').filter(Boolean).map(decodeURIComponent)
	if (parts[0] === '_mayfly') return { type: '', link: parts.join('/') }
	if (parts[0] === 'offers') return { type: 'offers', link: (parts[1] ?? '').toLowerCase() }
	if (parts.length % 2)
		return { type: keywords.has(parts[parts.length - 1]) ? parts.pop()! : '', link: parts.join('/') }
	return { type: parts[parts.length - 2] ?? '', link: parts.join('/') }
}

export interface Extra {
	headers?: Record<string, string>
	body?: unknown
	text?: string // a body that is JSON already
	signal?: AbortSignal
	query?: string
	exact?: boolean // numbers are kept as they are written
	raw?: boolean // body stays the text: it is not parsed
	method?: string // of a stream; POST without one
}

// send sends a signed request and returns its answer, whatever that is. path has its ids escaped.
async function send(method: string, path: string, extra: Extra): Promise<Response> {
	const date = new Date().toUTCString(),
		at = link(path)
	const text = `${method.toLowerCase()}\n${at.type}\n${at.link}\n${date.toLowerCase()}\n\n`
	const sent = extra.text ?? (extra.body === undefined ? undefined : JSON.stringify(extra.body))
	if (/\/\.{1,2}(\/|$)/.test(path)) throw new Failure(0, '', 'A browser asks for nothing that is named . or ..')
	const secret = await signingKey() // which tells where there is no crypto.subtle
	const mac = await crypto.subtle.sign('HMAC', secret, new TextEncoder().encode(text))
	const sig = btoa(String.fromCharCode(...new Uint8Array(mac)))
	return fetch(path + (extra.query ?? ''), {
		method,
		signal: extra.signal,
		cache: 'no-store',
		credentials: 'omit',
		headers: {
			authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sig}`),
			'x-ms-date': date,
			'x-ms-version': '2020-07-15',
			'x-mayfly-explorer': '1', // the log of requests tells these from those of programs
			...(extra.method && { accept: 'text/event-stream' }),
			...(sent === undefined ? {} : { 'content-type': 'application/json' }),
			...extra.headers,
		},
		body: sent,
	})
}

// ask sends a signed request. path has its ids escaped. An answer beyond 399 is thrown as a Failure.
export async function ask(method: string, path: string, extra: Extra = {}): Promise<Answer> {
	try {
		const response = await send(method, path, extra)
		const raw = await response.text()
		let body: any = null
		try {
			body = !raw ? null : extra.raw && response.ok ? raw : extra.exact ? exact(raw) : JSON.parse(raw)
		} catch {
			body = raw
		}
		if (response.status >= 400) {
			throw new Failure(response.status, response.headers.get('x-ms-substatus') ?? '', reason(body), told(body))
		}
		return { status: response.status, headers: response.headers, body, text: raw }
	} catch (e) {
		if (e instanceof Failure && e.status === 401) for (const tell of strangers) tell()
		if (e instanceof TypeError) throw new Failure(0, '', 'The server does not answer.')
		throw e
	}
}

// listen sends a signed request whose answer is a stream of server-sent events, and calls heard with each. It returns
// when the stream ends.
export async function listen(
	path: string,
	extra: Extra,
	heard: (event: string, data: any) => void,
): Promise<void> {
	const response = await send(extra.method ?? 'POST', path, extra)
	if (!response.ok || !response.body) {
		const text = await response.text()
		let body: any = text
		try {
			body = JSON.parse(text)
		} catch {
			/* it is told as it is */
		}
		throw new Failure(response.status, '', reason(body))
	}
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
	for (let rest = ''; ; ) {
		const { value, done } = await reader.read()
		if (done) return
		const events = (rest + value).split('\n\n')
		rest = events.pop()!
		for (const text of events) {
			const name = /^event: (.*)$/m.exec(text),
				data = /^data: (.*)$/m.exec(text)
			if (name && data) heard(name[1], JSON.parse(data[1]))
		}
	}
}

// isObject tells of objects: not of arrays, and not of numbers that are kept as their text.
export const isObject = (v: unknown): v is Record<string, any> =>
	!!v && typeof v === 'object' && !Array.isArray(v) && !(JSON as any).isRawJSON?.(v)

// exactly keeps a number that JavaScript would write another way as its text, which JSON.stringify writes again: one beyond
// 2^53, 1.0, 1e3. Older browsers have no such thing: they show what is next to it.
const rawJSON: ((text: string) => unknown) | undefined = (JSON as any).rawJSON
function exactly(this: unknown, _name: string, v: unknown, context?: { source?: string }) {
	const source = context?.source
	return rawJSON && source && typeof v === 'number' && String(v) !== source
		? rawJSON(source)
		: v
}

// numberOf is a number, however exact has kept it; undefined for anything else.
export const numberOf = (v: any): number | undefined =>
	typeof v === 'number' ? v : (JSON as any).isRawJSON?.(v) ? Number(v.rawJSON) : undefined

// exact is JSON.parse, but numbers stay as they are written.
export const exact = (text: string) => JSON.parse(text, exactly)

// told is the message of an error's body as it came, and reason the sentences in it.
const told = (body: any) => String(body?.message ?? body ?? 'The server gave no reason.')
const reason = (body: any) => sentences(told(body)).join(' ')

// json reads what somebody has typed.
export function json(what: string, text: string): any {
	try {
		return exact(text)
	} catch (e) {
		throw new Failure(0, '', `The ${what} is no JSON: ${(e as Error).message}`)
	}
}

const e = encodeURIComponent
export const dbPath = (db: string) => `/dbs/${e(db)}`
export const collPath = (db: string, coll: string) => `/dbs/${e(db)}/colls/${e(coll)}`
export const own = (path: string) => `/_mayfly/${path}`
export const ownColl = (db: string, coll: string, tail: string) => `/_mayfly${collPath(db, coll)}/${tail}`
export const entityPath = (path: string, tail = '') => `/_mayfly/entities/${e(path)}${tail && '/' + tail}`

export const get = (path: string, query = '') => ask('GET', path, { query }).then(a => a.body)
// list reads a list to its end: its pages have a hundred entries or so.
export async function list(path: string, name: string): Promise<any[]> {
	let all: any[] = []
	for (let from = ''; ; ) {
		const a = await ask('GET', path, {
			headers: { 'x-ms-max-item-count': '1000', ...(from && { 'x-ms-continuation': from }) },
		})
		all = all.concat(a.body[name])
		from = a.headers.get('x-ms-continuation') ?? ''
		if (!from) return all
	}
}

// has tells whether this server has a page, which needs no key.
export const has = (path: string) =>
	fetch(path, { method: 'HEAD', credentials: 'omit' }).then(
		r => r.ok,
		() => false,
	)

export const post = (path: string, body: unknown = {}) => ask('POST', path, { body }).then(a => a.body)
export const put = (path: string, body: unknown) => ask('PUT', path, { body }).then(a => a.body)
export const patch = (path: string, body: unknown) => ask('PATCH', path, { body }).then(a => a.body)
export const remove = (path: string) => ask('DELETE', path).then(a => a.body)

export interface Page {
	rows: any[]
	continuation: string | null
	headers: Headers
}

interface PageOptions {
	continuation?: string | null
	count?: number
	signal?: AbortSignal
}

const askQuery = (
	[db, coll, query, parameters]: [string, string, string, unknown[]],
	o: PageOptions,
	kind: { exact?: boolean; raw?: boolean },
) =>
	ask('POST', `${collPath(db, coll)}/docs`, {
		headers: {
			'content-type': 'application/query+json',
			'x-ms-documentdb-isquery': 'True',
			'x-ms-documentdb-query-enablecrosspartition': 'True',
			'x-mayfly-serve-cross-partition': 'true',
			'x-ms-documentdb-populatequerymetrics': 'True',
			'x-ms-max-item-count': String(o.count ?? 100),
			...(o.continuation && { 'x-ms-continuation': o.continuation }),
		},
		body: { query, parameters },
		signal: o.signal,
		...kind,
	})

// runQuery asks for one page of a query over all partition keys.
export async function runQuery(
	db: string,
	coll: string,
	query: string,
	parameters: unknown[],
	options: PageOptions = {},
): Promise<Page> {
	const a = await askQuery([db, coll, query, parameters], options, { exact: true })
	return { rows: a.body.Documents, continuation: a.headers.get('x-ms-continuation'), headers: a.headers }
}

// rawQuery is runQuery with rows as their JSON texts.
export async function rawQuery(
	db: string,
	coll: string,
	query: string,
	parameters: unknown[],
	options: PageOptions = {},
): Promise<{ rows: string[]; continuation: string | null }> {
	const a = await askQuery([db, coll, query, parameters], options, { raw: true })
	const all = membersOf(a.text).find(([name]) => name === 'Documents')
	return { rows: all ? elementsOf(all[1]) : [], continuation: a.headers.get('x-ms-continuation') }
}

// partitionKey reads a document's partition key by the container's paths; what is absent is {}, as on the wire.
export function partitionKey(doc: any, paths: string[]): unknown[] {
	return paths.map(path => {
		let v = doc
		for (const part of path.slice(1).split('/')) v = v?.[part.replace(/^"|"$/g, '')]
		return v === undefined ? {} : v
	})
}

export const pkHeader = (pk: unknown[]) => ({
	'x-ms-documentdb-partitionkey': JSON.stringify(pk).replace(
		/[\u0080-\uffff]/g,
		c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'),
	),
})
