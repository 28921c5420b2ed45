// The pieces that pages are made of.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { doing, dropNote, note, noted, say, useSignal } from './state'
import { useUnsaved } from './unsaved'

type Kids = { children?: ComponentChildren }

interface ButtonProps extends Kids {
	do: () => unknown
	kind?: 'main' | 'bad' | 'plain' | 'quiet'
	title?: string
	disabled?: boolean
	submit?: boolean
}

export function Button(p: ButtonProps) {
	const [busy, set] = useState(false)
	const run = async () => {
		if (busy) return // and not disabled, which would take the focus away
		set(true)
		await doing(async () => p.do())
		set(false)
	}
	return (
		<button
			type={p.submit ? 'submit' : 'button'}
			class={`btn ${p.kind ?? ''}`}
			title={p.title}
			aria-busy={busy}
			disabled={p.disabled}
			onClick={p.submit ? undefined : run}
		>
			{p.children}
		</button>
	)
}

// Field is a control, which has the id, with its name and what is to say about it.
function Field(p: Kids & { id: string; label: string; hint?: string; bad?: string; wide?: boolean }) {
	return (
		<div class={`field ${p.wide ? 'wide' : ''}`}>
			<label class="label" for={p.id}>
				{p.label}
			</label>
			{p.children}
			{p.bad ? (
				<span class="bad-text" id={p.id + '-about'} role="alert">
					{p.bad}
				</span>
			) : (
				p.hint && (
					<span class="hint" id={p.id + '-about'}>
						{p.hint}
					</span>
				)
			)}
		</div>
	)
}

// about leads from a control to what is said about it.
const about = (id: string, p: { hint?: string; bad?: string }) => ({
	id,
	'aria-describedby': p.bad || p.hint ? id + '-about' : undefined,
})

interface TextProps {
	label: string
	value: string
	set: (v: string) => void
	hint?: string
	bad?: string
	lines?: number
	type?: string
	auto?: boolean
	wide?: boolean
	mono?: boolean
	disabled?: boolean
	placeholder?: string
}

export function Text(p: TextProps) {
	const id = useId()
	const shared = {
		...about(id, p),
		value: p.value,
		class: p.mono ? 'mono' : '',
		'aria-invalid': p.bad ? true : undefined,
		disabled: p.disabled,
		placeholder: p.placeholder,
		spellcheck: false,
		autofocus: p.auto,
		onInput: (e: Event) => p.set((e.target as HTMLInputElement).value),
	}
	return (
		<Field id={id} label={p.label} hint={p.hint} bad={p.bad} wide={p.wide}>
			{p.lines ? (
				<textarea rows={p.lines} {...shared} />
			) : (
				<input type={p.type ?? 'text'} autocomplete="off" {...shared} />
			)}
		</Field>
	)
}

export function Choice(p: {
	label: string
	value: string
	set: (v: string) => void
	of: [string, string][]
	hint?: string
}) {
	const id = useId()
	return (
		<Field id={id} label={p.label} hint={p.hint}>
			<select
				{...about(id, p)}
				value={p.value}
				onChange={e => p.set((e.target as HTMLSelectElement).value)}
			>
				{p.of.map(([v, text]) => (
					<option value={v} selected={v === p.value}>
						{text}
					</option>
				))}
			</select>
		</Field>
	)
}

export function Check(p: Kids & { value: boolean; set: (v: boolean) => void }) {
	return (
		<label class="check">
			<input
				type="checkbox"
				checked={p.value}
				onChange={e => p.set((e.target as HTMLInputElement).checked)}
			/>
			<span>{p.children}</span>
		</label>
	)
}

