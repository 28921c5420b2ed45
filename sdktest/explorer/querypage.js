// Queries and the filter of Documents: what is typed is understood, what is wrong is told where it is.
import { check } from './world.js'

const db = 'queries'
const place = '#/db/queries/orders'

// filters are texts of the filter of Documents: the query that is asked then, and which documents are found.
const filters = [
	['', 'SELECT * FROM c', ['o-1', 'o-2', 'o-3']],
	["c.status = 'paid'", "SELECT * FROM c WHERE c.status = 'paid'", ['o-1']],
	['c["status"]="paid"', 'SELECT * FROM c WHERE c["status"]="paid"', ['o-1']],
	['IS_DEFINED(c.status)', 'SELECT * FROM c WHERE IS_DEFINED(c.status)', ['o-1', 'o-2']],
	['not is_defined(c.status)', 'SELECT * FROM c WHERE not is_defined(c.status)', ['o-3']],
	['c.gift', 'SELECT * FROM c WHERE c.gift', ['o-2']],
	["c.status IN ('paid')", "SELECT * FROM c WHERE c.status IN ('paid')", ['o-1']],
	['WHERE c.n > 2', 'SELECT * FROM c WHERE c.n > 2', ['o-3']],
	['  where c.n > 2', 'SELECT * FROM c   where c.n > 2', ['o-3']],
	['ORDER BY c.n DESC', 'SELECT * FROM c ORDER BY c.n DESC', ['o-3', 'o-2', 'o-1']],
	['OFFSET 0 LIMIT 1', 'SELECT * FROM c OFFSET 0 LIMIT 1', ['o-1']],
	["JOIN t IN c.tags WHERE t = 'red'", "SELECT VALUE c FROM c JOIN t IN c.tags WHERE t = 'red'", ['o-2']],
	['SELECT * FROM o WHERE o.n = 1', 'SELECT * FROM o WHERE o.n = 1', ['o-1']],
	['paid', 'paid', ['o-1']],
	['O-3', 'O-3', ['o-3']],
	['"green tea"', 'green tea', ['o-3']],
	["O'Hara", "O'Hara", ['o-2']],
	['green tea', 'green tea', ['o-3']],
	['"c.status = 1"', 'c.status = 1', []],
	['salt and pepper', 'salt and pepper', ['o-1']],
	['red', 'red', ['o-2']],
	['Oslo', 'Oslo', ['o-1']],
	['where', 'where', []],
	['_rid', '_rid', []],
]

