// The explorer as a browser of data: the grid, several documents at once, what is taken out and put in, the document's panel.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { bulk, imports } from './many.js'
import { check } from './world.js'

const partitionKey = { paths: ['/customer'], kind: 'Hash', version: 2 }
const order = n => ({
	id: `order-${String(n).padStart(4, '0')}`,
	customer: `c${n % 7}`,
	status: ['paid', 'open', 'sent'][n % 3],
	total: n / 4,
	text: 'a text that is longer than a cell '.repeat(12),
})

// pickings is what the steps share to look at a grid and to press in it.
function pickings(w) {
	const { page } = w
	const rows = () => page.locator('.grid-body [role=row]')
	return {
		rows,
		row: text => rows().filter({ hasText: text }).first(),
		button: (name, within = page.locator('main')) =>
			within.getByRole('button', { name, exact: true }),
		head: name => page.locator(`.grid-head [data-column="${name}"]`),
		heads: () => page.locator('.grid-head .name').allTextContents(),
		first: () => rows().first().locator('[data-name=id]').textContent(),
		clipboard: () => page.evaluate(() => navigator.clipboard.readText()),
		async drag(from, x, y) {
			const box = await from.boundingBox()
			await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
			await page.mouse.down()
			await page.mouse.move(x, y, { steps: 5 })
			await page.mouse.up()
		},
		same(got, want, what) {
			const [a, b] = [got, want].map(v => JSON.stringify(v))
			check(a === b, `${what}: ${a}, not ${b}`)
		},
	}
}

