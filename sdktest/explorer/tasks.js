// Ten tasks of a new user, each from Overview on. What each takes in clicks and keys is printed.
import { readFileSync } from 'node:fs'
import { check, wellKnown } from './world.js'

export const tasks = w => {
	const { page, send, at, see, told, axe, shot, endpoint } = w
	const main = page.locator('main'),
		dialog = page.locator('dialog[open]')
	const rows = () => page.locator('.grid-body [role=row]')
	const row = text => rows().filter({ hasText: text }).first()
	const button = (name, within = main) => within.getByRole('button', { name, exact: true }).first()
	const link = name => page.locator('nav.tree').getByRole('link', { name }).first()
	const orders = page.locator('nav.tree a[href*="/db/shop-tasks/orders"]').first()
	const tab = name => page.locator('.tabs').getByRole('link', { name })
	let clicks = 0,
		keys = 0
	// hand does what a hand does, and counts it.
	const hand = {
		click: async (at, options) => {
			clicks++
			await at.click(options)
		},
		press: async key => {
			keys++
			await page.keyboard.press(key)
		},
		type: async text => {
			keys += text.length
			await page.keyboard.insertText(text)
		},
		choose: async (at, value) => {
			clicks += 2
			await at.selectOption(value)
		},
	}
	const write = (id, more = {}) =>
		send('/dbs/shop-tasks/colls/orders/docs', { id, customer: 'c1', ...more }, 'POST', {
			headers: { 'x-ms-documentdb-partitionkey': '["c1"]', 'x-ms-documentdb-is-upsert': 'True' },
		})
	const read = id =>
		send(`/dbs/shop-tasks/colls/orders/docs/${id}`, undefined, 'GET', {
			headers: { 'x-ms-documentdb-partitionkey': '["c1"]' },
		})
	const steps = {
		async 'find the order that expires next, and extend it'() {
			await hand.click(orders)
			await row('order-1').waitFor()
			await hand.click(page.locator('.grid-head .sorts[data-column="expires in"]'))
			await page.waitForFunction(() => document.querySelector('.grid-body [data-name=id]').textContent === 'order-23')
			await hand.click(rows().first().locator('.c-mark'))
			await hand.click(button('Set time to live', page.locator('.grid-foot')))
			await dialog.waitFor()
			await hand.click(dialog.getByLabel('Seconds', { exact: true }), { clickCount: 3 })
			await hand.type('86400')
			await hand.press('Enter')
			await dialog.getByText('1 document changed.').waitFor()
			await hand.click(button('Close', dialog))
			check((await read('order-23')).ttl === 86400, 'its time to live is the former one')
		},
		async 'export the paid orders as CSV'() {
			await hand.click(orders)
			await row('order-1').waitFor()
			await hand.press('/')
			await hand.type("c.status = 'paid'")
			await hand.press('Enter')
			await see('20 rows', '.foot')
			await hand.click(button('Export'))
			await hand.choose(dialog.getByLabel('Format'), 'csv')
			const file = page.waitForEvent('download')
			await hand.click(button('Download', dialog))
			const lines = readFileSync(await (await file).path(), 'utf8').trim().split('\n')
			check(lines.length === 21 && lines[0].startsWith('id,customer,'), lines[0])
		},
		async 'find why a query is slow, and mend it'() {
			await hand.click(orders)
			await hand.click(tab('Query'))
			await hand.click(page.locator('.query .cm-content'))
			await hand.press('Control+a')
			await hand.type("SELECT * FROM c WHERE c.status = 'paid' AND c.total > 10")
			await hand.press('Shift+Enter')
			await see('16', '.query .stats')
			await hand.click(button('Plan'))
			await see('would help', '.plan')
			await axe()
			await shot('tasks-plan')
			await hand.click(button('Apply…'))
			await see('entries to build', 'dialog[open]')
			await axe()
			await shot('tasks-apply')
			await hand.click(button('Update indexing policy'))
			await told('All documents are indexed by the new policy.')
			const policy = (await send('/dbs/shop-tasks/colls/orders', undefined, 'GET')).indexingPolicy
			const [paths] = policy.compositeIndexes ?? []
			check(paths?.map(p => p.path).join() === '/status,/total', JSON.stringify(policy))
			await page.waitForFunction(() => !document.querySelector('.advice'))
		},
		async 'move three dead letters back with a changed body'() {
			await hand.click(link('mails'))
			await hand.click(tab(/Dead letters/))
			for (const id of ['m-1', 'm-2', 'm-3']) {
				await hand.click(row(id))
				await hand.click(button('Edit and resubmit'))
				await hand.click(dialog.getByLabel('Body', { exact: true }))
				await hand.press('Control+a')
				await hand.type('{"mended":true}')
				await hand.click(button('Resubmit', dialog))
				await told('1 message sent again')
				await dialog.waitFor({ state: 'detached' })
			}
			const { messages } = await send('/_mayfly/entities/mails/peek', { count: 10 })
			check(messages.filter(m => m.text === '{"mended":true}').length === 3, JSON.stringify(messages))
		},
		async 'see what the SDK sent when it failed'() {
			await fetch(new URL('/dbs/shop-tasks/colls/orders/docs', endpoint), {
				method: 'POST',
				headers: { authorization: 'Bearer ' + wellKnown, 'x-ms-documentdb-partitionkey': '["other"]' },
				body: JSON.stringify({ id: 'wrong', customer: 'c1', why: 'the key of another' }),
			})
			await hand.click(link('Requests'))
			await hand.click(row('400'))
			await see('the key of another', '.request')
			await see('BadRequest', '.request')
		},
		async 'make a fault of a request'() {
			await hand.click(link('Requests'))
			await hand.click(row('create_item'))
			await hand.click(page.locator('.request').getByRole('link', { name: 'Make a fault of this' }))
			await hand.click(button('Add fault'))
			await see('in shop-tasks/orders', 'main table')
			const { faults } = await send('/_mayfly/faults', undefined, 'GET')
			check(faults.some(f => f.container === 'orders'), JSON.stringify(faults))
			await send('/_mayfly/faults', undefined, 'DELETE')
		},
		async 'undo a deleted container'() {
			await hand.click(orders)
			await hand.click(button('Delete container'))
			await hand.click(dialog.getByLabel('Type the id orders'))
			await hand.type('orders')
			await hand.press('Enter')
			await told('Container orders is deleted')
			await hand.click(button('Undo', page.locator('.notes')))
			await told('as it was before')
			check((await read('order-1')).id === 'order-1', 'its documents are gone')
		},
		async 'import a CSV'() {
			await hand.click(orders)
			await hand.click(button('Import'))
			clicks += 2 // the system's dialog: a file, and Open
			await dialog.getByLabel('Files').setInputFiles({
				name: 'new.csv',
				mimeType: 'text/csv',
				buffer: Buffer.from('id,customer,total\ncsv-1,c1,3.5\ncsv-2,c1,4\n'),
			})
			await hand.click(button('Import', dialog))
			await button('Close', dialog).waitFor()
			await hand.click(button('Close', dialog))
			check((await read('csv-1')).total === 3.5, 'it is not there')
		},
		async 'watch new documents arrive'() {
			await hand.click(orders)
			await row('order-1').waitFor()
			await write('arrived-1')
			await see('63 rows', '.foot')
			await page.locator('.grid').evaluate(el => (el.scrollTop = el.scrollHeight)) // it is the last one
			await row('arrived-1').waitFor()
		},
		async 'save a query, and run it again'() {
			await hand.click(orders)
			await hand.click(tab('Query'))
			await page.locator('.query .cm-content').waitFor() // keys before the page is there are not for it
			await hand.press('Control+j')
			await page.locator('.query .cm-focused').waitFor()
			await hand.press('Control+a')
			await hand.type('SELECT VALUE COUNT(1) FROM c')
			await hand.press('Control+s')
			await hand.type('how many')
			await hand.press('Enter')
			await told('Saved.')
			await at('')
			await hand.click(orders)
			await hand.click(tab('Query'))
			await hand.click(button('Saved queries'))
			await hand.click(dialog.locator('.query-open', { hasText: 'how many' }))
			await page.locator('.query .cm-focused').waitFor()
			await hand.press('Shift+Enter')
			await see('63', '.query [role=grid]')
		},
	}
	const out = {
		async 'tasks: data to work with'() {
			await page.addInitScript(() => delete window.showSaveFilePicker) // its dialog is no part of a page
			await send('/dbs', { id: 'shop-tasks' })
			await send('/dbs/shop-tasks/colls', {
				id: 'orders',
				partitionKey: { paths: ['/customer'], kind: 'Hash', version: 2 },
				defaultTtl: -1,
			})
			await send('/_mayfly/dbs/shop-tasks/colls/orders/import', {
				documents: Array.from({ length: 60 }, (_, n) => ({
					id: `order-${n + 1}`,
					customer: 'c1',
					status: ['open', 'paid', 'sent'][n % 3],
					total: n,
					ttl: n === 22 ? 600 : 7200 + n,
				})),
			})
			await send('/_mayfly/entities', { path: 'mails', deadLetterOnExpiration: true })
			await send('/_mayfly/entities/mails/send', { id: 'm-{i}', text: '{"n":{i}}', ttl: 1, repeat: 3 })
			await send('/_mayfly/clock', { advance: '5s' }, 'PUT')
			await send('/_mayfly/reaper/run')
		},
	}
	for (const [name, run] of Object.entries(steps))
		out[`task: ${name}`] = async () => {
			await page.goto('about:blank')
			await at('')
			await orders.waitFor()
			clicks = keys = 0
			await run()
			console.log(`# ${clicks} clicks, ${keys} keys: ${name}`)
		}
	return out
}
