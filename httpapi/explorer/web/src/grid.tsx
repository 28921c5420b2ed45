// Grid shows rows, one line each: it draws those in sight, of a million as of ten.
//
//	<Grid
//		label="Documents"               its accessible name
//		kept={`documents/${db}/${coll}`} the name by which the browser keeps its columns' order, widths and choice
//		columns={[{ name: 'id', value: r => r.id }]} in the order in which they are shown at first
//		rows={rows}                     those that are loaded; more={true} where there are others
//		keyOf={row => row._rid}         what identifies a row
//		total={count}                   of all rows, loaded or not, where it is known
//		place={filter}                  another one: other rows, shown from the first
//		sight={(first, last) => ...}    called as rows come into sight: the place to load more
//		atTop={() => ...}               called when the reader has scrolled back to the first row
//		open={row => ...}               a click on a row, or Enter
//		selection={s} select={set}      rows that are selected (selection.ts); without select there is no selecting
//		acts={[...]}                     buttons for the rows that are selected
//		sort={s} setSort={set}          the column that the caller sorts by; setSort(null) is the order of the rows as they come
//	/>
//
// A column's cell draws what its value does not tell as text. Copying takes values: a cell's text, rows as JSON, or as
// copyRows writes them. Keys: arrows, Page Up, Page Down, Home, End; Enter opens; Space selects, Shift and
// arrows select on, Ctrl+A all that are loaded; Ctrl+C copies; above the first row stand the heads, where Enter sorts
// and Shift with left and right changes the width.
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import './grid.css'
import { GridColumns } from './gridcolumns'
import { Chosen } from './gridchosen'
import { GridHead } from './gridhead'
import {
	isShown,
	keepLayout,
	narrowest,
	ordered,
	readLayout,
	rowHeight,
	view,
	type Layout,
} from './gridlayout'
import { copyText, Menu, type MenuItem } from './menu'
import { isSelected, noRows, selected, toggled, type Selection } from './selection'
import { note, plural, useTick } from './state'

export interface GridColumn<R> {
	name: string
	label?: string // the head's text; without one the name
	value: (row: R) => unknown // what is shown, copied and exported
	cell?: (row: R) => ComponentChildren // instead of the value's text
	width?: number // px at first; without one the column has its share of what is left
	share?: number // of what is left; 1 without one
	hidden?: boolean // until somebody chooses it
	sorts?: boolean // a click on the head sorts, where the grid has setSort
	hint?: string // about the head
	class?: string
}

export interface GridSort {
	column: string
	down: boolean
}

export interface GridProps<R> {
	label: string
	kept: string
	columns: GridColumn<R>[]
	rows: R[]
	keyOf: (row: R, index: number) => string
	total?: number
	more?: boolean
	place?: string
	sight?: (first: number, last: number) => void
	atTop?: () => void
	open?: (row: R, index: number) => void
	opened?: string // the key of the row that is open beside the grid
	moved?: (row: R, index: number) => void // a key has led to another row
	selection?: Selection
	select?: (s: Selection) => void
	sort?: GridSort | null
	setSort?: (s: GridSort | null) => void
	copyRows?: (rows: R[]) => string
	acts?: MenuItem[] // what is done to the rows that are selected
	empty?: ComponentChildren // instead of rows, where there are none
	busy?: boolean // it is not known yet whether there are rows
	foot?: ComponentChildren // beside the number of rows
	tick?: number // ms after which the cells are drawn again, for what changes with time
	at?: RefObject<HTMLDivElement> // the element, to give it the focus
}

// cellText is a value as the text of a cell.
export function cellText(v: unknown): string {
	if (typeof v === 'string') return v
	return v === undefined ? '' : (JSON.stringify(v) ?? '')
}

const longest = 400 // characters of a cell that are drawn: nobody sees more in one line

const rowsAsJSON = (rows: unknown[]) => JSON.stringify(rows.length === 1 ? rows[0] : rows, null, 2)