// Dialog is modal; Escape and a press beside it close it. Its form is sent with Enter.
export function Dialog(
	p: Kids & {
		title: string
		close: () => void
		send?: () => Promise<unknown> // false keeps the dialog open
		word?: string
		end?: string // on the button that closes it
		bad?: boolean
		name?: string // of its class
	},
) {
	const ref = useRef<HTMLDialogElement>(null),
		title = useId()
	const [busy, set] = useState(false),
		[wrong, setWrong] = useState('')
	useLayoutEffect(() => {
		const d = ref.current!
		d.showModal()
		d.querySelector<HTMLElement>('input, textarea, select')?.focus()
		return () => d.close() // who is closed gives the focus back, and who is taken away does not
	}, [])
	useLayoutEffect(() => {
		if (wrong) ref.current!.querySelector('.banner')?.scrollIntoView({ block: 'nearest' })
	}, [wrong])
	// What goes wrong is told here: what is behind a dialog is dim, and assistive technology does not read it.
	const send = async (e: Event) => {
		e.preventDefault()
		if (busy) return
		set(true)
		setWrong('')
		try {
			const done = await p.send?.()
			if (done !== false && ref.current) p.close()
		} catch (x) {
			if (ref.current) setWrong(say(x))
			else note(say(x), true)
		}
		set(false)
	}
	return (
		<dialog
			ref={ref}
			class={p.name}
			aria-labelledby={title}
			onClose={() => ref.current && p.close()}
			onMouseDown={e => {
				if (e.target === ref.current) p.close()
			}}
		>
			<form onSubmit={send}>
				<h2 id={title}>{p.title}</h2>
				<div class="fields">{p.children}</div>
				<Bad text={wrong} />
				<div class="row end">
					<button type="button" class="btn" onClick={p.close}>
						{p.end ?? 'Cancel'}
					</button>
					{p.send && (
						<button class={`btn ${p.bad ? 'bad' : 'main'}`} aria-busy={busy}>
							{p.word ?? 'Save'}
						</button>
					)}
				</div>
			</form>
		</dialog>
	)
}

// Confirm asks before what deletes. Where typed is given it must be typed before.
export function Confirm(p: { word: string; what: string; typed?: string; do: () => Promise<unknown> }) {
	const [open, set] = useState(false),
		[text, type] = useState('')
	return (
		<>
			<button type="button" class="btn bad" onClick={() => (type(''), set(true))}>
				{p.word}
			</button>
			{open && (
				<Dialog
					title={`${p.word}?`}
					close={() => set(false)}
					send={async () => {
						if (p.typed && text !== p.typed) throw new Error(`Type ${p.typed} to go on.`)
						await p.do()
					}}
					word={p.word}
					bad
				>
					<p>{p.what}</p>
					{p.typed && (
						<Text label={`Type the id ${p.typed} to confirm`} value={text} set={type} mono wide />
					)}
				</Dialog>
			)}
		</>
	)
}

export function Panel(p: Kids & { title?: string; side?: ComponentChildren; class?: string }) {
	return (
		<section class={`panel ${p.class ?? ''}`}>
			{(p.title || p.side) && (
				<header>
					<h2>{p.title}</h2>
					<div class="row">{p.side}</div>
				</header>
			)}
			{p.children}
		</section>
	)
}

// kept is what a form's save returns where nothing was saved, since the user said no.
export const kept = Symbol('kept')

// FormPanel is a panel whose fields are saved together. What save returns as a text is the note of its end; where it
// returns null it has said so itself.
export function FormPanel(
	p: Kids & {
		title: string
		word: string
		blocked?: boolean
		main?: boolean
		bad?: boolean // it deletes
		save: () => Promise<unknown>
	},
) {
	const [touched, touch] = useState(false)
	useUnsaved(touched)
	return (
		<Panel
			title={p.title}
			side={
				<Button
					kind={p.bad ? 'bad' : p.main ? 'main' : undefined}
					disabled={p.blocked}
					do={async () => {
						const done = await p.save()
						if (done === kept) return
						touch(false)
						if (done !== null) note(typeof done === 'string' ? done : 'Saved.')
					}}
				>
					{p.word}
				</Button>
			}
		>
			<div
				onInput={() => touch(true)}
				onChange={() => touch(true)}
				onClick={e => {
					// a line is added or removed
					if ((e.target as Element).closest('.rows .btn')) touch(true)
				}}
			>
				{p.children}
			</div>
		</Panel>
	)
}

