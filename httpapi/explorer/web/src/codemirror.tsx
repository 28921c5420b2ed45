// CodeMirror in a shadow root: there its styles are constructed sheets, which the content security
// policy lets in.
import {
	autocompletion,
	closeBrackets,
	completionKeymap,
	type CompletionSource,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { sql, SQLDialect } from '@codemirror/lang-sql'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { linter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorState, Prec, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { problemOf } from './jsontext'

const colours = syntaxHighlighting(
	HighlightStyle.define([
		{ tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--code-name)' },
		{ tag: [tags.string, tags.special(tags.string)], color: 'var(--code-string)' },
		{ tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
		{ tag: tags.keyword, color: 'var(--code-word)', fontWeight: '600' },
		{ tag: tags.comment, color: 'var(--soft)' },
	]),
)

const theme = EditorView.theme({
	'&': { fontSize: '13px', height: '100%', color: 'var(--text)', backgroundColor: 'var(--field)' },
	'.cm-content': { fontFamily: 'var(--mono)', padding: '8px 0', caretColor: 'var(--text)' },
	'.cm-gutters': { backgroundColor: 'transparent', color: 'var(--soft)', border: 'none' },
	'.cm-cursor': { borderLeftColor: 'var(--text)' },
	'&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
	'.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {
		backgroundColor: 'var(--select) !important',
	},
	// the mark of lint is an image in a data URL, which the content security policy refuses
	'.cm-lintRange-error': {
		backgroundImage: 'none',
		textDecoration: 'underline wavy var(--bad)',
		backgroundColor: 'var(--bad-tint)',
	},
	'.cm-tooltip': {
		backgroundColor: 'var(--raised)',
		color: 'var(--text)',
		border: '1px solid var(--line)',
	},
	'.cm-tooltip-autocomplete ul li[aria-selected]': {
		backgroundColor: 'var(--accent)',
		color: 'var(--on-accent)',
	},
})

const words =
	'select value distinct top from in join where and or not between like escape exists array order by rank ' +
	'asc desc offset limit group as null true false undefined udf'
const dialect = SQLDialect.define({ keywords: words, types: '', builtin: '', doubleQuotedStrings: true })

// jsonProblems marks what is wrong with JSON where it is.
const jsonProblems = linter(
	(view): Diagnostic[] => {
		const problem = problemOf(view.state.doc.toString())
		if (!problem) return []
		const end = view.state.doc.length,
			from = Math.max(0, Math.min(problem.at, end - 1))
		return [{ from, to: Math.min(from + 1, end), severity: 'error', message: problem.message }]
	},
	{ delay: 200 },
)

// replaceTyped puts a typed text over a selection. A browser that did it itself would give the text the look of what was
// there, by a style attribute, which the content security policy refuses and reports.
const replaceTyped = EditorView.domEventHandlers({
	beforeinput(e, view) {
		const { from, to, empty } = view.state.selection.main,
			text = e.data
		if (e.inputType !== 'insertText' || text === null || e.isComposing || empty || view.state.readOnly) return false
		const insert = () =>
			view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true })
		const handlers = view.state.facet(EditorView.inputHandler)
		if (!handlers.some(handle => handle(view, from, to, text, insert))) view.dispatch(insert())
		e.preventDefault()
		return true
	},
})

export interface EditorProps {
	label: string
	value: string
	set?: (v: string) => void
	mode: 'json' | 'sql' | 'js'
	complete?: CompletionSource
	run?: () => void
	cursor?: { at: number } | null // another one puts the cursor there
	height?: string
	marks?: Mark[]
	handle?: { current: EditorView | null } // the editor's view, for as long as it is drawn
}

// Mark is something wrong at a place of the text, in UTF-16 units.
export interface Mark {
	from: number
	to: number
	text: string
}

export default function CodeMirror(p: EditorProps) {
	const host = useRef<HTMLDivElement>(null),
		view = useRef<EditorView | null>(null)
	const now = useRef(p)
	now.current = p
	useLayoutEffect(() => {
		const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
		const language: Extension[] =
			p.mode === 'sql'
				? [
						sql({ dialect }),
						autocompletion({
							override: [c => now.current.complete?.(c) ?? null],
						}),
					]
				: p.mode === 'json'
					? [json(), ...(p.set ? [jsonProblems] : [])]
					: []
		const v = new EditorView({
			root,
			parent: root,
			state: EditorState.create({
				doc: p.value,
				extensions: [
					Prec.highest(
						keymap.of([
							{
								key: 'Mod-Enter',
								run: () => {
									now.current.run?.()
									return !!now.current.run
								},
							},
						]),
					),
					lineNumbers(),
					history(),
					drawSelection(),
					bracketMatching(),
					closeBrackets(),
					indentOnInput(),
					colours,
					theme,
					language,
					replaceTyped,
					keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
					EditorView.lineWrapping,
					EditorView.editable.of(!!p.set),
					EditorView.contentAttributes.of({ 'aria-label': p.label, tabindex: '0' }),
					EditorView.updateListener.of(u => {
						if (u.docChanged) now.current.set?.(u.state.doc.toString())
					}),
				],
			}),
		})
		view.current = v
		if (p.handle) p.handle.current = v
		return () => {
			if (p.handle) p.handle.current = null
			v.destroy()
		}
	}, [p.mode, !p.set])
	useLayoutEffect(() => {
		const v = view.current
		if (v && v.state.doc.toString() !== p.value) {
			v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: p.value } })
		}
	}, [p.value])
	useLayoutEffect(() => {
		const v = view.current
		if (!v || !p.cursor) return
		const anchor = Math.min(p.cursor.at, v.state.doc.length)
		v.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
		v.focus()
	}, [p.cursor])
	useLayoutEffect(() => {
		const v = view.current
		if (!v || !p.marks) return
		const end = v.state.doc.length
		const all = p.marks.map(m => {
			const from = Math.min(m.from, end)
			return { from, to: Math.min(Math.max(m.to, from + 1), end), severity: 'error' as const, message: m.text }
		})
		v.dispatch(setDiagnostics(v.state, all))
	}, [p.marks])
	return <div class={`editor ${p.height ?? ''}`} ref={host} />
}
