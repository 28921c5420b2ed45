// The pieces that pages are made of.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { doing, note, notes, say, useSignal } from './state'
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

// Confirm asks before what cannot be taken back.
export function Confirm(p: { word: string; what: string; do: () => Promise<unknown> }) {
	const [open, set] = useState(false)
	return (
		<>
			<button type="button" class="btn bad" onClick={() => set(true)}>
				{p.word}
			</button>
			{open && (
				<Dialog title={`${p.word}?`} close={() => set(false)} send={p.do} word={p.word} bad>
					<p>{p.what}</p>
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

// FormPanel is a panel whose fields are saved together.
export function FormPanel(
	p: Kids & {
		title: string
		word: string
		blocked?: boolean
		main?: boolean
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
					kind={p.main ? 'main' : undefined}
					disabled={p.blocked}
					do={async () => {
						await p.save()
						touch(false)
						note('Saved.')
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

// Tabs are links: each has its own URL.
export function Tabs(p: { of: [string, string][]; at: string; to: (name: string) => string; label: string }) {
	const ref = useRef<HTMLElement>(null)
	useEffect(() => {
		ref.current?.querySelector('[aria-current]')?.scrollIntoView({ inline: 'nearest', block: 'nearest' })
	}, [p.at])
	return (
		<nav class="tabs" aria-label={p.label} ref={ref}>
			{p.of.map(([name, text]) => (
				<a href={p.to(name)} aria-current={name === p.at ? 'page' : undefined}>
					{text}
				</a>
			))}
		</nav>
	)
}

export function Notes() {
	useSignal('notes')
	return (
		<div class="notes" role="status" aria-live="polite">
			{notes.map(n => (
				<p key={n.id} class={n.bad ? 'bad' : ''}>
					{n.text}
				</p>
			))}
		</div>
	)
}

export const Json = (p: { of: unknown }) => (
	<pre class="json" tabIndex={0}>
		{JSON.stringify(p.of, null, 2)}
	</pre>
)
export type Submit = JSX.TargetedSubmitEvent<HTMLFormElement>
