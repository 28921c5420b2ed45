// The first minute with a server, what deletes and its undo, lists that follow, durations, keys and labels.
import { check } from './world.js'

const hash = { kind: 'Hash', version: 2 }

export const overview = ({ page, kb, see, told, send, at, drawn, axe, shot }) => {
	const button = name => page.getByRole('button', { name, exact: true })
	const dialog = page.locator('dialog[open]')
	const count = async (db, coll) => (await send(`/dbs/${db}/colls/${coll}/docs`, undefined, 'GET'))._count
	const fill = (db, coll, n, more = {}) =>
		send(`/_mayfly/dbs/${db}/colls/${coll}/import`, {
			documents: Array.from({ length: n }, (_, i) => ({ id: `d-${i}`, pk: 'a', ...more })),
		})
	const undone = async word => {
		await page.locator('.notes').getByRole('button', { name: 'Undo' }).click()
		await told(word)
	}
	return {
		async 'Overview says how to connect, and keeps the key to itself until asked'() {
			await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
			await at('')
			await drawn()
			const first = await page.locator('main .panel h2').first().textContent()
			check(first === 'Connect', `the first panel is ${first}`)
			await see('Service Bus connection string', '.connect')
			check(!(await page.locator('.connect').textContent()).includes('C2y6yDjf5'), 'the key is shown')
			await button('Copy Connection string').click()
			await told('Connection string copied.')
			const copied = await page.evaluate(() => navigator.clipboard.readText())
			const url = new URL(page.url())
			check(
				copied.startsWith(`AccountEndpoint=https://${url.host}/;AccountKey=C2y6yDjf5`),
				'the connection string is ' + copied,
			)
			await button('Show keys').click()
			await see('C2y6yDjf5', '.connect')
			await page.locator('.snippets summary').click()
			await button('Python').click()
			await see('from azure.cosmos import CosmosClient', '.snippets')
			await see(`http://${url.host}/`, '.snippets')
			await axe()
			await shot('overview-connect')
			await button('Hide keys').click()
		},
		async 'sample data is loaded, and loaded again after a question'() {
			await button('Load sample data').click()
			await told('110 documents')
			check((await count('sample', 'orders')) === 60, 'the sample has other orders')
			const queue = (await send('/_mayfly/entities', undefined, 'GET')).entities.find(
				e => e.path === 'sample-emails',
			)
			check(queue.active === 3 && queue.scheduled === 1, 'the queue has ' + JSON.stringify(queue))
			await see('Upcoming expiries', 'main')
			await axe()
			await button('Load sample data').click()
			await see('There is a database sample and a queue sample-emails already', 'dialog')
			await dialog.getByRole('button', { name: 'Cancel' }).click()
			check((await count('sample', 'orders')) === 60, 'something was loaded')
		},
		async 'the tree and Overview follow what others make'() {
			await send('/dbs', { id: 'live' })
			await send('/dbs/live/colls', { id: 'here', partitionKey: { paths: ['/pk'], ...hash } })
			await see('here', 'nav.tree')
			await see('live', 'main')
			await send('/dbs/live', undefined, 'DELETE')
			await page.locator('nav.tree a', { hasText: 'here' }).waitFor({ state: 'detached' })
		},
		async 'a container needs a partition key, and gets the slash that is missing'() {
			await send('/dbs', { id: 'safe' })
			await at('#/db/safe')
			await button('New container').first().click()
			await dialog.getByLabel('Id').fill('box')
			await kb.press('Enter')
			await see('needs a partition key', 'dialog .banner')
			await dialog.getByLabel('Partition key').fill('pk')
			await see('It will be /pk', 'dialog')
			await dialog.getByLabel('Time to live').selectOption('on')
			await dialog.getByLabel('Default time to live').fill('soon')
			await see('a duration such as', 'dialog .bad-text')
			await dialog.getByLabel('Default time to live').fill('PT2H')
			await kb.press('Enter')
			await see('TTL 2h', '.chip')
			const made = await send('/dbs/safe/colls/box', undefined, 'GET')
			check(made.partitionKey.paths[0] === '/pk' && made.defaultTtl === 7200, JSON.stringify(made))
		},
		async 'a time to live that deletes asks with the number, and is undone in its container alone'() {
			await fill('safe', 'box', 40, { _mayfly: { age: '30m' } })
			await send('/dbs/safe/colls', { id: 'beside', partitionKey: { paths: ['/pk'], ...hash } })
			await at('#/db/safe/box/settings')
			const field = page.getByLabel('Default time to live')
			check((await field.inputValue()) === '2h', 'the default is shown as ' + (await field.inputValue()))
			await field.fill('1m')
			await button('Save and delete 40 documents').click()
			await see('Expiry is final', 'dialog')
			await axe()
			await shot('overview-ttl-question')
			await dialog.getByRole('button', { name: 'Cancel' }).click()
			check((await count('safe', 'box')) === 40, 'a question that was answered with no has deleted')
			await button('Save and delete 40 documents').click()
			await dialog.getByRole('button', { name: 'Save and delete 40 documents' }).click()
			await told('40 documents expired')
			check((await count('safe', 'box')) === 0, 'nothing has expired')
			await fill('safe', 'beside', 3)
			await undone('as it was before')
			check((await count('safe', 'box')) === 40, 'the documents are not back')
			check((await count('safe', 'beside')) === 3, 'what was written beside it is gone')
			await see('TTL 2h', '.chip')
		},
		async 'a container is deleted by its id, and comes back by Undo'() {
			await at('#/db/safe/box')
			await button('Delete container').click()
			await dialog.getByRole('button', { name: 'Delete container' }).click()
			await see('Type box to go on', 'dialog .banner')
			await dialog.getByLabel('Type the id box').fill('box')
			await axe()
			await dialog.getByRole('button', { name: 'Delete container' }).click()
			await told('Container box is deleted')
			await undone('as it was before')
			check((await count('safe', 'box')) === 40, 'the container came back with less')
			await at('#/db/safe/none')
			await see('There is no container none', 'main')
			check(!(await button('Delete container').count()), 'what is absent can be deleted')
			check(!(await page.locator('main .banner, main .tabs').count()), 'it is said more than once')
		},
		async 'few undo snapshots are kept, and none where the setting is off'() {
			const kept = async () =>
				(await send('/_mayfly/snapshots', undefined, 'GET')).snapshots.filter(s => s.name.startsWith('undo-'))
			for (const id of ['a', 'b', 'c', 'd', 'e']) {
				await send('/dbs', { id })
				await at('#/db/' + id)
				await button('Delete database').click()
				await dialog.getByLabel('Type the id').fill(id)
				await kb.press('Enter')
				await told(`Database ${id} is deleted`)
			}
			let list = await kept()
			for (let i = 0; i < 50 && list.length > 3; i++) {
				await page.waitForTimeout(100)
				list = await kept()
			}
			check(list.length === 3, `${list.length} snapshots are kept`)
			await at('#/time')
			await page.getByLabel('Keep a snapshot before').uncheck()
			await send('/dbs', { id: 'f' })
			await at('#/db/f')
			await button('Delete database').click()
			await see('It cannot be undone', 'dialog')
			await dialog.getByLabel('Type the id').fill('f')
			await kb.press('Enter')
			await told('Database f is deleted')
			check(!(await page.locator('.notes button').count()), 'there is Undo without a snapshot')
			check((await kept()).length === 3, 'a snapshot was taken')
			await at('#/time')
			await page.getByLabel('Keep a snapshot before').check()
		},
		async 'the change feed has a start, a filter, and rows that open'() {
			await at('#/db/safe/beside/feed')
			await see('d-2', '.live')
			await page.getByLabel('Filter', { exact: true }).fill('d-1')
			await page.waitForFunction(() => document.querySelectorAll('.live tbody tr').length === 1)
			await button('d-1').click()
			await see('"id": "d-1"', '.opened')
			await axe()
			await shot('overview-feed')
			await page.getByRole('link', { name: 'Open document' }).click()
			await see('d-1', '.doc h2')
			await at('#/db/safe/beside/feed')
			await page.getByLabel('Start').selectOption('now')
			await see('No change yet', 'main')
			await fill('safe', 'beside', 1, { again: true })
			await see('d-0', '.live')
			await page.getByLabel('Start').selectOption('start')
			const wide = await page.locator('.feed .panel').evaluate(p => p.clientWidth)
			check(wide > 900, `the feed is ${wide} wide without a log`)
		},
		async 'a reader who has scrolled down is told of new changes'() {
			await at('#/db/safe/box/feed')
			await page.waitForFunction(() => document.querySelectorAll('.live tbody tr').length === 40)
			await page.locator('.live .scroll').evaluate(s => (s.scrollTop = 300))
			await page.evaluate(() => new Promise(then => requestAnimationFrame(() => setTimeout(then, 100))))
			await send('/_mayfly/dbs/safe/colls/box/import', { documents: [{ id: 'late', pk: 'a' }] })
			await button('1 new').click()
			await see('late', '.live')
		},
		async 'loading is told apart from empty, and failed from both'() {
			let free
			const wait = new Promise(then => (free = then))
			await page.route('**/_mayfly/snapshots', async route => {
				await wait
				await route.continue()
			})
			await page.goto('about:blank')
			await at('#/time')
			await see('Loading', 'main')
			free()
			await page.locator('main .loading').waitFor({ state: 'detached' })
			await page.unrouteAll({ behavior: 'wait' })
			await page.route('**/_mayfly/faults', route => route.fulfill({ status: 500, body: '{"message":"a bad day"}' }))
			await at('#/faults')
			await see('a bad day', '.failed')
			await page.unrouteAll({ behavior: 'wait' })
			await button('Try again').click()
			await page.locator('.failed').waitFor({ state: 'detached' })
			await page.getByRole('button', { name: 'Add fault' }).first().waitFor()
		},
		async 'durations of every form move the clock, and times say UTC'() {
			await at('#/time')
			await see('UTC', '.clock')
			const now = async () => Date.parse((await send('/_mayfly/clock', undefined, 'GET')).now)
			await send('/_mayfly/clock', { freeze: true }, 'PUT')
			for (const [text, seconds] of [
				['30', 30],
				['1h 59m 13s', 7153],
				['PT1M', 60],
			]) {
				const before = await now()
				await page.getByLabel('Advance by', { exact: true }).fill(text)
				const done = page.waitForResponse(r => r.url().endsWith('/clock') && r.request().method() === 'PUT')
				await button('Advance').click()
				await done
				check((await now()) - before === seconds * 1000, `${text} is ${(await now()) - before} ms`)
			}
			await page.getByLabel('Advance by', { exact: true }).fill('1 fortnight')
			await see('a duration such as', '.bad-text')
			check(await button('Advance').isDisabled(), 'what is no duration is sent')
			await send('/_mayfly/clock', { freeze: false }, 'PUT')
			await at('#/')
			await drawn()
			await page.locator('main').getByRole('button', { name: 'New queue or topic' }).click()
			await dialog.getByLabel('Path').fill('spans')
			await dialog.getByLabel('Message time to live').fill('2h')
			await dialog.getByLabel('Lock duration').fill('90')
			await kb.press('Enter')
			await see('spans', 'h1')
			const q = await send('/_mayfly/entities/spans', undefined, 'GET')
			check(q.defaultTimeToLive === 'PT2H' && q.lockDuration === 'PT1M30S', JSON.stringify(q))
		},
		async 'keys are listed, / goes to the filter, and the palette makes and purges'() {
			await fill('safe', 'box', 3)
			await at('#/db/safe/box')
			await see('d-1', '.grid')
			await page.locator('main h1').click()
			await kb.press('?')
			await see('Command palette', 'dialog')
			await axe()
			await kb.press('Escape')
			await kb.press('/')
			const focused = await page.evaluate(() => document.activeElement.closest('main, nav')?.tagName)
			check(focused === 'MAIN', `the focus is in ${focused}`)
			await kb.goTo('Take snapshot')
			await told('is kept')
			await kb.goTo('Purge what')
			await told('purged')
			await kb.goTo('New document in box')
			await page.locator('.doc').waitFor()
		},
		async 'at 400 pixels the clock keeps its badge, and tabs show that they scroll'() {
			await page.setViewportSize({ width: 400, height: 800 })
			await send('/_mayfly/clock', { rate: 60 }, 'PUT')
			for (const scheme of ['light', 'dark']) {
				await page.emulateMedia({ colorScheme: scheme })
				await at('#/db/safe/box/settings')
				await see('× 60', '.clock')
				await page.locator('.tabs-frame.right').waitFor()
				const wide = await page.evaluate(() => document.documentElement.scrollWidth)
				check(wide <= 400, `the page is ${wide} wide`)
				await axe()
				await shot('overview-narrow-' + scheme)
				await at('')
				await drawn()
				await axe()
				await shot('overview-connect-400-' + scheme)
				await at('#/faults')
				await drawn()
				await axe()
				await shot('overview-faults-400-' + scheme)
			}
			await send('/_mayfly/clock', { rate: 1 }, 'PUT')
			await page.setViewportSize({ width: 1280, height: 800 })
		},
	}
}
