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

export const querypage = ({ page, kb, see, told, send, at, axe, shot, answers }) => {
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
	// asked is the query that a page sends by what is done. The page may ask for all documents by itself at the same
	// time, since it follows changes.
	const asked = async what => {
		const sent = page.waitForRequest(
			r =>
				r.url().endsWith('/docs') &&
				r.method() === 'POST' &&
				!['TOP 50', 'COUNT(1)', '"SELECT * FROM c"'].some(own => r.postData().includes(own)),
		)
		await what()
		return JSON.parse((await sent).postData())
	}
	const is = (got, want, what) =>
		check(JSON.stringify(got) === JSON.stringify(want), `${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`)
	const heads = () => page.locator('.query [role=columnheader] .name').allInnerTexts()
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
		async 'columns have the order of the select list, and a row opens its document'() {
			await at(`${place}/query`)
			await page.getByLabel('Parameters, as JSON').fill('[]')
			await write('SELECT c.status, c.to.city.name AS town, c.absent, c.id, COUNT(1) AS many FROM c GROUP BY c.status, c.to.city.name, c.absent, c.id')
			await page.keyboard.press(key)
			await see('Oslo', '[role=grid]')
			is(await heads(), ['status', 'town', 'absent', 'id', 'many'], 'columns')
			await axe()
			await shot('querypage-results')
			await page.locator('[role=grid] [role=row]', { hasText: 'o-2' }).click()
			await see('o-2', '.doc h2')
			await see("O'Hara", '.doc .cm-content')
			await axe()
			await shot('querypage-document')
			await page.locator('.doc').getByRole('button', { name: 'Close' }).click()
			await write('SELECT * FROM c ORDER BY c.n')
			await page.keyboard.press(key)
			await see('Green Tea', '[role=grid]')
			is((await heads()).includes('_self'), false, 'system columns')
			await write('SELECT VALUE c.n FROM c')
			await page.keyboard.press(key)
			await page.waitForFunction(() => document.querySelectorAll('[role=grid] [role=gridcell]').length === 3)
			is(await heads(), ['value'], 'a column of values')
			await write('SELECT VALUE {z: c.nothing, "a b": c.n} FROM c')
			await page.keyboard.press(key)
			await see('a b', '[role=columnheader]')
			is(await heads(), ['z', 'a b'], 'members of an object')
		},
		async 'queries have tabs, which ask before a text is lost'() {
			const tab = name => page.locator('.query-tabs').getByRole('button', { name, exact: true })
			await at(`${place}/query`)
			await write('SELECT VALUE 1')
			await page.keyboard.press(key)
			await page.keyboard.press('Control+j')
			await tab('Query 2').waitFor()
			await page.locator('.query .cm-content', { hasText: 'SELECT * FROM c' }).waitFor()
			check(!(await page.locator('.query [role=grid]').count()), 'a new tab has rows')
			await write('SELECT VALUE 2')
			await page.keyboard.press('Shift+Enter')
			await page.locator('[role=grid] [role=gridcell]', { hasText: '2' }).waitFor()
			await page.locator('.query-tabs li').first().getByRole('button').first().click()
			await page.locator('.query .cm-content', { hasText: 'VALUE 1' }).waitFor()
			await page.locator('[role=grid] [role=gridcell]', { hasText: '1' }).waitFor() // its rows are still there
			await page.reload()
			await page.locator('.query .cm-content', { hasText: 'VALUE 1' }).waitFor()
			answers.push('dismiss')
			await button('Close Query 2').click()
			check(!answers.length, 'a text is lost without a question')
			await page.locator('.query-tabs li').nth(1).getByRole('button').first().click()
			await page.locator('.query .cm-content', { hasText: 'VALUE 2' }).waitFor()
			answers.push('accept')
			await button('Close Query 2').click()
			await page.locator('.query .cm-content', { hasText: 'VALUE 1' }).waitFor()
			check((await page.locator('.query-tabs li').count()) === 2, 'the tab is still there')
			await axe()
		},
		async 'what was run is in the history'() {
			await at(`${place}/query`)
			await button('History').click()
			const items = page.locator('dialog[open] .query-open')
			await items.first().waitFor()
			const texts = await items.allInnerTexts()
			check(texts.some(t => /^SELECT VALUE 2\s+20\d\d-.*, 1 row, [\d.]+ RU$/.test(t)), `the history: ${texts}`)
			check(!texts.some(t => t.includes('c.a = ')), 'a query that was refused is in the history')
			await axe()
			await shot('querypage-history')
			await items.filter({ hasText: 'SELECT VALUE 2' }).click()
			await page.locator('.query .cm-content', { hasText: 'VALUE 2' }).waitFor()
		},
		async 'queries are saved with the container, renamed, opened and deleted'() {
			const list = async () => (await send(`/_mayfly/dbs/${db}/colls/orders/queries`, undefined, 'GET')).queries
			await at(`${place}/query`)
			await page.keyboard.press('Control+j')
			await write('SELECT * FROM c WHERE c.n = @n')
			await page.getByLabel('Parameters, as JSON').fill('[{"name":"@n","value":9007199254740993}]')
			await page.keyboard.press('Control+s')
			const dialog = page.locator('dialog[open]')
			await dialog.getByLabel('Name').fill('by n')
			await axe()
			await shot('querypage-save')
			await page.keyboard.press('Enter')
			await told('Saved.')
			is(
				await list(),
				[{ name: 'by n', query: 'SELECT * FROM c WHERE c.n = @n', parameters: [{ name: '@n', value: 9007199254740993 }] }],
				'saved',
			)
			await write('SELECT * FROM c WHERE c.n < @n')
			await page.locator('.query-tabs .dirty').first().waitFor()
			await page.keyboard.press('Control+s')
			await told('Saved.')
			is((await list())[0].query, 'SELECT * FROM c WHERE c.n < @n', 'saved again')
			await button('Saved queries').click()
			await dialog.getByRole('button', { name: 'Rename by n' }).click()
			await dialog.getByLabel('New name of by n').fill('less than n')
			await page.keyboard.press('Enter')
			await page.locator('.query-tabs').getByRole('button', { name: 'less than n', exact: true }).waitFor()
			await button('Close less than n').click() // nothing is lost: no question
			await button('Saved queries').click()
			await axe()
			await shot('querypage-saved')
			await dialog.locator('.query-open', { hasText: 'less than n' }).click()
			await page.locator('.query .cm-content', { hasText: 'c.n < @n' }).waitFor()
			is(await page.getByLabel('Parameters, as JSON').inputValue(), '[{"name":"@n","value":9007199254740993}]', 'parameters')
			await button('Saved queries').click()
			await dialog.getByRole('button', { name: 'Delete less than n' }).click()
			await dialog.getByRole('button', { name: 'Delete it? less than n' }).click()
			await see('No saved query yet', 'dialog[open]')
			is(await list(), [], 'deleted')
			await page.keyboard.press('Escape')
		},
		async 'a query is a file'() {
			const item = async name => {
				await page.locator('.query-tabs').getByRole('button', { name: /^File/ }).click()
				await page.getByRole('menuitem', { name }).click()
			}
			await at(`${place}/query`)
			await write('SELECT VALUE 3 -- é')
			const download = page.waitForEvent('download')
			await item('Download')
			const file = await download
			check(file.suggestedFilename().endsWith('.sql'), file.suggestedFilename())
			const chosen = page.waitForEvent('filechooser')
			await item('Open a .sql file')
			await (await chosen).setFiles({ name: 'a.sql', mimeType: 'text/plain', buffer: Buffer.from('SELECT VALUE 4') })
			await page.locator('.query .cm-content', { hasText: 'SELECT VALUE 4' }).waitFor()
			await axe()
		},
		async 'the plan tells shares of time, and its advice is applied'() {
			await send(`/dbs/${db}/colls`, {
				id: 'bare',
				partitionKey: { paths: ['/pk'], kind: 'Hash' },
				indexingPolicy: { includedPaths: [{ path: '/n/?' }], excludedPaths: [{ path: '/*' }] },
			})
			const documents = Array.from({ length: 40 }, (_, n) => ({ id: `b-${n}`, pk: 'a', n, s: `s-${n % 4}` }))
			await send(`/_mayfly/dbs/${db}/colls/bare/import`, { documents: [...documents, { id: 'none', pk: 'a' }] })
			await at(`#/db/${db}/bare/query?show=plan&query=` + encodeURIComponent("SELECT * FROM c WHERE c.s = 's-1'"))
			await see('An index would help: /s/?', '.plan')
			const facts = await page.locator('.plan .facts').allInnerTexts()
			check(facts.some(f => /^10 rows · [\d.]+ ms · (under )?\d+ % of the time · \d+ bytes$/.test(f)), facts.join(' | '))
			check(!/[µn]s\b/.test(facts.join()), `two notations of time: ${facts}`)
			is(await page.locator('.plan').getByText('/s/?').count(), 1, 'times that the advice stands there')
			await axe()
			await shot('querypage-plan')
			await button('Apply…').click()
			await see('40 entries to build, about', 'dialog[open]')
			await see('each later write of an entry costs 0.05 RU more', 'dialog[open]')
			await axe()
			await shot('querypage-apply')
			await button('Update indexing policy').click()
			await told('All documents are indexed by the new policy.')
			await see('index /s/?', '.plan .good')
			const policy = (await send(`/dbs/${db}/colls/bare`, undefined, 'GET')).indexingPolicy
			is(policy.includedPaths.map(x => x.path).sort(), ['/n/?', '/s/?'], 'included paths')
			check(!(await page.locator('.advice').count()), 'the advice is still there')
		},
		async 'queries are readable at 400 pixels and in the dark'() {
			for (const [width, scheme] of [
				[1280, 'dark'],
				[400, 'light'],
				[400, 'dark'],
			]) {
				await page.setViewportSize({ width, height: 800 })
				await page.emulateMedia({ colorScheme: scheme })
				for (const [name, to, text] of [
					['plan', `#/db/${db}/bare/query?show=plan&query=` + encodeURIComponent("SELECT * FROM c WHERE c.x = 's-1'"), 'would help'],
					['wrong', `${place}/query?query=` + encodeURIComponent('SELECT x.a, y.b FROM c'), 'SC2001'],
					['rows', `${place}/query?query=` + encodeURIComponent('SELECT * FROM c'), 'o-1'],
					['filter', `${place}?filter=` + encodeURIComponent('WHERE x.a = 1'), 'SC2001'],
				]) {
					await page.goto('about:blank')
					await at(to)
					await see(text)
					await axe()
					const wide = await page.evaluate(() => document.documentElement.scrollWidth)
					check(wide <= width, `${name} is ${wide} wide at ${width}`)
					await shot(`querypage-${name}-${width}-${scheme}`)
				}
			}
			await page.setViewportSize({ width: 1280, height: 800 })
			await page.emulateMedia({ colorScheme: 'light' })
		},
	}
}
