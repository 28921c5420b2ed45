// Where a text ends to be JSON, which browsers tell in different sentences or not at all.

export interface Fault {
	at: number // in UTF-16 units
	text: string // a sentence without its full stop
}

const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

// jsonFault finds the first place at which a text is no JSON; null for one that is.
export function jsonFault(text: string): Fault | null {
	let at = 0
	const stack: ('{' | '[')[] = []
	const skip = () => {
		while (/[ \t\r\n]/.test(text[at] ?? '')) at++
	}
	const take = (pattern: RegExp) => {
		pattern.lastIndex = at
		const found = pattern.exec(text)
		if (found) at += found[0].length
		return !!found
	}
	const bad = (wanted: string): Fault => ({
		at,
		text: at >= text.length ? `The text ends where ${wanted} is expected` : `${wanted[0].toUpperCase()}${wanted.slice(1)} is expected here`,
	})
	let wants: 'value' | 'name' | 'more' = 'value',
		empty = false // nothing stands yet between the brackets, so that they may be closed
	for (;;) {
		skip()
		const c = text[at]
		if (wants === 'more') {
			if (!stack.length) return at < text.length ? bad('the end of the text') : null
			const inObject = stack[stack.length - 1] === '{',
				close = inObject ? '}' : ']'
			if (c === ',') {
				at++
				wants = inObject ? 'name' : 'value'
				empty = false
			} else if (c === close) {
				at++
				stack.pop()
			} else return bad(`, or ${close}`)
		} else if (empty && c === (stack[stack.length - 1] === '{' ? '}' : ']')) {
			at++
			stack.pop()
			wants = 'more'
			empty = false
		} else if (wants === 'name') {
			if (!take(string)) return bad('a name in double quotes')
			skip()
			if (text[at] !== ':') return bad('a colon')
			at++
			wants = 'value'
			empty = false
		} else if (c === '{' || c === '[') {
			stack.push(c)
			at++
			wants = c === '{' ? 'name' : 'value'
			empty = true
		} else {
			if (!take(c === '"' ? string : scalar)) return bad(c === '"' ? 'a whole string' : 'a value')
			wants = 'more'
			empty = false
		}
	}
}
