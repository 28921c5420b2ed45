// A container's settings as forms. A change of the time to live is tried out before it is saved.
import { useEffect, useState } from 'preact/hooks'
import { ask, collPath, get, ownColl, patch, post, put } from './api'
import type { In } from './container'
import { wrongCount, wrongPaths } from './create'
import { DryRun } from './dryrun'
import { note, say, tell, useData } from './state'
import { Bad, Button, Check, Choice, Json, Panel, Table, Text } from './ui'

// replace writes the definition with some of it changed.
async function replace(p: In, change: Record<string, unknown>) {
	const now = await get(collPath(p.db, p.coll))
	const body = {
		id: now.id,
		partitionKey: now.partitionKey,
		indexingPolicy: now.indexingPolicy,
		...now,
		...change,
	}
	if (body.defaultTtl === undefined) delete body.defaultTtl
	await put(collPath(p.db, p.coll), body)
	tell('container')
	tell('data')
}

export function SettingsTab(p: In) {
	return (
		<div class="halves">
			<div>
				<TimeToLive {...p} />
				<Throughput {...p} />
				<Own {...p} />
			</div>
			<div>
				<Indexing {...p} />
				<Fixed {...p} />
			</div>
		</div>
	)
}

function TimeToLive(p: In) {
	const was = p.of.defaultTtl
	const [mode, setMode] = useState(was === undefined ? 'off' : was === -1 ? 'own' : 'on')
	const [seconds, setSeconds] = useState(String(was && was > 0 ? was : 3600))
	const bad = mode === 'on' ? wrongCount(seconds) || (seconds === '' ? 'a number of seconds' : '') : ''
	const to = mode === 'off' ? undefined : mode === 'own' ? -1 : Number(seconds)
	const changed = !bad && to !== was
	const [run, setRun] = useState<{ answer: any; error: string } | null>(null)
	useEffect(() => {
		setRun(null)
		if (!changed) return
		let late = false
		const timer = setTimeout(() => {
			post(ownColl(p.db, p.coll, 'ttl-dry-run'), { defaultTtl: to ?? null, examples: 3 }).then(
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
	}, [to, changed])
	return (
		<Panel
			title="Time to live"
			side={
				<Button
					kind="main"
					disabled={!changed || !run}
					do={async () => {
						await replace(p, { defaultTtl: to })
						note('The time to live is changed.')
					}}
				>
					Save time to live
				</Button>
			}
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
		</Panel>
	)
}

function Throughput(p: In) {
	const { data, again } = useData<any>(
		async () => (await get('/offers')).Offers.find((o: any) => o.offerResourceId === p.of._rid),
		[p.of._rid],
	)
	const [typed, set] = useState('')
	const content = data?.content,
		auto = content?.offerAutopilotSettings?.maxThroughput
	if (!data)
		return (
			<Panel title="Throughput">
				<p class="soft">Shared with the database, or none.</p>
			</Panel>
		)
	const now = String(auto ?? content.offerThroughput),
		value = typed || now
	return (
		<Panel
			title="Throughput"
			side={
				<Button
					disabled={!!wrongCount(value, 400) || value === now}
					do={async () => {
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
						again()
					}}
				>
					Save throughput
				</Button>
			}
		>
			<Text
				label={auto ? 'At most, RU/s (autoscale)' : 'RU/s'}
				value={value}
				set={set}
				bad={wrongCount(value, 400)}
				type="number"
			/>
		</Panel>
	)
}

const join = (paths?: { path: string }[]) => (paths ?? []).map(x => x.path).join('\n')
const split = (text: string) =>
	text
		.split('\n')
		.map(s => s.trim())
		.filter(Boolean)

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
	const badComp = split(comp)
		.flatMap(l => l.split(','))
		.map(s => s.trim())
		.find(s => !/^\/\S+( (ASC|DESC))?$/i.test(s))
	const bad = wrongPaths(inc) || wrongPaths(exc) || badComp
	return (
		<Panel
			title="Indexing"
			side={
				<Button
					disabled={!!bad}
					do={async () => {
						await replace(p, {
							indexingPolicy: {
								...policy,
								indexingMode: mode,
								automatic: mode !== 'none',
								includedPaths: split(inc).map(path => ({ path })),
								excludedPaths: split(exc).map(path => ({ path })),
								compositeIndexes: split(comp).map(l =>
									l.split(',').map(s => {
										const [path, order] = s.trim().split(' ')
										return {
											path,
											order: /desc/i.test(order ?? '') ? 'descending' : 'ascending',
										}
									}),
								),
							},
						})
						note('The indexing policy is changed.')
					}}
				>
					Save indexing
				</Button>
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
		</Panel>
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

// Own are Mayfly's own settings.
function Own(p: In) {
	const { data, error, again } = useData<any>(() => get(ownColl(p.db, p.coll, 'settings')), [p.db, p.coll])
	const save = async (change: unknown) => {
		await patch(ownColl(p.db, p.coll, 'settings'), change)
		again()
		note('Saved.')
	}
	const [idle, setIdle] = useState(''),
		[move, setMove] = useState('')
	if (!data) return <Bad text={error} />
	return (
		<Panel title="On expiry">
			<div class="fields">
				<Check
					value={data.ttlCeiling}
					set={v => {
						save({ ttlCeiling: v }).catch(e => note(say(e), true))
					}}
				>
					The default is a ceiling: no document lives longer
				</Check>
				<Check
					value={!!data.expiryEvents}
					set={v => {
						save({ expiryEvents: v ? {} : null }).catch(e => note(say(e), true))
					}}
				>
					Keep a log of what has expired
				</Check>
				<div class="row">
					<Text
						label="Move expired documents to"
						value={move || data.onExpire?.moveTo || ''}
						set={setMove}
						placeholder="container"
					/>
					<Button do={() => save({ onExpire: move ? { moveTo: move } : null })}>
						{move ? 'Set' : 'Clear'}
					</Button>
				</div>
				<div class="row">
					<Text
						label="Delete when idle for, in seconds"
						value={idle || String(data.autoDeleteOnIdle || '')}
						set={setIdle}
						bad={wrongCount(idle)}
						placeholder="never"
					/>
					<Button do={() => save({ autoDeleteOnIdle: idle ? Number(idle) : null })}>
						{idle ? 'Set' : 'Clear'}
					</Button>
				</div>
			</div>
		</Panel>
	)
}
