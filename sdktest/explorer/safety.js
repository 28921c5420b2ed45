// The key is asked for once; what documents hold is text; no page of elsewhere has a way in.
import { createServer } from 'node:http'
import { check } from './world.js'

// evil is what a name may hold, too: it has none of the letters that ids must not have.
const evil = '<img src=x onerror=alert(1)>'

// elsewhere serves a page of another origin.
async function elsewhere(body) {
	const server = createServer((_, res) => {
		res.setHeader('content-type', 'text/html')
		res.end(body)
	})
	await new Promise(then => server.listen(0, '127.0.0.1', then))
	return { url: `http://elsewhere.example:${server.address().port}/`, close: () => server.close() }
}

export const signIn = ({ page, kb, see, axe, root }, key) => ({
	async 'a server with a key of its own asks for it, once'() {
		await page.goto(root + '#/db/vault')
		await see('Master key', 'form')
		await axe()
		check(!(await page.locator('nav').count()), 'something is shown without the key')
		await kb.fill('Master key', Buffer.from('another').toString('base64'))
		await kb.press('Enter')
		await see('does not take the key', '.bad-text')
		await kb.fill('Master key', 'no base64 at all!')
		await kb.press('Enter')
		await see('base64', '.bad-text')
		await kb.fill('Master key', key)
		await kb.press('Enter')
		await see('vault', 'h1') // and the link leads where it led
		await page.reload()
		await see('vault', 'h1')
		await page.goto(root + '#/time')
		await see('Time and snapshots', 'h1')
		const kept = await page.evaluate(() => [localStorage.length, document.cookie, location.href].join())
		check(!kept.includes(key) && kept.startsWith('0,,'), 'the key is kept: ' + kept)
	},
	async 'where a browser does not sign it says so, and where it does'() {
		const other = await page.context().newPage()
		await other.goto(root.replace(/127\.0\.0\.1|localhost/, 'elsewhere.example'))
		await other.getByLabel('Master key').fill(key)
		await other.keyboard.press('Enter')
		await other.locator('.bad-text', { hasText: 'A browser signs only on https' }).waitFor()
		await other.close()
	},
	async 'the key is forgotten with its tab, and when one says so'() {
		const other = await page.context().newPage()
		await other.goto(root)
		await other.getByLabel('Master key').waitFor()
		await other.close()
		await kb.goTo('Forget the key')
		await see('Master key', 'form')
		await page.reload()
		await see('Master key', 'form')
	},
})

