// The documentation in Chromium: every page by axe and at 400 px, light and dark; the search by keyboard.
//   node docs.js --endpoint URL [--images DIR]
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'

const { values: args } = parseArgs({
	options: {
		endpoint: { type: 'string' },
		images: { type: 'string' },
		chromium: { type: 'string', default: 'chromium' },
	},
})
const root = new URL('/_explorer/docs/', args.endpoint).href
const axeText = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const browser = await chromium.launch({
	executablePath: args.chromium,
	args: ['--no-sandbox', '--disable-gpu'],
})
const trouble = []

function check(ok, what) {
	if (!ok) trouble.push(what)
}

// opened is a tab that tells of what is refused, missing or asked of elsewhere.
async function opened(width, colorScheme) {
	const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme })
	const page = await context.newPage()
	page.setDefaultTimeout(15_000)
	page.on('pageerror', e => trouble.push('an exception: ' + e.stack))
	page.on('console', m => m.type() === 'error' && trouble.push(page.url() + ': ' + m.text()))
	page.on('request', r => check(r.url().startsWith(args.endpoint), page.url() + ' asks for ' + r.url()))
	return page
}

async function axe(page) {
	// axe is no part of the page: its script comes by the debugger, which no policy concerns.
	const session = await page.context().newCDPSession(page)
	await session.send('Runtime.evaluate', { expression: axeText })
	await session.detach()
	const { violations } = await page.evaluate(() =>
		window.axe.run(document, { preload: false, runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }),
	)
	const found = violations.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))])
	check(found.length === 0, `axe at ${page.url()}: ${JSON.stringify(found)}`)
}

const wide = await opened(1280, 'light')
await wide.goto(root)
const pages = await wide.locator('nav a').evaluateAll(links => links.map(a => a.href))
check(pages.length > 20, `${pages.length} pages`)
const narrow = await opened(400, 'dark')
for (const url of pages) {
	await wide.goto(url)
	await axe(wide)
	await narrow.goto(url)
	await axe(narrow)
	const width = await narrow.evaluate(() => document.documentElement.scrollWidth)
	check(width <= 400, `${url} is ${width} px wide`)
}

await wide.goto(root)
await wide.keyboard.press('/')
await wide.keyboard.type('dead letter')
await wide.getByRole('option').first().waitFor()
await wide.keyboard.press('ArrowDown')
await axe(wide)
if (args.images) await wide.screenshot({ path: args.images + '/docs-1280-light.png' })
await wide.keyboard.press('Enter')
await wide.waitForURL(/messages|service-bus|queues/)
await narrow.goto(root + 'concepts/expiry')
await narrow.getByText('Contents').click()
await narrow.getByRole('link', { name: 'Partitions' }).click()
await narrow.waitForURL(/partitions/)
if (args.images) await narrow.screenshot({ path: args.images + '/docs-400-dark.png' })

await browser.close()
console.log(`${pages.length} pages`)
for (const what of trouble) console.error(what)
process.exit(trouble.length ? 1 : 0)
