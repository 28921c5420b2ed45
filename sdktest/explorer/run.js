// The explorer in Chromium: one way through it by keyboard, its forms, what goes wrong, what is
// much, what is wild, all views.
//   node run.js --endpoint URL --keyed URL --key KEY --mayfly BINARY [--images DIR] [--only NAME]
// The second server has a key of its own and a database vault. The binary is asked for what its commands write.
import { parseArgs } from 'node:util'
import { browser as dataBrowser } from './browser.js'
import { forms } from './forms.js'
import { journey } from './journey.js'
import { live } from './live.js'
import { messages } from './messages.js'
import { overview } from './overview.js'
import { querypage } from './querypage.js'
import { requests } from './requests.js'
import { safety, signIn } from './safety.js'
import { scale } from './scale.js'
import { tasks } from './tasks.js'
import { trouble } from './trouble.js'
import { views } from './views.js'
import { launch, sender, world } from './world.js'

const { values: args } = parseArgs({
	options: {
		endpoint: { type: 'string' },
		keyed: { type: 'string' },
		key: { type: 'string' },
		images: { type: 'string' },
		mayfly: { type: 'string' },
		only: { type: 'string' },
		chromium: { type: 'string', default: 'chromium' },
	},
})
const browser = await launch(args.chromium)
const parts = {
	journey,
	forms,
	trouble,
	browser: dataBrowser,
	live,
	messages,
	querypage,
	requests,
	tasks,
	views,
	safety,
	overview,
	scale,
	async signIn(w) {
		await sender(args.keyed, args.key)('/dbs', { id: 'vault' })
		return signIn(w, args.key)
	},
}

let failed = false
for (const [part, make] of Object.entries(parts)) {
	if (args.only && args.only !== part) continue
	const w = await world(browser, part === 'signIn' ? args.keyed : args.endpoint, args.images)
	w.mayfly = args.mayfly
	for (const [name, run] of Object.entries(await make(w))) {
		try {
			await run()
			w.settled()
			console.log('ok ' + name)
		} catch (e) {
			failed = true
			console.log(`FAIL ${name}: ${e.stack}`)
			await w.shot('failed')
			break
		}
	}
	await w.close()
}
await browser.close()
process.exit(failed ? 1 : 0)
