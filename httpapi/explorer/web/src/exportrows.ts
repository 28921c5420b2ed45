// Rows taken out of the explorer: as JSON, NDJSON or CSV, to the clipboard or to a file. Rows are JSON texts, so that
// numbers and names stay as the server has written them. A file is written page by page: where the browser has File
// System Access right to the disk, else to blobs, which a browser keeps outside of the memory of a page.
import { Failure, rawQuery } from './api'
import { Columns } from './csv'
import { without } from './jsontext'

export const formats = ['json', 'ndjson', 'csv'] as const
export type Format = (typeof formats)[number]

// Pages are rows as they come, some at a time.
export type Pages = AsyncIterable<string[]>

const kinds: Record<Format, string> = {
	json: 'application/json',
	ndjson: 'application/x-ndjson',
	csv: 'text/csv',
}
const system = ['_rid', '_self', '_etag', '_attachments', '_lsn']

// documentText is a document as the command export writes it: with its _ts, without other system properties.
export const documentText = (row: string) => (row[0] === '{' ? without(row, system) : row)

export async function* onePage(rows: string[]): Pages {
	yield rows
}

const attempts = 8

// queryPages are all rows of a query, a thousand at a time. A page that the server refuses with 429 is asked for again.
export async function* queryPages(
	db: string,
	coll: string,
	query: string,
	parameters: unknown[],
	signal: AbortSignal,
): Pages {
	for (let continuation: string | null = null, tried = 0; ;) {
		try {
			const page = await rawQuery(db, coll, query, parameters, {
				continuation,
				count: 1000,
				signal,
			})
			tried = 0
			yield page.rows
			if (!(continuation = page.continuation)) return
		} catch (e) {
			if (!(e instanceof Failure) || e.status !== 429 || ++tried === attempts) throw e
			await new Promise(then => setTimeout(then, 50 << tried))
		}
	}
}

// Writer takes the pieces of a file.
interface Writer {
	write: (text: string) => Promise<void>
	close: () => Promise<void>
	abort: () => Promise<void>
}

// chosenFile asks where to write, null where nobody wants to any more. It is called while a click lasts, as browsers demand.
export async function chosenFile(name: string, format: Format): Promise<Writer | null> {
	const pick = (window as any).showSaveFilePicker
	if (!pick) return download(name, format)
	let handle: FileSystemFileHandle
	try {
		handle = await pick({
			suggestedName: name,
			types: [{ description: format.toUpperCase(), accept: { [kinds[format]]: ['.' + format] } }],
		})
	} catch (e) {
		if ((e as Error).name === 'AbortError') return null
		throw e
	}
	const out = await handle.createWritable()
	return { write: text => out.write(text), close: () => out.close(), abort: () => out.abort() }
}

const piece = 1 << 20 // characters of a blob

// Spool keeps text in blobs.
class Spool {
	private parts: Blob[] = []
	private some: string[] = []
	private size = 0

	write(text: string) {
		this.some.push(text)
		this.size += text.length
		if (this.size < piece) return
		this.parts.push(new Blob(this.some))
		this.some = []
		this.size = 0
	}

	blob(type: string) {
		return new Blob([...this.parts, ...this.some], { type })
	}
}

// download is a file that the browser stores as it stores downloads.
function download(name: string, format: Format): Writer {
	const spool = new Spool()
	return {
		write: async text => spool.write(text),
		close: async () => {
			const link = document.createElement('a')
			link.href = URL.createObjectURL(spool.blob(kinds[format]))
			link.download = name
			link.click()
			setTimeout(() => URL.revokeObjectURL(link.href), 60_000) // the browser has begun to read it by then
		},
		abort: async () => {},
	}
}

// linesOf are the lines of a blob, some at a time.
async function* linesOf(blob: Blob): Pages {
	let rest = ''
	const texts = blob.stream().pipeThrough(new TextDecoderStream()).getReader()
	for (;;) {
		const { done, value } = await texts.read()
		if (done) break
		const lines = (rest + value).split('\n')
		rest = lines.pop()!
		yield lines
	}
	if (rest) yield [rest]
}

export interface Exporting {
	pages: Pages
	format: Format
	first?: string[] // columns that CSV begins with
	signal: AbortSignal
	progress: (rows: number) => void
}

// exportRows writes rows, and returns how many. CSV begins with the names of all columns, which are known when all rows
// have been seen: these wait in blobs.
export async function exportRows(e: Exporting, write: (text: string) => Promise<void>): Promise<number> {
	let count = 0
	const columns = new Columns(e.first ?? []),
		spool = new Spool()
	for await (const rows of e.pages) {
		e.signal.throwIfAborted()
		if (e.format === 'csv')
			for (const row of rows) {
				columns.see(row)
				spool.write(row + '\n')
			}
		else if (e.format === 'ndjson') await write(rows.map(row => row + '\n').join(''))
		else if (rows.length) await write((count ? ',\n' : '[\n') + rows.join(',\n'))
		count += rows.length
		e.progress(count)
	}
	if (e.format === 'json') await write(count ? '\n]\n' : '[]\n')
	if (e.format !== 'csv') return count
	await write(columns.head())
	for await (const rows of linesOf(spool.blob(kinds.ndjson))) {
		e.signal.throwIfAborted()
		await write(rows.map(row => columns.row(row)).join(''))
	}
	return count
}

// exportText returns rows as a text, for the clipboard.
export async function exportText(e: Exporting): Promise<{ text: string; count: number }> {
	const out: string[] = []
	const count = await exportRows(e, async text => void out.push(text))
	return { text: out.join(''), count }
}

// exportFile writes rows to a file, of which nothing stays where it is cancelled.
export async function exportFile(e: Exporting, file: Writer): Promise<number> {
	try {
		const count = await exportRows(e, file.write)
		await file.close()
		return count
	} catch (x) {
		await file.abort()
		throw x
	}
}
