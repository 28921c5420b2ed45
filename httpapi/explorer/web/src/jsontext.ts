// JSON as text, read by its positions: what is wrong with it and where, and the pieces it is made of as they are
// written. Positions are counted in UTF-16 units, as JavaScript does.

export interface Problem {
	at: number // the position of what is wrong
	message: string
}

// lineAndColumn are those of a position, both from 1.
export function lineAndColumn(text: string, at: number): { line: number; column: number } {
	let line = 1,
		start = 0
	for (let i = text.indexOf('\n'); i >= 0 && i < at; i = text.indexOf('\n', i + 1)) {
		line++
		start = i + 1
	}
	return { line, column: at - start + 1 }
}

class Wrong extends Error {
	constructor(
		readonly at: number,
		message: string,
	) {
		super(message)
	}
}

// problemOf returns what is wrong with a JSON text, null for nothing.
export function problemOf(text: string): Problem | null {
	try {
		JSON.parse(text)
		return null
	} catch {
		// JSON.parse has no position that all browsers tell
	}
	try {
		const end = blanks(text, checked(text, blanks(text, 0), 0))
		if (end < text.length) throw new Wrong(end, 'Something follows the end of the value.')
	} catch (e) {
		if (e instanceof Wrong) return { at: e.at, message: e.message }
		throw e
	}
	return { at: 0, message: 'This is not JSON.' }
}

// problemText is a problem as a sentence, with its line and column.
export function problemText(text: string, p: Problem): string {
	const { line, column } = lineAndColumn(text, p.at)
	return `Line ${line}, column ${column}: ${p.message}`
}

const blank = /[ \t\r\n]*/y
const numberAt = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const wordAt = /[A-Za-z_$][\w$]*/y
const deepest = 2000 // of nested values: beyond that the position is the nesting's

function match(pattern: RegExp, text: string, at: number): string {
	pattern.lastIndex = at
	return pattern.exec(text)?.[0] ?? ''
}

const blanks = (text: string, at: number) => at + match(blank, text, at).length

// checked returns the end of the value that begins at a position, and throws what is wrong with it.
function checked(text: string, at: number, depth: number): number {
	const c = text[at]
	if (c === undefined) throw new Wrong(at, 'A value is missing at the end of the text.')
	if (depth > deepest) throw new Wrong(at, 'Values are nested too deeply.')
	if (c === '"') return checkedString(text, at)
	if (c === '{' || c === '[') return checkedList(text, at, depth)
	const number = match(numberAt, text, at)
	if (number) {
		const more = match(/[\w.+-]+/y, text, at)
		if (more.length > number.length) throw new Wrong(at, `${more} is not a number of JSON.`)
		return at + number.length
	}
	const word = match(wordAt, text, at)
	if (['true', 'false', 'null'].includes(word)) return at + word.length
	if (word) throw new Wrong(at, `${word} is not a value: a text stands in double quotes.`)
	if (c === "'") throw new Wrong(at, 'A text stands in double quotes, not in single ones.')
	throw new Wrong(at, `A value is expected, not ${c}.`)
}

function checkedString(text: string, at: number): number {
	for (let i = at + 1; i < text.length; i++) {
		const c = text[i]
		if (c === '"') return i + 1
		if (c === '\n') throw new Wrong(at, 'A text is not closed in its line.')
		if (c < ' ') throw new Wrong(i, 'A control character in a text must be escaped.')
		if (c !== '\\') continue
		if (!/^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(text.slice(i + 1, i + 6)))
			throw new Wrong(i, `${text.slice(i, i + 2)} is not an escape of JSON.`)
		i++
	}
	throw new Wrong(at, 'A text is not closed.')
}

function checkedList(text: string, at: number, depth: number): number {
	const object = text[at] === '{',
		close = object ? '}' : ']'
	let i = blanks(text, at + 1)
	if (text[i] === close) return i + 1
	const names = new Set<string>()
	for (;;) {
		if (object) {
			if (text[i] !== '"') {
				const what =
					text[i] === close
						? 'A comma stands before the closing }.'
						: 'A name in double quotes is expected.'
				throw new Wrong(i, what)
			}
			const end = checkedString(text, i),
				name = JSON.parse(text.slice(i, end))
			if (names.has(name)) throw new Wrong(i, `The name ${text.slice(i, end)} is there twice.`)
			names.add(name)
			i = blanks(text, end)
			if (text[i] !== ':') throw new Wrong(i, 'A colon is expected behind a name.')
			i = blanks(text, i + 1)
		} else if (text[i] === close) throw new Wrong(i, 'A comma stands before the closing ].')
		i = blanks(text, checked(text, i, depth + 1))
		if (text[i] === close) return i + 1
		if (text[i] === undefined) throw new Wrong(at, `The ${text[at]} is not closed.`)
		if (text[i] !== ',') throw new Wrong(i, `A comma or ${close} is expected.`)
		i = blanks(text, i + 1)
	}
}

// endOfString returns the position behind a string that begins at a position of correct JSON.
function endOfString(text: string, at: number): number {
	for (let i = text.indexOf('"', at + 1); ; i = text.indexOf('"', i + 1)) {
		if (i < 0) return text.length
		let slashes = 0
		while (text[i - 1 - slashes] === '\\') slashes++
		if (slashes % 2 === 0) return i + 1
	}
}

const mark = /["{}[\]]/g

// endOf returns the position behind the value that begins at a position of correct JSON.
function endOf(text: string, at: number): number {
	const c = text[at]
	if (c === '"') return endOfString(text, at)
	if (c !== '{' && c !== '[') {
		let i = at
		while (i < text.length && !',}] \t\r\n'.includes(text[i])) i++
		return i
	}
	let depth = 0
	mark.lastIndex = at
	for (let m = mark.exec(text); m; m = mark.exec(text)) {
		if (m[0] === '"') mark.lastIndex = endOfString(text, m.index)
		else if (m[0] === '{' || m[0] === '[') depth++
		else if (--depth === 0) return m.index + 1
	}
	return text.length
}

// elementsOf are the elements of an array that is correct JSON, each as its text.
export function elementsOf(text: string): string[] {
	const out: string[] = []
	for (let i = blanks(text, blanks(text, 0) + 1); i < text.length && text[i] !== ']';) {
		const end = endOf(text, i)
		out.push(text.slice(i, end))
		i = blanks(text, end)
		if (text[i] === ',') i = blanks(text, i + 1)
	}
	return out
}

// membersOf are the members of an object that is correct JSON: names, and values as their texts.
export function membersOf(text: string): [string, string][] {
	const out: [string, string][] = []
	for (let i = blanks(text, blanks(text, 0) + 1); i < text.length && text[i] !== '}';) {
		const behind = endOfString(text, i),
			from = blanks(text, blanks(text, behind) + 1),
			end = endOf(text, from)
		out.push([JSON.parse(text.slice(i, behind)), text.slice(from, end)])
		i = blanks(text, end)
		if (text[i] === ',') i = blanks(text, i + 1)
	}
	return out
}

// without is an object that is correct JSON without some of its members, in one line.
export function without(text: string, names: string[]): string {
	const kept = membersOf(text).filter(([name]) => !names.includes(name))
	return `{${kept.map(([name, v]) => `${JSON.stringify(name)}:${v}`).join(',')}}`
}
