// Messages of an entity as a file of JSON lines: each with its body and its properties.
import { peek } from './messagerows'
import { note, plural } from './state'

const together = 500 // messages of one request

// exportLine is a message as a line, without what is only true of this moment.
export function exportLine(m: any): string {
	const { life, lockToken, ...kept } = m
	return JSON.stringify({ ...kept, ttl: life.ownTtl ?? undefined }) + '\n'
}

// exportMessages writes the messages that are given, or else all of an entity.
export async function exportMessages(path: string, dead: boolean, list?: any[]) {
	const parts: string[] = list?.map(exportLine) ?? []
	for (let from = 0; !list; ) {
		const got = await peek(path, { deadLetters: dead, from, count: together })
		if (!got.length) break
		parts.push(...got.map(exportLine))
		from = got[got.length - 1].sequenceNumber + 1
	}
	const link = document.createElement('a')
	link.href = URL.createObjectURL(new Blob(parts, { type: 'application/x-ndjson' }))
	link.download = `${path.replace(/[^\w.-]+/g, '-')}${dead ? '-dead-letters' : ''}.ndjson`
	link.click()
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
	note(`${plural(parts.length, 'message')} exported.`)
}
