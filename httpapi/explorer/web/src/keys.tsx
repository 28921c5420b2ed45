// The keys that all pages have.
import { Dialog } from './ui'

const all: [string, string][] = [
	['Ctrl K', 'Command palette: go to a place, run a command'],
	['/', 'Go to the filter of the page, or of the tree'],
	['?', 'This list'],
	['Arrows, Enter', 'Move in a list; open the row'],
	['Ctrl Enter', 'Run the query; save the document'],
	['Ctrl Space', 'Complete in an editor'],
	['Escape', 'Leave an editor or a dialog'],
]

export function Keys(p: { close: () => void }) {
	return (
		<Dialog title="Keys" close={p.close} end="Close">
			<dl class="keys wide">
				{all.map(([key, what]) => (
					<div>
						<dt>
							<kbd>{key}</kbd>
						</dt>
						<dd>{what}</dd>
					</div>
				))}
			</dl>
		</Dialog>
	)
}

// isTyping tells of a key that goes into a field, an editor or a dialog.
export const isTyping = (e: KeyboardEvent) =>
	e
		.composedPath()
		.some(at => at instanceof Element && at.matches('input, textarea, select, dialog, [contenteditable=true]'))

// toFilter puts the focus into the page's filter; where it has none, into that of the tree.
export function toFilter() {
	const own = 'main input[type=search], main .bar input, main input[aria-label*="ilter"]'
	const field = document.querySelector<HTMLElement>(own) ?? document.querySelector<HTMLElement>('nav.tree input')
	field?.focus()
}
