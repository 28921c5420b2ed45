// A plan as a picture: each step stands above those that feed it, with a bar for its share of the time.
import type { In } from './container'
import { Advice } from './indexadvice'

interface Step {
	text: string
	facts: string // beside rows and time
	rows: number | null
	ms: number | null // its own, without those below
	chosen: string[] // what was chosen among ways to do it
	below: Step[]
}

const units: Record<string, number> = { ns: 1e-6, µs: 1e-3, μs: 1e-3, us: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 3.6e6 }

// durationOf reads a duration as Go writes it, such as 1m2.5s or 64.7µs, in ms; null for anything else.
export function durationOf(text: string): number | null {
	const parts = [...text.matchAll(/([\d.]+)(ns|[µμu]s|ms|s|m|h)/g)]
	if (parts.map(p => p[0]).join('') !== text || !parts.length) return null
	return parts.reduce((sum, [, n, unit]) => sum + Number(n) * units[unit], 0)
}

const shown = (ms: number) => `${ms.toLocaleString('en', { maximumSignificantDigits: 3 })} ms`

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
		const told = /^(\d+)?(?: in (\S+))?\s*(?:\((.*)\))?$/.exec(cut >= 0 ? line.slice(cut + 4).trim() : '')
		const step: Step = {
			text: (cut >= 0 ? line.slice(0, cut) : line).trim(),
			facts: told ? (told[3] ?? '') : line.slice(cut + 4).trim(),
			rows: told?.[1] ? Number(told[1]) : null,
			ms: told?.[2] ? durationOf(told[2]) : null,
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

export function Plan(p: { of: any; at: In; applied: () => void }) {
	const { tree, remarks } = stepsOf(p.of.plan),
		known = tree.flatMap(times).reduce((sum, ms) => sum + ms, 0),
		// the whole run, which the last remark tells: more than its steps
		whole = Math.max(known, durationOf(remarks.find(r => /^in \S+$/.test(r))?.slice(3) ?? '') ?? 0)
	const others = remarks.filter(r => !/^(in \S+|not indexed: .*|a composite index would help: .*)$/.test(r))
	const used = [
		...p.of.indexes.utilized.single,
		...p.of.indexes.utilized.composite.map((c: string[]) => c.join(', ')),
	]
	return (
		<div class="plan" role="region" aria-label="Plan">
			<Advice at={p.at} of={p.of.indexes} applied={p.applied} />
			<p>
				{used.map(i => (
					<span class="chip good mono">index {i}</span>
				))}
				{!used.length && <span class="chip">no index used</span>}
				{whole > 0 && <span class="chip">{shown(whole)} in the store</span>}
			</p>
			<ul class="plan-tree">
				{tree.map(s => (
					<Node of={s} whole={whole} />
				))}
			</ul>
			{others.length > 0 && (
				<ul class="remarks">
					{others.map(r => (
						<li>{r}</li>
					))}
				</ul>
			)}
		</div>
	)
}

const times = (s: Step): number[] => [s.ms ?? 0, ...s.below.flatMap(times)]

function Node(p: { of: Step; whole: number }) {
	const { ms, rows } = p.of
	const words = p.of.text.split(' '),
		verb = words[0] === 'in' ? words.length : 1 // "in the order of" is one word
	const head = words.slice(0, verb).join(' '),
		rest = words.slice(verb),
		share = ms !== null && p.whole ? (100 * ms) / p.whole : null
	const facts = [
		rows !== null && `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`,
		ms !== null && shown(ms),
		share !== null && `${share < 1 ? 'under 1' : Math.round(share)} % of the time`,
		p.of.facts,
	].filter(Boolean)
	return (
		<li>
			<div class={`step ${/^(index|ordered|seek|postings)/.test(head) ? 'of-index' : ''}`}>
				<b>{head}</b> <span class="mono">{rest.join(' ')}</span>
				{p.of.chosen.map(c => (
					<span class="soft mono">{c}</span>
				))}
				{facts.length > 0 && <span class="facts num">{facts.join(' · ')}</span>}
				{share !== null && (
					<span class="meter">
						<span style={{ width: `${Math.max(1, share)}%` }} />
					</span>
				)}
			</div>
			{p.of.below.length > 0 && (
				<ul>
					{p.of.below.map(s => (
						<Node of={s} whole={p.whole} />
					))}
				</ul>
			)}
		</li>
	)
}
