// The explorer as a browser of data: the grid, several documents at once, what is taken out and put in, the document's panel.
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

export const browser = w => {
	const with_ = pickings(w)
	return { ...grid(w, with_) }
}