export const querypage = ({ page, kb, see, send, at, axe, shot, endpoint }) => {
	const button = name => page.getByRole('button', { name, exact: true })
	const filter = page.getByLabel('Filter: a')
	const editor = page.locator('.query .cm-content')
	const key = 'Control+Enter'
	const write = async text => {
		await editor.click()
		await page.keyboard.press('Control+a')
		await page.keyboard.insertText(text)
		await page.keyboard.press('Escape')
	}
	// asked is the query that a page sends by what is done.
	const asked = async what => {
		const sent = page.waitForRequest(
			r => r.url().endsWith('/docs') && r.method() === 'POST' && !r.postData().includes('TOP 50') && !r.postData().includes('COUNT(1)'),
		)
		await what()
		return JSON.parse((await sent).postData())
	}
	const is = (got, want, what) =>
		check(JSON.stringify(got) === JSON.stringify(want), `${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`)
	const problems = () => page.locator('.problems li').allInnerTexts()
	const marked = () => page.locator('.problems mark').allInnerTexts()
	return {
		async 'documents to ask for'() {
			await send('/dbs', { id: db })
			await send(`/dbs/${db}/colls`, { id: 'orders', partitionKey: { paths: ['/user'], kind: 'Hash' } })
			await send(`/_mayfly/dbs/${db}/colls/orders/import`, {
				documents: [
					{ id: 'o-1', user: 'ada', n: 1, status: 'paid', note: 'Salt and Pepper', to: { city: { name: 'Oslo' } } },
					{ id: 'o-2', user: 'ada', n: 2, status: 'open', gift: true, tags: ['red'], by: "O'Hara" },
					{ id: 'o-3', user: 'ada', n: 3, items: [{ what: 'Green Tea' }] },
				],
			})
		},
		async 'the filter takes conditions, words, ends of queries and whole queries'() {
			await at(place)
			await see('o-1', '[role=grid]')
			for (const [text, query, ids] of filters) {
				if (!text) continue
				await filter.fill(text)
				const sent = await asked(() => filter.press('Enter')).catch(e => check(false, `filter ${text}: ${e.message}`))
				const search = !/^SELECT/.test(query)
				if (search) check(sent.query.includes(`CONTAINS(p.v, ${JSON.stringify(query)}, true)`), `${text}: ${sent.query}`)
				else is(sent.query, query, `filter ${text}`)
				await page
					.waitForFunction(want => {
						const rows = [...document.querySelectorAll('[role=grid] [role=row][aria-rowindex]:not([aria-rowindex="1"])')]
						return rows.map(r => /o-\d/.exec(r.textContent)[0]).join() === want
					}, ids.join(), { timeout: 5000 })
					.catch(async () => check(false, `filter ${text} finds ${await page.locator('[role=grid] [role=row]').allInnerTexts()}`))
				is(await problems(), [], `filter ${text}`)
			}
			await see('“_rid” in their id', '.list')
			await axe()
		},
		async 'what is wrong with a filter is told at its place in what was typed'() {
			await at(place)
			for (const [text, want, mark] of [
				['c.n = 1 AND x.y = 2', ['Error', 'line 1, column 13', 'SC2001', "Identifier 'x' could not be resolved."], ['x']],
				['status = 1', ['Error', 'line 1, column 1', 'SC2001', "Identifier 'status' could not be resolved."], ['status']],
				['WHERE foo(c.a) = 1', ['Error', 'line 1, column 7', 'SC2005', "'foo' is not a recognized built-in function name."], ['foo']],
				['WHERE c.a = "😀é" AND y.z', ['Error', 'line 1, column 22', 'SC2001', "Identifier 'y' could not be resolved."], ['y']],
				['SELECT FROM c', ['Error', 'line 1, column 8', 'SC1001', "Syntax error, incorrect syntax near 'FROM'."], ['FROM']],
			]) {
				await filter.fill(text)
				await filter.press('Enter')
				await see(want[3], '.problems')
				is((await problems()).map(x => x.split(/\n+/)), [want], text)
				is(await marked(), mark, text)
			}
			await page.locator('.problems a', { hasText: 'SC1001' }).waitFor()
			await axe()
			await shot('querypage-filter')
			await kb.push('line 1, column 8')
			is(
				await page.evaluate(() => [document.activeElement.selectionStart, document.activeElement.selectionEnd]),
				[7, 11],
				'the place in the field',
			)
		},
		async 'what is wrong with a query is a list, and marked in the editor'() {
			await at(`${place}/query`)
			await write('SELECT c.status, COUNT(1) AS n\nFROM c GROUP BY c.status\nORDER BY n DESC')
			await page.keyboard.press(key)
			await see('could not be resolved', '.problems')
			is(
				(await problems()).map(x => x.split(/\n+/).slice(0, 2)),
				[
					['Error', 'line 3, column 10'],
					['Error', 'line 3, column 10'],
				],
				'the list',
			)
			await page.locator('.cm-lintRange-error', { hasText: 'n' }).waitFor()
			is(await page.locator('.problems a').first().getAttribute('href'), '/_explorer/docs/compatibility/#names-and-select-lists', 'code')
			await axe()
			await shot('querypage-problems')
			await page.locator('.problems').getByRole('button').first().click()
			await page.keyboard.type('c.')
			await see('ORDER BY c. DESC', '.query')
			await write('SELECT * FROM c WHERE c.a = ')
			await page.keyboard.press('Shift+Enter')
			await see('unexpected end-of-file', '.problems')
			await write('SELECT 1')
			await page.keyboard.press(key)
			await page.locator('.problems').waitFor({ state: 'detached' })
			check(!(await page.locator('.cm-lintRange-error').count()), 'the mark stays')
		},
		async 'what is wrong with the parameters is told at its place'() {
			const field = page.getByLabel('Parameters, as JSON')
			for (const [text, want, mark] of [
				['[{"name":"@n","value":1,,}]', ['Error', 'line 1, column 25', 'Parameters: A name in double quotes is expected here.'], ','],
				['[{"name":"@n"', ['Error', 'line 1, column 14', 'Parameters: The text ends where , or } is expected.'], '\u00a0'],
				['{}', ['Error', "The 'parameters' of a query must be an array."], ''],
				['[{"name":"n"}]', ['Error', "Each parameter of a query needs a 'name' that begins with '@'."], ''],
			]) {
				await field.fill(text)
				await button('Run').click()
				await see(want[want.length - 1], '.problems')
				is((await problems()).map(x => x.split(/\n+/)), [want], text)
				is(await marked(), mark ? [mark] : [], text)
			}
			await axe()
		},
	}
}
