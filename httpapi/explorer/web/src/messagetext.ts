// What the body and the properties of a message look like as text.
import { exact } from './api'
import { pretty } from './text'

export type BodyView = 'json' | 'text' | 'hex'

export function bytesOf(m: any): Uint8Array {
	if (m.base64 === undefined) return new TextEncoder().encode(m.text ?? '')
	return Uint8Array.from(atob(m.base64), c => c.charCodeAt(0))
}

const isJSON = (text: string) => {
	try {
		exact(text)
		return true
	} catch {
		return false
	}
}

// viewsOf are the ways in which the body can be shown, the best one first.
export function viewsOf(m: any): BodyView[] {
	if (m.base64 !== undefined) return ['hex']
	const text = m.text ?? ''
	const json = text !== '' && isJSON(text)
	const plain = json && !/^\s*[{[]/.test(text) && !/json/i.test(m.contentType ?? '')
	if (!json) return ['text', 'hex']
	return plain ? ['text', 'json', 'hex'] : ['json', 'text', 'hex']
}

const longestHex = 64 << 10

// bodyText is the body in one of its views.
export function bodyText(m: any, view: BodyView): string {
	if (view === 'hex') return hex(bytesOf(m))
	return view === 'json' ? pretty(m.text) : (m.text ?? '')
}

// hex is a dump: place, sixteen bytes, their characters.
function hex(all: Uint8Array): string {
	const lines: string[] = []
	for (let at = 0; at < Math.min(all.length, longestHex); at += 16) {
		const row = [...all.slice(at, at + 16)]
		const digits = row.map(b => b.toString(16).padStart(2, '0')).join(' ')
		const letters = row.map(b => (b > 31 && b < 127 ? String.fromCharCode(b) : '.')).join('')
		lines.push(`${at.toString(16).padStart(8, '0')}  ${digits.padEnd(47)}  ${letters}`)
	}
	if (all.length > longestHex) lines.push(`… ${all.length.toLocaleString('en')} bytes in all`)
	return lines.join('\n')
}

// valueText is the value of a property.
export const valueText = (v: unknown): string => (typeof v === 'string' ? v : JSON.stringify(v))

// stateText is the state of a message in one word.
export const stateText = (m: any): string => (m.life.lockedUntil ? 'locked' : m.state)

// typeWords are the words of the form for types of properties, by their AMQP types.
export const typeWords: Record<string, string> = {
	string: 'String',
	boolean: 'Boolean',
	long: 'Number (long)',
	int: 'Number (int)',
	double: 'Number (double)',
	timestamp: 'Date',
	uuid: 'GUID',
}
