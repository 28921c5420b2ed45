// A list of things of one kind as a form: a line of fields for each, one to be added, each to be removed.
import { Button, Choice, Text } from './ui'

export type Row = Record<string, string>

export interface Column {
	name: string
	label: string
	fresh: string
	of?: [string, string][] // a choice among them
	wrong?: (v: string) => string
	type?: string
	wide?: boolean
}

export function Rows(p: {
	title: string
	one: string // what a line is, for its buttons
	columns: Column[]
	rows: Row[]
	set: (rows: Row[]) => void
	hint?: string
}) {
	const change = (i: number, name: string, v: string) =>
		p.set(p.rows.map((r, n) => (n === i ? { ...r, [name]: v } : r)))
	return (
		<fieldset class="rows">
			<legend>{p.title}</legend>
			{p.hint && <p class="hint">{p.hint}</p>}
			{p.rows.map((r, i) => (
				<div class="fields line" role="group" aria-label={`${p.one} ${i + 1}`}>
					{p.columns.map(c =>
						c.of ? (
							<Choice
								label={c.label}
								value={r[c.name]}
								set={v => change(i, c.name, v)}
								of={c.of}
							/>
						) : (
							<Text
								label={c.label}
								value={r[c.name]}
								set={v => change(i, c.name, v)}
								bad={c.wrong?.(r[c.name])}
								type={c.type}
								wide={c.wide}
								mono
							/>
						),
					)}
					<Button do={() => p.set(p.rows.filter((_, n) => n !== i))}>
						Remove {p.one} {i + 1}
					</Button>
				</div>
			))}
			<Button do={() => p.set([...p.rows, Object.fromEntries(p.columns.map(c => [c.name, c.fresh]))])}>
				Add {p.one}
			</Button>
		</fieldset>
	)
}

// wrongRows is what is wrong with the first line that is, '' for nothing.
export const wrongRows = (columns: Column[], rows: Row[]) =>
	rows.flatMap(r => columns.map(c => c.wrong?.(r[c.name]) ?? '')).find(Boolean) ?? ''
