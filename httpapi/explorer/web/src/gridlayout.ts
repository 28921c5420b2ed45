// The layout of a grid: which columns it shows, in which order, how wide. It is kept in the browser's
// localStorage by the grid's name.

const prefix = 'mayfly-grid-'

export const rowHeight = 32
export const narrowest = 56 // px, of a column

// A browser draws no element that is higher than some 17 to 33 million px: more rows share this height.
const tallest = 8_000_000

export interface Layout {
	order: string[] // columns that somebody has moved, and all others of that moment
	shown: Record<string, boolean> // columns that somebody has shown or hidden
	widths: Record<string, number> // px, of columns whose edge somebody has dragged
}

const none: Layout = { order: [], shown: {}, widths: {} }

export function readLayout(name: string): Layout {
	try {
		return { ...none, ...JSON.parse(localStorage.getItem(prefix + name) ?? '{}') }
	} catch {
		return none
	}
}

export function keepLayout(name: string, layout: Layout) {
	try {
		localStorage.setItem(prefix + name, JSON.stringify(layout))
	} catch {
		// without a store the layout lasts as long as the page
	}
}

export const resetLayout = none

interface Placed {
	name: string
	hidden?: boolean
}

// ordered returns the columns in the order of a layout. A column that the layout does not name stays behind
// the one that is given before it.
export function ordered<C extends Placed>(columns: C[], layout: Layout): C[] {
	const out = columns.filter(c => layout.order.includes(c.name))
	out.sort((a, b) => layout.order.indexOf(a.name) - layout.order.indexOf(b.name))
	columns.forEach((c, i) => {
		if (layout.order.includes(c.name)) return
		out.splice(i === 0 ? 0 : out.indexOf(columns[i - 1]) + 1, 0, c)
	})
	return out
}

export const isShown = (c: Placed, layout: Layout) => layout.shown[c.name] ?? !c.hidden

// moved returns a layout in which a column stands before another one, or last.
export function moved(columns: Placed[], layout: Layout, name: string, before: string | null): Layout {
	const order = ordered(columns, layout)
		.map(c => c.name)
		.filter(n => n !== name)
	order.splice(before === null ? order.length : order.indexOf(before), 0, name)
	return { ...layout, order }
}

// View is where the rows of a grid are drawn for a position of its scroll bar.
export interface View {
	height: number // px, of all rows together
	first: number // rows first to last-1 are drawn
	last: number
	y: (row: number) => number // px from the top of the rows
	top: (row: number) => number // scrollTop at which a row is the first one
	whole: number // rows that fit
}

const beyond = 10 // rows that are drawn above and below those in sight

// view maps the scroll bar's position to rows. inner is the height in which rows are seen.
export function view(rows: number, scrollTop: number, inner: number): View {
	const full = rows * rowHeight,
		height = Math.min(full, tallest)
	const scale = height < full ? (full - inner) / (height - inner) : 1
	const at = Math.min(scrollTop * scale, Math.max(0, full - inner))
	return {
		height,
		first: Math.max(0, Math.floor(at / rowHeight) - beyond),
		last: Math.min(rows, Math.ceil((at + inner) / rowHeight) + beyond),
		y: row => scrollTop + row * rowHeight - at,
		top: row => (row * rowHeight) / scale,
		whole: Math.max(1, Math.floor(inner / rowHeight)),
	}
}
