// Messages of an entity as a file of JSON lines: each with its body and its properties.
import { chosenFile, exportFile, type Pages } from './exportrows'
import { peek } from './messagerows'
import { note, plural } from './state'

const together = 500 // messages of one request

// exportText is a message as JSON, without what is only true of this moment.
function exportText(m: any): string {
	const { life, lockToken, ...kept } = m
	return JSON.stringify({ ...kept, ttl: life.ownTtl ?? undefined })
}

// messagePages are the messages that are given, or else all of an entity, some at a time.
async function* messagePages(path: string, dead: boolean, signal: AbortSignal, list?: any[]): Pages {
	if (list) return yield list.map(exportText)
	for (let from = 0; ; ) {
		const got = await peek(path, { deadLetters: dead, from, count: together }, signal)
		if (!got.length) return
		yield got.map(exportText)
		from = got[got.length - 1].sequenceNumber + 1
	}
}

// exportMessages writes messages to a file, page by page. progress is told how many are written.
export async function exportMessages(
	path: string,
	dead: boolean,
	list: any[] | undefined,
	signal: AbortSignal,
	progress: (messages: number) => void,
) {
	const name = `${path.replace(/[^\w.-]+/g, '-')}${dead ? '-dead-letters' : ''}.ndjson`
	const file = await chosenFile(name, 'ndjson')
	if (!file) return
	const pages = messagePages(path, dead, signal, list)
	const count = await exportFile({ pages, format: 'ndjson', signal, progress }, file)
	note(`${plural(count, 'message')} exported.`)
}
