// The explorer in Chromium: one way through all of it by keyboard, axe on each page, and what it weighs.
//   node run.js --endpoint URL [--images DIR]
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { keyboard } from './keyboard.js'

const { values: args } = parseArgs({
	options: {
		endpoint: { type: 'string' },
		images: { type: 'string' },
		chromium: { type: 'string', default: 'chromium' },
	},
})
const root = new URL('/_explorer/', args.endpoint).href
const axeText = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const browser = await chromium.launch({
	executablePath: args.chromium,
	args: ['--no-sandbox', '--disable-gpu'],
})
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
page.setDefaultTimeout(15_000)
const trouble = []
page.on('pageerror', e => trouble.push('an exception: ' + e.stack))
page.on('console', m => {
	if (m.text().startsWith('refused: ')) trouble.push(m.text())
})
// What Chromium itself writes into an editor's text, to keep the look of what was there, is refused and no loss.
await page.addInitScript(() =>
	addEventListener(
		'securitypolicyviolation',
		e => {
			const typed = e.violatedDirective === 'style-src-attr' && e.target.matches?.('.editor')
			if (!typed)
				console.error('refused: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile)
		},
		true,
	),
)
page.on('request', r => {
	if (new URL(r.url()).origin !== new URL(root).origin) trouble.push('a request to ' + r.url())
})

const kb = keyboard(page)
const see = (text, where = 'main') => page.locator(where, { hasText: text }).first().waitFor()
const check = (ok, what) => {
	if (!ok) throw new Error(what)
}
const left = () => page.getByRole('timer').textContent()

async function axe() {
	// axe is no part of the page: its script comes by the debugger, which no policy concerns. Its preloading
	// writes style sheets, which the policy does concern.
	const session = await page.context().newCDPSession(page)
	await session.send('Runtime.evaluate', { expression: axeText })
	await session.detach()
	const { violations } = await page.evaluate(() =>
		window.axe.run(document, { preload: false, runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }),
	)
	const bad = violations.filter(v => ['serious', 'critical'].includes(v.impact))
	check(
		!bad.length,
		'axe at ' +
			page.url() +
			': ' +
			JSON.stringify(
				bad.map(v => [v.id, v.nodes.slice(0, 4).map(n => [n.html.slice(0, 160), n.failureSummary])]),
				null,
				1,
			),
	)
}

const shot = name => args.images && page.screenshot({ path: `${args.images}/${name}.png` })

// fill stores documents without the explorer, a hundred at a time.
async function fill(count) {
	const key = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=='
	const send = async (path, body) => {
		const a = await fetch(new URL(path, root), {
			method: 'POST',
			headers: { authorization: 'Bearer ' + key },
			body: JSON.stringify(body),
		})
		check(a.status < 300, `${path}: ${a.status}`)
		await a.arrayBuffer()
	}
	await send('/dbs/shop/colls', {
		id: 'many',
		partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
		defaultTtl: 86400,
	})
	let next = 0
	await Promise.all(
		Array.from({ length: 4 }, async () => {
			for (let i = next++; i < count / 100; i = next++) {
				await send('/_mayfly/dbs/shop/colls/many/import', {
					documents: Array.from({ length: 100 }, (_, n) => ({
						id: `row-${i * 100 + n}`,
						pk: `p${n % 10}`,
						n: i * 100 + n,
					})),
				})
			}
		}),
	)
}

const steps = {
	async 'the page opens without a key on loopback'() {
		let bytes = 0
		page.on('response', async r => {
			if (r.url().includes('/_explorer/')) bytes += Number(r.headers()['content-length'] ?? 0)
		})
		await page.goto(root)
		await see('Overview', 'h1')
		check(bytes > 1000 && bytes < 400 << 10, `${bytes} bytes`)
		console.log(`# the page: ${bytes} bytes`)
		await axe()
	},
	async 'a database and a container with a time to live are created'() {
		await kb.push('New database')
		await kb.fill('Id', 'shop')
		await kb.press('Enter')
		await see('shop', 'h1')
		await kb.push('New container')
		await kb.fill('Id', 'carts')
		await kb.choose('Time to live', 'On, with')
		await kb.fill('Default, in seconds', '100')
		await axe()
		await kb.press('Enter')
		await see('TTL 1m 40s', '.chip')
	},
	async 'a document is added, and its countdown reaches zero as the clock advances'() {
		await kb.goTo('Time and snap')
		await kb.push('Freeze')
		await see('frozen', '.clock')
		await kb.goTo('carts')
		await kb.push('New document')
		await kb.fill('The document as JSON', '{"id":"one","pk":"a","n":1}')
		await kb.press('Control+Enter')
		await page.getByRole('timer').waitFor()
		check(/^1m 40s$/.test(await left()), 'left: ' + (await left()))
		await kb.goTo('Advance the clock by 1m')
		await page.waitForFunction(() => document.querySelector('[role=timer]').textContent === '40 s')
		await axe()
		await kb.goTo('Advance the clock by 1m')
		await page.waitForFunction(
			() =>
				document.querySelector('[role=timer]')?.textContent === 'expired' ||
				/404/.test(document.querySelector('.life')?.textContent ?? ''),
		)
	},
	async 'documents written elsewhere at the same time are a conflict'() {
		for (let n = 1; n <= 3; n++) {
			await kb.goTo('carts')
			await kb.push('New document')
			await kb.fill(
				'The document as JSON',
				JSON.stringify({ id: `doc-${n}`, pk: 'a', n, html: '<img src=x onerror=alert(1)>' }),
			)
			await kb.press('Control+Enter')
			await see(`doc-${n}`, 'section h2')
			await page.getByRole('timer').waitFor()
		}
		const other = await browser.newPage()
		await other.goto(page.url())
		await other.getByRole('timer').waitFor()
		const hers = keyboard(other)
		await hers.fill('The document as JSON', '{"id":"doc-3","pk":"a","n":30}')
		await hers.press('Control+Enter')
		await other.locator('.notes', { hasText: 'Saved' }).waitFor()
		await other.close()
		await kb.fill('The document as JSON', '{"id":"doc-3","pk":"a","n":31}')
		await kb.press('Control+Enter')
		await see('Somebody has changed this document')
		await axe()
		await kb.push('Overwrite with mine')
		await page.locator('.conflict').waitFor({ state: 'detached' })
	},
	async 'a query with an index shows its plan'() {
		await kb.goTo('carts › query')
		await kb.fill('Text of the query', 'SELECT c.id, c.n FROM c WHERE c.n > 1')
		await kb.press('Escape')
		await kb.press('Control+Enter')
		await see('doc-3', 'table')
		await kb.push('Plan')
		await see('index /n', '.plan')
		await axe()
	},
	async 'completion knows the paths'() {
		await kb.fill('Text of the query', 'SELECT c.')
		await kb.press('Control+Space')
		await page.locator('.cm-tooltip-autocomplete', { hasText: 'html' }).waitFor()
		await kb.press('Escape')
	},
	async 'a snapshot is taken'() {
		await kb.goTo('Time and snap')
		await kb.fill('Name', 'before')
		await kb.press('Enter')
		await see('before', 'table')
		await axe()
	},
	async 'a change of the time to live is tried out, then saved'() {
		await kb.goTo('carts › settings')
		await kb.fill('Default, in seconds', '20')
		await see('3 die sooner', '.dry-run')
		await axe()
		await kb.push('Save time to live')
		await see('TTL 20 s', '.chip')
	},
	async 'the forecast, the reaper, changes, scripts and ranges are readable'() {
		for (const tab of ['time', 'feed', 'scripts', 'ranges']) {
			await kb.goTo('carts › ' + tab)
			await page.locator('.tab .panel').first().waitFor()
			await axe()
		}
		await kb.push('Split 0')
		await see('Split 2', 'table')
	},
	async 'a procedure runs'() {
		await kb.goTo('carts › scripts')
		await kb.fill('Id', 'hello')
		await kb.push('Save')
		await kb.tabTo('Arguments')
		await kb.push('Run')
		await see('Hello, world', '.json')
	},
	async 'a snapshot is restored'() {
		await kb.goTo('Time and snap')
		await kb.push('Restore')
		await page.waitForTimeout(50)
		await kb.push('Restore')
		await page.locator('.notes', { hasText: 'as it was' }).waitFor()
		await kb.goTo('carts')
		await see('TTL 1m 40s', '.chip')
	},
	async 'a dead letter is resubmitted'() {
		await kb.goTo('New queue')
		await kb.fill('Path', 'orders')
		await kb.fill('Time to live', 'PT10S')
		await kb.press('Enter')
		await see('orders', 'h1')
		await kb.push('Send')
		await see('hello', '.panel')
		await kb.goTo('Advance the clock by 1m')
		await kb.push(/^Dead letters/)
		await see('TTLExpired', '.tab').catch(() => {
			/* its reason is told when it is opened */
		})
		await axe()
		await kb.push('Resubmit all')
		await page.locator('.notes', { hasText: '1 message sent again' }).waitFor()
		await kb.push('Messages')
		await see('hello', 'table')
	},
	async 'a hundred thousand documents scroll'() {
		await fill(100_000)
		await page.goto('about:blank')
		await page.goto(root + '#/db/shop/many')
		const first = await page.waitForFunction(
			() => document.querySelector('.grid-body [role=row]') && performance.now(),
		)
		console.log(`# the first row after ${Math.round(await first.jsonValue())} ms`)
		await page.getByRole('grid').focus()
		const count = () =>
			page.evaluate(() => parseInt(document.querySelector('.foot').textContent.replace(/,/g, '')))
		for (let rows = 0, now; rows < 100_000; rows = now) {
			await kb.press('End')
			await page.waitForFunction(
				r =>
					parseInt(document.querySelector('.foot').textContent.replace(/,/g, '')) > r ||
					!document.querySelector('.foot').textContent.includes('more'),
				rows,
			)
			now = await count()
		}
		check((await page.locator('[role=row]').count()) < 120, 'rows out of sight are drawn')
		const slowest = await page.evaluate(async () => {
			const grid = document.querySelector('.grid'),
				frame = () => new Promise(requestAnimationFrame)
			let last = await frame()
			const took = []
			for (let i = 0; i < 120; i++) {
				grid.scrollTop -= 777
				const now = await frame()
				took.push(now - last)
				last = now
			}
			return took.sort((a, b) => a - b)[Math.floor(took.length * 0.95)]
		})
		console.log(`# scrolling: 95 of 100 frames within ${slowest.toFixed(1)} ms`)
	},
	async 'it is readable at 400 pixels, light and dark'() {
		for (const [width, height] of [
			[1280, 800],
			[400, 800],
		])
			for (const scheme of ['light', 'dark']) {
				await page.setViewportSize({ width, height })
				await page.emulateMedia({ colorScheme: scheme })
				for (const [name, at] of [
					['overview', ''],
					['documents', '#/db/shop/carts/documents/doc-2/%22a%22'],
					['query', '#/db/shop/carts/query'],
					['time', '#/time'],
					['settings', '#/db/shop/carts/settings'],
					['queue', '#/queue/orders'],
				]) {
					await page.goto(root + at)
					await page.waitForTimeout(400)
					const wide = await page.evaluate(() => document.documentElement.scrollWidth)
					check(wide <= width, `${name} is ${wide} wide at ${width}`)
					await axe()
					await shot(`explorer-${name}-${width}-${scheme}`)
				}
			}
	},
}

let failed = ''
for (const [name, run] of Object.entries(steps)) {
	try {
		await run()
		check(!trouble.length, trouble.join('\n'))
		console.log('ok ' + name)
	} catch (e) {
		failed = name
		console.log(`FAIL ${name}: ${e.stack}`)
		if (args.images) await page.screenshot({ path: `${args.images}/failed.png` })
		break
	}
}
await browser.close()
process.exit(failed ? 1 : 0)
