// The text of queries as tokens: enough to tell a condition from words, and to read the names of a select list. What
// a query means is the server's.

export interface Token {
	kind: 'word' | 'string' | 'number' | 'mark'
	text: string
	from: number // in UTF-16 units of the text, as JavaScript counts
	to: number
	closed: boolean // false for a string without its end
}

const pattern =
	/\s+|--[^\n]*|\/\*[^]*?\*\/|("(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?)|([\p{L}_@$][\p{L}\p{N}_$]*)|(\d[\w.]*|\.\d[\w.]*)|(<=|>=|<>|!=|\?\?|\|\||[^])/gu

// tokensOf cuts a text into tokens, without blanks and comments.
export function tokensOf(text: string): Token[] {
	const out: Token[] = []
	for (const m of text.matchAll(pattern)) {
		const [all, string, word, number, mark] = m
		if (!(string || word || number || mark)) continue
		out.push({
			kind: string ? 'string' : word ? 'word' : number ? 'number' : 'mark',
			text: all,
			from: m.index,
			to: m.index + all.length,
			closed: !string || (all.length > 1 && all.endsWith(all[0])),
		})
	}
	return out
}

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

// unquoted is the value of a string of the query language.
export const unquoted = (text: string) =>
	text
		.slice(1, text.length > 1 && text.endsWith(text[0]) ? -1 : undefined)
		.replace(/\\(?:u([0-9a-fA-F]{4})|([^]))/g, (_, code, c) =>
			code ? String.fromCharCode(parseInt(code, 16)) : (escapes[c] ?? c),
		)

const opens = '([{',
	closes = ')]}'
const ends = new Set(['FROM', 'WHERE', 'GROUP', 'ORDER', 'OFFSET'])
// words that an expression may end with, so that what stands behind is no alias
const operators = new Set(['AND', 'OR', 'NOT', 'IN', 'LIKE', 'BETWEEN', 'ESCAPE', 'EXISTS', 'ARRAY'])

// parts cuts tokens at the commas between brackets of their own.
function parts(all: Token[]): Token[][] {
	const out: Token[][] = [[]]
	let depth = 0
	for (const t of all) {
		if (t.kind === 'mark' && opens.includes(t.text)) depth++
		if (t.kind === 'mark' && closes.includes(t.text)) depth--
		if (t.text === ',' && t.kind === 'mark' && !depth) out.push([])
		else out[out.length - 1].push(t)
	}
	return out.filter(p => p.length)
}

// columnsOf are the names of a query's columns in the order of its select list; null where the documents decide:
// SELECT *, and SELECT VALUE of anything but an object that is written out.
export function columnsOf(query: string): string[] | null {
	const all = tokensOf(query),
		upper = (i: number) => (all[i]?.kind === 'word' ? all[i].text.toUpperCase() : '')
	if (upper(0) !== 'SELECT') return null
	let at = 1,
		depth = 0
	if (upper(at) === 'DISTINCT') at++
	if (upper(at) === 'TOP') at += 2
	let end = at
	while (end < all.length && (depth || !ends.has(upper(end)))) {
		if (all[end].kind === 'mark' && opens.includes(all[end].text)) depth++
		if (all[end].kind === 'mark' && closes.includes(all[end].text)) depth--
		end++
	}
	const list = all.slice(at, end)
	if (upper(at) === 'VALUE' && list[1]?.text !== '.') {
		const inside = list.slice(2, -1)
		if (list[1]?.text !== '{' || list[list.length - 1].text !== '}' || split(inside)) return null
		return parts(inside).map(p => (p[0].kind === 'string' ? unquoted(p[0].text) : p[0].text))
	}
	if (!list.length || (list.length === 1 && list[0].text === '*')) return null
	let unnamed = 0
	return parts(list).map(p => nameOf(p) ?? `$${++unnamed}`)
}

// split tells that the tokens between a first { and a last } are not those of one object: {a: 1}.b != {c: 2}
function split(inside: Token[]): boolean {
	let depth = 0
	return inside.some(t => {
		if (t.kind !== 'mark') return false
		if (opens.includes(t.text)) depth++
		if (closes.includes(t.text)) depth--
		return depth < 0
	})
}

// nameOf names a column as Cosmos DB does: by its alias, or by the last property of its path.
function nameOf(p: Token[]): string | null {
	const last = p[p.length - 1],
		before = p[p.length - 2]
	if (last.kind === 'word') {
		if (!before || before.text === '.') return last.text.startsWith('@') || literals.test(last.text) ? null : last.text
		const operator = before.kind === 'word' && operators.has(before.text.toUpperCase())
		const operand = before.kind !== 'mark' || closes.includes(before.text)
		if (operand && !operator) return last.text
	}
	// c["two words"], and not a list of one string
	if (last.text === ']' && before?.kind === 'string' && p[p.length - 3]?.text === '[' && p.length > 3)
		return unquoted(before.text)
	return null
}
const literals = /^(true|false|null|undefined)$/i
