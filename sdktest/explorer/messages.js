// Queues, topics and subscriptions: looking at messages, sending, receiving in peek-lock, dead letters, sessions, and
// lists that follow what an application does.
import { readFileSync } from 'node:fs'
import { check } from './world.js'

const wait = ms => new Promise(then => setTimeout(then, ms))

function pickings(w) {
	const { page, send } = w
	const grid = (label = 'Messages') => page.getByRole('grid', { name: label, exact: true })
	const dialog = () => page.locator('dialog[open]')
	const self = {
		grid,
		dialog,
		rows: label => grid(label).locator('.grid-body [role=row]'),
		row: (text, label) => self.rows(label).filter({ hasText: text }).first(),
		mark: (text, label) => self.row(text, label).locator('.c-mark').click(),
		button: (name, within = page.locator('main')) =>
			within.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name }),
		field: name => dialog().getByLabel(name, { exact: true }),
		ok: name => dialog().getByRole('button', { name, exact: true }).click(),
		gone: () => dialog().waitFor({ state: 'detached' }),
		menu: async (word, item) => {
			await self.button(word).click()
			await page.getByRole('menuitem', { name: item }).click()
		},
		peek: async (path, of = {}) =>
			(await send(`/_mayfly/entities/${encodeURIComponent(path)}/peek`, of)).messages,
		ids: async (path, of) => (await self.peek(path, of)).map(m => m.id).join(' '),
		same(got, want, what) {
			const [a, b] = [got, want].map(v => JSON.stringify(v))
			check(a === b, `${what}: ${a}, not ${b}`)
		},
		detail: () => page.locator('.split > .message'),
		// inSight checks that an element is within the window, whole.
		async inSight(locator, what) {
			const box = await locator.boundingBox(),
				{ width, height } = page.viewportSize()
			check(
				box && box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + Math.min(box.height, 40) <= height,
				`${what} is at ${JSON.stringify(box)} of ${width} x ${height}`,
			)
		},
	}
	return self
}

const looking = (w, { row, rows, grid, detail, same, inSight, button }) => ({
	async 'a message is open beside the list, in sight, and arrows move'() {
		const { page, send, at, see, axe, shot } = w
		await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
		await send('/_mayfly/entities', { path: 'look' })
		await send('/_mayfly/entities/look/send', {
			id: 'm-{i}',
			text: '{"order":{i},"note":"' + 'a longer text '.repeat(12) + '"}',
			contentType: 'application/json',
			properties: { price: 5, big: true },
			propertyTypes: { price: 'int' },
			repeat: 12,
		})
		await at('#/queue/look')
		await row('m-3').click()
		await see('"order": 3', '.message pre')
		await inSight(detail().locator('pre'), 'the body')
		await see('Number (int)', '.message')
		await see('12 rows', '.foot')
		await grid().focus()
		await page.keyboard.press('ArrowDown')
		await see('"order": 4', '.message pre')
		await axe()
		await shot('messages-split-1280')
		await page.reload()
		await see('"order": 4', '.message pre')
		await page.setViewportSize({ width: 400, height: 800 })
		await row('m-3').click()
		await see('"order": 3', '.message pre')
		await inSight(detail().locator('h2'), 'the message at 400 px')
		const wide = await page.evaluate(() => document.documentElement.scrollWidth)
		check(wide <= 400, `the page is ${wide} wide`)
		await axe()
		await shot('messages-split-400')
		await page.setViewportSize({ width: 1280, height: 800 })
	},
	async 'a body is shown by what it is, and copied'() {
		const { page, send, at, see } = w
		await send('/_mayfly/entities', { path: 'bodies' })
		for (const body of [{ text: 'plain words' }, { base64: '//4AQQ==' }, { text: '{"a":[1,2]}' }])
			await send('/_mayfly/entities/bodies/send', body)
		await at('#/queue/bodies?message=1')
		await see('plain words', '.message pre')
		await rows().nth(1).click()
		await see('ff fe 00 41', '.message pre')
		await rows().nth(2).click()
		await see('"a": [', '.message pre')
		await button('Text').click()
		await see('{"a":[1,2]}', '.message pre')
		await button('Copy body').click()
		await w.told('Body copied')
		same(await page.evaluate(() => navigator.clipboard.readText()), '{"a":[1,2]}', 'what was copied')
	},
})

