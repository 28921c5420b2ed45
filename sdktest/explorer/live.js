// Lists follow what an application writes: without a click, and without moving what is being read.
import { check } from './world.js'

const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 }

export const live = ({ page, send, at, see, axe, shot }) => {
	const rows = () => page.locator('.grid-body [role=row]')
	const fresh = n => page.locator('main .fresh', { hasText: new RegExp(`^${n} new$`) })
	const write = (id, more = {}) =>
		send('/dbs/followed/colls/c/docs', { id, pk: 'a', ...more }, 'POST', {
			headers: { 'x-ms-documentdb-partitionkey': '["a"]', 'x-ms-documentdb-is-upsert': 'True' },
		})
	const drop = id =>
		send(`/dbs/followed/colls/c/docs/${id}`, undefined, 'DELETE', {
			headers: { 'x-ms-documentdb-partitionkey': '["a"]' },
		})
	const grid = () => page.locator('.grid')
	const top = () => grid().evaluate(el => el.scrollTop)
	// first waits until rows are drawn at the place that has been scrolled to.
	const first = async () =>
		(
			await page.waitForFunction(() => {
				const head = document.querySelector('.grid-head').getBoundingClientRect().bottom
				return [...document.querySelectorAll('.grid-body [role=row]')].find(
					r => r.getBoundingClientRect().bottom > head,
				)?.textContent
			})
		).jsonValue()
	return {
		async 'databases, containers and queues that a program creates are in the tree'() {
			await at('')
			await see('Overview', 'h1')
			await send('/dbs', { id: 'followed' })
			await send('/dbs/followed/colls', { id: 'c', partitionKey })
			await send('/_mayfly/entities', { path: 'live-queue' })
			await page.locator('nav.tree a', { hasText: /^c$/ }).first().waitFor({ timeout: 10_000 })
			await page.locator('nav.tree', { hasText: 'live-queue' }).waitFor({ timeout: 10_000 })
		},
		async 'documents that a program writes, changes and deletes are seen'() {
			await at('#/db/followed/c')
			await see('No document', '.grid-empty')
			await write('one', { n: 1 })
			await rows().filter({ hasText: 'one' }).waitFor({ timeout: 10_000 })
			await write('one', { n: 2 })
			await rows().filter({ hasText: '"n":2' }).waitFor({ timeout: 10_000 })
			await write('two')
			await see('2 rows', '.foot')
			await drop('one')
			await see('1 row', '.foot')
			check((await rows().count()) === 1, 'a deleted document is shown')
		},
		async 'where the reader has scrolled rows stay, and what is new is counted'() {
			for (let i = 0; i < 3; i++)
				await send('/_mayfly/dbs/followed/colls/c/import', {
					documents: Array.from({ length: 60 }, (_, n) => ({
						id: `doc-${String(i * 60 + n).padStart(3, '0')}`,
						pk: 'a',
					})),
				})
			await see('181 rows', '.foot')
			await grid().evaluate(el => (el.scrollTop = 1600))
			const before = [await top(), await first()]
			await write('three')
			await write('four')
			await fresh(2).waitFor({ timeout: 10_000 })
			await axe()
			await shot('live-documents')
			const shown = /doc-\d+/.exec(await first())[0]
			await write(shown, { changed: 'by a program' })
			await rows().filter({ hasText: 'by a program' }).waitFor({ timeout: 10_000 })
			check((await top()) === before[0], 'the grid has scrolled')
			check((await first()).startsWith(shown) && before[1].startsWith(shown), 'rows have moved')
			await fresh(2).click()
			await rows().filter({ hasText: 'four' }).waitFor()
			await fresh(2).waitFor({ state: 'detached' })
		},
		async 'of more documents than are loaded the newest ones are shown'() {
			for (let i = 0; i < 10; i++)
				await send('/_mayfly/dbs/followed/colls/c/import', {
					documents: Array.from({ length: 100 }, (_, n) => ({
						id: `more-${i * 100 + n}`,
						pk: 'a',
						_ts: 1_600_000_000,
					})),
				})
			await at('#/db/followed')
			await at('#/db/followed/c')
			await see('550 of 1,183 rows loaded', '.foot')
			await write('newest')
			await see('of 1,184 rows loaded', '.foot')
			// Under load some of the imported documents may be counted as well.
			await page.locator('main .fresh', { hasText: / new$/ }).click()
			await page.waitForFunction(() => location.hash.includes('sort=-written'))
			await rows().filter({ hasText: 'newest' }).waitFor()
			await write('newer')
			await rows().filter({ hasText: 'newer' }).waitFor({ timeout: 10_000 })
		},
		async 'an open document follows, unless somebody has typed'() {
			await at('#/db/followed/c/documents/two/%22a%22')
			await page.locator('.cm-content', { hasText: '"two"' }).waitFor()
			await write('two', { state: 'written beside' })
			await page.locator('.cm-content', { hasText: 'written beside' }).waitFor({ timeout: 10_000 })
			await page.locator('.cm-content').click()
			await page.keyboard.press('Control+Home')
			await page.keyboard.press('ArrowRight')
			await page.keyboard.insertText('"typed": 1,')
			await write('two', { state: 'once more' })
			await rows().filter({ hasText: 'once more' }).waitFor({ timeout: 10_000 })
			await page.locator('.cm-content', { hasText: '"typed": 1' }).waitFor()
			await page.locator('.doc').getByRole('button', { name: 'Revert' }).click()
		},
		async 'messages are seen as they come and go, and the counters of the tree with them'() {
			await at('#/queue/live-queue')
			await see('No message', '.grid-empty')
			await send('/_mayfly/entities/live-queue/send', { text: 'hello', repeat: 2 })
			await rows().filter({ hasText: 'hello' }).nth(1).waitFor({ timeout: 10_000 })
			await page.locator('nav.tree a', { hasText: 'live-queue' }).filter({ hasText: '2' }).waitFor({ timeout: 10_000 })
			await send('/_mayfly/entities/live-queue/receive', { count: 1 })
			await rows().nth(1).waitFor({ state: 'detached', timeout: 10_000 })
			await page.locator('nav.tree a', { hasText: 'live-queue' }).filter({ hasText: '1' }).waitFor({ timeout: 10_000 })
		},
		async 'nothing is asked for while nothing changes'() {
			await at('#/db/followed/c')
			await rows().first().waitFor()
			await page.waitForTimeout(1500)
			const asked = []
			const watch = r => asked.push(`${r.method()} ${new URL(r.url()).pathname}`)
			page.on('request', watch)
			await page.waitForTimeout(4500)
			page.off('request', watch)
			const others = asked.filter(a => !a.endsWith('/clock'))
			check(!others.length, `asked for ${others.join(', ')}`)
		},
	}
}
