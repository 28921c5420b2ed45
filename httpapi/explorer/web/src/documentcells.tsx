// The columns of a container's documents.
import { numberOf, partitionKey } from './api'
import type { Container } from './container'
import type { GridColumn } from './grid'
import { countdown, nowOf, stamp } from './state'

// expiry is when a document expires by its own ttl and the container's default, in ms; null: it does not.
// Its life counts from the number at the container's ttlPropertyPath, if there is one, or else from its _ts.
// A lease is not in it: the document's own panel asks the server.
export function expiry(doc: any, of: Container): number | null {
	if (of.defaultTtl === undefined || typeof doc._ts !== 'number') return null
	const own = numberOf(doc.ttl),
		ttl = own !== undefined && Number.isInteger(own) ? own : of.defaultTtl
	const base = of.ttlPropertyPath ? numberOf(partitionKey(doc, [of.ttlPropertyPath])[0]) : undefined
	const from = base !== undefined ? Math.floor(base) : doc._ts
	return ttl > 0 ? (from + ttl) * 1000 : null
}

export function Countdown(p: { at: number | null; db: string }) {
	if (p.at === null) return <span class="soft">never</span>
	const left = (p.at - nowOf(p.db)) / 1000
	return left <= 0 ? (
		<span class="tag dead">expired</span>
	) : (
		<span class={left < 60 ? 'soon' : ''}>{countdown(left)}</span>
	)
}

const previews = new WeakMap<object, string>()

// preview is a document without what has a column of its own. It is made once: a document may be large.
export function preview(doc: any, paths: string[]): string {
	const known = previews.get(doc)
	if (known !== undefined) return known
	let text = ''
	for (const [name, v] of Object.entries(doc)) {
		if (name.startsWith('_') || name === 'id' || paths.includes('/' + name)) continue
		const value = typeof v === 'string' ? v.slice(0, 400) : v
		text += `${text && ','}${JSON.stringify(name)}:${JSON.stringify(value)}`
		if (text.length > 400) break
	}
	previews.set(doc, (text = text.slice(0, 400)))
	return text
}

const sampled = 100 // documents whose members have columns
const most = 60 // columns of members

// members are the names of what documents hold, in the order in which they come.
function members(rows: any[], known: string[]): string[] {
	const names = new Set<string>()
	for (const doc of rows.slice(0, sampled))
		for (const name of Object.keys(doc)) if (!known.includes(name)) names.add(name)
	return [...names].slice(0, most)
}

const system = ['_rid', '_self', '_etag', '_attachments', '_ts']

// isIndexed reports whether a path at the top of documents is in the index, by the longest path of the policy that has it.
function isIndexed(path: string, policy: any): boolean {
	if (policy?.indexingMode === 'none') return false
	const longest = (all: any[] = []) =>
		Math.max(
			-1,
			...all
				.map(entry => String(entry.path))
				.filter(p =>
					p.endsWith('/*')
						? `${path}/`.startsWith(p.slice(0, -1))
						: p.replace(/\/\?$/, '') === path,
				)
				.map(p => p.length),
		)
	const included = longest(policy?.includedPaths)
	return included >= 0 && included >= longest(policy?.excludedPaths)
}

// documentColumns are the columns of documents: id, partition key, life and content, and each member to choose.
export function documentColumns(rows: any[], of: Container, db: string, whole: boolean): GridColumn<any>[] {
	const paths = of.partitionKey.paths,
		ofPath = (path: string) => (doc: any) => partitionKey(doc, [path])[0]
	const has = ['id', ...paths.map(path => path.slice(1)), ...system]
	return [
		{ name: 'id', value: doc => doc.id, sorts: true, share: 1.2 },
		...paths
			.filter(path => path !== '/id')
			.map(path => ({
				name: path,
				label: path.slice(1),
				value: ofPath(path),
				cell: (doc: any) => JSON.stringify(ofPath(path)(doc)),
				sorts: true,
			})),
		{
			name: 'expires in',
			value: doc => {
				const at = expiry(doc, of)
				return at === null ? undefined : new Date(at).toISOString()
			},
			cell: doc => <Countdown at={expiry(doc, of)} db={db} />,
			width: 110,
			sorts: whole,
			hint: whole ? undefined : 'expires in: it sorts when all documents are loaded',
			class: 'num',
		},
		{
			name: 'written',
			value: doc => doc._ts && stamp(doc._ts * 1000),
			width: 176,
			sorts: true,
			class: 'num',
		},
		{ name: 'content', value: doc => preview(doc, paths), share: 3, class: 'mono soft' },
		...members(rows, has).map(name => ({
			name: '/' + name,
			label: name,
			value: (doc: any) => doc[name],
			sorts: isIndexed('/' + name, of.indexingPolicy),
			hint: isIndexed('/' + name, of.indexingPolicy)
				? undefined
				: `${name}: not indexed, so it does not sort`,
			hidden: true,
		})),
		...['_etag', '_rid'].map(name => ({ name, value: (doc: any) => doc[name], hidden: true })),
	]
}

// byExpiry orders documents by when they expire: those that never do come last.
export function byExpiry(of: Container, down: boolean) {
	const at = (doc: any) => expiry(doc, of) ?? Infinity
	return (a: any, b: any) => (at(a) === at(b) ? 0 : at(a) < at(b) !== down ? -1 : 1)
}

// orderOf is the ORDER BY of a column, '' for one that has none.
export function orderOf(sort: string): string {
	const name = sort.replace(/^-/, '')
	const path =
		name === 'id'
			? '.id'
			: name === 'written'
				? '._ts'
				: name.startsWith('/')
					? name
							.slice(1)
							.split('/')
							.map(part => `[${JSON.stringify(part.replace(/^"|"$/g, ''))}]`)
							.join('')
					: ''
	return path && ` ORDER BY c${path}${sort.startsWith('-') ? ' DESC' : ''}`
}
