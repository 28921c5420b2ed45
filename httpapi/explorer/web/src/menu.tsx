// Menus that open over the page, above all else, and close with Escape and with a press beside them.
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { doing } from './state'

export interface MenuItem {
	label: string
	do: () => unknown
	key?: string // the keys that do the same
	bad?: boolean // it cannot be undone
}

interface Place {
	x: number
	y: number
}

// Popup is a box at a place of the window, moved so that it is in sight. It has the focus.
export function Popup(p: {
	at: Place
	label: string
	role?: 'menu' | 'dialog'
	close: () => void
	children: ComponentChildren
}) {
	const ref = useRef<HTMLDivElement>(null)
	useLayoutEffect(() => {
		const el = ref.current!
		el.showPopover()
		el.style.left = `${Math.max(4, Math.min(p.at.x, innerWidth - el.offsetWidth - 4))}px`
		el.style.top = `${Math.max(4, Math.min(p.at.y, innerHeight - el.offsetHeight - 4))}px`
		el.querySelector<HTMLElement>('button, input')?.focus()
		return () => {
			if (el.matches(':popover-open')) el.hidePopover()
		}
	}, [p.at.x, p.at.y])
	const step = (e: KeyboardEvent) => {
		if (e.key === 'Escape') e.stopPropagation() // it closes the popup, and nothing below it
		const by = ({ ArrowDown: 1, ArrowUp: -1 } as Record<string, number>)[e.key]
		if (!by) return
		e.preventDefault()
		const all = [...ref.current!.querySelectorAll<HTMLElement>('button:not(:disabled), input')]
		const at = all.indexOf(document.activeElement as HTMLElement)
		all[(at + by + all.length) % all.length]?.focus()
	}
	return (
		<div
			popover="auto"
			class="popup"
			ref={ref}
			role={p.role ?? 'dialog'}
			aria-label={p.label}
			onKeyDown={step}
			onToggle={e => (e as unknown as ToggleEvent).newState === 'closed' && p.close()}
		>
			{p.children}
		</div>
	)
}

// Menu is a list of things to do, at a place.
export function Menu(p: { at: Place; label: string; items: MenuItem[]; close: () => void }) {
	return (
		<Popup at={p.at} label={p.label} role="menu" close={p.close}>
			{p.items.map(item => (
				<button
					type="button"
					role="menuitem"
					class={item.bad ? 'bad' : ''}
					onClick={() => {
						p.close()
						doing(async () => item.do())
					}}
				>
					{item.label}
					{item.key && <kbd>{item.key}</kbd>}
				</button>
			))}
		</Popup>
	)
}

// MenuButton opens a menu below itself.
export function MenuButton(p: {
	word: string
	items: () => MenuItem[]
	disabled?: boolean
	kind?: string
}) {
	const [at, set] = useState<Place | null>(null)
	return (
		<>
			<button
				type="button"
				class={`btn ${p.kind ?? ''}`}
				aria-haspopup="menu"
				aria-expanded={!!at}
				disabled={p.disabled}
				onClick={e => set(below(e.currentTarget))}
			>
				{p.word} <span aria-hidden="true">▾</span>
			</button>
			{at && <Menu at={at} label={p.word} items={p.items()} close={() => set(null)} />}
		</>
	)
}

export function below(el: Element): Place {
	const box = el.getBoundingClientRect()
	return { x: box.left, y: box.bottom + 4 }
}

// copyText puts a text on the clipboard.
export const copyText = (text: string) => navigator.clipboard.writeText(text)
