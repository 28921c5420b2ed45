// JSON as text. A number of JavaScript has 53 bits: a document that went through JSON.parse and back would
// have others where it has longer ones. So documents are read, laid out and sent as text.

// tokens are the parts of a JSON text: strings, marks, and what else stands between blanks.
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

// pretty lays a JSON text out: a member and an element a line. Members of the outermost object that are among
// without are left out.
export function pretty(text: string, without: string[] = []): string {
	let out = '',
		depth = 0,
		left = false // a member is being left out
	const lines = (n: number) => '\n' + '  '.repeat(n)
	const all = text.match(tokens) ?? []
	const empty = (i: number) => all[i + 1] === '}' || all[i + 1] === ']'
	let first = true // nothing stands yet between the brackets
	for (let i = 0; i < all.length; i++) {
		const t = all[i]!
		const opens = t === '{' || t === '[',
			closes = t === '}' || t === ']'
		if (closes) depth--
		if (left) {
			// up to the end of the member's value
			if (opens) depth++
			if (!(depth === 1 && t === ',') && !(depth === 0 && closes)) continue
			left = false
			if (t === ',') continue
		}
		if (depth === 1 && t[0] === '"' && all[i + 1] === ':' && without.includes(JSON.parse(t))) {
			left = true
			continue
		}
		if (t === ',') continue
		if (t === ':') {
			out += ': '
			continue
		}
		if (closes) {
			out += (first ? '' : lines(depth)) + t
			first = false
			continue
		}
		const named = all[i - 1] === ':'
		if (!named && depth) out += (first ? '' : ',') + lines(depth)
		out += t
		first = opens
		if (opens) {
			if (empty(i)) {
				out += all[++i]
				first = false
			} else depth++
		}
	}
	return out
}
