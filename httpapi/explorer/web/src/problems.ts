// What is wrong with a query, as the server tells it: Cosmos DB puts JSON of one of two shapes into the sentence of
// an error. All pages read it here.

import { jsonFault } from './jsonplace'

export interface Problem {
	severity: string
	text: string
	code: string // '' for none
	from: number // the place in the text that was sent, in UTF-16 units; -1 for none
	to: number
}

interface Told {
	severity?: string
	location?: { start: number; end: number }
	code?: string | number
	message?: string
}

// units are UTF-16 units, as JavaScript counts, of so many characters (code points), as the server counts.
const units = (text: string, characters: number) => Array.from(text).slice(0, characters).join('').length

// inner is the JSON in the message of an error's body; undefined where there is none.
function inner(message: string): { errors?: Told[]; Errors?: string[] } | undefined {
	const found = /^Message: (\{.*\})(?:\r?\n|$)/s.exec(message)
	if (!found) return
	try {
		return JSON.parse(found[1])
	} catch {
		return // it is shown as it is
	}
}

const plain = (message: string) => message.replace(/\r?\nActivityId:.*$/s, '').replace(/^Message: /, '')

// sentences are those of an error's message.
export function sentences(message: string): string[] {
	const told = inner(message)
	if (Array.isArray(told?.errors)) return told.errors.map(e => String(e.message))
	if (Array.isArray(told?.Errors)) return told.Errors.map(String)
	return [plain(message)]
}

// problemsOf reads the message of an answer to a query. text is the query that was sent.
export function problemsOf(message: string, text: string): Problem[] {
	const told = inner(message)
	if (Array.isArray(told?.errors))
		return told.errors.map(e => ({
			severity: e.severity ?? 'Error',
			text: String(e.message),
			code: String(e.code ?? ''),
			from: e.location ? units(text, e.location.start) : -1,
			to: e.location ? units(text, e.location.end) : -1,
		}))
	return sentences(message).map(text => ({ severity: 'Error', text, code: '', from: -1, to: -1 }))
}

// moved are problems as places in a text that stands behind some characters of the one that was sent. A place
// before it, or in another text (before < 0), is none.
export const moved = (all: Problem[], before: number): Problem[] =>
	all.map(p => {
		const inside = before >= 0 && p.from >= before
		return { ...p, from: inside ? p.from - before : -1, to: inside ? p.to - before : -1 }
	})

// place is a place of a text as line and column, both from 1.
export function place(text: string, at: number): { line: number; column: number } {
	const lines = text.slice(0, at).split('\n')
	return { line: lines.length, column: Array.from(lines[lines.length - 1]).length + 1 }
}

// jsonProblem is where a text of parameters is no JSON; null for one that is.
export function jsonProblem(text: string): Problem | null {
	const fault = jsonFault(text)
	return (
		fault && { severity: 'Error', text: `Parameters: ${fault.text}.`, code: '', from: fault.at, to: fault.at + 1 }
	)
}

// sections of the page about compatibility that tell of codes, by the beginnings of these.
const sections: [RegExp, string][] = [
	[/^SC10[01]\d$/, 'syntax-errors'],
	[/^SC(1021|20(0[15]|2[12]|41|42))$/, 'names-and-select-lists'],
	[/^SC20(5[0-3]|6[0-2])$/, 'arguments-top-and-offset'],
	[/^SC21(0[1-4]|1[01])$/, 'aggregates-and-groups'],
	[/^SC(220[1-5]|2990|3005)$|^2206$/, 'subqueries-and-limits'],
	[/^SC22([12]\d|3[3]|4[014])$/, 'vectors-and-full-text'],
]

// explained is the page that tells of a code; '' for one that no page knows.
export function explained(code: string): string {
	const found = sections.find(([codes]) => codes.test(code))
	return found ? `/_explorer/docs/compatibility/#${found[1]}` : ''
}
