// Sample data: a database and a queue whose documents and messages have lives of every kind. The definitions
// are a seed, which changes nothing that is there another way; documents and messages are added to it.
import { get, own, ownColl, post, entityPath } from './api'

export const sampleDatabase = 'sample'
export const sampleQueue = 'sample-emails'

const files = {
	[`${sampleDatabase}/db.yaml`]: 'throughput: 400\n',
	[`${sampleDatabase}/sessions/container.yaml`]: 'partitionKey: /user\ndefaultTtl: 1800\n',
	[`${sampleDatabase}/carts/container.yaml`]: 'partitionKey: /user\ndefaultTtl: -1\n',
	[`${sampleDatabase}/orders/container.yaml`]:
		'partitionKey: /user\nindexingPolicy:\n  compositeIndexes:\n    - [{path: /status}, {path: /total, order: descending}]\n',
	'entities.yaml': `queues:\n  - name: ${sampleQueue}\n    defaultMessageTimeToLive: PT1H\n    deadLetteringOnMessageExpiration: true\n`,
}

const users = ['ada', 'ben', 'cleo', 'dev', 'eva']
const goods = ['lamp', 'book', 'chair', 'kettle', 'rug', 'clock', 'vase']
const cities = ['Oslo', 'Lima', 'Kyoto', 'Accra', 'Turin']
const pick = <T>(list: T[], i: number) => list[i % list.length]!
const range = <T>(n: number, make: (i: number) => T) => Array.from({ length: n }, (_, i) => make(i))

// Sessions live for half an hour after their last write, and some for as long as they say; a cart has its own
// time to live or none; an order stays.
const sessions = () =>
	range(30, i => ({
		id: `session-${i + 1}`,
		user: pick(users, i),
		device: pick(['laptop', 'phone', 'tablet'], i),
		...(i % 6 === 5 && { ttl: 86400 }),
		...(i % 10 === 9 && { ttl: -1 }),
		_mayfly: { age: `${(i * 53) % 1790}s` },
	}))
const carts = () =>
	range(20, i => ({
		id: `cart-${i + 1}`,
		user: pick(users, i),
		items: range(1 + (i % 4), k => ({ name: pick(goods, i + k), price: 5 + ((i * 7 + k * 13) % 40) })),
		...(i % 3 !== 2 && { ttl: pick([60, 900, 7200, 604800], i) }),
	}))
export const orders = (count: number) =>
	range(count, i => ({
		id: `order-${i + 1}`,
		user: pick(users, i),
		status: pick(['open', 'paid', 'shipped'], i * i),
		total: 12.5 + ((i * 37) % 400) / 2,
		shipTo: { city: pick(cities, i), street: `${pick(['Long', 'High', 'Mill'], i)} Road ${i + 3}` },
		items: range(1 + (i % 5), k => ({ name: pick(goods, i + k), count: 1 + ((i + k) % 3) })),
	}))

// isThere tells which names of the sample exist: then its documents are written over those of the same ids.
export async function isThere(): Promise<string[]> {
	const [dbs, bus] = await Promise.all([
		get('/dbs'),
		get(own('entities')).catch(() => ({ entities: [] })),
	])
	return [
		...dbs.Databases.filter((d: any) => d.id === sampleDatabase).map(() => `database ${sampleDatabase}`),
		...bus.entities.filter((e: any) => e.path === sampleQueue).map(() => `queue ${sampleQueue}`),
	]
}

// loadSample makes what is missing and writes the documents. queues is false for a server without them.
export async function loadSample(queues: boolean) {
	const { 'entities.yaml': entities, ...containers } = files
	await post(own('seed'), { files: queues ? { ...containers, 'entities.yaml': entities } : containers })
	const add = (coll: string, documents: unknown[]) =>
		post(ownColl(sampleDatabase, coll, 'import'), { documents })
	await add('sessions', sessions())
	await add('carts', carts())
	await add('orders', orders(60))
	if (!queues) return
	for (const [i, ttl] of [30, 300, 0, 0].entries())
		await post(entityPath(sampleQueue, 'send'), {
			text: JSON.stringify({ to: `${pick(users, i)}@example.com`, about: 'your cart' }),
			subject: pick(['reminder', 'welcome'], i),
			contentType: 'application/json',
			properties: { user: pick(users, i), attempt: i },
			...(ttl && { ttl }),
			...(i === 3 && { delay: 600 }),
		})
}
