// Every view in light and dark, wide and narrow: nothing is cut off, axe finds nothing serious, pictures.
import { check } from './world.js'

// places are all views with the names of their pictures, and the button that opens more of one.
const places = [
	['overview', ''],
	['database', '#/db/shop'],
	['documents', '#/db/shop/carts/documents/doc-2/%22a%22'],
	['new-document', '#/db/shop/carts', 'New document'],
	['query', '#/db/shop/carts/query?query=SELECT+c.id%2C+c.n+FROM+c+WHERE+c.n+%3E+1'],
	['json', '#/db/shop/carts/query?query=SELECT+*+FROM+c&show=json'],
	['plan', '#/db/shop/carts/query?query=SELECT+c.id+FROM+c+WHERE+c.n+%3E+1+ORDER+BY+c.n&show=plan'],
	['container-time', '#/db/shop/carts/time'],
	['settings', '#/db/shop/carts/settings'],
	['changes', '#/db/shop/carts/feed'],
	['scripts', '#/db/shop/carts/scripts'],
	['ranges', '#/db/shop/carts/ranges'],
	['new-container', '#/db/shop', 'New container'],
	['time', '#/time'],
	['faults', '#/faults'],
	['queue', '#/queue/orders'],
	['dead', '#/queue/orders/dead'],
	['queue-time', '#/queue/orders/time'],
	['queue-settings', '#/queue/orders/settings'],
	['sessions', '#/queue/talks/sessions?session=%3Dada'],
	['rules', '#/queue/news%2Fsubscriptions%2Fall/rules'],
	['topic', '#/queue/news'],
	['new-entity', '#/', 'New queue or topic'],
	['nowhere', '#/nowhere'],
	['absent', '#/db/shop/absent'],
]

export const views = ({ page, at, drawn, axe, shot }) => {
	const steps = {}
	for (const [width, height] of [
		[1280, 800],
		[400, 800],
	])
		for (const scheme of ['light', 'dark'])
			steps[`all views are readable at ${width} pixels, ${scheme}`] = async () => {
				await page.setViewportSize({ width, height })
				await page.emulateMedia({ colorScheme: scheme })
				for (const [name, place, opens] of places) {
					await page.goto('about:blank')
					await at(place)
					await drawn()
					if (opens) {
						await page.locator('main').getByRole('button', { name: opens }).first().click()
						await page.locator('dialog[open], .doc').waitFor()
					}
					const wide = await page.evaluate(() => document.documentElement.scrollWidth)
					check(wide <= width, `${name} is ${wide} wide at ${width}`)
					await axe()
					await shot(`explorer-${name}-${width}-${scheme}`)
				}
			}
	return steps
}
