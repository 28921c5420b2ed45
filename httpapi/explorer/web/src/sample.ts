// Example documents for a container that has none.
import { ownColl, post } from './api'
import type { In } from './container'

const cities = ['Vienna', 'Lisbon', 'Oslo', 'Kyoto', 'Quito'],
	states = ['open', 'paid', 'sent']

// put sets a value at a path, over nothing that is there.
function put(doc: any, path: string, v: unknown) {
	const parts = path
		.slice(1)
		.split('/')
		.map(part => part.replace(/^"|"$/g, ''))
	const at = parts.slice(0, -1).reduce((o, k) => (o[k] ??= {}), doc)
	at[parts[parts.length - 1]] ??= v
}

// loadSample stores twenty orders. Each has what the partition key asks for.
export async function loadSample(p: In) {
	const documents = Array.from({ length: 20 }, (_, n) => {
		const doc: any = {
			id: `order-${String(n + 1).padStart(2, '0')}`,
			customer: `customer-${(n % 4) + 1}`,
			status: states[n % 3],
			total: 10 + n * 2.5,
			shipTo: { city: cities[n % 5] },
			items: [{ name: 'tea', count: (n % 3) + 1 }],
		}
		for (const path of p.of.partitionKey.paths) put(doc, path, `key-${(n % 4) + 1}`)
		return doc
	})
	const results: any[] = await post(ownColl(p.db, p.coll, 'import'), { documents, create: true })
	const refused = results.find(r => r.statusCode >= 300 && r.statusCode !== 409)
	if (refused) throw new Error(refused.message)
}
