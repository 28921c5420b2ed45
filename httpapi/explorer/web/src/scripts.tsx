// Stored procedures, triggers and functions: their text, and a button that runs a procedure.
import { useState } from 'preact/hooks'
import { ask, collPath, json, list, pkHeader, post, put, remove } from './api'
import type { In } from './container'
import { Editor } from './editor'
import { go, note, useData } from './state'
import { Bad, Button, Choice, Confirm, Empty, Json, Panel, Text } from './ui'
import { forget, useUnsaved } from './unsaved'

const kinds: Record<string, { title: string; list: string; fresh: string }> = {
	sprocs: {
		title: 'Procedures',
		list: 'StoredProcedures',
		fresh: "function hello(name) {\n\tgetContext().getResponse().setBody('Hello, ' + name)\n}\n",
	},
	triggers: {
		title: 'Triggers',
		list: 'Triggers',
		fresh:
			'function stamp() {\n\tconst request = getContext().getRequest()\n' +
			'\tconst doc = request.getBody()\n\tdoc.seen = true\n\trequest.setBody(doc)\n}\n',
	},
	udfs: {
		title: 'Functions',
		list: 'UserDefinedFunctions',
		fresh: 'function double(n) {\n\treturn 2 * n\n}\n',
	},
}

export function ScriptsTab(p: In & { at: string[] }) {
	const kind = p.at[0] in kinds ? p.at[0] : 'sprocs'
	return <Scripts key={kind} {...p} kind={kind} id={p.at[1] ?? ''} />
}

// Scripts are those of one kind: what is there of another is not drawn until these have come.
function Scripts(p: In & { kind: string; id: string }) {
	const { kind, id } = p
	const open = (id: string, of = kind) => go(...['db', p.db, p.coll, 'scripts', of, id].filter(Boolean))
	const path = `${collPath(p.db, p.coll)}/${kind}`
	const { data, error, again } = useData(() => list(path, kinds[kind].list), [path])
	const [saved, setSaved] = useState<any>(null) // which may not be in the list yet
	const all = data ?? [],
		one = all.find(s => s.id === id) ?? (id && saved?.id === id ? saved : undefined)
	return (
		<div class="scripts">
			<Panel>
				<div class="seg" role="group" aria-label="Kind">
					{Object.entries(kinds).map(([name, x]) => (
						<button type="button" aria-pressed={kind === name} onClick={() => open('', name)}>
							{x.title}
						</button>
					))}
				</div>
				<Bad text={error} />
				<ul class="plain">
					{all.map(s => (
						<li>
							<button
								type="button"
								class="btn quiet"
								aria-pressed={s.id === id}
								onClick={() => open(s.id)}
							>
								{s.id}
							</button>
						</li>
					))}
				</ul>
				{data && !all.length && <Empty>None yet.</Empty>}
				<Button do={() => open('')}>New</Button>
			</Panel>
			{id && !one ? (
				data && <Bad text={`There is none that is called ${id}.`} />
			) : (
				<Script
					key={id}
					path={path}
					kind={kind}
					of={one}
					saved={s => {
						setSaved(s)
						again()
						open(s?.id ?? '')
					}}
					paths={p.of.partitionKey.paths}
				/>
			)}
		</div>
	)
}

function Script(p: { path: string; kind: string; of: any; paths: string[]; saved: (of: any) => void }) {
	const [id, setID] = useState(p.of?.id ?? ''),
		[body, setBody] = useState(p.of?.body ?? kinds[p.kind].fresh)
	const [type, setType] = useState(p.of?.triggerType ?? 'Pre'),
		[op, setOp] = useState(p.of?.triggerOperation ?? 'All')
	const [pk, setPK] = useState(JSON.stringify(p.paths.map(() => 'a'))),
		[args, setArgs] = useState('["world"]')
	const [out, setOut] = useState<any>(null),
		at = `${p.path}/${encodeURIComponent(id)}`
	const saved = p.of
		? body === p.of.body && type === (p.of.triggerType ?? 'Pre')
		: body === kinds[p.kind].fresh
	useUnsaved(!saved || op !== (p.of?.triggerOperation ?? 'All'))
	const save = async () => {
		const what = { id, body, ...(p.kind === 'triggers' && { triggerType: type, triggerOperation: op }) }
		const made = await (p.of ? put(at, what) : post(p.path, what))
		note(`${id} is saved.`)
		forget()
		p.saved(made)
	}
	const run = async () => {
		setOut(null)
		if (!saved) await save() // what runs is what is stored
		const a = await ask('POST', at, {
			exact: true,
			headers: {
				...pkHeader(json('partition key', pk)),
				'x-ms-documentdb-script-enable-logging': 'true',
			},
			body: json('arguments', args),
		})
		setOut({
			body: a.body,
			charge: a.headers.get('x-ms-request-charge'),
			log: decodeURIComponent(a.headers.get('x-ms-documentdb-script-log-results') ?? ''),
		})
	}
	return (
		<Panel
			title={p.of?.id ?? 'New script'}
			side={
				<>
					<Button kind="main" disabled={!id} do={save}>
						Save
					</Button>
					{p.of && (
						<Confirm
							word="Delete"
							what={`${id} is gone then.`}
							do={async () => {
								await remove(at)
								forget()
								p.saved(null)
							}}
						/>
					)}
				</>
			}
		>
			<div class="fields">
				<Text label="Id" value={id} set={setID} disabled={!!p.of} />
				{p.kind === 'triggers' && (
					<>
						<Choice
							label="When"
							value={type}
							set={setType}
							of={[
								['Pre', 'Before'],
								['Post', 'After'],
							]}
						/>
						<Choice
							label="Operation"
							value={op}
							set={setOp}
							of={['All', 'Create', 'Replace', 'Update', 'Delete'].map(o => [o, o])}
						/>
					</>
				)}
			</div>
			<Editor label="Script" mode="js" value={body} set={setBody} run={save} />
			{p.of && p.kind === 'sprocs' && (
				<>
					<div class="row wrap">
						<Text label="Partition key" value={pk} set={setPK} mono />
						<Text label="Arguments" value={args} set={setArgs} mono />
						<Button kind="main" do={run}>
							{saved ? 'Run' : 'Save and run'}
						</Button>
					</div>
					{out && (
						<>
							<p class="soft">
								{out.charge} RU{out.log && `, log: ${out.log}`}
							</p>
							<Json of={out.body} />
						</>
					)}
				</>
			)}
		</Panel>
	)
}
