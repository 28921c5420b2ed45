// One thing done to many documents: some requests side by side, each again where the server has no room for it now.
import { ask, Failure, partitionKey, pkHeader } from './api'
import type { In } from './container'
import { documentPath } from './documentstate'
import { say } from './state'

const lanes = 6 // requests side by side: a browser has no more to one host
const attempts = 10

export interface PatchOperation {
	op: string
	path: string
	value?: unknown
}

// BulkResult counts what became of documents. problems has a sentence for each that failed, up to mostProblems.
export interface BulkResult {
	done: number
	gone: number // those that were deleted or expired before
	failed: number
	problems: { id: string; text: string }[]
	stopped: string // why not all were tried, '' where they were
}

const mostProblems = 200

const busy = (e: unknown) => e instanceof Failure && [429, 449, 503].includes(e.status)
const full = (e: unknown) => e instanceof Failure && [401, 507].includes(e.status) // the next one would fail, too

const wait = (ms: number) => new Promise(then => setTimeout(then, ms))

// once sends one request until it is taken or refused for good.
async function once(send: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
	for (let tried = 1; ; tried++) {
		signal.throwIfAborted()
		try {
			await send()
			return
		} catch (e) {
			if (!busy(e) || tried === attempts) throw e
		}
		await wait(Math.min(2000, 20 << tried))
	}
}

export type Change = { delete: true } | { patch: PatchOperation[] }

// change deletes or patches documents, and calls progress with the number of those that are through.
export async function change(
	p: In,
	docs: any[],
	what: Change,
	signal: AbortSignal,
	progress: (n: number) => void,
): Promise<BulkResult> {
	const result: BulkResult = { done: 0, gone: 0, failed: 0, problems: [], stopped: '' }
	let next = 0,
		through = 0
	const one = async (doc: any) => {
		const pk = partitionKey(doc, p.of.partitionKey.paths),
			path = await documentPath({ ...p, id: doc.id, pk, self: doc._self })
		const send = () =>
			'delete' in what
				? ask('DELETE', path, { headers: pkHeader(pk) })
				: ask('PATCH', path, { headers: pkHeader(pk), body: { operations: what.patch } })
		try {
			await once(send, signal)
			result.done++
		} catch (e) {
			if (signal.aborted) return
			if (e instanceof Failure && e.status === 404) result.gone++
			else {
				result.failed++
				if (result.problems.length < mostProblems)
					result.problems.push({ id: doc.id, text: say(e) })
				if (full(e)) result.stopped = say(e)
			}
		}
		progress(++through)
	}
	const lane = async () => {
		while (next < docs.length && !signal.aborted && !result.stopped) await one(docs[next++])
	}
	await Promise.all(Array.from({ length: lanes }, lane))
	if (signal.aborted)
		result.stopped = `Cancelled: ${(docs.length - through).toLocaleString('en')} were not tried.`
	return result
}
