// A container's settings as forms. A change of the time to live is tried out before it is saved.
import { useLayoutEffect, useState } from 'preact/hooks'
import { ask, collPath, get, list, ownColl, post, put } from './api'
import type { In } from './container'
import { DryRun } from './dryrun'
import { OwnSettings } from './own'
import { definitionOf, draftOf, Policies, wrongDraft } from './policies'
import { SpatialIndexes, spatialIndexes, spatialOf, wrongSpatial } from './spatial'
import { say, tell, useData } from './state'
import { Bad, Choice, FormPanel, Json, Panel, Table, Text } from './ui'
import { lines, wrongCount, wrongPaths } from './valid'

// replace writes the definition with some of it changed: of what it is now, which may be more than is drawn.
export async function replace(p: In, change: (now: any) => Record<string, unknown>) {
	const now = await get(collPath(p.db, p.coll))
	const body = {
		id: now.id,
		partitionKey: now.partitionKey,
		indexingPolicy: now.indexingPolicy,
		...now,
		...change(now),
	}
	await put(collPath(p.db, p.coll), body)
	tell('container')
	tell('data')
}

// SettingsTab draws a form anew where what it shows has changed, and leaves what is typed into the others.
export function SettingsTab(p: In) {
	const { vectorIndexes, fullTextIndexes, ...rest } = p.of.indexingPolicy
	const paths = JSON.stringify([rest, p.of.geospatialConfig])
	const lists = JSON.stringify([vectorIndexes, fullTextIndexes, draftOf(p.of)])
	return (
		<div class="halves">
			<div>
				<TimeToLive {...p} />
				<Throughput {...p} />
				<OwnSettings {...p} />
			</div>
			<div>
				<Indexing key={'i' + paths} {...p} />
				<Lists key={'l' + lists} {...p} />
				<Fixed {...p} />
			</div>
		</div>
	)
}

function TimeToLive(p: In) {
	const was = p.of.defaultTtl
	const [mode, setMode] = useState(was === undefined ? 'off' : was === -1 ? 'own' : 'on')
	const [seconds, setSeconds] = useState(String(was && was > 0 ? was : 3600))
	const wasPath = p.of.ttlPropertyPath ?? ''
	const [typedPath, setPath] = useState(wasPath)
	const path = mode === 'off' ? '' : typedPath.trim()
	const badPath = wrongPaths(path)
	const bad = mode === 'on' ? wrongCount(seconds) || (seconds === '' ? 'a number of seconds' : '') : ''
	const to = mode === 'off' ? undefined : mode === 'own' ? -1 : Number(seconds)
	const changed = !bad && !badPath && (to !== was || path !== wasPath)
	const [run, setRun] = useState<{ answer: any; error: string } | null>(null)
	useLayoutEffect(() => {
		setRun(null)
		if (!changed) return
		let late = false
		const timer = setTimeout(() => {
			post(ownColl(p.db, p.coll, 'ttl-dry-run'), { defaultTtl: to ?? null, ttlPropertyPath: path, examples: 3 }).then(
				answer => {
					if (!late) setRun({ answer, error: '' })
				},
				e => {
					if (!late) setRun({ answer: null, error: say(e) })
				},
			)
		}, 250)
		return () => {
			late = true
			clearTimeout(timer)
		}
	}, [to, path, changed])
	return (
		<FormPanel
			title="Time to live"
			word="Save time to live"
			main
			blocked={!changed || !run}
			save={() => replace(p, () => ({ defaultTtl: to, ttlPropertyPath: path || undefined }))}
		>
			<div class="fields">
				<Choice
					label="Documents expire"
					value={mode}
					set={setMode}
					of={[
						['off', 'Never'],
						['own', 'By their own ttl alone'],
						['on', 'By default, or by their own ttl'],
					]}
				/>
				{mode === 'on' && (
					<Text
						label="Default, in seconds"
						value={seconds}
						set={setSeconds}
						bad={bad}
						type="number"
					/>
				)}
				{mode !== 'off' && (
					<Text
						label="Counts from the property"
						value={typedPath}
						set={setPath}
						bad={badPath}
						hint="Seconds since 1970. Empty: the last write."
					/>
				)}
			</div>
			{changed && (
				<div class="dry-run" role="region" aria-label="Dry run" aria-live="polite">
					<h3>What this change would do</h3>
					{!run ? (
						<p class="soft">Counting…</p>
					) : run.error ? (
						<Bad text={run.error} />
					) : (
						<DryRun of={run.answer} />
					)}
				</div>
			)}
		</FormPanel>
	)
}

