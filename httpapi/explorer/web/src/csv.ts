// Rows as CSV, as the command export writes them: a cell is what an import of CSV makes the value of again.
import { membersOf } from './jsontext'

const mostColumns = 4096

export class NoCSV extends Error {
	constructor(row: number, why: string) {
		super(`Row ${row} cannot be a row of CSV: ${why}. NDJSON has all.`)
	}
}

const isName = (name: string) => !/[.\r]/.test(name)

// cellsOf are the values of a row by their columns. An object has a cell for each member, such as address.city,
// unless it has none, or a name with a dot.
function cellsOf(row: string): [string, string][] {
	if (row[0] !== '{') return [['value', row]]
	const out: [string, string][] = []
	const below = (column: string, v: string) => {
		const members = v[0] === '{' ? membersOf(v) : []
		if (members.length && members.every(([name]) => isName(name)))
			for (const [name, value] of members) below(`${column}.${name}`, value)
		else out.push([column, v])
	}
	for (const [name, v] of membersOf(row)) below(name, v)
	return out
}

const isJSON = (text: string) => {
	try {
		JSON.parse(text)
		return true
	} catch {
		return false
	}
}

// cellText is the text of a value: a string is written as it is, unless that would be read as another value.
function cellText(column: string, v: string): string {
	if (v[0] !== '"' || /\\u[dD]/.test(v)) return v
	const text: string = JSON.parse(v)
	if (text === '' || text.includes('\r')) return v
	return !isJSON(text) || (column === 'id' && text[0] !== '"') ? text : v
}

const quoted = (cell: string) =>
	cell === '\\.' || /[",\r\n]|^[\s\u0085]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell

const line = (cells: string[]) =>
	// a row of one empty cell would be an empty line
	(cells.length === 1 && cells[0] === '' ? '""' : cells.map(quoted).join(',')) + '\n'

// Columns are the columns of all rows of a table, in the order in which they come behind those that it begins with.
export class Columns {
	private at = new Map<string, number>()
	private rows = 0

	constructor(first: string[]) {
		first.forEach((name, i) => this.at.set(name, i))
	}

	// see takes the columns of a row.
	see(row: string) {
		this.rows++
		if (row[0] === '{')
			for (const [name] of membersOf(row))
				if (!isName(name))
					throw new NoCSV(
						this.rows,
						`the name ${JSON.stringify(name)} has a dot or a carriage return`,
					)
		for (const [column] of cellsOf(row)) if (!this.at.has(column)) this.at.set(column, this.at.size)
		if (this.at.size > mostColumns)
			throw new NoCSV(this.rows, `there are more than ${mostColumns} columns`)
	}

	head = () => line([...this.at.keys()])

	row(text: string): string {
		const cells = new Array<string>(this.at.size).fill('')
		for (const [column, v] of cellsOf(text)) cells[this.at.get(column)!] = cellText(column, v)
		return line(cells)
	}
}
