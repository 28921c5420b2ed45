// Two texts, line by line: what the one has and the other has not.

interface Line {
	kind: ' ' | '-' | '+'
	text: string
}

const most = 4_000_000 // pairs of lines that are compared; beyond that all that is not equal at both ends counts as changed

// diffLines returns the lines of both texts in their order; equal ones once.
export function diffLines(a: string[], b: string[]): Line[] {
	let head = 0
	while (head < a.length && head < b.length && a[head] === b[head]) head++
	let tail = 0
	while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
	const same = (lines: string[]): Line[] => lines.map(text => ({ kind: ' ', text }))
	const x = a.slice(head, a.length - tail),
		y = b.slice(head, b.length - tail)
	return [...same(a.slice(0, head)), ...changed(x, y), ...same(a.slice(a.length - tail))]
}

// changed compares by the longest common subsequence.
function changed(x: string[], y: string[]): Line[] {
	const minus = (text: string): Line => ({ kind: '-', text }),
		plus = (text: string): Line => ({ kind: '+', text })
	const wide = y.length + 1
	if (x.length * y.length > most) return [...x.map(minus), ...y.map(plus)]
	const common = new Uint32Array((x.length + 1) * wide)
	for (let i = x.length - 1; i >= 0; i--)
		for (let j = y.length - 1; j >= 0; j--)
			common[i * wide + j] =
				x[i] === y[j]
					? common[(i + 1) * wide + j + 1] + 1
					: Math.max(common[(i + 1) * wide + j], common[i * wide + j + 1])
	const out: Line[] = []
	let i = 0,
		j = 0
	while (i < x.length || j < y.length)
		if (i < x.length && j < y.length && x[i] === y[j]) {
			out.push({ kind: ' ', text: x[i++] })
			j++
		} else if (
			i < x.length &&
			(j === y.length || common[(i + 1) * wide + j] >= common[i * wide + j + 1])
		)
			out.push(minus(x[i++]))
		else out.push(plus(y[j++]))
	return out
}

const context = 2 // equal lines around those that differ
const drawn = 400 // lines

export default function Diff(p: { from: string; to: string; names: [string, string] }) {
	const all = diffLines(p.from.split('\n'), p.to.split('\n'))
	const near = all.map((_, i) =>
		all.slice(Math.max(0, i - context), i + context + 1).some(l => l.kind !== ' '),
	)
	const lines: (Line | null)[] = [] // null is a piece that is left out
	all.forEach((l, i) => {
		if (near[i]) lines.push(l)
		else if (lines.at(-1) !== null) lines.push(null)
	})
	return (
		<ol class="diff mono" tabIndex={0} aria-label="Lines that differ">
			{lines.slice(0, drawn).map(l =>
				l ? (
					<li class={l.kind === '-' ? 'from' : l.kind === '+' ? 'to' : ''}>
						<span aria-hidden="true">{l.kind === '-' ? '−' : l.kind}</span>
						{l.kind !== ' ' && (
							<span class="unseen">{l.kind === '-' ? p.names[0] : p.names[1]}: </span>
						)}
						{l.text}
					</li>
				) : (
					<li class="soft">…</li>
				),
			)}
			{lines.length > drawn && <li class="soft">{lines.length - drawn} lines more</li>}
		</ol>
	)
}