// template is the widths of columns for CSS, and the least that they take together, in px.
function template<R>(columns: GridColumn<R>[], layout: Layout, mark: boolean): [string, number] {
	let wide = mark ? 32 : 0
	const tracks = columns.map(c => {
		const fixed = layout.widths[c.name] ?? c.width
		wide += fixed ?? 110
		return fixed ? `${fixed}px` : `minmax(110px, ${c.share ?? 1}fr)`
	})
	// where every width is fixed what is left stays empty
	return [(mark ? '32px ' : '') + tracks.join(' '), wide]
}

export function Grid<R>(p: GridProps<R>) {
	const own = useRef<HTMLDivElement>(null),
		grid = p.at ?? own,
		id = useId()
	const [layout, lay] = useState(() => readLayout(p.kept)),
		[scrollTop, scroll] = useState(0),
		[inner, setInner] = useState(400),
		[row, setRow] = useState(0), // -1 is the heads'
		[column, setColumn] = useState(-1), // -1 is the whole row
		[menu, openMenu] = useState<{ x: number; y: number; row: number; column: number } | null>(null)
	const from = useRef(0) // where a range of selected rows began
	const columns = ordered(p.columns, layout).filter(c => isShown(c, layout))
	const at = Math.min(row, p.rows.length - 1),
		col = Math.min(column, columns.length - 1)
	const v = view(p.rows.length, scrollTop, inner)
	const selection = p.selection ?? noRows
	const change = (next: Layout) => {
		lay(next)
		keepLayout(p.kept, next)
	}
	useLayoutEffect(() => lay(readLayout(p.kept)), [p.kept])
	const place = useRef(p.place)
	useLayoutEffect(() => {
		if (place.current === p.place) return
		place.current = p.place
		grid.current!.scrollTop = 0
		setRow(r => Math.min(r, 0)) // who sorts by keys stays at the heads
		from.current = 0
	}, [p.place])
	useLayoutEffect(() => {
		const el = grid.current!
		const sized = new ResizeObserver(() => setInner(el.clientHeight - rowHeight))
		sized.observe(el)
		return () => sized.disconnect()
	}, [])
	useEffect(() => p.sight?.(v.first, v.last), [v.first, v.last, p.rows.length, p.more])
	useTick(p.tick ?? 1 << 30)

	const keyAt = (i: number) => p.keyOf(p.rows[i], i)
	const keys = (a: number, b: number) =>
		p.rows.slice(Math.min(a, b), Math.max(a, b) + 1).map((r, n) => p.keyOf(r, Math.min(a, b) + n))
	const loaded = () => keys(0, p.rows.length - 1)
	const toggle = (i: number) => {
		from.current = i
		if (p.rows[i] !== undefined) p.select?.(toggled(selection, p.keyOf(p.rows[i], i), loaded))
	}
	const chosen = (i: number) => {
		const key = p.rows[i] !== undefined && p.keyOf(p.rows[i], i)
		if (key === false || !isSelected(selection, key))
			return p.rows[i] === undefined ? [] : [p.rows[i]]
		return p.rows.filter((r, n) => isSelected(selection, p.keyOf(r, n)))
	}
	const reveal = (i: number) => {
		const el = grid.current!
		if (i < 0) return
		if (v.y(i) < el.scrollTop) el.scrollTop = v.top(i)
		else if (v.y(i + 1) > el.scrollTop + inner)
			el.scrollTop = Math.max(0, v.top(i + 1 - inner / rowHeight))
	}
	const move = (to: number, on: boolean) => {
		const i = Math.max(on || !p.rows.length ? 0 : -1, Math.min(p.rows.length - 1, to))
		setRow(i)
		reveal(i)
		if (i >= 0 && p.rows[i] !== undefined) p.moved?.(p.rows[i], i)
		if (on && p.select) p.select(selected(keys(from.current, i)))
		else from.current = Math.max(0, i)
	}
	const copy = async (rows: R[], c: number) => {
		if (c >= 0) await copyText(cellText(columns[c].value(rows[0])))
		else await copyText((p.copyRows ?? rowsAsJSON)(rows))
		note(c >= 0 ? 'Cell copied.' : `${plural(rows.length, 'row')} copied.`)
	}
	const sortBy = (c: GridColumn<R>) => {
		if (!p.setSort || !c.sorts) return
		const same = p.sort?.column === c.name
		p.setSort(same && p.sort!.down ? null : { column: c.name, down: same })
	}
	const widen = (c: GridColumn<R>, by: number) => {
		const now = grid.current!.querySelector<HTMLElement>(
			`[data-column="${CSS.escape(c.name)}"]`,
		)!.offsetWidth
		const width = Math.max(narrowest, now + by)
		change({ ...layout, widths: { ...layout.widths, [c.name]: width } })
	}
	const press = (e: KeyboardEvent) => {
		if (e.target !== grid.current) return
		const ctrl = e.ctrlKey || e.metaKey,
			step: Record<string, number> = {
				ArrowDown: at + 1,
				ArrowUp: at - 1,
				PageDown: at + v.whole - 1,
				PageUp: Math.max(0, at - v.whole + 1),
				Home: 0,
				End: p.rows.length - 1,
			}
		const across = ({ ArrowRight: 1, ArrowLeft: -1 } as Record<string, number>)[e.key]
		if (across && at < 0 && e.shiftKey && col >= 0) widen(columns[col], across * 16)
		else if (across) setColumn(Math.max(-1, Math.min(columns.length - 1, col + across)))
		else if (ctrl && e.key === 'a' && p.select) p.select(selected(loaded()))
		else if (ctrl && e.key === 'c' && !String(getSelection())) {
			const rows = chosen(at)
			if (!rows.length) return
			copy(rows, rows.length > 1 ? -1 : col)
		} else if (ctrl || e.altKey) return
		else if (e.key in step) move(step[e.key], e.shiftKey && !!p.select)
		else if (e.key === 'Enter' && at < 0) {
			if (col >= 0) sortBy(columns[col])
		} else if (e.key === 'Enter') {
			if (p.rows[at] !== undefined) p.open?.(p.rows[at], at)
		} else if (e.key === ' ' && p.select) toggle(at)
		else if (e.key === 'Escape' && p.select && (selection.all || selection.keys.size))
			p.select(noRows)
		else return
		e.preventDefault()
	}
	const click = (e: MouseEvent, i: number) => {
		if (String(getSelection())) return // somebody has marked a piece of text
		setRow(i)
		setColumn(-1)
		const mark = (e.target as Element).closest('.c-mark')
		if (p.select && e.shiftKey) p.select(selected(keys(from.current, i)))
		else if (p.select && (e.ctrlKey || e.metaKey || mark)) toggle(i)
		else {
			from.current = i
			p.open?.(p.rows[i], i)
		}
	}
	const ask = (e: MouseEvent) => {
		const el = (e.target as Element).closest<HTMLElement>('.grid-body [role=row]')
		// the key for menus is pressed where the focus is: on the grid
		const i = el ? Number(el.dataset.row) : at
		if (!p.rows.length || i < 0) return
		e.preventDefault()
		const name = (e.target as Element).closest<HTMLElement>('[data-name]')?.dataset.name
		const box = grid.current!.getBoundingClientRect(),
			y = box.top + v.y(i + 2) - grid.current!.scrollTop
		setRow(i)
		openMenu({
			x: el ? e.clientX : box.left + 40,
			y: el ? e.clientY : y,
			row: i,
			column: name === undefined ? col : columns.findIndex(c => c.name === name),
		})
	}
	const items = (): MenuItem[] => {
		const rows = chosen(menu!.row),
			all = plural(p.rows.length, 'row')
		const cell: MenuItem[] =
			menu!.column >= 0
				? [{ label: 'Copy cell', do: () => copy([p.rows[menu!.row]], menu!.column) }]
				: []
		return [
			...cell,
			{
				label: rows.length > 1 ? `Copy ${plural(rows.length, 'row')}` : 'Copy row',
				key: 'Ctrl C',
				do: () => copy(rows, -1),
			},
			...(p.rows.length > 1 ? [{ label: `Copy all ${all}`, do: () => copy(p.rows, -1) }] : []),
			...(isSelected(selection, keyAt(menu!.row)) ? (p.acts ?? []) : []),
		]
	}
	const [tracks, wide] = template(columns, layout, !!p.select)
	const active = at < 0 ? `${id}-h${col}` : `${id}-${at}`
	const isDrawn = p.rows.length > 0 && (at < 0 || (at >= v.first && at < v.last))
	const partly = p.more || (p.total ?? 0) > p.rows.length
	return (
		<>
			<div
				class={`grid ${p.rows.length ? '' : 'bare'}`}
				role="grid"
				aria-label={p.label}
				aria-multiselectable={!!p.select}
				aria-busy={p.busy}
				aria-rowcount={p.total !== undefined ? p.total + 1 : p.more ? -1 : p.rows.length + 1}
				aria-activedescendant={isDrawn ? active : undefined}
				tabIndex={0}
				ref={grid}
				style={{ '--tracks': tracks, '--wide': `${wide}px` }}
				onKeyDown={press}
				onContextMenu={ask}
				onMouseDown={e => {
					if (!e.shiftKey || !p.select) return
					e.preventDefault() // text is not marked where rows are selected
					e.currentTarget.focus()
				}}
				onScroll={e => {
					const at = e.currentTarget.scrollTop
					if (scrollTop && !at) p.atTop?.()
					scroll(at)
				}}
			>
				<GridHead
					id={id}
					columns={columns}
					layout={layout}
					change={change}
					all={p.columns}
					at={at < 0 ? col : -1}
					sort={p.sort}
					sortBy={p.setSort && sortBy}
					mark={
						p.select && {
							on:
								!!p.rows.length &&
								(selection.all || selection.keys.size >= p.rows.length),
							flip: on => p.select!(on ? selected(loaded()) : noRows),
						}
					}
				/>
				<div class="grid-body" role="rowgroup" style={{ height: v.height }}>
					{p.rows.slice(v.first, v.last).map((r, n) => {
						const i = v.first + n,
							key = p.keyOf(r, i),
							on = isSelected(selection, key)
						return (
							<div
								role="row"
								id={`${id}-${i}`}
								key={key}
								data-row={i}
								aria-rowindex={i + 2}
								aria-selected={p.select ? on : undefined}
								class={`grid-row ${i === at ? 'at' : ''} ${on ? 'chosen' : ''} ${key === p.opened ? 'open' : ''}`}
								style={{ top: v.y(i) }}
								onClick={e => click(e, i)}
							>
								{p.select && (
									<span
										role="gridcell"
										class="c-mark"
										aria-label={on ? 'selected' : 'not selected'}
									/>
								)}
								{columns.map((c, k) => (
									<span
										role="gridcell"
										data-name={c.name}
										class={`${c.class ?? 'mono'} ${i === at && k === col ? 'cell' : ''}`}
									>
										{c.cell ? c.cell(r) : cellText(c.value(r)).slice(0, longest)}
									</span>
								))}
							</div>
						)
					})}
				</div>
				{!p.rows.length && (
					<div class="grid-empty" role="row">
						<div role="gridcell">{p.busy ? <p class="soft">Loading…</p> : p.empty}</div>
					</div>
				)}
			</div>
			<div class="grid-foot">
				<p class="soft foot">
					{p.busy
						? 'Loading…'
						: partly
							? `${p.rows.length.toLocaleString('en')}${p.total === undefined ? '' : ` of ${p.total.toLocaleString('en')}`} rows loaded`
							: plural(p.rows.length, 'row')}
				</p>
				{p.select && (
					<Chosen
						count={selection.all ? (p.total ?? p.rows.length) : selection.keys.size}
						every={partly && !selection.all ? p.total : undefined}
						select={p.select}
						acts={p.acts ?? []}
					/>
				)}
				{p.foot}
				<GridColumns columns={p.columns} layout={layout} change={change} />
			</div>
			{menu && <Menu at={menu} label="Row" items={items()} close={() => openMenu(null)} />}
		</>
	)
}