const sending = (w, { button, field, ok, gone, peek, same, dialog, row }) => ({
	async 'a message is sent with all that it can have, and again after an edit'() {
		const { page, send, at, see, told, axe, shot } = w
		await send('/_mayfly/entities', { path: 'outbox' })
		await at('#/queue/outbox')
		await button('Send message').click()
		await field('Body').fill('{"n":')
		await see('This is no JSON', 'dialog')
		await field('Body').fill('{"n":{i}}')
		await field('Message id').fill('o-{i}')
		await field('Subject').fill('new')
		await field('Correlation id').fill('c1')
		await field('Time to live').fill('1h')
		await field('Repeat send').fill('3')
		await dialog().getByText('More broker properties').click()
		await field('To').fill('there')
		await field('Reply to').fill('back')
		await field('Partition key').fill('k')
		for (const [i, [name, type, value]] of [
			['price', 'double', '12.5'],
			['when', 'timestamp', '2030-01-01T00:00:00Z'],
			['who', 'uuid', '9e2a1d0c-0000-0000-0000-000000000001'],
			['vip', 'boolean', 'true'],
		].entries()) {
			await dialog().getByRole('button', { name: 'Add property' }).click()
			const line = page.getByRole('group', { name: `property ${i + 1}`, exact: true })
			await line.getByLabel('Name').fill(name)
			await line.getByLabel('Type').selectOption(type)
			await line.getByLabel('Value').fill(value)
		}
		await axe()
		await shot('messages-send')
		await ok('Send')
		await told('3 messages sent')
		await gone()
		const [one, , third] = await peek('outbox')
		same(
			[third.id, third.text, one.subject, one.correlationId, one.to, one.replyTo, one.partitionKey, one.life.ownTtl],
			['o-3', '{"n":3}', 'new', 'c1', 'there', 'back', 'k', 3600],
			'what was sent',
		)
		same(one.propertyTypes, { price: 'double', vip: 'boolean', when: 'timestamp', who: 'uuid' }, 'types')
		await row('o-1').click()
		await button('Send again').click()
		await field('Message id').fill('again')
		await field('Body').fill('{"n":100}')
		await field('Scheduled enqueue time').fill('10m')
		await ok('Send')
		await told('1 message sent')
		const again = (await peek('outbox')).find(m => m.id === 'again')
		same([again.state, again.text, again.propertyTypes.price], ['scheduled', '{"n":100}', 'double'], 'the copy')
	},
	async 'a topic tells which subscriptions accept a message'() {
		const { page, send, at, see, axe, shot } = w
		await send('/_mayfly/entities', { path: 'offers', topic: true })
		for (const name of ['all', 'dear']) await send('/_mayfly/entities', { path: `offers/subscriptions/${name}` })
		const rules = '/_mayfly/entities/offers%2Fsubscriptions%2Fdear/rules'
		await send(rules, { name: 'dear', sql: 'price > 10' })
		await send(rules + '/$Default', undefined, 'DELETE')
		await at('#/queue/offers')
		await page.getByLabel('Body', { exact: true }).fill('{}')
		await button('Send').click()
		await see('Accepted by: all', '.accepted')
		check(!(await page.locator('.accepted', { hasText: 'dear' }).count()), 'dear accepts what is cheap')
		await button('Add property').click()
		const line = page.getByRole('group', { name: 'property 1', exact: true })
		await line.getByLabel('Name').fill('price')
		await line.getByLabel('Type').selectOption('long')
		await line.getByLabel('Value').fill('11')
		await button('Send').click()
		await see('dear', '.accepted')
		await axe()
		await shot('messages-topic')
	},
})