const grid = (w, { rows, row, button, head, heads, first, clipboard, drag, same }) => ({
	async 'a list of documents has one line a row, and tells how many there are'() {
		const { page, send, at, see } = w
		await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
		await send('/dbs', { id: 'browse' })
		await send('/dbs/browse/colls', { id: 'orders', partitionKey, defaultTtl: 7200 })
		for (let i = 0; i < 8; i++)
			await send('/_mayfly/dbs/browse/colls/orders/import', {
				documents: Array.from({ length: 100 }, (_, n) => order(i * 100 + n)),
			})
		await at('#/db/browse/orders')
		await see('550 of 800 rows loaded', '.foot')
		const heights = await rows().evaluateAll(all => [...new Set(all.map(r => r.offsetHeight))])
		same(heights, [32], 'heights of rows')
		const cut = await page
			.locator('.grid-body [data-name=written]')
			.evaluateAll(all => all.some(c => c.scrollWidth > c.clientWidth))
		check(!cut, 'the time of writing is cut')
	},
	async 'a click on a head sorts, and the URL keeps it'() {
		const { page, see } = w
		await head('id').click()
		await see('order-0000', '.grid-body')
		await head('id').click()
		await see('order-0799', '.grid-body')
		await page.reload()
		await see('order-0799', '.grid-body')
		same(await head('id').getAttribute('aria-sort'), 'descending', 'the order')
		await head('id').click()
		await page.waitForFunction(() => !location.hash.includes('sort'))
	},
	async 'columns are chosen, moved and widened, and stay so'() {
		const { page, kb, axe } = w
		await button('Columns').click()
		await page.getByRole('checkbox', { name: 'total' }).check()
		await page.getByRole('checkbox', { name: 'content' }).uncheck()
		await axe()
		await page.getByRole('button', { name: 'Move total to the front' }).click()
		await kb.press('Escape')
		const edge = head('id').locator('.edge'),
			box = await edge.boundingBox()
		const wide = () => head('id').evaluate(el => el.offsetWidth)
		const before = await wide()
		await drag(edge, box.x + 60, box.y + 4)
		check(Math.abs((await wide()) - before - 57) < 6, `a width of ${before} is ${await wide()}`)
		const target = await head('/customer').boundingBox()
		await drag(head('written'), target.x + 8, target.y + 8)
		const want = ['id', 'written', 'customer', 'expires in', 'total']
		same(await heads(), want, 'columns')
		const now = await wide()
		await page.reload()
		await rows().first().waitFor()
		same([await heads(), await wide()], [want, now], 'columns after a reload')
		await button('Columns').click()
		await page.getByRole('button', { name: 'Reset columns' }).click()
		await kb.press('Escape')
		same((await heads()).at(-1), 'content', 'the last column')
	},
	async 'rows are selected by mouse and by keys'() {
		const { page, kb, see, axe } = w
		await rows()
			.nth(1)
			.click({ modifiers: ['Control'] })
		await rows()
			.nth(4)
			.click({ modifiers: ['Shift'] })
		await see('4 selected', '.grid-foot')
		await rows().nth(2).locator('.c-mark').click()
		await see('3 selected', '.grid-foot')
		check(!(await page.locator('.doc').count()), 'a document is open')
		await axe()
		await page.getByRole('grid').focus()
		await kb.press('Escape')
		await kb.press('Home')
		await kb.press(' ')
		for (let i = 0; i < 3; i++) await kb.press('Shift+ArrowDown')
		await see('4 selected', '.grid-foot')
		await kb.press('Control+a')
		await see('550 selected', '.grid-foot')
		await button('Select all 800').click()
		await see('800 selected', '.grid-foot')
		await button('Clear selection').click()
		await page.getByText('800 selected').waitFor({ state: 'detached' })
	},
	async 'a cell, a row and all rows are copied'() {
		const { page, kb, told } = w
		await page.getByRole('grid').focus()
		await kb.press('Home')
		await kb.press('Control+c')
		await told('1 row copied')
		same(JSON.parse(await clipboard()).id, await first(), 'the row')
		await kb.press('ArrowRight')
		await kb.press('Control+c')
		await told('Cell copied')
		same(await clipboard(), await first(), 'the cell')
		await row('order-0003').locator('[data-name="/customer"]').click({ button: 'right' })
		await page.getByRole('menuitem', { name: 'Copy cell' }).click()
		await told('Cell copied')
		same(await clipboard(), 'c3', 'the cell below the mouse')
		await row('order-0003').click({ button: 'right' })
		await page.getByRole('menuitem', { name: 'Copy all 550 rows' }).click()
		await told('550 rows copied')
		same(JSON.parse(await clipboard()).length, 550, 'rows')
	},
	async 'the heads are reached by keys'() {
		const { page, kb, see } = w
		await page.getByRole('grid').focus()
		await kb.press('Escape')
		await kb.press('Home')
		await kb.press('ArrowUp')
		const wide = () => head('id').evaluate(el => el.offsetWidth)
		const before = await wide()
		await page.waitForFunction(() => document.querySelector('.grid-head .cell'))
		await kb.press('Shift+ArrowRight')
		check((await wide()) > before, 'the width stays')
		await kb.press('Enter')
		await page.waitForFunction(() => location.hash.includes('sort=id'))
		await kb.press('ArrowDown')
		await kb.press('Enter')
		await see('order-0000', '.doc h2')
		await kb.press('Escape')
	},
})

// odd are documents that are hard to write as CSV, as texts: numbers are as they are written.
const odd = [
	'{"id":"1","pk":"a","n":1.0,"big":12345678901234567890,"e":1e3,"text":"a, \\"b\\"\\nc"}',
	'{"id":"007","pk":"a","digits":"12","empty":"","none":null,"list":[1,2.50],"object":{"x":1,"y":{"z":"ü"}}}',
	'{"id":"true","pk":"a","object":{},"dots":{"a.b":1,"c":2}," blank":" begins with one","text":"\\\\."}',
	'{"id":"4","pk":"a","half":"\\ud800","cr":"a\\rb","10":"ten","2":"two"}',
]

