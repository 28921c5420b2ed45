// Receivers in peek-lock that this page has open: their locks end when they are closed, or with the page.
import { entityPath, Failure, listen, own, post } from './api'
import { nowOf, tell, useSignal } from './state'

export interface Receiver {
	path: string
	dead: boolean
	session?: string
	until?: number // of the session's lock, in ms
	messages: any[] // that it has locked and not settled
	ended: string // why it has ended; '' while it is open
	close: () => void
	id: string
}

const open = new Map<string, Receiver>()
const keyOf = (path: string, dead: boolean) => `${path.toLowerCase()}${dead ? '/$dead' : ''}`
const changed = () => tell('receivers')

// useReceiver is the receiver of an entity or of its dead letters; undefined: none is open.
export function useReceiver(path: string, dead: boolean): Receiver | undefined {
	useSignal('receivers')
	return open.get(keyOf(path, dead))
}

interface Wanted {
	session?: string
	nextSession?: boolean
}

// openReceiver opens a receiver, or returns the one that is open. It closes one of another session.
export async function openReceiver(path: string, dead: boolean, wanted: Wanted = {}): Promise<Receiver> {
	const key = keyOf(path, dead),
		was = open.get(key)
	if (was && !was.ended && !wanted.nextSession && was.session === wanted.session) return was
	was?.close()
	const stop = new AbortController()
	return new Promise((opened, failed) => {
		let r: Receiver | null = null
		const end = (why: string) => {
			if (!r || r.ended) return
			r.ended = why
			changed()
		}
		listen(
			entityPath(path, 'receivers'),
			{ body: { deadLetters: dead, ...wanted }, signal: stop.signal },
			(event, data) => {
				if (event === 'ended') return end(data.message)
				if (event !== 'opened') return
				r = {
					path,
					dead,
					id: data.receiver,
					session: data.session,
					until: data.lockedUntil && Date.parse(data.lockedUntil),
					messages: [],
					ended: '',
					close: () => {
						stop.abort()
						if (open.get(key) === r) open.delete(key)
						changed()
					},
				}
				open.set(key, r)
				changed()
				opened(r)
			},
		).then(
			() => {
				end('The server has closed the receiver.')
				failed(new Failure(0, '', 'The server has closed the receiver.'))
			},
			e => {
				end('The connection of the receiver has ended.')
				failed(e)
			},
		)
	})
}

const at = (r: Receiver, verb: string) => own(`receivers/${r.id}/${verb}`)
export const tokensOf = (list: any[]): string[] => list.map(m => m.lockToken)

// lockedUntil is until when a message that a receiver holds is locked, in ms.
export const lockedUntil = (r: Receiver, m: any): number => r.until ?? Date.parse(m.life.lockedUntil)
export const isLost = (r: Receiver, m: any) => !!r.ended || lockedUntil(r, m) <= nowOf('')

// receive locks messages, deferred ones where their numbers are given, and tells how many there were.
export async function receive(r: Receiver, what: { count?: number; sequenceNumbers?: number[] }): Promise<number> {
	const { messages } = await post(at(r, 'receive'), what)
	r.messages = r.messages.concat(messages)
	changed()
	tell('data')
	return messages.length
}

export interface Settlement {
	outcome: 'complete' | 'abandon' | 'defer' | 'dead-letter' | 'release'
	reason?: string
	description?: string
	properties?: Record<string, unknown>
	propertyTypes?: Record<string, string>
}

// settle settles messages. It tells how many, and of the first one that was not why.
export async function settle(r: Receiver, list: any[], how: Settlement): Promise<{ done: number; failed: string }> {
	const out = await post(at(r, 'settle'), { lockTokens: tokensOf(list), ...how })
	const failed: any[] = out.failed ?? [],
		kept = new Set(failed.map(f => f.lockToken)),
		gone = new Set(tokensOf(list).filter(t => !kept.has(t)))
	r.messages = r.messages.filter(m => !gone.has(m.lockToken))
	changed()
	tell('data')
	return { done: out.messages, failed: failed[0]?.message ?? '' }
}

// renew renews the locks of messages, or that of the session.
export async function renew(r: Receiver, list: any[]) {
	const until = (await post(at(r, 'renew'), r.session === undefined ? { lockTokens: tokensOf(list) } : {}))
		.lockedUntil
	if (r.session !== undefined) r.until = Date.parse(until)
	else for (const m of list) m.life = { ...m.life, lockedUntil: until }
	r.messages = [...r.messages]
	changed()
	tell('data')
}

// forget takes messages from the list whose locks have ended.
export function forget(r: Receiver, list: any[]) {
	r.messages = r.messages.filter(m => !list.includes(m))
	changed()
}