const receiving = (w, { button, field, ok, gone, peek, ids, same, dialog, row, rows, mark, menu }) => ({
	async 'messages are locked, and completed, abandoned, deferred and dead-lettered by hand'() {
		const { page, send, at, see, told, axe, shot } = w
		await send('/_mayfly/entities', { path: 'work' })
		await send('/_mayfly/entities/work/send', { text: 'job', id: 'w{i}', repeat: 6 })
		await at('#/queue/work')
		await menu('Receive', 'Peek-lock…')
		await field('Messages, at most').fill('5')
		await axe()
		await ok('Receive')
		await told('5 messages locked')
		await gone()
		const held = 'Received messages'
		await row('w1', held).locator('[role=timer], .soon, [data-name=lock]').first().waitFor()
		await mark('w1', held)
		await button('Complete 1').click()
		await told('1 message completed')
		await mark('w2', held)
		await button('Abandon 1').click()
		await dialog().getByRole('button', { name: 'Add property' }).click()
		await field('Name').fill('tried')
		await field('Value').fill('yes')
		await ok('Abandon')
		await told('1 message abandoned')
		await mark('w3', held)
		await button('Defer 1').click()
		await ok('Defer')
		await told('1 message deferred')
		await mark('w4', held)
		await button('Dead-letter 1').click()
		await field('Reason').fill('broken')
		await field('Description').fill('it is beyond repair')
		await ok('Dead-letter')
		await told('1 message dead-lettered')
		await button('Renew').click()
		await see('locked', '.grid')
		await axe()
		await shot('messages-received')
		const list = await peek('work')
		same(
			list.map(m => `${m.id} ${m.life.lockedUntil ? 'locked' : m.state} ${m.deliveryCount}`),
			['w2 active 1', 'w3 deferred 0', 'w5 locked 0', 'w6 active 0'].map((s, i) => (i === 1 ? s.replace('0', list[1].deliveryCount) : s)),
			'after the settlements',
		)
		same(list[0].properties.tried, 'yes', 'a property that was set')
		same((await peek('work', { deadLetters: true }))[0].properties.DeadLetterReason, 'broken', 'reason')
		await menu('Receive', 'Peek-lock…')
		await field('Deferred messages by sequence number').fill('3')
		await ok('Receive')
		await told('1 message locked')
		await row('w3', held).waitFor()
	},
	async 'locks end when the receiver is closed, and with the page'() {
		const { page, at, told } = w
		const locked = async () => (await peek('work')).filter(m => m.life.lockedUntil).length
		same(await locked(), 2, 'locked before')
		await button('Close receiver').click()
		for (let i = 0; i < 50 && (await locked()); i++) await wait(100)
		same(await locked(), 0, 'locked after the receiver was closed')
		await menu('Receive', 'Peek-lock…')
		await ok('Receive')
		await told('1 message locked')
		same(await locked(), 1, 'locked again')
		await page.goto('about:blank')
		for (let i = 0; i < 50 && (await locked()); i++) await wait(100)
		same(await locked(), 0, 'locked after the page was left')
		await at('#/queue/work')
		await rows().first().waitFor()
	},
	async 'receive and delete asks before'() {
		const { told } = w
		const before = (await peek('work')).length
		await menu('Receive', 'Receive and delete…')
		await ok('Receive and delete')
		await told('1 message received and deleted')
		same((await peek('work')).length, before - 1, 'messages')
		await gone()
		check(!(await ids('work')).includes('w2'), 'w2 is still there')
	},
})

