// Documents read from a file as a stream: a JSON value per line, one JSON array, JSON values one after the other, or CSV;
// compressed by gzip or not. What the command import takes is taken here, with the same meaning; zstd no browser reads.
import { lineAndColumn, problemOf } from './jsontext'

// Read is a document with its place in the file, or what is wrong there. line and column are from 1.
export interface Read {
	line: number
	column: number
	text?: string // a document as JSON
	wrong?: string
}

// Broken ends a file: what is behind it cannot be read.
export class Broken extends Error {
	constructor(
		readonly line: number,
		readonly column: number,
		message: string,
	) {
		super(message)
	}
}

const longest = 8 << 20 // characters of a document, as in the command

// readDocuments reads a file. progress is called with the number of bytes that have been read.
export async function* readDocuments(
	file: File,
	signal: AbortSignal,
	progress: (bytes: number) => void,
): AsyncGenerator<Read> {
	const magic = new Uint8Array(await file.slice(0, 4).arrayBuffer())
	if (magic[0] === 0x28 && magic[1] === 0xb5 && magic[2] === 0x2f && magic[3] === 0xfd)
		throw new Broken(
			1,
			1,
			'This is compressed by zstd, which browsers do not read: mayfly import does.',
		)
	const packed = magic[0] === 0x1f && magic[1] === 0x8b
	const counted = new TransformStream<Uint8Array, Uint8Array>({
		transform(bytes, out) {
			progress(bytes.length)
			out.enqueue(bytes)
		},
	})
	let bytes: ReadableStream<any> = file.stream().pipeThrough(counted)
	if (packed) bytes = bytes.pipeThrough(new DecompressionStream('gzip'))
	const texts = bytes.pipeThrough(new TextDecoderStream('utf-8', { fatal: true })).getReader()
	const input = new Input(async () => {
		signal.throwIfAborted()
		try {
			const { done, value } = await texts.read()
			return done ? null : value
		} catch (e) {
			throw new Broken(
				input.line,
				1,
				`The file cannot be read: ${(e as Error).message || 'it is not UTF-8 text'}`,
			)
		}
	})
	try {
		const name = packed ? file.name.replace(/\.[^.]*$/, '') : file.name
		if (/\.csv$/i.test(name)) yield* rows(input)
		else if ((await input.first()) === '[') yield* elements(input)
		else yield* lines(input)
	} finally {
		texts.cancel().catch(() => {})
	}
}

// Input is text that comes in pieces, and how far it has been taken.
class Input {
	line = 1
	column = 1
	private text = ''
	private at = 0
	private ended = false

	constructor(private more: () => Promise<string | null>) {}

	// fill reads on until there is something, or the end.
	private async fill(): Promise<boolean> {
		while (!this.ended && this.at >= this.text.length) {
			const next = await this.more()
			if (next === null) this.ended = true
			else {
				this.text = next
				this.at = 0
			}
		}
		return this.at < this.text.length
	}

	// peek returns the next character, '' at the end.
	async peek(): Promise<string> {
		return this.at < this.text.length || (await this.fill()) ? this.text[this.at] : ''
	}

	// first skips blanks and returns the character behind them.
	async first(): Promise<string> {
		for (let c = await this.peek(); ; c = await this.peek()) {
			if (c === '' || !' \t\r\n\ufeff'.includes(c)) return c
			this.take(1)
		}
	}

	// rest is what has been read and not taken.
	rest(): [string, number] {
		return [this.text, this.at]
	}

	// take goes on by so many characters of what has been read.
	take(n: number) {
		const end = this.at + n
		let from = this.at
		for (
			let i = this.text.indexOf('\n', from);
			i >= 0 && i < end;
			i = this.text.indexOf('\n', from)
		) {
			this.line++
			this.column = 1
			from = i + 1
		}
		this.column += end - from
		this.at = end
	}
}

// document is a piece of text as a document, or what is wrong with it.
function document(text: string, line: number, column: number): Read {
	const problem = problemOf(text)
	if (!problem) {
		if (text.trimStart()[0] === '{') return { line, column, text }
		return { line, column, wrong: 'A document is an object.' }
	}
	const at = lineAndColumn(text, problem.at)
	return {
		line: line + at.line - 1,
		column: at.line === 1 ? column + at.column - 1 : at.column,
		wrong: problem.message,
	}
}

