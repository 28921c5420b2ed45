// Documents of files sent to a container, a hundred at a time, in their order.
import { ask, Failure, ownColl } from './api'
import { Broken, readDocuments, type Read } from './importread'
import { say } from './state'

export interface ImportProblem {
	file: string
	line: number
	column: number
	reason: string
}

export interface ImportState {
	bytes: number // read
	created: number
	replaced: number
	skipped: number // those that are there, where they stay
	failed: number
	problems: ImportProblem[] // the first of those that failed
	stopped: string // why the import ended before the files did, '' where it did not
}

export type Existing = 'replace' | 'skip' | 'refuse' // what becomes of a document whose id exists

export interface Importing {
	db: string
	coll: string
	files: File[]
	existing: Existing
	signal: AbortSignal
	progress: (s: ImportState) => void
}

const documents = 100,
	characters = 1 << 20, // of a request; a document that is larger goes alone
	attempts = 12,
	mostProblems = 500

interface Result {
	statusCode: number
	retryAfterMilliseconds?: number
	message?: string
}

interface Line extends Read {
	file: string
}

// Full ends an import: the storage has no room.
class Full extends Error {}

export async function importFiles(p: Importing): Promise<ImportState> {
	const state: ImportState = {
		bytes: 0,
		created: 0,
		replaced: 0,
		skipped: 0,
		failed: 0,
		problems: [],
		stopped: '',
	}
	const told = () => p.progress({ ...state, problems: [...state.problems] })
	const complain = (file: string, line: number, column: number, reason: string) => {
		state.failed++
		if (state.problems.length < mostProblems) state.problems.push({ file, line, column, reason })
	}
	const settle = (l: Line, r: Result) => {
		if (r.statusCode === 201) state.created++
		else if (r.statusCode < 300) state.replaced++
		else if (r.statusCode === 409 && p.existing === 'skip') state.skipped++
		else complain(l.file, l.line, l.column, `${sentence(r.message ?? '')} (${r.statusCode})`.trim())
	}
	const batch = new Batch(p, settle)
	try {
		for (const file of p.files)
			try {
				for await (const read of readDocuments(file, p.signal, n => (state.bytes += n))) {
					p.signal.throwIfAborted()
					if (read.wrong) complain(file.name, read.line, read.column, read.wrong)
					else if (await batch.add({ ...read, file: file.name })) told()
				}
				await batch.flush()
				told()
			} catch (e) {
				if (!(e instanceof Broken)) throw e
				await batch.flush()
				complain(file.name, e.line, e.column, e.message) // the next file may be whole
			}
	} catch (e) {
		if (p.signal.aborted) state.stopped = 'The import was cancelled. What was stored before stays.'
		else state.stopped = e instanceof Full ? e.message : say(e)
	}
	told()
	return state
}

const sentence = (message: string) =>
	message
		.replace(/^Message: \{"Errors":\["(.*?)"\]\}.*$/s, '$1')
		.replace(/\r?\nActivityId:.*$/s, '')
		.trim()

// Batch gathers documents and sends them. Two documents of one id are never in one request: the second is the one that stays.
class Batch {
	private lines: Line[] = []
	private ids = new Set<string>()
	private size = 0

	constructor(
		private p: Importing,
		private settle: (l: Line, r: Result) => void,
	) {}

	// add returns whether something has been sent.
	async add(l: Line): Promise<boolean> {
		const id = String(JSON.parse(l.text!).id ?? '')
		const full =
			this.lines.length === documents || this.size + l.text!.length > characters || this.ids.has(id)
		if (full) await this.flush()
		this.lines.push(l)
		this.size += l.text!.length
		if (id) this.ids.add(id)
		return full
	}

	async flush() {
		let open = this.lines
		this.lines = []
		this.ids.clear()
		this.size = 0
		for (let tried = 1; open.length; tried++) {
			const results = await this.send(open, tried)
			const left: Line[] = []
			let wait = 0
			open.forEach((l, i) => {
				const r = results?.[i]
				if (r?.statusCode === 507)
					throw new Full(`The storage is full: ${sentence(r.message ?? '')} (507)`)
				if (!r || ([429, 449, 503].includes(r.statusCode) && tried < attempts)) {
					left.push(l)
					wait = Math.max(wait, r?.retryAfterMilliseconds ?? 0)
				} else this.settle(l, r)
			})
			if (left.length < open.length) tried = 0
			open = left
			if (open.length)
				await new Promise(then => setTimeout(then, Math.min(5000, wait || 50 << tried)))
			this.p.signal.throwIfAborted()
		}
	}

	// send returns the results, null where the server has no room for the request now.
	private async send(lines: Line[], tried: number): Promise<Result[] | null> {
		const text = `{"documents":[${lines.map(l => l.text).join(',')}],"create":${this.p.existing !== 'replace'}}`
		try {
			const path = ownColl(this.p.db, this.p.coll, 'import')
			return (await ask('POST', path, { text, signal: this.p.signal })).body
		} catch (e) {
			if (e instanceof Failure && e.status === 507) throw new Full(say(e))
			if (e instanceof Failure && [429, 449, 503].includes(e.status) && tried < attempts)
				return null
			throw e
		}
	}
}