const exports = (w, { rows, row, button, clipboard, same }) => {
	const { page, kb, told, see, at, send, axe } = w
	const dialog = page.locator('dialog[open]')
	const open = async (which, format) => {
		await button('Export').first().click()
		await dialog.getByLabel('Rows').selectOption(which)
		await dialog.getByLabel('Format').selectOption(format)
	}
	// exported is a file that the explorer writes, as a download.
	const exported = async (which, format) => {
		await open(which, format)
		const [file] = await Promise.all([
			page.waitForEvent('download'),
			button('Download', dialog).click(),
		])
		await dialog.waitFor({ state: 'detached' })
		return [readFileSync(await file.path(), 'utf8'), file.suggestedFilename()]
	}
	return {
		async 'documents are exported as the command does'() {
			await page.addInitScript(() => delete window.showSaveFilePicker) // its dialog is no part of a page
			await send('/dbs/browse/colls', {
				id: 'odd',
				partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
			})
			for (const text of odd)
				await send('/dbs/browse/colls/odd/docs', text, 'POST', {
					headers: { 'x-ms-documentdb-partitionkey': '["a"]' },
					raw: true,
				})
			await page.goto('about:blank')
			await at('#/db/browse/odd')
			await see('4 rows', '.foot')
			for (const format of ['ndjson', 'json', 'csv']) {
				const [got, name] = await exported('all', format)
				same(name, `odd.${format}`, 'the name')
				const argv = ['export', '--db', 'browse', '--container', 'odd', '--format', format]
				const want = execFileSync(w.mayfly, [...argv, '--url', w.endpoint], { encoding: 'utf8' })
				same(got, want, format)
			}
		},
		async 'a selection is copied, as CSV too'() {
			await rows().nth(0).locator('.c-mark').click()
			await rows().nth(2).locator('.c-mark').click()
			await open('selected', 'json')
			await axe()
			await button('Copy', dialog).click()
			await told('2 rows copied')
			const got = JSON.parse(await clipboard())
			same([got.map(d => d.id), '_etag' in got[0]], [['1', 'true'], false], 'the rows')
			await open('selected', 'csv')
			await button('Copy', dialog).click()
			await told('2 rows copied')
			check((await clipboard()).startsWith('id,pk,n,'), await clipboard())
			await page.getByRole('grid').focus()
			await kb.press('Escape')
		},
		async 'what CSV cannot have is told, and an export is cancelled'() {
			await send('/_mayfly/dbs/browse/colls/odd/import', {
				documents: [{ id: '5', pk: 'a', 'a.b': 1 }],
			})
			await button('Reload').click()
			await see('5 rows', '.foot')
			await open('all', 'csv')
			await button('Download', dialog).click()
			await dialog.locator('[role=alert]', { hasText: 'Row 5 cannot be a row of CSV' }).waitFor()
			await send('/dbs/browse/colls/odd/docs/5', undefined, 'DELETE', {
				headers: { 'x-ms-documentdb-partitionkey': '["a"]' },
			})
			await w.held('/colls/odd/docs', async () => {
				await button('Download', dialog).click()
				await button('Cancel exporting', dialog).click()
			})
			await button('Download', dialog).waitFor()
			await button('Close', dialog).click()
			await dialog.waitFor({ state: 'detached' })
		},
		async 'where the browser writes files it writes to the one that was chosen'() {
			await page.evaluate(() => {
				window.showSaveFilePicker = async ({ suggestedName }) =>
					(await navigator.storage.getDirectory()).getFileHandle(suggestedName, {
						create: true,
					})
			})
			await open('all', 'ndjson')
			await button('Download', dialog).click()
			await told('rows written to odd.ndjson')
			const got = await page.evaluate(async () => {
				const dir = await navigator.storage.getDirectory()
				return (await (await dir.getFileHandle('odd.ndjson')).getFile()).text()
			})
			same(
				got
					.trim()
					.split('\n')
					.map(l => JSON.parse(l).id),
				['1', '007', 'true', '4'],
				'the file',
			)
			await page.evaluate(() => delete window.showSaveFilePicker)
		},
	}
}

