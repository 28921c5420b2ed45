// A browser with a page of the explorer, and what the tests look at it with.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import { keyboard } from './keyboard.js'

const axeText = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
export const wellKnown =
	'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=='

export const check = (ok, what) => {
	if (!ok) throw new Error(what)
}

// sender sends requests without the explorer.
export const sender =
	(endpoint, key = wellKnown) =>
	async (path, body, method = 'POST', { headers, raw } = {}) => {
		const a = await fetch(new URL(path, endpoint), {
			method,
			headers: { authorization: 'Bearer ' + key, ...headers },
			body: raw ? body : body && JSON.stringify(body),
		})
		const text = await a.text()
		check(a.status < 300, `${method} ${path}: ${a.status} ${text}`)
		return raw ? text : text && JSON.parse(text)
	}

export const launch = chromiumPath =>
	chromium.launch({
		executablePath: chromiumPath,
		args: [
			'--no-sandbox',
			'--disable-gpu',
			'--host-resolver-rules=MAP elsewhere.example 127.0.0.1', // a page of another site
		],
	})

// world opens a page that tells trouble: an exception, what the policy refuses, a request to elsewhere.
export async function world(browser, endpoint, images) {
	const root = new URL('/_explorer/', endpoint).href
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
	const page = await context.newPage()
	page.setDefaultTimeout(15_000)
	const trouble = []
	page.on('pageerror', e => trouble.push('an exception: ' + e.stack))
	const answers = [] // to questions that are expected: accept or dismiss
	page.on('dialog', d => {
		if (!answers.length) trouble.push('a dialog: ' + d.message())
		d[answers.shift() ?? 'dismiss']()
	})
	// A question about what is unsaved is a dialog of the page; it is answered as the browser's own are.
	await page.exposeFunction('asked', text => {
		if (!answers.length) trouble.push('a question: ' + text)
		return answers.shift() ?? 'dismiss'
	})
	await page.addInitScript(() => {
		new MutationObserver(async () => {
			const dialog = document.querySelector('dialog.leave[open]:not([data-asked])')
			if (!dialog) return
			dialog.dataset.asked = 'yes'
			const answer = await window.asked(dialog.textContent)
			dialog.querySelector(answer === 'accept' ? 'button.bad' : 'button[type=button]').click()
		}).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ['open'] })
	})
	page.on('console', m => {
		if (m.text().startsWith('refused: ')) trouble.push(m.text())
	})
	await page.addInitScript(() =>
		addEventListener(
			'securitypolicyviolation',
			e => console.error('refused: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile),
			true,
		),
	)
	// What notes tell is kept: each is gone after a few seconds, which who looks for it may take on a busy machine.
	await page.addInitScript(() => {
		window.told = []
		new MutationObserver(changes => {
			for (const { addedNodes } of changes)
				for (const p of addedNodes)
					if (p.matches?.('.notes p') && p.checkVisibility()) window.told.push(p.textContent)
		}).observe(document, { childList: true, subtree: true })
	})
	page.on('request', r => {
		if (new URL(r.url()).origin !== new URL(root).origin) trouble.push('a request to ' + r.url())
	})
	const self = {
		page,
		answers,
		root,
		endpoint,
		browser,
		kb: keyboard(page),
		send: sender(endpoint),
		see: (text, where = 'main') => page.locator(where, { hasText: text }).first().waitFor(),
		// told waits for a note with this text behind those that it was asked for before.
		told: text =>
			page.waitForFunction(text => {
				const at = window.told.findIndex(note => note.includes(text))
				return window.told.splice(0, at + 1).length
			}, text),
		// held keeps back the requests that have something in their URL while a function is called.
		async held(part, call) {
			let letGo
			const free = new Promise(then => (letGo = then))
			await page.route(
				url => url.href.includes(part),
				async route => {
					await free
					await route.continue()
				},
			)
			await call()
			letGo()
			await page.unrouteAll({ behavior: 'wait' })
		},
		at: place => page.goto(root + place),
		// drawn waits for a page whose data is there.
		drawn: () =>
			page.waitForFunction(
				() =>
					document.querySelector('main h1') &&
					!document.querySelector('[aria-busy=true]') &&
					document.querySelector('nav.tree'),
			),
		settled: () => check(!trouble.length, trouble.join('\n')),
		shot: name => images && page.screenshot({ path: `${images}/${name}.png` }),
		async axe() {
			// axe is no part of the page: its script comes by the debugger, which no policy concerns. Its
			// preloading writes style sheets, which the policy does concern.
			const session = await page.context().newCDPSession(page)
			await session.send('Runtime.evaluate', { expression: axeText })
			await session.detach()
			const { violations } = await page.evaluate(() =>
				window.axe.run(document, {
					preload: false,
					runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'],
				}),
			)
			const bad = violations.filter(v => ['serious', 'critical'].includes(v.impact))
			const nodes = v => v.nodes.slice(0, 4).map(n => [n.html.slice(0, 160), n.failureSummary])
			const told = bad.map(v => [v.id, nodes(v)])
			check(!bad.length, `axe at ${page.url()}: ${JSON.stringify(told, null, 1)}`)
		},
		close: () => context.close(),
	}
	return self
}
