// One way through the explorer without a mouse, from an empty store to a dead letter that is sent again.
import { keyboard } from './keyboard.js'
import { check } from './world.js'

// left waits until the countdown, by a clock that stands, is at this.
const left = (page, time) =>
	page.waitForFunction(t => document.querySelector('[role=timer]')?.textContent === t, time)

export const journey = ({ page, kb, see, told, axe, root, browser }) => ({
	async 'the page opens without a key on loopback'() {
		let bytes = 0
		page.on('response', async r => {
			if (r.url().includes('/_explorer/')) bytes += Number(r.headers()['content-length'] ?? 0)
		})
		await page.addInitScript(() => {
			addEventListener('pointerdown', () => console.error('refused: a mouse'), true)
		})
		await page.goto(root)
		await see('Overview', 'h1')
		await page.locator('a[href="/_explorer/docs/"]', { hasText: 'Documentation' }).waitFor()
		check(bytes > 1000 && bytes < 400 << 10, `${bytes} bytes`)
		console.log(`# the page: ${bytes} bytes`)
		await axe()
	},
	async 'a database and a container with a time to live are created'() {
		await kb.push('New database')
		await kb.fill('Id', 'shop')
		await kb.press('Enter')
		await see('shop', 'h1')
		await kb.push('New container')
		await kb.fill('Id', 'carts')
		await kb.fill('Partition key', 'pk')
		await kb.choose('Time to live', 'On, with')
		await kb.fill('Default time to live', '100')
		await axe()
		await kb.press('Enter')
		await see('TTL 1m 40s', '.chip')
	},
	async 'a document is added, and its countdown reaches zero as the clock advances'() {
		await kb.goTo('Time and snap')
		await kb.push('Freeze')
		await see('frozen', '.clock')
		await kb.goTo('carts')
		await kb.push('New document')
		await kb.fill('The document as JSON', '{"id":"one","pk":"a","n":1}')
		await kb.press('Control+Enter')
		await left(page, '1m 40s')
		await kb.goTo('Advance the clock by 1m')
		await left(page, '40s')
		await axe()
		await kb.goTo('Advance the clock by 1m')
		await page.waitForFunction(
			() =>
				document.querySelector('[role=timer]')?.textContent === 'expired' ||
				/404/.test(document.querySelector('.life')?.textContent ?? ''),
		)
	},
	async 'documents written elsewhere at the same time are a conflict'() {
		for (let n = 1; n <= 3; n++) {
			await kb.goTo('carts')
			await kb.push('New document')
			await kb.fill(
				'The document as JSON',
				JSON.stringify({ id: `doc-${n}`, pk: 'a', n, item: 'tea', colours: ['red', 'green'] }),
			)
			await kb.press('Control+Enter')
			await see(`doc-${n}`, 'section h2')
			await page.getByRole('timer').waitFor()
		}
		const other = await browser.newPage()
		await other.goto(page.url())
		await other.getByRole('timer').waitFor()
		await kb.fill('The document as JSON', '{"id":"doc-3","pk":"a","n":31}')
		const hers = keyboard(other)
		await hers.fill('The document as JSON', '{"id":"doc-3","pk":"a","n":30}')
		const saved = other.waitForResponse(r => r.request().method() === 'PUT' && r.ok())
		await hers.press('Control+Enter')
		await saved
		await other.close()
		await kb.press('Control+Enter')
		await see('Somebody has changed this document')
		await axe()
		await kb.push('Overwrite with mine')
		await page.locator('.conflict').waitFor({ state: 'detached' })
	},
	async 'a query with an index shows its plan'() {
		await kb.goTo('carts › query')
		await kb.fill('Text of the query', 'SELECT c.id, c.n FROM c WHERE c.n > 1')
		await kb.press('Escape')
		await kb.press('Control+Enter')
		await see('doc-3', '.query [role=grid]')
		await kb.push('Plan')
		await see('index /n', '.plan')
		await axe()
	},
	async 'completion knows the paths'() {
		await kb.fill('Text of the query', 'SELECT c.')
		await kb.press('Control+Space')
		await page.locator('.cm-tooltip-autocomplete', { hasText: 'colours' }).waitFor()
		await kb.press('Escape')
	},
	async 'a snapshot is taken'() {
		await kb.goTo('Time and snap')
		await kb.fill('Name', 'before')
		await kb.press('Enter')
		await see('before', 'table')
		await axe()
	},
	async 'a change of the time to live is tried out, then saved'() {
		await kb.goTo('carts › settings')
		await kb.fill('Default time to live', '20')
		await see('3 expire sooner', '.dry-run')
		await axe()
		await kb.push('Save time to live')
		await see('TTL 20s', '.chip')
	},
	async 'the forecast, the reaper, changes, scripts and ranges are readable'() {
		for (const tab of ['time', 'feed', 'scripts', 'ranges']) {
			await kb.goTo('carts › ' + tab)
			await page.locator('.tab .panel').first().waitFor()
			await axe()
		}
		await kb.push('Split 0')
		// a server in memory gives the two parts ids of its own
		await page.locator('table').getByRole('button', { name: /^Split [1-9]/ }).nth(1).waitFor()
	},
	async 'a procedure runs'() {
		await kb.goTo('carts › scripts')
		await kb.fill('Id', 'hello')
		await kb.push('Save')
		await kb.tabTo('Arguments')
		await kb.push('Run')
		await see('Hello, world', '.json')
	},
	async 'a snapshot is restored'() {
		await kb.goTo('Time and snap')
		await kb.push('Restore')
		await page.locator('dialog[open]').waitFor()
		await kb.push('Restore')
		await told('as it was')
		await kb.goTo('carts')
		await see('TTL 1m 40s', '.chip')
	},
	async 'a dead letter is resubmitted'() {
		await kb.goTo('New queue')
		await kb.fill('Path', 'orders')
		await kb.fill('Message time to live', 'PT10S')
		await kb.press('Enter')
		await see('orders', 'h1')
		await kb.push('Send message')
		await page.locator('dialog[open]').waitFor()
		await kb.push('Send')
		await see('hello', '.grid')
		await kb.goTo('Advance the clock by 1m')
		await kb.push(/^Dead letters/)
		await axe()
		await see('TTLExpired', '.tab .grid')
		await kb.push('Resubmit all')
		await told('1 message sent again')
		await kb.push('Messages')
		await see('hello', '.grid')
	},
})
