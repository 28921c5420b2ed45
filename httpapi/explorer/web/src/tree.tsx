// A JSON text as a tree. What is folded is not drawn, and of long lists a piece at a time.
import { useState } from 'preact/hooks'
import { elementsOf, membersOf } from './jsontext'
import { copyText } from './menu'
import { doing, note, plural } from './state'
import { pretty } from './text'

const piece = 200 // children that are drawn at a time
const longest = 2000 // characters of a value

export default function Tree(p: { text: string }) {
	return (
		<div class="json-tree mono" role="group" aria-label="The document as a tree">
			<Children of={p.text.trim()} depth={0} />
		</div>
	)
}

function Children(p: { of: string; depth: number }) {
	const [shown, show] = useState(piece)
	const object = p.of[0] === '{'
	const all: [string, string][] = object
		? membersOf(p.of)
		: elementsOf(p.of).map((v, i) => [String(i), v])
	return (
		<ul>
			{all.slice(0, shown).map(([name, v]) => (
				<li key={name}>
					<Node name={name} of={v} depth={p.depth} />
				</li>
			))}
			{all.length > shown && (
				<li>
					<button type="button" class="btn quiet" onClick={() => show(shown + piece)}>
						{plural(Math.min(piece, all.length - shown), 'more value')}
					</button>
				</li>
			)}
		</ul>
	)
}

function Node(p: { name: string; of: string; depth: number }) {
	const c = p.of[0],
		nested = (c === '{' || c === '[') && !/^[{[]\s*[}\]]$/.test(p.of)
	const [open, set] = useState(p.depth < 1)
	const copy = () =>
		doing(() =>
			copyText(c === '"' ? JSON.parse(p.of) : nested ? pretty(p.of) : p.of).then(() =>
				note('Value copied.'),
			),
		)
	const button = (
		<button type="button" class="btn quiet" onClick={copy} aria-label={`Copy ${p.name}`}>
			Copy
		</button>
	)
	if (!nested)
		return (
			<div class="leaf">
				<span class="key">{p.name}</span>
				<span class={c === '"' ? 'text' : 'value'}>
					{p.of.length > longest ? p.of.slice(0, longest) + '…' : p.of}
				</span>
				{button}
			</div>
		)
	return (
		<details open={open} onToggle={e => set(e.currentTarget.open)}>
			<summary>
				<span class="key">{p.name}</span>
				<span class="soft">{c === '{' ? '{…}' : `[${elementsOf(p.of).length}]`}</span>
			</summary>
			{open && (
				<>
					{button}
					<Children of={p.of} depth={p.depth + 1} />
				</>
			)}
		</details>
	)
}
