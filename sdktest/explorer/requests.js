// The log of requests: what programs sent is there as it comes, and leads to a fault, to a query and to curl.
import { check, wellKnown } from './world.js'

export const requests = ({ page, at, send, see, axe, shot, drawn, endpoint }) => {
	const rows = () => page.locator('.grid-body [role=row]')
	const row = text => rows().filter({ hasText: text }).first()
	const button = (name, within = page.locator('main')) => within.getByRole('button', { name, exact: true })
	const panel = () => page.locator('.request')
	const key = { 'x-ms-documentdb-partitionkey': '["a"]' }
	// statusOf sends a request whose failure is wanted.
	const statusOf = async (path, body) => {
		const answer = await fetch(new URL(path, endpoint), {
			method: body ? 'POST' : 'GET',
			headers: { authorization: 'Bearer ' + wellKnown, 'user-agent': 'a-program/1.0', ...key },
			body: body && JSON.stringify(body),
		})
		return answer.status
	}
	const docs = '/dbs/logged/colls/carts/docs'
	return {
		async 'what a program sent is in the log, its retries on one line'() {
			await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
			await send('/dbs', { id: 'logged' })
			await send('/dbs/logged/colls', { id: 'carts', partitionKey: { paths: ['/pk'], kind: 'Hash' } })
			await send('/_mayfly/faults', {
				fault: '429',
				operations: ['createItem'],
				database: 'logged',
				count: 2,
			})
			await send('/_mayfly/requests', undefined, 'DELETE')
			await at('#/requests')
			await see('No requests yet')
			for (const want of [429, 429, 201]) {
				const got = await statusOf(docs, { id: '1', pk: 'a', text: 'some text' })
				check(got === want, `status ${got}, not ${want}`)
			}
			await row('×3').waitFor()
			check((await rows().count()) === 1, 'the attempts are not on one line')
			check((await row('×3').textContent()).includes('create_item'), 'the operation is not told')
		},
		async 'a click shows what was sent and what came back, without the key'() {
			await row('×3').click()
			await see('some text', '.request')
			const text = await panel().textContent()
			check(text.includes('***') && !text.includes(wellKnown.slice(0, 20)), 'the key is shown')
			check(text.includes('a-program/1.0') && text.includes('x-ms-request-charge'), text)
			await button('1: 429/3200', panel()).click()
			await see('Request rate is large', '.request')
			await panel().getByRole('link', { name: /^f\d+$/ }).waitFor()
			await button('Copy as curl', panel()).click()
			const curl = await page.evaluate(() => navigator.clipboard.readText())
			check(curl.startsWith(`curl -X POST '${new URL(docs, endpoint)}'`) && curl.includes('"some text"'), curl)
			check(curl.includes('$MAYFLY_KEY') && !curl.includes('***'), curl)
		},
		async 'a request leads to a fault for its operation'() {
			await panel().getByRole('link', { name: 'Make a fault of this' }).click()
			await page.getByRole('heading', { name: 'Faults on demand', level: 1 }).waitFor()
			const fields = await page
				.locator('main input')
				.evaluateAll(all => all.map(i => i.value).filter(Boolean))
			for (const want of ['logged', 'carts']) check(fields.includes(want), `no ${want} among ${fields}`)
		},
		async 'a query leads to the query page, and to its plan'() {
			await at('#/requests')
			await fetch(new URL(docs, endpoint), {
				method: 'POST',
				headers: {
					authorization: 'Bearer ' + wellKnown,
					'content-type': 'application/query+json',
					'x-ms-documentdb-isquery': 'True',
					...key,
				},
				body: JSON.stringify({
					query: 'SELECT * FROM c WHERE c.id = @id',
					parameters: [{ name: '@id', value: '1' }],
				}),
			})
			await row('query_items').click()
			await button('Run it for its plan', panel()).click()
			await see('Filter', '.request')
			await panel().getByRole('link', { name: 'Run this query' }).click()
			await see('SELECT * FROM c WHERE c.id = @id', '.editor')
		},
		async 'new requests wait while somebody reads, and a filter chooses'() {
			await at('#/requests')
			for (let i = 0; i < 60; i++) await statusOf(`${docs}/absent-${i}`)
			await row('absent-59').waitFor()
			await page.locator('[role=grid]').hover()
			await page.mouse.wheel(0, 400)
			await page.waitForFunction(() => document.querySelector('[role=grid]').scrollTop > 0)
			await statusOf(`${docs}/later`)
			await page.getByRole('button', { name: '1 new' }).click()
			await row('later').waitFor()
			await page.getByLabel('Status').selectOption('2xx')
			await row('create_item').waitFor()
			check((await row('later').count()) === 0, 'the filter lets a 404 through')
			check(page.url().includes('status=2xx'), 'the URL does not keep the filter')
			await page.getByLabel('Status').selectOption('')
			await row('later').waitFor()
			await button('Pause').click()
			await see('Paused.')
			await statusOf(`${docs}/unseen`)
			await button('Follow').click()
			await row('unseen').waitFor()
		},
		async 'the archive is saved'() {
			const [file] = await Promise.all([page.waitForEvent('download'), button('Download HAR').click()])
			check(file.suggestedFilename() === 'requests.har', file.suggestedFilename())
		},
		async 'the page is readable wide and narrow, light and dark'() {
			for (const [width, height] of [
				[1280, 800],
				[400, 800],
			])
				for (const scheme of ['light', 'dark']) {
					await page.setViewportSize({ width, height })
					await page.emulateMedia({ colorScheme: scheme })
					await at('#/requests')
					await page.reload()
					await drawn()
					await row('unseen').waitFor()
					const wide = await page.evaluate(() => document.documentElement.scrollWidth)
					check(wide <= width, `it is ${wide} wide at ${width}`)
					await axe()
					await shot(`explorer-requests-${width}-${scheme}`)
					await row('unseen').click()
					await see('Came back', '.request')
					await axe()
					await shot(`explorer-request-${width}-${scheme}`)
				}
			await page.setViewportSize({ width: 1280, height: 800 })
			await page.emulateMedia({ colorScheme: 'light' })
		},
		async 'the log is read by keyboard, and cleared'() {
			await at('#/requests')
			await page.reload()
			await row('unseen').waitFor()
			await page.locator('[role=grid]').focus()
			await page.keyboard.press('Enter')
			await see('Came back', '.request')
			await button('Close', panel()).focus()
			await page.keyboard.press('Enter')
			check((await panel().count()) === 0, 'the panel is open')
			await button('Clear').click()
			await button('Clear', page.getByRole('dialog')).click()
			await see('No requests yet')
		},
	}
}