function Throughput(p: In) {
	const { data, error, again } = useData<any>(
		async () => (await list('/offers', 'Offers')).find(o => o.offerResourceId === p.of._rid) ?? false,
		[p.of._rid],
	)
	const [typed, set] = useState('')
	const content = data?.content,
		auto = content?.offerAutopilotSettings?.maxThroughput
	if (data === null) return <Bad text={error} />
	if (!data)
		return (
			<Panel title="Throughput">
				<p class="soft">Shared with the database, or none.</p>
			</Panel>
		)
	const now = String(auto ?? content.offerThroughput),
		value = typed || now
	return (
		<FormPanel
			title="Throughput"
			word="Save throughput"
			blocked={!!wrongCount(value, 400) || value === now}
			save={async () => {
				const next = auto
					? {
							...content,
							offerAutopilotSettings: {
								...content.offerAutopilotSettings,
								maxThroughput: Number(value),
							},
						}
					: { ...content, offerThroughput: Number(value) }
				await ask('PUT', `/offers/${encodeURIComponent(data.id)}`, {
					body: { ...data, content: next },
				})
				set('')
				again()
			}}
		>
			<Text
				label={auto ? 'At most, RU/s (autoscale)' : 'RU/s'}
				value={value}
				set={set}
				bad={wrongCount(value, 400)}
				type="number"
			/>
		</FormPanel>
	)
}

// composite reads one key of a composite index: /path DESC.
function composite(text: string) {
	const [path, order] = text.trim().split(' ')
	return { path, order: /desc/i.test(order ?? '') ? 'descending' : 'ascending' }
}

const join = (paths?: { path: string }[]) => (paths ?? []).map(x => x.path).join('\n')
function Indexing(p: In) {
	const policy = p.of.indexingPolicy
	const [mode, setMode] = useState<string>(policy.indexingMode),
		[inc, setInc] = useState(join(policy.includedPaths))
	const [exc, setExc] = useState(join(policy.excludedPaths))
	const [comp, setComp] = useState(
		(policy.compositeIndexes ?? [])
			.map((c: any[]) =>
				c.map(x => `${x.path} ${x.order === 'descending' ? 'DESC' : 'ASC'}`).join(', '),
			)
			.join('\n'),
	)
	const badComp = lines(comp)
		.flatMap(l => l.split(','))
		.map(s => s.trim())
		.find(s => !/^\/\S+( (ASC|DESC))?$/i.test(s))
	const [geo, setGeo] = useState(() => spatialOf(p.of))
	const bad = wrongPaths(inc) || wrongPaths(exc) || wrongSpatial(geo) || badComp
	return (
		<FormPanel
			title="Indexing"
			word="Save indexing"
			blocked={!!bad}
			save={() =>
				replace(p, now => ({
					indexingPolicy: {
						...now.indexingPolicy,
						indexingMode: mode,
						automatic: mode !== 'none',
						includedPaths: lines(inc).map(path => ({ path })),
						excludedPaths: lines(exc).map(path => ({ path })),
						compositeIndexes: lines(comp).map(l => l.split(',').map(composite)),
						spatialIndexes: spatialIndexes(geo),
					},
					...((geo.plane || p.of.geospatialConfig) && {
						geospatialConfig: { type: geo.plane ? 'Geometry' : 'Geography' },
					}),
				}))
			}
		>
			<div class="fields">
				<Choice
					label="Mode"
					value={mode}
					set={setMode}
					of={[
						['consistent', 'Consistent'],
						['none', 'None'],
					]}
				/>
				<Text
					label="Included paths"
					value={inc}
					set={setInc}
					lines={2}
					mono
					wide
					bad={wrongPaths(inc)}
					hint="One a line"
				/>
				<Text
					label="Excluded paths"
					value={exc}
					set={setExc}
					lines={2}
					mono
					wide
					bad={wrongPaths(exc)}
				/>
				<Text
					label="Composite indexes"
					value={comp}
					set={setComp}
					lines={2}
					mono
					wide
					placeholder="/pk ASC, /n DESC"
					bad={badComp && `"${badComp}" is not of the form /path ASC`}
					hint="One a line"
				/>
			</div>
			<SpatialIndexes of={geo} set={setGeo} />
		</FormPanel>
	)
}

// Lists are the policies that are lists.
function Lists(p: In) {
	const [draft, set] = useState(() => draftOf(p.of))
	return (
		<FormPanel
			title="Vectors, full text, computed properties"
			word="Save policies"
			blocked={!!wrongDraft(draft)}
			save={() => replace(p, now => definitionOf(draft, now.indexingPolicy))}
		>
			<Policies of={draft} set={set} />
		</FormPanel>
	)
}

function Fixed(p: In) {
	const keys = p.of.uniqueKeyPolicy?.uniqueKeys ?? []
	return (
		<Panel title="Fixed at creation">
			<Table
				label="Fixed at creation"
				head={['What', 'Paths']}
				rows={[
					['Partition key', <span class="mono">{p.of.partitionKey.paths.join(', ')}</span>],
					...keys.map((k: any, i: number) => [
						`Unique key ${i + 1}`,
						<span class="mono">{k.paths.join(', ')}</span>,
					]),
				]}
			/>
			<details>
				<summary>The whole definition as JSON</summary>
				<Json of={p.of} />
			</details>
		</Panel>
	)
}
