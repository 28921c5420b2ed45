// The filter of Documents: a condition, words to search for, the end of a query, or a whole query.
import { functions } from './functions'
import { tokensOf, unquoted, type Token } from './sqltext'

export interface Filter {
	query: string
	rest: string | null // of the query behind its SELECT and FROM; null for a whole query
	before: number // characters of the query that stand before what has been typed; -1: none of it is the typed text
	says: string // what has been made of the text, for the line under the filter
}

const quick = new Set(['WHERE', 'ORDER', 'OFFSET', 'JOIN'])
const known = new Set(functions.map(f => f.toUpperCase()).concat('EXISTS', 'ARRAY'))
const comparisons = new Set(['=', '!=', '<>', '<', '>', '<=', '>='])

// readFilter makes a query of what has been typed.
export function readFilter(text: string): Filter {
	const typed = text.trim(),
		all = tokensOf(typed)
	if (!all.length) return made('', typed, '')
	const first = all[0].kind === 'word' ? all[0].text.toUpperCase() : ''
	if (first === 'SELECT' && all.length > 1)
		return {
			query: text,
			rest: null,
			before: 0,
			says: 'A query of its own. Its rows open where they have an id and the partition key.',
		}
	if (quick.has(first) && all.length > 1) {
		const join = first === 'JOIN'
		return made(join ? 'SELECT VALUE c FROM c ' : 'SELECT * FROM c ', text, `The end of ${join ? 'SELECT VALUE c' : 'SELECT *'} FROM c.`)
	}
	if (isCondition(all)) return made('SELECT * FROM c WHERE ', text, 'Documents that fulfil this condition.')
	const quoted = all.length === 1 && all[0].kind === 'string' && all[0].closed
	return search(quoted ? unquoted(all[0].text) : typed)
}

const made = (before: string, text: string, says: string): Filter => {
	const query = (before || 'SELECT * FROM c') + text
	return { query, rest: query.replace(heads, ''), before: before.length, says }
}
const heads = /^SELECT (\*|VALUE c) FROM c/

const has = (text: string, ...words: string[]) =>
	tokensOf(text).some(t => t.kind === 'word' && words.includes(t.text.toUpperCase()))

// inOrder is a filter's query in an order, ORDER BY ..., where it has none of its own.
export const inOrder = (f: Filter, order: string) =>
	!order || f.rest === null || has(f.rest, 'ORDER', 'OFFSET') ? f.query : `${f.query}\n${order.trim()}`

// countOf is the query of how many documents a filter has; '' where none tells.
export function countOf(f: Filter): string {
	if (f.rest === null || has(f.rest, 'OFFSET')) return ''
	const order = tokensOf(f.rest).filter(t => t.kind === 'word' && t.text.toUpperCase() === 'ORDER')
	return `SELECT VALUE COUNT(1) FROM c${f.rest.slice(0, order.pop()?.from)}`
}

// isCondition tells conditions from words: they compare, call a function of the language, or name a property of c.
const isCondition = (all: Token[]) =>
	all.some((t, i) => {
		const next = all[i + 1]?.text,
			beside = next !== undefined && all[i].to === all[i + 1].from
		if (t.kind === 'mark') return comparisons.has(t.text) && all.length > 1
		if (t.kind !== 'word') return false
		const word = t.text.toUpperCase(),
			after = all[i + 1]
		if (word === 'LIKE') return after?.kind === 'string'
		if (word === 'IN') return i > 0 && next === '('
		if (word === 'BETWEEN') return i > 0 && all[i + 2]?.text.toUpperCase() === 'AND'
		if (next === '(') return known.has(word)
		return beside && (((t.text === 'c' || t.text === 'root') && (next === '.' || next === '[')) || (word === 'UDF' && next === '.'))
	})

const depth = 3 // of objects and lists below a document that a search goes into

// within is a condition: value is a string with the text in it, or has one. text is a string of the language.
function within(value: string, text: string, left: number): string {
	const here = `CONTAINS(${value}, ${text}, true)`
	if (!left) return here
	const p = `p${left}`,
		e = `e${left}`
	return (
		`(${here} OR (IS_OBJECT(${value}) AND EXISTS(SELECT VALUE 1 FROM ${p} IN (SELECT VALUE ObjectToArray(${value})) ` +
		`WHERE ${within(`${p}.v`, text, left - 1)})) OR (IS_ARRAY(${value}) AND EXISTS(SELECT VALUE 1 FROM ${e} IN ` +
		`${value} WHERE ${within(e, text, left - 1)})))`
	)
}

// search looks for a text in the ids and the strings of documents, and not in what the server adds to them.
const search = (text: string): Filter => ({
	...made(
		'SELECT * FROM c',
		' WHERE EXISTS(SELECT VALUE 1 FROM p IN (SELECT VALUE ObjectToArray(c)) ' +
			`WHERE LEFT(p.k, 1) != '_' AND ${within('p.v', JSON.stringify(text), depth)})`,
		`Documents with “${text}” in their id or another string, upper or lower case.`,
	),
	before: -1,
})