const panel = (w, { row, button, clipboard, same }) => {
	const { page, kb, told, see, at, send, axe } = w
	const doc = page.locator('.doc'),
		text = () => doc.locator('.cm-content').innerText()
	const type = value => kb.fill('The document as JSON', value)
	const key = { headers: { 'x-ms-documentdb-partitionkey': '["a"]' } }
	const raw = text => send('/dbs/browse/colls/odd/docs/1', text, 'PUT', { ...key, raw: true })
	return {
		async 'a document is saved with Ctrl+S, and only where something has changed'() {
			await at('#/db/browse/odd/documents/1/%22a%22')
			await doc.locator('.cm-content', { hasText: '12345678901234567890' }).waitFor()
			check(await button('Save', doc).isDisabled(), 'Save is enabled')
			check(/"e": 1000,/.test(await text()), 'numbers are not as the server writes them')
			await kb.press('Control+s')
			await told('Nothing has changed')
			await type('{"id":"1","pk":"a","n":2.0,"list":[1,{"x":[true]}]}')
			await kb.press('Control+s')
			await told('Saved for')
			await see('"n":2,', '.grid-body')
			check(await button('Save', doc).isDisabled(), 'Save is enabled after saving')
		},
		async 'text that is no JSON is marked where it is wrong until it is right'() {
			await type('{\n  "id": "1",\n  "x": [1,2,,3]\n}')
			await see('Line 3, column 13: A value is expected here.', '.doc [role=alert]')
			await doc.locator('.cm-lintRange-error').waitFor()
			same(await doc.locator('.cm-lintRange-error').textContent(), ',', 'the mark')
			const lines = await doc.locator('.cm-line').allTextContents()
			check(lines[2].includes('1,2'), 'lines')
			check(
				await doc.locator('.cm-line').nth(2).locator('.cm-lintRange-error').count(),
				'the mark is in another line',
			)
			await kb.press('Control+s') // leads there, and sends nothing
			await axe()
			await w.shot('browser-problem')
			await type('{"id": "1", "pk": "a", "y": 1}')
			await doc.locator('.problem').waitFor({ state: 'detached' })
			await button('Format', doc).click()
			check((await text()).split('\n').length >= 5, 'it is not laid out')
			await button('Revert', doc).click()
			await doc.locator('.cm-content', { hasText: '2.0' }).waitFor()
			check(await button('Save', doc).isDisabled(), 'Save is enabled')
		},
		async 'a document is a tree, is copied, and shows its system properties'() {
			await button('Tree', doc).click()
			await doc.locator('.json-tree', { hasText: 'list' }).waitFor()
			await axe()
			await w.shot('browser-tree')
			await doc.getByText('[2]').waitFor()
			await button('Text', doc).click()
			await button('Copy', doc).click()
			await told('Document copied')
			same(JSON.parse(await clipboard()).list.length, 2, 'the copy')
			await doc.getByText('System properties').click()
			await see('_etag', '.doc .system')
		},
		async 'a document is duplicated'() {
			await button('Duplicate', doc).click()
			await see('New document', '.doc h2')
			await doc.locator('.cm-content', { hasText: '2.0' }).waitFor()
			const id = /"id": "([^"]+)"/.exec(await text())[1]
			check(id !== '1', 'the id is the same')
			await button('Save', doc).click()
			await told('Saved for')
			await see(id, '.doc h2')
			await button('Delete', doc).click()
			await button('Delete', page.locator('dialog[open]')).click()
			await doc.waitFor({ state: 'detached' })
		},
		async 'a conflict shows the lines that differ, in sight'() {
			await at('#/db/browse/odd/documents/1/%22a%22')
			await doc.locator('.cm-content', { hasText: '"list"' }).waitFor()
			await type('{"id":"1","pk":"a","n":3,"list":[1]}')
			await raw('{"id":"1","pk":"a","n":4,"list":[1],"more":true}')
			await kb.press('Control+s')
			await see('Somebody has changed this document', '.conflict')
			const lines = kind => doc.locator(`.diff .${kind}`).allTextContents()
			await doc.locator('.diff .from').first().waitFor()
			check(
				(await lines('from')).some(l => l.includes('"n": 4')),
				'what is stored is not marked',
			)
			check(
				(await lines('to')).some(l => l.includes('"n": 3')),
				'what is typed is not marked',
			)
			check(await doc.locator('.diff').isVisible(), 'no diff')
			const box = await doc.locator('.diff').boundingBox()
			check(box.y + 40 < 800, `the diff begins at ${box.y}`)
			await w.shot('browser-conflict')
			await axe()
			await button('Take theirs', doc).click()
			await doc.locator('.cm-content', { hasText: 'more' }).waitFor()
			await kb.press('Escape')
			await doc.waitFor({ state: 'detached' })
		},
	}
}

export const browser = w => {
	const with_ = pickings(w)
	return {
		...grid(w, with_),
		...exports(w, with_),
		...panel(w, with_),
		...bulk(w, with_),
		...imports(w, with_),
	}
}
