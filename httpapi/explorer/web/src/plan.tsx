// A plan as a picture: each step stands above those that feed it, as wide as what it passes on.
interface Step {
	text: string
	facts: string
	rows: number | null
	chosen: string[] // what was chosen among ways to do it
	below: Step[]
}

// stepsOf reads the tree by its indentation. Lines at the left edge behind the first tree are remarks.
export function stepsOf(text: string): { tree: Step[]; remarks: string[] } {
	const tree: Step[] = [],
		remarks: string[] = [],
		open: { depth: number; step: Step }[] = []
	for (const line of text.split('\n')) {
		if (!line.trim()) continue
		const depth = line.length - line.trimStart().length
		if (depth === 0 && tree.length) {
			remarks.push(line.trim())
			continue
		}
		if (line.trimStart().startsWith('chosen:') && open.length) {
			while (open[open.length - 1].depth >= depth) open.pop()
			open[open.length - 1].step.chosen.push(line.trim())
			continue
		}
		const cut = line.lastIndexOf(' -> ')
		const facts = cut >= 0 ? line.slice(cut + 4).trim() : '',
			rows = /^\d+/.exec(facts)
		const step: Step = {
			text: (cut >= 0 ? line.slice(0, cut) : line).trim(),
			facts,
			rows: rows && Number(rows[0]),
			chosen: [],
			below: [],
		}
		while (open.length && open[open.length - 1].depth >= depth) open.pop()
		if (open.length) open[open.length - 1].step.below.push(step)
		else tree.push(step)
		open.push({ depth, step })
	}
	return { tree, remarks }
}

export function Plan(p: { of: any }) {
	const { tree, remarks } = stepsOf(p.of.plan),
		most = Math.max(1, ...tree.flatMap(all))
	const used = [
		...p.of.indexes.utilized.single,
		...p.of.indexes.utilized.composite.map((c: string[]) => c.join(', ')),
	]
	const lacking = [
		...p.of.indexes.potential.single,
		...p.of.indexes.potential.composite.map((c: string[]) => c.join(', ')),
	]
	return (
		<div class="plan" role="region" aria-label="Plan">
			<ul class="plan-tree">
				{tree.map(s => (
					<Node of={s} most={most} />
				))}
			</ul>
			{remarks.length > 0 && (
				<ul class="remarks">
					{remarks.map(r => (
						<li>{r}</li>
					))}
				</ul>
			)}
			<p>
				{used.map(i => (
					<span class="chip good mono">index {i}</span>
				))}
				{lacking.map(i => (
					<span class="chip warn mono">would help: {i}</span>
				))}
				{!used.length && !lacking.length && <span class="chip">no index used</span>}
			</p>
		</div>
	)
}

const all = (s: Step): number[] => [s.rows ?? 0, ...s.below.flatMap(all)]

function Node(p: { of: Step; most: number }) {
	const words = p.of.text.split(' '),
		verb = words[0] === 'in' ? words.length : 1 // "in the order of" is one word
	const head = words.slice(0, verb).join(' '),
		rest = words.slice(verb),
		width = p.of.rows ? Math.max(2, (100 * p.of.rows) / p.most) : 0
	return (
		<li>
			<div class={`step ${/^(index|ordered|seek|postings)/.test(head) ? 'of-index' : ''}`}>
				<b>{head}</b> <span class="mono">{rest.join(' ')}</span>
				{p.of.chosen.map(c => (
					<span class="soft mono">{c}</span>
				))}
				{p.of.facts && <span class="facts num">{p.of.facts}</span>}
				{p.of.rows !== null && (
					<span class="meter">
						<span style={{ width: `${width}%` }} />
					</span>
				)}
			</div>
			{p.of.below.length > 0 && (
				<ul>
					{p.of.below.map(s => (
						<Node of={s} most={p.most} />
					))}
				</ul>
			)}
		</li>
	)
}
