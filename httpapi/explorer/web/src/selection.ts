// A selection of rows, by their keys.

export interface Selection {
	keys: ReadonlySet<string>
	all: boolean // every row that the filter has, loaded or not; keys is empty then
}

export const noRows: Selection = { keys: new Set(), all: false }
export const everyRow: Selection = { keys: new Set(), all: true }

export const isSelected = (s: Selection, key: string) => s.all || s.keys.has(key)

// countOf is how many rows are selected, of so many.
export const countOf = (s: Selection, total: number) => (s.all ? total : s.keys.size)

// toggled selects a row, or no longer. loaded are the keys of all rows that are loaded.
export function toggled(s: Selection, key: string, loaded: () => string[]): Selection {
	const keys = new Set(s.all ? loaded() : s.keys)
	if (!keys.delete(key)) keys.add(key)
	return { keys, all: false }
}

export const selected = (keys: Iterable<string>): Selection => ({ keys: new Set(keys), all: false })
