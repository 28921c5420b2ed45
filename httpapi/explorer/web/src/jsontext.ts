// JSON as text, read by its positions: what is wrong with it and where, and the pieces it is made of as they are
// written. Positions are counted in UTF-16 units, as JavaScript does.

import { jsonFault } from './jsonplace'

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

// problemOf returns what is wrong with a JSON text, null for nothing.
export function problemOf(text: string): Problem | null {
	try {
		JSON.parse(text)
		return null
	} catch {
		// JSON.parse has no position that all browsers tell
	}
	const fault = jsonFault(text)
	return fault ? { at: fault.at, message: fault.text + '.' } : { at: 0, message: 'This is not JSON.' }
}

// problemText is a problem as a sentence, with its line and column.
export function problemText(text: string, p: Problem): string {
	const { line, column } = lineAndColumn(text, p.at)
	return `Line ${line}, column ${column}: ${p.message}`
}

const blank = /[ \t\r\n]*/y

// blanks returns the position behind the blanks at a position.
function blanks(text: string, at: number): number {
	blank.lastIndex = at
	return at + blank.exec(text)![0].length
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
