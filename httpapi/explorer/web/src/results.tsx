// The rows of a query: a grid with the columns of its select list, or JSON.
import { useMemo, useState } from 'preact/hooks'
import { isObject, partitionKey, runQuery } from './api'
import type { In } from './container'
import { DocumentPanel } from './document'
import { Grid, type GridColumn } from './grid'
import type { Ran } from './queryruns'
import { columnsOf } from './sqltext'
import { note, plural } from './state'
import { Empty, Json } from './ui'
import { stay } from './unsaved'

const mostShown = 1000 // rows that are shown as JSON
const mostColumns = 100
const sampled = 200
const system = ['_self', '_attachments', '_rid', '_etag']

// gridColumns are the columns of a select list, or those that the rows have: then what the server adds is hidden.
export function gridColumns(query: string, rows: any[]): GridColumn<any>[] {
	const some = rows.slice(0, sampled),
		listed = columnsOf(query)
	if (!listed && some.length && !some.some(isObject)) return [{ name: 'value', value: r => r }]
	const met = new Set(some.filter(isObject).flatMap(r => Object.keys(r)))
	const names = listed ?? [...met].slice(0, mostColumns)
	return names.map(name => ({
		name,
		value: r => (isObject(r) && Object.hasOwn(r, name) ? r[name] : undefined),
		hidden: !listed && system.includes(name),
	}))
}

interface Open {
	id: string
	pk: unknown[]
	key: string
}

// documentOf finds the document that a row is of: by its id and partition key, or else by its _rid or id.
async function documentOf(p: In, row: any): Promise<Omit<Open, 'key'> | null> {
	const paths = p.of.partitionKey.paths
	const has = (v: unknown) => !isObject(v) || Object.keys(v).length > 0
	if (typeof row.id === 'string' && row._self && partitionKey(row, paths)) return { id: row.id, pk: partitionKey(row, paths) }
	if (typeof row.id === 'string' && partitionKey(row, paths).every(has)) return { id: row.id, pk: partitionKey(row, paths) }
	const [name, value] = row._rid ? ['_rid', row._rid] : ['id', row.id]
	const found = await runQuery(p.db, p.coll, `SELECT TOP 2 * FROM c WHERE c.${name} = @v`, [{ name: '@v', value }])
	if (found.rows.length === 1) return { id: found.rows[0].id, pk: partitionKey(found.rows[0], paths) }
	note(
		found.rows.length
			? `There are several documents with the ${name} ${value}: select the partition key as well.`
			: `There is no document with the ${name} ${value} any more.`,
		true,
	)
	return null
}

const isOf = (row: any) => isObject(row) && (typeof row.id === 'string' || typeof row._rid === 'string')

export function Results(p: { at: In; ran: Ran; rows: any[]; json: boolean; tab: number }) {
	const [open, setOpen] = useState<Open | null>(null)
	const columns = useMemo(() => gridColumns(p.ran.query, p.rows), [p.ran.query, p.rows])
	const view = useMemo(
		() =>
			p.json ? (
				<Json of={p.rows.slice(-mostShown)} />
			) : (
				<Grid
					label="Rows"
					kept={`query/${p.at.db}/${p.at.coll}/${columns.map(c => c.name).join(',')}`}
					columns={columns}
					rows={p.rows}
					keyOf={(_, i) => String(i)}
					total={p.ran.continuation ? undefined : p.rows.length}
					more={!!p.ran.continuation}
					place={`${p.tab} ${p.ran.query} ${JSON.stringify(p.ran.parameters)}`}
					opened={open?.key}
					open={
						p.rows.some(isOf)
							? async (row, i) => {
									if (!isOf(row)) return note('This row is of no single document: it has neither an id nor a _rid.')
									if (open && stay()) return
									const found = await documentOf(p.at, row)
									if (found) setOpen({ ...found, key: String(i) })
								}
							: undefined
					}
					empty={<Empty>No rows.</Empty>}
				/>
			),
		[p.rows, p.json, columns, open, p.ran.continuation],
	)
	return (
		<>
			{p.json && p.rows.length > mostShown && (
				<p class="soft">These are the last {plural(mostShown, 'row')} of those that have been read.</p>
			)}
			<div class={`documents results ${open ? 'two' : ''}`}>
				<div class="list">{view}</div>
				{open && (
					<DocumentPanel
						{...p.at}
						key={open.key + open.id}
						fresh={false}
						id={open.id}
						pk={open.pk}
						close={() => setOpen(null)}
						made={() => {}}
					/>
				)}
			</div>
		</>
	)
}
