// Durations: one notation for all pages. 90s, 1h 30m, 30d, ISO 8601 and a number of seconds are read, as the
// server and its commands read them; 1h 59m 13s is written.

const units: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400 }
const byUnits = /^([+-])?((?:\d+(?:\.\d+)?\s?(?:ms|s|m|h|d)\s?)+)$/
const iso = /^(-)?P(?!$)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d*)?)S)?)?$/i

// parseDuration is the seconds of a duration; null for what is none.
export function parseDuration(text: string): number | null {
	const t = text.trim()
	if (/^[+-]?\d+(\.\d+)?$/.test(t)) return Number(t)
	const m = iso.exec(t)
	if (m) {
		const [weeks, days, hours, minutes, seconds] = m.slice(2).map(n => Number((n ?? '0').replace(',', '.')))
		const sum = weeks! * 604800 + days! * 86400 + hours! * 3600 + minutes! * 60 + seconds!
		return m[1] ? -sum : sum
	}
	const u = byUnits.exec(t)
	if (!u) return null
	let sum = 0,
		last = Infinity
	for (const [, n, unit] of u[2]!.matchAll(/(\d+(?:\.\d+)?)\s?(ms|s|m|h|d)/g)) {
		if (units[unit!]! >= last) return null // the larger unit comes first, each once
		last = units[unit!]!
		sum += Number(n) * last
	}
	return u[1] === '-' ? -sum : sum
}

// formatDuration writes seconds for people, and as parseDuration reads them: 1h 59m 13s, 30d, 0.5s.
export function formatDuration(seconds: number): string {
	let rest = Math.round(Math.abs(seconds) * 1000) / 1000
	const parts: string[] = []
	for (const unit of ['d', 'h', 'm']) {
		const n = Math.floor(rest / units[unit]!)
		if (n) parts.push(n + unit)
		rest -= n * units[unit]!
	}
	rest = Math.round(rest * 1000) / 1000
	if (rest || !parts.length) parts.push(rest + 's')
	return (seconds < 0 ? '−' : '') + parts.join(' ')
}

export const durationHint = '90s, 2h, 30d, PT1H, or seconds'

// wrongDuration tells what is wrong with what is typed for a duration, '' for nothing. Nothing typed is right.
export function wrongDuration(text: string, of: { least?: number; whole?: boolean } = {}): string {
	if (!text.trim()) return ''
	const s = parseDuration(text),
		least = of.least ?? 1
	if (s === null) return `a duration such as ${durationHint}`
	if (of.whole && !Number.isInteger(s)) return 'a duration of whole seconds'
	return s < least ? `at least ${formatDuration(least)}` : ''
}

// secondsOf is a duration that is right, in seconds; undefined for nothing typed.
export const secondsOf = (text: string) => (text.trim() ? parseDuration(text)! : undefined)

// typed is how a field shows seconds that it is to change.
export const typed = (seconds: number | undefined | null) => (seconds ? formatDuration(seconds) : '')
