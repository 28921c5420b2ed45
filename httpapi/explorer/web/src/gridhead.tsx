// The heads of a grid's columns: a click sorts, dragging moves a column, dragging its edge changes its width.
import { useRef, useState } from 'preact/hooks'
import type { GridColumn, GridSort } from './grid'
import { moved, narrowest, type Layout } from './gridlayout'

interface HeadProps<R> {
	id: string
	columns: GridColumn<R>[] // those that are shown
	all: GridColumn<R>[]
	layout: Layout
	change: (l: Layout) => void
	at: number // the head that the keyboard is at, -1 for none
	sort?: GridSort | null
	sortBy?: (c: GridColumn<R>) => void
	mark?: { on: boolean; flip: (on: boolean) => void }
}

const dragged = 6 // px from which on a press is no click

export function GridHead<R>(p: HeadProps<R>) {
	const [target, setTarget] = useState<string | null>(null) // the column before which the dragged one would stand
	const press = useRef<{ name: string; x: number; moving: boolean } | null>(null)
	const over = (x: number, head: Element) => {
		const cells = [...head.querySelectorAll<HTMLElement>('[data-column]')]
		return (
			cells.find(c => x < c.getBoundingClientRect().left + c.offsetWidth / 2)?.dataset.column ?? ''
		)
	}
	const down = (e: PointerEvent, name: string) => {
		if (e.button || (e.target as Element).closest('.edge')) return
		press.current = { name, x: e.clientX, moving: false }
	}
	const drag = (e: PointerEvent) => {
		const d = press.current
		if (!d || e.pointerType === 'touch') return // a finger scrolls
		if (!d.moving && Math.abs(e.clientX - d.x) < dragged) return
		d.moving = true
		const el = e.currentTarget as HTMLElement
		el.setPointerCapture(e.pointerId)
		setTarget(over(e.clientX, el.parentElement!))
	}
	const up = (c: GridColumn<R>) => {
		const d = press.current
		press.current = null
		if (d?.moving) {
			if (target !== null && target !== d.name)
				p.change(moved(p.all, p.layout, d.name, target || null))
			setTarget(null)
		} else if (d) p.sortBy?.(c)
	}
	return (
		<div class="grid-row grid-head" role="row" aria-rowindex={1}>
			{p.mark && (
				<span role="columnheader" class="c-mark-head">
					<input
						type="checkbox"
						tabIndex={-1}
						aria-label="Select all rows that are loaded"
						checked={p.mark.on}
						onChange={e => p.mark!.flip(e.currentTarget.checked)}
					/>
				</span>
			)}
			{p.columns.map((c, i) => {
				const sorted =
					p.sort?.column === c.name ? (p.sort.down ? 'descending' : 'ascending') : undefined
				return (
					<span
						role="columnheader"
						id={`${p.id}-h${i}`}
						data-column={c.name}
						title={c.hint ?? c.label ?? c.name}
						aria-sort={sorted ?? (p.sortBy && c.sorts ? 'none' : undefined)}
						class={`${p.sortBy && c.sorts ? 'sorts' : ''} ${i === p.at ? 'cell' : ''} ${target === c.name ? 'before' : ''}`}
						onPointerDown={e => down(e, c.name)}
						onPointerMove={drag}
						onPointerUp={() => up(c)}
						onPointerCancel={() => {
							press.current = null
							setTarget(null)
						}}
					>
						<span class="name">{c.label ?? c.name}</span>
						{sorted && <span aria-hidden="true">{sorted === 'descending' ? '▼' : '▲'}</span>}
						<Edge column={c.name} layout={p.layout} change={p.change} />
					</span>
				)
			})}
		</div>
	)
}

// Edge is the right edge of a head. A double click gives the column its width from before.
function Edge(p: { column: string; layout: Layout; change: (l: Layout) => void }) {
	const from = useRef<{ x: number; width: number } | null>(null)
	const set = (width: number | undefined) => {
		const { [p.column]: _, ...widths } = p.layout.widths
		p.change({ ...p.layout, widths: width === undefined ? widths : { ...widths, [p.column]: width } })
	}
	return (
		<span
			class="edge"
			onPointerDown={e => {
				from.current = { x: e.clientX, width: e.currentTarget.parentElement!.offsetWidth }
				e.currentTarget.setPointerCapture(e.pointerId)
				e.stopPropagation()
			}}
			onPointerMove={e => {
				const f = from.current
				if (f) set(Math.max(narrowest, Math.round(f.width + e.clientX - f.x)))
			}}
			onPointerUp={e => {
				from.current = null
				e.stopPropagation()
			}}
			onPointerCancel={() => (from.current = null)}
			onDblClick={() => set(undefined)}
		/>
	)
}