const dead = (w, { button, field, ok, gone, peek, ids, same, row, rows, mark, inSight, detail }) => ({
	async 'dead letters are resubmitted as they are or edited, deleted and exported'() {
		const { page, send, at, see, told, axe, shot } = w
		await send('/_mayfly/entities', { path: 'morgue', deadLetterOnExpiration: true })
		await send('/_mayfly/entities/morgue/send', {
			id: 'd-{i}',
			text: '{"n":{i},"note":"' + 'x'.repeat(150) + '"}',
			contentType: 'application/json',
			ttl: 600,
			repeat: 8,
		})
		await send('/_mayfly/clock', { advance: '700s' }, 'PUT')
		await send('/_mayfly/reaper/run')
		await at('#/queue/morgue/dead')
		await row('d-1', 'Dead letters').click()
		await see('TTLExpiredException', '.reason')
		for (const width of [1280, 400]) {
			await page.setViewportSize({ width, height: 800 })
			await inSight(button('Resubmit all'), `Resubmit all at ${width}`)
			await button('Resubmit', detail()).scrollIntoViewIfNeeded()
			await inSight(button('Resubmit', detail()), `Resubmit at ${width}`)
			const heights = await rows('Dead letters').evaluateAll(all => [...new Set(all.map(r => r.offsetHeight))])
			same(heights, [32], `heights of rows at ${width}`)
			await axe()
			await shot(`messages-dead-${width}`)
		}
		await page.setViewportSize({ width: 1280, height: 800 })
		await page.evaluate(() => delete window.showSaveFilePicker) // its dialog is no part of a page
		await mark('d-1', 'Dead letters')
		await mark('d-2', 'Dead letters')
		const [file] = await Promise.all([page.waitForEvent('download'), button('Export 2').click()])
		const lines = readFileSync(await file.path(), 'utf8').trim().split('\n').map(JSON.parse)
		same(
			[file.suggestedFilename(), ...lines.map(m => m.id), lines[0].properties.DeadLetterReason],
			['morgue-dead-letters.ndjson', 'd-1', 'd-2', 'TTLExpiredException'],
			'the export',
		)
		await button('Resubmit 2').click()
		await told('2 messages sent again')
		await row('d-3', 'Dead letters').click()
		await button('Edit and resubmit').click()
		await field('Body').fill('{"mended":true}')
		await field('Time to live').fill('')
		await ok('Resubmit')
		await told('1 message sent again')
		await gone()
		await mark('d-4', 'Dead letters')
		await button('Delete 1').click()
		await ok('Delete')
		await told('1 message deleted')
		await see('Dead letters (4)', '.tabs')
		same(await ids('morgue', { deadLetters: true }), 'd-5 d-6 d-7 d-8', 'dead letters that are left')
		same((await peek('morgue')).find(m => m.id === 'd-3').text, '{"mended":true}', 'the edited one')
	},
	async 'a purge takes the name of the entity'() {
		const { see, told, axe } = w
		await button('Purge').click()
		await field('Name of the entity').fill('morgu')
		await ok('Purge')
		await see('Type morgue to purge it', 'dialog')
		await axe()
		await field('Name of the entity').fill('morgue')
		await ok('Purge')
		await told('4 messages purged')
		await see('No dead letter', '.grid')
	},
	async 'a purge is undone'() {
		const { page, told } = w
		await page.locator('.notes').getByRole('button', { name: 'Undo' }).click()
		await told('The whole store is as it was before')
		await row('d-8', 'Dead letters').waitFor()
		same(await ids('morgue', { deadLetters: true }), 'd-5 d-6 d-7 d-8', 'dead letters')
	},
	async 'all messages are exported, page by page'() {
		const { page, send, at } = w
		await send('/_mayfly/entities', { path: 'bulk' })
		await send('/_mayfly/entities/bulk/send', { id: 'b-{i}', text: 'x', repeat: 700 })
		await at('#/queue/bulk')
		await row('b-1').waitFor()
		const sizes = []
		page.on('request', r => {
			if (r.url().endsWith('/bulk/peek') && r.postDataJSON().count === 500) sizes.push(500)
		})
		const [file] = await Promise.all([page.waitForEvent('download'), button('Export').click()])
		const lines = readFileSync(await file.path(), 'utf8').trim().split('\n').map(JSON.parse)
		same([lines.length, lines[0].id, lines[699].id], [700, 'b-1', 'b-700'], 'the file')
		check(sizes.length >= 2, 'it was read in one piece')
	},
})