// Pair is a field with the button that uses it.
export function Pair({ do: run, word, blocked, ...field }: PairProps) {
	return (
		<div class={`pair ${field.wide ? 'wide' : ''}`}>
			<Text {...field} />
			<Button do={run} disabled={blocked}>
				{word}
			</Button>
		</div>
	)
}
interface PairProps extends TextProps {
	do: () => unknown
	word: string
	blocked?: boolean
}

export const Bad = (p: { text: string }) =>
	p.text ? (
		<p class="banner" role="alert">
			{p.text}
		</p>
	) : null
export const Empty = (p: Kids) => <p class="empty">{p.children}</p>

// Stats are figures with their names.
export function Stats(p: { of: [string, ComponentChildren, string?][] }) {
	return (
		<dl class="stats">
			{p.of.map(([name, value, kind]) => (
				<div>
					<dt>{name}</dt>
					<dd class={kind}>{value}</dd>
				</div>
			))}
		</dl>
	)
}

interface TableProps {
	head: string[]
	rows: ComponentChildren[][]
	label: string
	empty?: string
}
export function Table(p: TableProps) {
	if (!p.rows.length) return <Empty>{p.empty ?? 'Nothing here.'}</Empty>
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label={p.label}>
			<table>
				<thead>
					<tr>
						{p.head.map(h => (
							<th scope="col">{h || <span class="unseen">Actions</span>}</th>
						))}
					</tr>
				</thead>
				<tbody>
					{p.rows.map(r => (
						<tr>
							{r.map(c => (
								<td>{c}</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	)
}

// Tabs are links: each has its own URL. Where some are beyond an edge, that edge shows it.
export function Tabs(p: { of: [string, string][]; at: string; to: (name: string) => string; label: string }) {
	const ref = useRef<HTMLElement>(null)
	const [more, set] = useState('')
	const look = () => {
		const n = ref.current
		if (!n) return
		const left = n.scrollLeft > 2,
			right = n.scrollLeft + n.clientWidth < n.scrollWidth - 2
		set(`${left ? 'left' : ''} ${right ? 'right' : ''}`)
	}
	useEffect(() => {
		ref.current?.querySelector('[aria-current]')?.scrollIntoView({ inline: 'nearest', block: 'nearest' })
		look()
	}, [p.at])
	useEffect(() => {
		const sized = new ResizeObserver(look)
		sized.observe(ref.current!)
		return () => sized.disconnect()
	}, [])
	return (
		<div class={`tabs-frame ${more}`}>
			<nav class="tabs" aria-label={p.label} ref={ref} onScroll={look}>
				{p.of.map(([name, text]) => (
					<a href={p.to(name)} aria-current={name === p.at ? 'page' : undefined}>
						{text}
					</a>
				))}
			</nav>
		</div>
	)
}

// Notes shows one note at a time, which says what was done or went wrong, with what takes it back.
export function Notes() {
	useSignal('notes')
	const n = noted
	return (
		<div class="notes" role="status" aria-live="polite">
			{n && (
				<p key={n.id} class={n.bad ? 'bad' : ''}>
					{n.text}
					{n.action && (
						<button
							type="button"
							class="btn"
							title={n.action.title}
							onClick={() => {
								dropNote(n.id)
								doing(n.action!.run)
							}}
						>
							{n.action.word}
						</button>
					)}
				</p>
			)}
		</div>
	)
}

export const Json = (p: { of: unknown }) => (
	<pre class="json" tabIndex={0}>
		{JSON.stringify(p.of, null, 2)}
	</pre>
)
export type Submit = JSX.TargetedSubmitEvent<HTMLFormElement>
