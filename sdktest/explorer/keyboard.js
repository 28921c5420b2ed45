// What a person without a mouse does: Tab to what has a name, type, press Enter.

// named tells what has the focus, in a shadow root as well, by the name that assistive technology tells.
const named = () => {
	let at = document.activeElement
	while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
	const label = at?.labels?.[0]
	return (at?.getAttribute('aria-label') ?? label?.textContent ?? at?.textContent ?? '').trim()
}

export function keyboard(page) {
	const press = keys => page.keyboard.press(keys)
	const focused = () => page.evaluate(named)
	const self = {
		press,
		focused,
		// tabTo goes once around, and on for a while: what has the name may come with an answer of the server.
		async tabTo(name) {
			const seen = new Set()
			const until = Date.now() + 15_000
			// who sees that something is still loading waits for it
			await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'))
			for (let i = 0; i < 150 || Date.now() < until; i++) {
				const now = await focused()
				if (typeof name === 'string' ? now === name : name.test(now)) return
				seen.add(now)
				await press('Tab')
			}
			throw new Error(`Tab does not lead to ${name}, but to ${[...seen].join(' | ')}`)
		},
		async push(name) {
			await self.tabTo(name)
			await press('Enter')
		},
		async fill(name, text) {
			await self.tabTo(name)
			await press('Control+a')
			await page.keyboard.insertText(text)
		},
		// choose takes the option of a list that begins with some letters. They are not typed: what comes a second
		// later than the letter before it begins anew.
		async choose(name, option) {
			await self.tabTo(name)
			await press('Home')
			const chosen = () => page.evaluate(() => document.activeElement.selectedOptions[0].text)
			for (let now, was; !(now = await chosen()).startsWith(option); was = now) {
				if (now === was) throw new Error(`${name} has no ${option}`)
				await press('ArrowDown')
			}
		},
		// goTo uses the command palette.
		async goTo(what) {
			await press('Control+k')
			await page.locator('.palette input:focus').waitFor()
			await page.keyboard.type(what)
			await page.waitForFunction(
				w =>
					document
						.querySelector('.palette [aria-selected=true]')
						?.textContent.toLowerCase()
						.includes(w),
				what.toLowerCase(),
			)
			await press('Enter')
		},
	}
	return self
}
