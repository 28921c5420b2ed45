// The rules of a subscription: which messages of its topic it receives, and what they change.
import { useState } from 'preact/hooks'
import { entityPath, get, post, remove } from './api'
import { Rows, type Column, type Row } from './rows'
import { note, useData } from './state'
import { Bad, Choice, Confirm, FormPanel, Panel, Table, Text } from './ui'

const kinds: Record<string, string> = {
	all: 'True filter',
	none: 'False filter',
	sql: 'SQL filter',
	correlation: 'Correlation filter',
}
const broker = ['correlationId', 'id', 'to', 'replyTo', 'subject', 'session', 'replyToSession', 'contentType']
const columns: Column[] = [
	{
		name: 'of',
		label: 'Property of',
		fresh: 'correlation',
		of: [
			['correlation', 'the broker'],
			['properties', 'the application'],
		],
	},
	{ name: 'name', label: 'Property', fresh: 'subject', wrong: v => (v ? '' : 'a name') },
	{ name: 'value', label: 'Value', fresh: '' },
]

// valueOf reads a value of a sender's property: JSON where it is some, else text.
function valueOf(text: string): unknown {
	try {
		const v = JSON.parse(text)
		return typeof v === 'object' ? text : v
	} catch {
		return text
	}
}

function conditions(rows: Row[]) {
	const out: Record<string, Record<string, unknown>> = {}
	for (const r of rows) (out[r.of] ??= {})[r.name] = r.of === 'properties' ? valueOf(r.value) : r.value
	return out
}

export function Rules(p: { path: string }) {
	const at = entityPath(p.path, 'rules')
	const { data, error, again } = useData<any>(() => get(at), [at])
	const told = (r: any) =>
		r.sql ??
		[...Object.entries(r.correlation ?? {}), ...Object.entries(r.properties ?? {})]
			.map(([name, v]) => `${name} = ${JSON.stringify(v)}`)
			.join(' AND ')
	return (
		<>
			<Panel title="Rules">
				<Bad text={error} />
				{data && (
					<Table
						label="Rules"
						head={['Name', 'Filter', 'Condition', 'Action', '']}
						empty="No rule: the subscription receives no message."
						rows={data.rules.map((r: any) => [
							<b>{r.name}</b>,
							kinds[r.kind],
							<span class="mono">{told(r)}</span>,
							<span class="mono">{r.action}</span>,
							<Confirm
								word="Delete"
								what={`This deletes the rule ${r.name}. Messages in the subscription stay.`}
								do={async () => {
									await remove(`${at}/${encodeURIComponent(r.name)}`)
									again()
								}}
							/>,
						])}
					/>
				)}
			</Panel>
			<NewRule at={at} made={again} />
		</>
	)
}

function NewRule(p: { at: string; made: () => void }) {
	const [name, setName] = useState(''),
		[kind, setKind] = useState('sql'),
		[sql, setSQL] = useState('price > 10'),
		[rows, setRows] = useState<Row[]>([]),
		[action, setAction] = useState('')
	return (
		<FormPanel
			title="New rule"
			word="Add rule"
			blocked={!name || (kind === 'sql' && !sql) || (kind === 'correlation' && !rows.length)}
			save={async () => {
				await post(p.at, {
					name,
					...(kind === 'sql' && { sql }),
					...(kind === 'correlation' && conditions(rows)),
					...(action && { action }),
				})
				note(`Rule ${name} added. It applies to messages sent from now on.`)
				setName('')
				setAction('')
				setRows([])
				p.made()
			}}
		>
			<div class="fields">
				<Text label="Name" value={name} set={setName} />
				<Choice
					label="Filter"
					value={kind}
					set={setKind}
					of={[
						['sql', 'SQL filter'],
						['correlation', 'Correlation filter'],
						['all', 'True filter: every message'],
					]}
				/>
				{kind === 'sql' && (
					<Text
						label="Condition"
						value={sql}
						set={setSQL}
						hint="Names are application properties; broker properties begin with sys., such as sys.Label."
						mono
						wide
					/>
				)}
				<Text
					label="Action"
					value={action}
					set={setAction}
					placeholder="SET seen = TRUE; REMOVE price"
					hint="Changes the subscription's copy"
					mono
					wide
				/>
			</div>
			{kind === 'correlation' && (
				<Rows
					title="All conditions must match"
					one="condition"
					columns={columns}
					rows={rows}
					set={setRows}
					hint={`Broker properties: ${broker.join(', ')}.`}
				/>
			)}
		</FormPanel>
	)
}
