// What goes otherwise than it should: answers that come late or never, others who write, odd names.
import { check } from './world.js'

const is = (got, want, what) =>
	check(JSON.stringify(got) === JSON.stringify(want), `${what}: ${JSON.stringify(got)}`)

export const trouble = ({ page, kb, see, told, send, at, answers }) => {
	const button = (name, where = page) => where.getByRole('button', { name, exact: true })
	const dialog = page.locator('dialog[open]')
	const docs = '/dbs/odd/colls/docs'
	const keyed = key => ({ headers: { 'x-ms-documentdb-partitionkey': JSON.stringify([key]) }, raw: true })
	const put = (text, key = 'a') => send(docs + '/docs', text, 'POST', keyed(key))
	const open = async (id, key = '"a"') => {
		await page.goto('about:blank')
		await at(`#/db/odd/docs/documents/${encodeURIComponent(id)}/${encodeURIComponent(key)}`)
		await page.locator('.doc .cm-content', { hasText: '"id"' }).waitFor()
	}
	const type = async text => {
		await page.locator('.cm-content').first().click()
		await page.keyboard.press('Control+a')
		await page.keyboard.insertText(text)
	}
	// touch changes the text of a document, and nothing in it.
	const touch = async () => {
		await page.locator('.doc .cm-content').click()
		await page.keyboard.press('Control+Home')
		await page.keyboard.insertText(' ')
	}
	const ask = async text => {
		await type(text)
		await page.keyboard.press('Escape') // what is offered
		await page.keyboard.press('Control+Enter')
	}
	// held keeps the next request to a place until it is let go.
	const held = async place => {
		let go, come
		const free = new Promise(then => (go = then)),
			came = new Promise(then => (come = then))
		const hold = async route => {
			come()
			await free
			await route.continue().catch(() => {}) // the page may have given it up
		}
		await page.route(place, hold, { times: 1 })
		return { go, came }
	}
	return {
		async 'what is typed is not lost to a new document, nor one to a row'() {
			await send('/dbs', { id: 'odd' })
			const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 }
			await send('/dbs/odd/colls', { id: 'docs', partitionKey, defaultTtl: 600 })
			for (const n of [1, 2, 3]) await put(`{"id":"doc-${n}","pk":"a","n":${n}}`)
			await open('doc-1')
			await type('{"id":"doc-1","pk":"a","n":11}')
			answers.push('dismiss')
			await button('New document').click()
			await see('11', '.doc')
			answers.push('accept')
			await button('New document').click()
			await see('New document', '.doc h2')
			await page.locator('.grid-body [role=row]', { hasText: 'doc-2' }).click()
			await see('doc-2', '.doc h2')
			check(!answers.length, 'nobody has asked')
		},
		async 'Escape closes what is on top, and the focus goes back'() {
			await open('doc-1')
			const asks = button('Delete', page.locator('.doc'))
			for (const close of ['Escape', 'Enter']) {
				await asks.focus()
				await kb.press('Enter')
				await dialog.waitFor()
				await kb.press(close) // the first button is the one that cancels
				await dialog.waitFor({ state: 'detached' })
				await page.waitForFunction(() => document.activeElement.textContent === 'Delete')
				await see('doc-1', '.doc h2')
			}
			await button('New document').focus()
			await kb.goTo('Colours: system')
			await page.waitForFunction(() => document.activeElement.textContent === 'New document')
			await asks.focus()
			await kb.press('Enter')
			await button('Delete', dialog).focus()
			await kb.press('Enter')
			await page.locator('.doc').waitFor({ state: 'detached' })
			await page.waitForFunction(() => document.activeElement.getAttribute('role') === 'grid')
		},
		async 'a dialog tells what is wrong where it can be read'() {
			await at('#/db/odd')
			await button('New container').click()
			await dialog.getByLabel('Id').fill('docs')
			await dialog.getByLabel('Partition key').fill('/pk')
			await kb.press('Enter')
			await dialog.locator('[role=alert]', { hasText: 'like it already' }).waitFor()
			await kb.press('Escape')
		},
		async 'a save goes out once, and what is typed meanwhile is not saved'() {
			await open('doc-2')
			let sent = 0
			page.on('request', r => r.method() === 'PUT' && sent++)
			const answer = await held('**/docs/doc-2')
			await type('{"id":"doc-2","pk":"a","n":22}')
			await kb.press('Control+Enter')
			await kb.press('Control+Enter')
			await answer.came
			await type('{"id":"doc-2","pk":"a","n":222}')
			answer.go()
			await told('Saved for')
			is([sent, await page.locator('.conflict').count()], [1, 0], 'saves and conflicts')
			answers.push('dismiss')
			await button('Close').click()
			check(!answers.length, 'what was typed meanwhile is left without a word')
			await button('Save').click()
			await page.waitForFunction(() => /222/.test(document.querySelector('.grid-body').textContent))
		},
		async 'a document that comes late is not typed over'() {
			await page.goto('about:blank')
			const late = await held('**/docs/doc-3')
			await at('#/db/odd/docs/documents/doc-3/%22a%22')
			await late.came
			await page.locator('.doc [aria-busy=true]').waitFor()
			check(!(await page.locator('.doc .cm-content').count()), 'something can be typed')
			late.go()
			await page.locator('.doc .cm-content', { hasText: 'doc-3' }).waitFor()
		},
		async 'a document that is gone is told so, and can be written again'() {
			await open('doc-2')
			await send(docs + '/docs/doc-2', undefined, 'DELETE', keyed('a'))
			await type('{"id":"doc-2","pk":"a","n":2222}')
			await kb.press('Control+Enter')
			await see('This document is gone', '.doc [role=alert]')
			await button('Write it again').click()
			await page.locator('.conflict').waitFor({ state: 'detached' })
			await see('2222', '.grid-body')
			await type('{"id":"doc-2","pk":"b"}')
			await kb.press('Control+Enter')
			await told('Partition key provided') // which a document keeps
			answers.push('accept')
		},
		async 'documents with names and keys that are rare are read and saved'() {
			const surrogate = String.raw`"\ud800"`
			const odd = [
				['".."', '"a"'],
				['"."', '"a"'],
				[surrogate, '"a"'],
				['"long key"', '9007199254740993'],
				['"null"', 'null'],
			]
			for (const [id, pk] of odd) await put(`{"id":${id},"pk":${pk}}`, JSON.parse(pk))
			await put('{"id":"no key"}', {})
			for (const name of ['..', '.', '\ufffd', 'long key', 'null', 'no key']) {
				await page.goto('about:blank')
				await at('#/db/odd/docs')
				await page.waitForFunction(name => {
					const all = [...document.querySelectorAll('.grid-body [data-name=id]')]
					const one = all.find(x => x.textContent.toWellFormed() === name)
					one?.click()
					return one
				}, name)
				await page.locator('.doc .cm-content', { hasText: '"id"' }).waitFor()
				await page.reload()
				await page.locator('.doc .cm-content', { hasText: '"id"' }).waitFor()
				await page.getByRole('timer').waitFor()
				await touch()
				await button('Save').click()
				await told('Saved for')
			}
			await at('#/db/odd/..')
			await see('named . or ..', '.banner')
		},
		async 'of two queries the later one is shown, and one can be given up'() {
			const documents = Array.from({ length: 100 }, (_, n) => ({ pk: 'a', n }))
			await send('/dbs/odd/colls', { id: 'rows', partitionKey: { paths: ['/pk'], kind: 'Hash' } })
			for (let i = 0; i < 12; i++)
				await send('/_mayfly/dbs/odd/colls/rows/import', {
					documents: documents.map(d => ({ ...d, id: `row-${i * 100 + d.n}`, n: i * 100 + d.n })),
				})
			await at('#/db/odd/rows/query')
			const slow = await held('**/rows/docs')
			await ask("SELECT VALUE 'slow' FROM c WHERE c.n = 1")
			await slow.came
			await ask("SELECT VALUE 'quick' FROM c WHERE c.n = 1")
			await see('quick', '.query [role=grid]')
			slow.go()
			const never = await held('**/rows/docs')
			await ask("SELECT VALUE 'never' FROM c WHERE c.n = 1")
			await never.came
			await button('Cancel').click()
			await button('Cancel').waitFor({ state: 'detached' })
			never.go()
			check(!(await page.locator('.query [role=grid]').count()), 'rows of what was given up')
			await page.goBack() // to the query before
			await see('quick', '.query [role=grid]')
		},
		async 'a page more belongs to the query above it, and all rows are there'() {
			await at('#/db/odd/rows/query')
			await ask('SELECT VALUE c.n FROM c ORDER BY c.n')
			await see('100+', '.stats')
			await type('SELECT VALUE c.id FROM c')
			await button('Next page').click()
			await see('200+', '.stats')
			await button('All pages').click()
			await see('1,200', '.query .foot')
			await page.locator('.query [role=grid]').focus()
			await page.keyboard.press('End')
			await see('1199', '.query [role=grid]')
			await button('JSON').click()
			await see('the last 1,000 rows', '.query')
			await button('Table').click()
			const link = (query, parameters) =>
				page.evaluate(to => (location.hash = to), '#/db/odd/rows/query?' +
					new URLSearchParams({ query, parameters: JSON.stringify(parameters) }).toString().replace('%22x%22',
						'9007199254740993'))
			await link('SELECT VALUE @n', [{ name: '@n', value: 'x' }])
			await see('9007199254740993', '.query [role=grid]')
		},
		async 'the list of documents goes on after an error, and stays where it is'() {
			const foot = text => see(text, '.foot')
			await page.goto('about:blank')
			await at('#/db/odd/rows')
			await foot('550 of 1,200 rows loaded')
			let refused = false // one page more; what the list reads again in between is answered
			await page.route('**/rows/docs', route => {
				const headers = route.request().headers()
				const more = headers['x-ms-continuation'] && headers['x-ms-max-item-count'] === '500'
				if (refused || !more) return route.continue()
				refused = true
				return route.fulfill({ status: 429, body: '{"code":"429","message":"Request rate is large."}' })
			})
			await page.getByRole('grid').focus()
			await kb.press('End')
			await see('There are more requests than', '.banner')
			await page.unroute('**/rows/docs')
			await foot('550 of 1,200 rows loaded')
			await button('Load more').click()
			await foot('1,050 of 1,200 rows loaded')
			await page.getByRole('grid').focus()
			await kb.press('End')
			await foot('1,200 rows')
			await kb.press('End')
			await page.locator('.grid-body [role=row]').nth(-5).click()
			await page.locator('.doc .cm-content', { hasText: '"id"' }).waitFor()
			const top = () => page.evaluate(() => document.querySelector('.grid').scrollTop)
			const before = await top()
			await touch()
			const again = page.waitForResponse(r => r.url().endsWith('/rows/docs'))
			await button('Save').click()
			await told('Saved for')
			await again
			await foot('1,200 rows')
			is(await top(), before, 'the place')
			await page.locator('.grid-row.open').waitFor()
		},
		async 'changes are told once and exactly, and a log is not offered for want of an answer'() {
			await send('/dbs/odd/colls', { id: 'feed', partitionKey: { paths: ['/pk'], kind: 'Hash' } })
			const write = id =>
				send('/dbs/odd/colls/feed/docs', `{"id":"${id}","pk":"a","n":9007199254740993}`, 'POST', keyed('a'))
			await send('/_mayfly/dbs/odd/colls/feed/settings', { expiryEvents: { retention: 77 } }, 'PATCH')
			const refuse = r => r.fulfill({ status: 503, body: '{}' })
			await page.route('**/feed/settings', refuse, { times: 1 })
			await write('one')
			await at('#/db/odd/feed/feed')
			await see('"n":9007199254740993', 'table')
			await see('The server cannot do this now', '.banner')
			check(!(await button('Keep a log').count()), 'a log is offered')
			await button('Pause').first().click() // while it waits for more
			await write('two')
			await button('Follow').click()
			await see('two', 'table')
			await write('three')
			await see('three', 'table')
			const ids = await page.locator('tbody tr td:nth-child(3)').allTextContents()
			is(ids, ['three', 'two', 'one'], 'changes')
		},
		async 'what another has changed meanwhile stays when a form is saved'() {
			const path = '/dbs/odd/colls/rows'
			await at('#/db/odd/rows/settings')
			await see('Save policies')
			const was = await send(path, undefined, 'GET')
			const keys = [['/a', '/b'].map(path => ({ path, order: 'ascending' }))]
			was.indexingPolicy.compositeIndexes = keys
			await send(path, was, 'PUT')
			await send('/_mayfly' + path + '/reaper', { paused: true }, 'PUT')
			await button('Add text').click()
			await page.getByRole('group', { name: 'text 1' }).getByLabel('Path').fill('/t')
			await button('Save policies').click()
			await told('Saved.')
			await page.getByLabel('Delay of each purge').fill('3')
			await button('Save purges').click()
			await told('Saved.')
			const now = await send(path, undefined, 'GET')
			is(now.indexingPolicy.compositeIndexes, keys, 'composite indexes')
			const { paused } = await send('/_mayfly' + path + '/reaper', undefined, 'GET')
			is(paused, true, 'paused')
			await button('Add vector').click()
			answers.push('accept')
			await page.evaluate(() => (location.hash = '#/time'))
			await see('Time', 'h1')
			check(!answers.length, 'a line that was added is left without a word')
		},
		async 'scripts of one kind are not taken for another, and what runs is what is seen'() {
			await send('/dbs/odd/colls/rows/sprocs', {
				id: 'answers',
				body: 'function answers() { getContext().getResponse().setBody(1) }',
			})
			await at('#/db/odd/rows/scripts/sprocs/absent')
			await see('There is none that is called absent', '.banner')
			const late = await held('**/triggers')
			await button('Triggers').click()
			await late.came
			check(!(await button('answers').count()), 'a procedure is among the triggers')
			late.go()
			await see('None yet', '.scripts')
			await at('#/db/odd/rows/scripts/sprocs/answers')
			await page.locator('.cm-content', { hasText: 'answers' }).waitFor()
			await type('function answers() { getContext().getResponse().setBody({ n: 2 }) }')
			await button('Save and run').click()
			await see('"n": 2', '.json')
		},
		async 'a message is shown with its numbers as they are'() {
			await send('/_mayfly/entities', { path: 'exact' })
			await send('/_mayfly/entities/exact/send', { text: '{"n":9007199254740993}' })
			await at('#/queue/exact?message=1')
			await see('"n": 9007199254740993', '.message pre')
		},
		async 'a server that does not answer is told of, and read again when it does'() {
			await at('#/db/odd/docs')
			await see('doc-3', '.grid-body')
			await page.route('**/clock', r => r.abort())
			await see('The server does not answer', '.banner')
			await put('{"id":"meanwhile","pk":"a"}')
			await page.unroute('**/clock')
			await see('meanwhile', '.grid-body')
			await page.locator('.banner').waitFor({ state: 'detached' })
		},
	}
}