// lines are the documents of NDJSON. Where the first line is no JSON alone, values may have several lines each.
async function* lines(input: Input): AsyncGenerator<Read> {
	let begun = false
	while ((await input.first()) !== '') {
		const { line, column } = input
		let text = await untilNewline(input)
		if (!begun && problemOf(text) && /^\s*[{[]/.test(text)) {
			const scan = new Scanner()
			if (!scan.feed(text)) {
				text += await untilClosed(input, scan, line, column, text.length)
				yield document(text, line, column)
				yield* values(input)
				return
			}
		}
		begun = true
		yield document(text.trimEnd(), line, column)
	}
}

async function untilNewline(input: Input): Promise<string> {
	const { line, column } = input
	let out = ''
	while ((await input.peek()) !== '') {
		const [text, at] = input.rest(),
			end = text.indexOf('\n', at)
		out += text.slice(at, end < 0 ? text.length : end)
		input.take((end < 0 ? text.length : end + 1) - at)
		if (out.length > longest)
			throw new Broken(line, column, `A document is longer than ${longest} characters.`)
		if (end >= 0) break
	}
	return out + '\n'
}

// Scanner finds the end of a JSON value by its brackets, over pieces of text.
class Scanner {
	private depth = 0
	private quoted = false
	private escaped = false

	// feed returns the position behind the value, 0 where it goes on.
	feed(text: string, from = 0): number {
		for (let i = from; i < text.length; i++) {
			const c = text.charCodeAt(i)
			if (this.escaped) this.escaped = false
			else if (this.quoted) {
				if (c === 0x5c) this.escaped = true
				else if (c === 0x22) this.quoted = false
			} else if (c === 0x22) this.quoted = true
			else if (c === 0x7b || c === 0x5b) this.depth++
			else if ((c === 0x7d || c === 0x5d) && --this.depth <= 0) return i + 1
		}
		return 0
	}
}

// untilClosed takes a value to its end, of which so many characters have been taken.
async function untilClosed(
	input: Input,
	scan: Scanner,
	line: number,
	column: number,
	taken = 0,
): Promise<string> {
	let out = ''
	while ((await input.peek()) !== '') {
		const [text, at] = input.rest(),
			end = scan.feed(text, at)
		out += text.slice(at, end || text.length)
		input.take((end || text.length) - at)
		if (out.length + taken > longest)
			throw new Broken(line, column, `A document is longer than ${longest} characters.`)
		if (end) return out
	}
	throw new Broken(line, column, 'The value that begins here does not end.')
}

// values are JSON values one after the other.
async function* values(input: Input): AsyncGenerator<Read> {
	for (let c = await input.first(); c !== ''; c = await input.first()) {
		const { line, column } = input
		if (c !== '{') throw new Broken(line, column, `A document is expected, not ${c}.`)
		yield document(await untilClosed(input, new Scanner(), line, column), line, column)
	}
}

// elements are those of one JSON array.
async function* elements(input: Input): AsyncGenerator<Read> {
	input.take(1)
	for (let c = await input.first(), n = 0; c !== ']' || n > 0; c = await input.first(), n++) {
		const { line, column } = input
		if (c === '') throw new Broken(line, column, 'The array does not end.')
		if (c !== '{') throw new Broken(line, column, `A document is expected, not ${c}.`)
		yield document(await untilClosed(input, new Scanner(), line, column), line, column)
		const then = await input.first()
		if (then === ']') break
		if (then !== ',') throw new Broken(input.line, input.column, 'A comma or ] is expected.')
		input.take(1)
	}
	input.take(1)
	if ((await input.first()) !== '')
		throw new Broken(input.line, input.column, 'Something follows the end of the array.')
}

interface Row {
	line: number
	column: number
	cells: string[]
}

// row takes a row of CSV, null at the end.
async function row(input: Input): Promise<Row | null> {
	while ((await input.peek()) === '\n' || (await input.peek()) === '\r') input.take(1) // an empty line
	if ((await input.peek()) === '') return null
	const { line, column } = input,
		cells: string[] = []
	for (let size = 0; ;) {
		const quoted = (await input.peek()) === '"'
		const cell = quoted ? await quotedCell(input) : await plainCell(input)
		cells.push(cell)
		if ((size += cell.length) > longest)
			throw new Broken(line, column, `A row is longer than ${longest} characters.`)
		const c = await input.peek()
		if (c !== '') input.take(1)
		if (c === ',') continue
		if (c === '' || c === '\n') return { line, column, cells }
		throw new Broken(
			input.line,
			input.column - 1,
			'A comma or the end of the line is expected behind a quoted cell.',
		)
	}
}

async function plainCell(input: Input): Promise<string> {
	let out = ''
	while ((await input.peek()) !== '') {
		const [text, at] = input.rest()
		let end = at
		while (end < text.length && text[end] !== ',' && text[end] !== '\n') end++
		out += text.slice(at, end)
		input.take(end - at)
		if (end < text.length) break
		if (out.length > longest) break
	}
	if (out.includes('"'))
		throw new Broken(input.line, input.column - out.length, 'A cell with " must be quoted.')
	return out.replace(/\r$/, '')
}

async function quotedCell(input: Input): Promise<string> {
	const { line, column } = input
	input.take(1)
	let out = ''
	while ((await input.peek()) !== '') {
		const [text, at] = input.rest(),
			end = text.indexOf('"', at)
		out += text.slice(at, end < 0 ? text.length : end)
		input.take((end < 0 ? text.length : end + 1) - at)
		if (out.length > longest) break
		if (end < 0) continue
		if ((await input.peek()) !== '"') {
			if ((await input.peek()) === '\r') input.take(1)
			return out.replace(/\r\n/g, '\n')
		}
		out += '"'
		input.take(1)
	}
	throw new Broken(line, column, 'The quote that begins here is not closed.')
}

type Members = Map<string, string | Members> // values as JSON

// rows are the documents of CSV. The first row names the members: a.b is a member of a member.
async function* rows(input: Input): AsyncGenerator<Read> {
	await input.first()
	const head = await row(input)
	if (!head) throw new Broken(1, 1, 'The file is empty.')
	const names = head.cells
	if (names.length === 1 && /[;\t]/.test(names[0]))
		throw new Broken(1, 1, 'The first row is one cell: cells are divided by commas.')
	const twice = names.find((name, i) => names.indexOf(name) !== i)
	if (twice !== undefined) throw new Broken(1, 1, `Two columns have the name ${twice}.`)
	for (let r = await row(input); r; r = await row(input)) {
		const { line, column, cells } = r
		if (cells.length !== names.length)
			yield { line, column, wrong: `${cells.length} cells, but the first row has ${names.length}.` }
		else yield { line, column, ...members(names, cells) }
	}
}

function members(names: string[], cells: string[]): { text?: string; wrong?: string } {
	const all: Members = new Map()
	for (let i = 0; i < names.length; i++) {
		if (cells[i] === '') continue // an empty cell is no member
		const path = names[i].split('.')
		let at = all
		for (const part of path.slice(0, -1)) {
			const below = at.get(part) ?? new Map()
			if (typeof below === 'string')
				return { wrong: `The column ${part} is both a value and an object.` }
			at.set(part, below)
			at = below
		}
		const last = path[path.length - 1]
		if (at.has(last)) return { wrong: `The column ${names[i]} is both a value and an object.` }
		at.set(last, cellValue(names[i], cells[i]))
	}
	return { text: written(all) }
}

// cellValue is what a cell stands for: JSON is that value, anything else a string. An id is always a string.
function cellValue(column: string, cell: string): string {
	const isText = column === 'id' && cell[0] !== '"'
	return !isText && !problemOf(cell) ? cell : JSON.stringify(cell)
}

const written = (m: Members): string =>
	`{${[...m].map(([name, v]) => `${JSON.stringify(name)}:${typeof v === 'string' ? v : written(v)}`).join(',')}}`