const sessions = (w, { button, row, same, peek }) => ({
	async 'a session shows its state, is accepted and received from'() {
		const { page, send, at, see, told, axe, shot } = w
		await send('/_mayfly/entities', { path: 'chats', requiresSession: true })
		for (const session of ['ada', 'bob', 'ada']) await send('/_mayfly/entities/chats/send', { session, text: 'hi' })
		await send('/_mayfly/entities/chats/session-state', { session: 'ada', state: 'step 1' }, 'PUT')
		await at('#/queue/chats/sessions')
		await row('ada', 'Sessions').click()
		await page.getByLabel('State', { exact: true }).fill('step 2')
		await button('Save state').click()
		await told('Saved')
		await row('step 2', 'Sessions').waitFor()
		await axe()
		await button('Accept session').click()
		await told('Session ada accepted, 2 messages locked')
		await row('explorer', 'Sessions').waitFor()
		await axe()
		await shot('messages-sessions')
		await button('Complete all').click()
		await told('2 messages completed')
		same((await peek('chats')).map(m => m.session), ['bob'], 'sessions with messages')
		await button('Close receiver').click()
		await button('Accept next session').click()
		await told('Session bob accepted')
	},
})

const live = (w, { grid, row, rows, button, same }) => ({
	async 'lists and counters follow what an application does'() {
		const { page, send, at, see } = w
		await send('/_mayfly/entities', { path: 'busy' })
		const add = (id, repeat = 1) => send('/_mayfly/entities/busy/send', { id, text: 'x', repeat })
		await at('#/queue/busy')
		await see('No message', '.grid')
		await add('first')
		await row('first').waitFor()
		const tree = page.locator('nav.tree a', { hasText: 'busy' }).locator('.count')
		await page.waitForFunction(
			() => [...document.querySelectorAll('nav.tree a')].some(a => a.textContent === 'busy1'),
		)
		same(await tree.textContent(), '1', 'the tree')
		await see('1', '.stats dd')
		await add('more-{i}', 59)
		await row('more-1').waitFor()
		await grid().evaluate(el => (el.scrollTop = 400))
		await wait(100)
		await add('late-{i}', 3)
		await button('3 new').click()
		await row('late-3').waitFor()
		const read = page.waitForResponse('**/entities/busy/peek') // while the reader is elsewhere
		await send('/_mayfly/entities/busy/purge')
		await read
		await wait(100)
		await grid().evaluate(el => (el.scrollTop = 0))
		await see('No message', '.grid')
	},
	async 'a list that cannot be read says so, and is read again'() {
		const { page, at, see, shot } = w
		await page.route('**/entities/look/peek', r => r.abort())
		await at('#/queue/look')
		await see('The messages could not be read', 'main')
		await shot('messages-failed')
		await page.unroute('**/entities/look/peek')
		await button('Try again').click()
		await row('m-1').waitFor()
		check(!(await page.locator('.banner').count()), 'the failure is still told')
	},
	async 'pages of queues are readable in the dark'() {
		const { page, at, drawn, axe, shot } = w
		await page.emulateMedia({ colorScheme: 'dark' })
		for (const [name, place] of [
			['list', '#/queue/look?message=2'],
			['sessions', '#/queue/chats/sessions?session=%3Dbob'],
			['topic', '#/queue/offers'],
		])
			for (const width of [1280, 400]) {
				await page.setViewportSize({ width, height: 800 })
				await page.goto('about:blank')
				await at(place)
				await drawn()
				await axe()
				await shot(`messages-${name}-${width}-dark`)
			}
		await page.emulateMedia({ colorScheme: 'light' })
		await page.setViewportSize({ width: 1280, height: 800 })
	},
})

export const messages = w => {
	const p = pickings(w)
	return {
		...looking(w, p),
		...sending(w, p),
		...receiving(w, p),
		...dead(w, p),
		...sessions(w, p),
		...live(w, p),
	}
}
