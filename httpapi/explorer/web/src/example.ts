// Example documents for a container that has none: orders of the sample data.
import { ownColl, post } from './api'
import type { In } from './container'
import { orders } from './sample'

const count = 20

// put sets a value at a path, over nothing that is there.
function put(doc: any, path: string, v: unknown) {
	const parts = path
		.slice(1)
		.split('/')
		.map(part => part.replace(/^"|"$/g, ''))
	const at = parts.slice(0, -1).reduce((o, k) => (o[k] ??= {}), doc)
	at[parts[parts.length - 1]] ??= v
}

// loadExample stores twenty orders. Each has what the partition key asks for.
export async function loadExample(p: In) {
	const documents: any[] = orders(count)
	documents.forEach((doc, n) => {
		for (const path of p.of.partitionKey.paths) put(doc, path, `key-${(n % 4) + 1}`)
	})
	const results: any[] = await post(ownColl(p.db, p.coll, 'import'), { documents, create: true })
	const refused = results.find(r => r.statusCode >= 300 && r.statusCode !== 409)
	if (refused) throw new Error(refused.message)
}