export const safety = ({ page, see, send, at, drawn, root, browser }) => ({
	async 'what documents hold is text wherever it is shown'() {
		const coll = `/dbs/${encodeURIComponent(evil)}/colls`
		const e = encodeURIComponent(evil)
		await send('/dbs', { id: evil })
		await send(coll, {
			id: evil,
			partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
			defaultTtl: 600,
		})
		await send(`/_mayfly${coll}/${e}/settings`, { expiryEvents: {} }, 'PATCH')
		await send(`/_mayfly${coll}/${e}/import`, {
			documents: [
				{ id: evil, pk: evil, [evil]: evil },
				{ id: 'gone', pk: evil, ttl: 1 },
			],
		})
		await send(`${coll}/${e}/sprocs`, { id: 'x', body: `function x() { throw new Error('${evil}') }` })
		await send('/_mayfly/entities', { path: 'wild' })
		await send('/_mayfly/entities/wild/send', {
			text: evil,
			id: evil,
			subject: evil,
			properties: { a: evil },
		})
		await send('/_mayfly/snapshots', { name: 'wild' })
		await send('/_mayfly/clock', { advance: '10s' }, 'PUT')
		const place = `#/db/${e}/${e}`
		const seen = async (at, sign) => {
			await page.goto('about:blank')
			await page.goto(root + at)
			await page.locator(sign, { hasText: 'onerror' }).first().waitFor()
			await drawn()
			check(!(await page.locator('img[src="x"], main script').count()), 'an element was made at ' + at)
		}
		await seen('', 'table')
		await seen(`#/db/${e}`, 'h1')
		await seen(place, '.grid-body')
		await seen(`${place}/documents/${e}/${encodeURIComponent(JSON.stringify(evil))}`, '.doc h2')
		await page.locator('.cm-content', { hasText: 'onerror' }).waitFor()
		const query = encodeURIComponent(`SELECT c.id, "${evil}" AS x FROM c`)
		await seen(`${place}/query?query=${query}`, '.query [role=gridcell]')
		await seen(`${place}/query?show=json&query=${query}`, 'pre.json')
		await seen(`${place}/query?query=${encodeURIComponent('SELECT ' + evil)}`, '.cm-content')
		await seen(`${place}/documents/${e}/%22none%22`, 'h2')
		await seen(`${place}?filter=${encodeURIComponent(`WHERE '${evil}' = `)}`, 'h1')
		await page.locator('.banner').waitFor()
		await seen(`${place}/feed`, 'table')
		await seen(`${place}/time`, 'h1')
		await seen('#/queue/wild?message=1', '.message')
		await seen('#/time', 'table')
		await seen(`#/${e}`, 'nav.tree')
		await seen(`#/queue/${e}`, 'h1')
		await seen(`${place}/scripts/sprocs/x`, '.cm-content')
		await page.getByRole('button', { name: 'Run' }).click()
		await page.locator('.notes', { hasText: 'onerror' }).waitFor()
		check(!(await page.locator('img[src="x"]').count()), 'an error made an element')
	},
	async 'no page of elsewhere frames it, opens it to read it, or writes with it'() {
		const other = await elsewhere(
			`<title>elsewhere</title><iframe src="${root}"></iframe>
			<form id="f" method="post" enctype="text/plain" action="${new URL('/dbs', root)}" target="sink">
			<input name='{"id":"forged' value='"}'></form><iframe name="sink"></iframe>`,
		)
		const context = await browser.newContext()
		const theirs = await context.newPage()
		await theirs.goto(other.url)
		await theirs.waitForLoadState('networkidle')
		const framed = theirs.frames()[1]
		check(!(await framed.locator('#app').count()), 'the explorer is framed')
		const said = await theirs.evaluate(async root => {
			const tries = {
				read: () => fetch(new URL('/dbs', root)).then(r => r.text()),
				write: () =>
					fetch(new URL('/dbs', root), {
						method: 'POST',
						body: '{"id":"forged"}',
						mode: 'no-cors',
					}).then(r => r.type),
				clock: () =>
					fetch(new URL('/_mayfly/clock', root), { method: 'PUT', body: '{"advance":"1h"}' }).then(
						r => r.text(),
					),
			}
			const out = {}
			for (const [name, run] of Object.entries(tries))
				out[name] = await run().catch(e => 'refused ' + e.name)
			document.getElementById('f').submit()
			const opened = window.open(root)
			let inside = 'nothing'
			try {
				// It is empty, and ours, until it has been loaded; then it is another origin's.
				while (opened && !opened.closed && opened.document.URL === 'about:blank')
					await new Promise(then => setTimeout(then, 50))
				inside = opened?.document?.body?.innerText ?? 'nothing'
			} catch {
				/* of another origin */
			}
			return { ...out, inside }
		}, root)
		await context.close()
		other.close()
		const wanted = { read: 'refused TypeError', clock: 'refused TypeError', inside: 'nothing' }
		for (const [name, want] of Object.entries(wanted))
			check(said[name] === want, `${name}: ${JSON.stringify(said)}`)
		const dbs = await send('/dbs', undefined, 'GET')
		check(!dbs.Databases.some(d => d.id.startsWith('forged')), 'a database was made from elsewhere')
		const answer = await fetch(root)
		const csp = answer.headers.get('content-security-policy')
		check(csp.includes("frame-ancestors 'none'") && !csp.includes('unsafe'), csp)
		check(answer.headers.get('x-frame-options') === 'DENY', 'it can be framed')
		await at('')
		await see('Overview', 'h1')
	},
})
