// The forms: what each makes is what the server has then.
import { check } from './world.js'

export const forms = ({ page, kb, see, told, held, send, at, axe, answers }) => {
	const button = name => page.getByRole('button', { name, exact: true })
	const panel = title =>
		page.locator('.panel', { has: page.getByRole('heading', { name: title, exact: true }) })
	const line = name => page.getByRole('group', { name, exact: true })
	const saved = async word => {
		await button(word).click()
		await told('Saved.')
		await page.locator('.notes p').first().waitFor({ state: 'detached' })
	}
	const get = path => send(path, undefined, 'GET')
	const is = (got, want, what) =>
		check(JSON.stringify(got) === JSON.stringify(want), `${what}: ${JSON.stringify(got)}`)
	return {
		async 'a container is made with all its policies'() {
			await send('/dbs', { id: 'forms' })
			await at('#/db/forms')
			await button('New container').click()
			const dialog = page.locator('dialog[open]')
			await dialog.getByLabel('Id').fill('all')
			await dialog.getByLabel('Partition key').fill('/tenant, /user')
			await dialog.getByLabel('Unique keys').fill('/email')
			await dialog.getByLabel('Throughput').selectOption('auto')
			await dialog.getByLabel('Maximum RU/s').fill('4000')
			await dialog.getByText('Vectors, full text, computed properties').click()
			await dialog.getByRole('button', { name: 'Add vector' }).click()
			await line('vector 1').getByLabel('Path').fill('/v')
			await dialog.getByRole('button', { name: 'Add text' }).click()
			await line('text 1').getByLabel('Path').fill('/body')
			await axe()
			await dialog.getByRole('button', { name: 'Create' }).click()
			await see('all', 'h1')
			const made = await get('/dbs/forms/colls/all')
			is(made.partitionKey.paths, ['/tenant', '/user'], 'partition key')
			is(made.uniqueKeyPolicy.uniqueKeys[0].paths, ['/email'], 'unique keys')
			is(made.vectorEmbeddingPolicy.vectorEmbeddings[0].dimensions, 3, 'vectors')
			is(made.indexingPolicy.vectorIndexes[0].type, 'flat', 'vector indexes')
			is(made.fullTextPolicy.fullTextPaths[0].path, '/body', 'full text')
			const offer = (await get('/offers')).Offers.find(o => o.offerResourceId === made._rid)
			is(offer.content.offerAutopilotSettings.maxThroughput, 4000, 'throughput')
		},
		async 'its policies, indexes and throughput are changed'() {
			await at('#/db/forms/all/settings')
			const policies = panel('Vectors, full text, computed properties')
			await policies.getByRole('button', { name: 'Add property' }).click()
			await line('property 1').getByLabel('Name').fill('')
			await see('must not be empty', '.bad-text')
			check(await button('Save policies').isDisabled(), 'a form with a mistake is sent')
			await line('property 1').getByLabel('Name').fill('lower')
			await axe()
			await saved('Save policies')
			await panel('Indexing').getByLabel('Composite indexes').fill('/a ASC, /b DESC')
			await button('Add spatial index').click()
			await line('spatial index 1').getByLabel('Path').fill('/at/*')
			await saved('Save indexing')
			await panel('Throughput').getByLabel('Autoscale maximum').fill('5000')
			await saved('Save throughput')
			const now = await get('/dbs/forms/colls/all')
			is(now.computedProperties[0].name, 'lower', 'computed properties')
			is(now.indexingPolicy.compositeIndexes[0][1].order, 'descending', 'composite indexes')
			is(now.indexingPolicy.spatialIndexes[0].types.length, 4, 'spatial indexes')
			is(now.indexingPolicy.vectorIndexes.length, 1, 'vector indexes stay')
		},
		async 'shapes on a plane have a box'() {
			await send('/dbs/forms/colls', { id: 'plane', partitionKey: { paths: ['/id'], kind: 'Hash' } })
			await at('#/db/forms/plane/settings')
			await panel('Indexing').getByLabel('Coordinates').selectOption('Geometry')
			await button('Add spatial index').click()
			await line('spatial index 1').getByLabel('xmin').fill('')
			await see('a number', '.bad-text')
			await line('spatial index 1').getByLabel('xmin').fill('-10')
			await line('spatial index 1').getByLabel('ymax').fill('20.5')
			await axe()
			await saved('Save indexing')
			const now = await get('/dbs/forms/colls/plane')
			is(now.geospatialConfig, { type: 'Geometry' }, 'coordinates')
			is(
				now.indexingPolicy.spatialIndexes.map(x => [x.path, x.boundingBox]),
				[['/location/*', { xmin: -10, ymin: 0, xmax: 100, ymax: 20.5 }]],
				'spatial indexes',
			)
		},
		async 'a document is saved as it is, and what is unsaved is not left by the way'() {
			const docs = '/dbs/forms/colls/plane/docs',
				key = { 'x-ms-documentdb-partitionkey': '["exact"]' }
			const text = '{"id":"exact","n":9007199254740993,"m":[1.5,-0.25,{}],"s":"a, {b}"}'
			await send(docs, text, 'POST', { headers: key, raw: true })
			await at('#/db/forms/plane')
			await see('"n":9007199254740993', 'main')
			await at('#/db/forms/plane/documents/exact/%22exact%22')
			await see('9007199254740993', '.doc')
			await kb.fill('The document as JSON', text + ' ') // what is not changed is not saved
			await button('Save').click()
			await told('Saved for')
			const raw = await send(docs + '/exact', undefined, 'GET', { headers: key, raw: true })
			check(raw.startsWith(text.slice(0, -1)), `saved as ${raw}`)
			const editor = page.locator('.doc .cm-content')
			await editor.click()
			await page.keyboard.press('Control+Home')
			await page.keyboard.press('ArrowRight')
			await page.keyboard.type(' ')
			answers.push('dismiss', 'accept', 'accept')
			await page.evaluate(() => (location.hash = '#/time'))
			await page.waitForFunction(() => location.hash.startsWith('#/db/forms/plane'))
			await see('exact', '.doc')
			await page.evaluate(() => (location.hash = '#/time'))
			await see('Time', 'h1')
			check(answers.length === 1, `${answers.length} questions were not asked`)
			await at('#/db/forms/plane/settings')
			await panel('Purges: delay and limit').getByLabel('Delay of each purge').fill('7')
			await panel('Expiry events').getByLabel('Keep a log').check()
			await saved('Save expiry events')
			const kept = await panel('Purges: delay and limit').getByLabel('Delay of each purge').inputValue()
			check(kept === '7', 'what is typed into a form is gone when another one is saved')
			await page.evaluate(() => (location.hash = '#/time'))
			await see('Time', 'h1')
			check(!answers.length, 'a form is left without a word')
		},
		async 'what happens on expiry is chosen, webhooks too'() {
			await at('#/db/forms/all/settings')
			await panel('Expiry events').getByLabel('Keep a log').check()
			await panel('Expiry events').getByLabel('Retention').fill('3600')
			await button('Add webhook').click()
			await line('webhook 1').getByLabel('URL').fill('https://example.com/told')
			await line('webhook 1').getByLabel('Secret').fill('hush')
			await axe()
			await saved('Save expiry events')
			await panel('Purges: delay and limit').getByLabel('Delay of each purge').fill('30')
			await saved('Save purges')
			await panel('On expiry and on change').getByLabel('Auto-delete on idle').fill('86400')
			await saved('Save on expiry')
			const own = await get('/_mayfly/dbs/forms/colls/all/settings')
			is(own.expiryEvents.retention, 3600, 'retention')
			is(own.expiryEvents.webhooks[0].url, 'https://example.com/told', 'webhooks')
			is(own.autoDeleteOnIdle, 86400, 'idle')
			is((await get('/_mayfly/dbs/forms/colls/all/reaper')).delay.seconds, 30, 'delay')
		},
		async 'a subscription has rules, of SQL and of properties, with actions'() {
			await send('/_mayfly/entities', { path: 'news', topic: true })
			await send('/_mayfly/entities', { path: 'news/subscriptions/all' })
			await at('#/queue/news%2Fsubscriptions%2Fall/rules')
			await see('$Default', 'table')
			const name = page.getByRole('textbox', { name: 'Name', exact: true })
			await name.fill('dear')
			await page.getByLabel('Condition').fill('price >')
			await button('Add rule').click()
			await told('A value is expected')
			await page.getByLabel('Condition').fill('price > 10')
			await page.getByLabel('Action').fill('SET seen = TRUE')
			await saved('Add rule')
			await name.fill('mine')
			await page.getByLabel('Filter', { exact: true }).selectOption('correlation')
			await button('Add condition').click()
			await line('condition 1').getByLabel('Value').fill('new')
			await button('Add condition').click()
			await line('condition 2').getByLabel('Property of').selectOption('properties')
			await line('condition 2').getByLabel('Property', { exact: true }).fill('n')
			await line('condition 2').getByLabel('Value').fill('5')
			await axe()
			await saved('Add rule')
			await see('subject = "new" AND n = 5', 'table')
			await page.getByRole('row', { name: '$Default' }).getByRole('button').click()
			await page.locator('dialog[open]').getByRole('button', { name: 'Delete' }).click()
			await page.getByRole('row', { name: '$Default' }).waitFor({ state: 'detached' })
			const { rules } = await get('/_mayfly/entities/news%2Fsubscriptions%2Fall/rules')
			is(
				rules.map(r => r.kind),
				['sql', 'correlation'],
				'rules',
			)
		},
		async 'one dead letter of several is sent again'() {
			await send('/_mayfly/entities', { path: 'mail', deadLetterOnExpiration: true })
			for (const text of ['first', 'second', 'third'])
				await send('/_mayfly/entities/mail/send', { text, ttl: 5 })
			await send('/_mayfly/clock', { advance: '10s' }, 'PUT')
			await send('/_mayfly/reaper/run')
			await at('#/queue/mail/dead')
			await page.locator('.grid-body [role=row]', { hasText: 'second' }).click()
			await button('Resubmit').click()
			await told('1 message sent again')
			await see('third', '.grid')
			await page.locator('.grid-body', { hasText: 'second' }).waitFor({ state: 'detached' })
			await at('#/queue/mail')
			await see('second', '.grid')
		},
		async 'the settings of a queue are changed'() {
			await send('/_mayfly/entities', { path: 'post', defaultTimeToLive: 'PT1H' })
			await at('#/queue/post/settings')
			await page.getByLabel('Time to live').fill('an hour')
			await see('a duration such as', '.tab')
			is(await button('Save settings').isDisabled(), true, 'blocked')
			await page.getByLabel('Time to live').fill('')
			await page.getByLabel('Lock duration').fill('PT30S')
			await page.getByLabel('Max delivery count').fill('3')
			await page.getByLabel('Dead-letter expired messages').check()
			await page.getByLabel('Status').selectOption('SendDisabled')
			await axe()
			await saved('Save settings')
			const now = await get('/_mayfly/entities/post')
			is(
				[
					now.status,
					now.lockDuration,
					now.maxDeliveryCount,
					now.deadLetterOnExpiration,
					now.defaultTimeToLive,
				],
				['SendDisabled', 'PT30S', 3, true, undefined],
				'settings',
			)
			await page.getByLabel('Lock duration').fill('PT1H')
			await button('Save settings').click()
			await told('LockDuration')
			answers.push('accept') // it is left as it is
		},
		async 'sessions are seen with their messages'() {
			await send('/_mayfly/entities', { path: 'talks', requiresSession: true })
			for (const [session, text] of [
				['ada', 'hello'],
				['bob', 'good day'],
				['ada', 'how are you'],
			])
				await send('/_mayfly/entities/talks/send', { session, text })
			await at('#/queue/talks/sessions')
			await page.locator('.grid-body [role=row]', { hasText: 'ada' }).click()
			await see('how are you', '.tab')
			await page.reload()
			await see('how are you', '.tab')
		},
		async 'a fault is made, hits and is ended'() {
			await at('#/faults')
			await page.getByLabel('Fault').selectOption('503')
			await page.locator('summary', { hasText: 'Operations' }).click()
			await page.getByRole('group', { name: 'Operations' }).getByLabel('createItem').check()
			await page.getByLabel('Database').fill('forms')
			await axe()
			await button('Add fault').click()
			await told('is added')
			await see('createItem, in forms', 'table')
			await page.getByRole('button', { name: /^Delete f/ }).click()
			await see('No fault', 'main')
		},
		async 'a database is forked out of a snapshot, and has a clock of its own'() {
			await send('/_mayfly/snapshots', { name: 'kept' })
			await at('#/time')
			const row = page.getByRole('row', { name: /^kept/ })
			await row.getByRole('button', { name: 'Fork' }).click()
			const dialog = page.locator('dialog[open]')
			await dialog.getByLabel('Database').selectOption('forms')
			await dialog.getByLabel('Id of the copy').fill('forms-2')
			await axe()
			await dialog.getByRole('button', { name: 'Fork' }).click()
			await told('forms-2 is forms')
			await row.getByRole('button', { name: 'Restore' }).click()
			await dialog.getByLabel('What').selectOption('forms')
			await dialog.getByRole('button', { name: 'Restore' }).click()
			await told('forms is as it was')
			await at('#/db/forms-2')
			await see('all', 'table')
			await page.getByRole('button', { name: '+1d' }).click()
			await see('database', '.stats')
			await button('Follow the server').click()
			await see('server', '.stats')
		},
		async 'what is typed as soon as a field is there stays in it'() {
			await at('#/db/shop/carts/settings')
			await see('Save time to live')
			const kept = await page.evaluate(async () => {
				const field = await new Promise(then => {
					new MutationObserver((_, watch) => {
						const field = document.querySelector('[aria-label^="Filter: a"]')
						if (!field) return
						watch.disconnect()
						field.value = 'WHERE c.n < 3'
						field.dispatchEvent(new InputEvent('input', { bubbles: true }))
						then(field)
					}).observe(document, { childList: true, subtree: true })
					location.hash = '#/db/shop/carts'
				})
				await new Promise(then => setTimeout(then, 500))
				return field.value
			})
			is(kept, 'WHERE c.n < 3', 'the filter')
		},
		async 'an editor is there when it has its text'() {
			await send('/dbs/forms/colls/plane/docs', { id: 'late' }, 'POST', {
				headers: { 'x-ms-documentdb-partitionkey': '["late"]' },
			})
			await at('#/db/forms')
			await held('/docs/late', async () => {
				await at('#/db/forms/plane/documents/late/%22late%22')
				await see('late', '.doc h2')
				await page.locator('.doc [aria-busy=true]').waitFor()
				check(!(await page.locator('.doc .cm-content').count()), 'what is typed would be overwritten')
			})
			await see('"late"', '.doc .cm-content')
		},
		async 'completion waits for names that are not there yet'() {
			await at('#/db/forms')
			await held('/colls/plane/docs', async () => {
				await at('#/db/forms/plane/query?query=SELECT+c.') // which is not typed: that would ask, too
				await page.locator('.cm-content').click()
				await page.keyboard.press('Control+End')
				await page.keyboard.press('Control+Space')
				await page.waitForTimeout(300) // the editor looks for names a little after the keys
			})
			await page.locator('.cm-tooltip-autocomplete', { hasText: '_ts' }).waitFor()
		},
		async 'what the reaper does after a move of the clock is seen'() {
			await send('/_mayfly/entities', { path: 'slow', deadLetterOnExpiration: true })
			await send('/_mayfly/entities/slow/send', { text: 'x', ttl: 5 })
			await at('#/queue/slow/dead')
			await see('No dead letter', '.tab')
			await send('/_mayfly/reaper', { paused: true }, 'PUT')
			await held('settle=true', async () => {
				await kb.goTo('Advance the clock by 1m')
				await told('The clock went on')
				await send('/_mayfly/reaper', { paused: false }, 'PUT')
				await send('/_mayfly/reaper/run')
			})
			await see('TTLExpired', '.tab .grid')
		},
		async 'completion knows aliases, functions of the container and names that are no words'() {
			await send('/dbs/forms/colls', { id: 'words', partitionKey: { paths: ['/pk'], kind: 'Hash' } })
			await send('/dbs/forms/colls/words/udfs', {
				id: 'twice',
				body: 'function twice(n) { return 2 * n }',
			})
			await send('/_mayfly/dbs/forms/colls/words/import', {
				documents: [{ id: '1', pk: 'a', 'two words': 1, tags: [{ colour: 'red' }] }],
			})
			const offered = async (text, want) => {
				await at('#/db/forms/words/query')
				await page.locator('.cm-content').click()
				await page.keyboard.press('Control+a')
				await page.keyboard.insertText(text)
				await page.keyboard.press('Control+Space')
				await page.locator('.cm-tooltip-autocomplete', { hasText: want }).waitFor()
			}
			await offered('SELECT * FROM c JOIN t IN c.tags WHERE t.', 'colour')
			await offered('SELECT udf.', 'twice')
			await offered('SELECT c.two', 'two words')
			await page.waitForTimeout(200) // keys that come at once are not meant for the list
			await page.keyboard.press('Enter')
			await page.locator('.cm-content', { hasText: 'c["two words"]' }).waitFor()
		},
	}
}
