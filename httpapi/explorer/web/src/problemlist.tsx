// A list of what is wrong with a query: severity, line and column, a sentence, the code.
import { Failure } from './api'
import { explained, place, problemsOf, type Problem } from './problems'
import { say } from './state'

// problemsIn are those of an answer to a query, or the one that any other error is. text is the query that was sent.
export const problemsIn = (e: unknown, text: string): Problem[] =>
	e instanceof Failure && e.status === 400
		? problemsOf(e.raw, text)
		: [{ severity: 'Error', text: say(e), code: '', from: -1, to: -1 }]

interface ListProps {
	of: Problem[]
	text: string // that the places are in
	label: string
	show?: (from: number, to: number) => void // puts the cursor there
	echo?: boolean // the text is shown with its mistakes marked: it stands in a field, which cannot mark them
}

export function ProblemList(p: ListProps) {
	if (!p.of.length) return null
	const placed = p.of.filter(x => x.from >= 0)
	return (
		<div class="banner problems" role="alert" aria-label={p.label}>
			{p.echo && placed.length > 0 && <Echo text={p.text} of={placed} />}
			<ul>
				{p.of.map(x => (
					<li>
						<b>{x.severity}</b>
						{x.from >= 0 && <Place of={x} text={p.text} show={p.show} />}
						{x.code && <Code of={x.code} />}
						<span class="says">{x.text}</span>
					</li>
				))}
			</ul>
		</div>
	)
}

function Place(p: { of: Problem; text: string; show?: (from: number, to: number) => void }) {
	const at = place(p.text, p.of.from),
		words = `line ${at.line}, column ${at.column}`
	return p.show ? (
		<button type="button" class="link" title="Go to this place" onClick={() => p.show!(p.of.from, p.of.to)}>
			{words}
		</button>
	) : (
		<span>{words}</span>
	)
}

function Code(p: { of: string }) {
	const page = explained(p.of)
	return page ? (
		<a class="mono" href={page} target="_blank" rel="noopener">
			{p.of}
		</a>
	) : (
		<span class="mono">{p.of}</span>
	)
}

// Echo is the text with what is wrong underlined, the first mistake at each place.
function Echo(p: { text: string; of: Problem[] }) {
	const out = []
	let at = 0
	for (const x of [...p.of].sort((a, b) => a.from - b.from)) {
		if (x.from < at) continue
		const to = Math.max(x.to, x.from + 1)
		out.push(p.text.slice(at, x.from), <mark>{p.text.slice(x.from, to) || '\u00a0'}</mark>)
		at = to
	}
	return (
		<pre class="mono">
			{out}
			{p.text.slice(at)}
		</pre>
	)
}
