// What Mayfly alone has of a container: what is done on expiry, who is told, how purges are held back.
import { useState } from 'preact/hooks'
import { get, ownColl, patch, put } from './api'
import type { In } from './container'
import { Rows, wrongRows, type Column, type Row } from './rows'
import { doing, useData } from './state'
import { Bad, Check, Choice, FormPanel, Text } from './ui'
import { wrongCount } from './valid'

const hookColumns: Column[] = [
	{
		name: 'url',
		label: 'URL',
		fresh: 'https://',
		wrong: v => (/^https?:\/\/[^/]/.test(v) ? '' : 'a URL of http or https'),
	},
	{ name: 'secret', label: 'Secret that signs', fresh: '' },
]

export function OwnSettings(p: In) {
	const at = ownColl(p.db, p.coll, 'settings')
	const { data, error, again } = useData<any>(() => get(at), [p.db, p.coll])
	if (!data) return <Bad text={error} />
	const save = async (change: unknown) => {
		await patch(at, change)
		again()
	}
	const { expiryEvents, reaper: _, ...rest } = data
	return (
		<>
			<OnExpiry key={'e' + JSON.stringify(rest)} of={data} save={save} />
			<Log key={'l' + JSON.stringify(expiryEvents)} of={data} save={save} />
			<Purges {...p} />
		</>
	)
}

interface Part {
	of: any
	save: (change: unknown) => Promise<void>
}

function OnExpiry(p: Part) {
	const way = p.of.onExpire?.moveTo ? 'moveTo' : p.of.onExpire?.forwardTo ? 'forwardTo' : ''
	const [how, setHow] = useState(way),
		[to, setTo] = useState<string>(p.of.onExpire?.[way] ?? '')
	const [idle, setIdle] = useState(String(p.of.autoDeleteOnIdle || '')),
		[changes, setChanges] = useState<string>(p.of.changesTo ?? '')
	const bad = wrongCount(idle) || (how && !to ? 'a name' : '')
	return (
		<FormPanel
			title="On expiry and change"
			word="Save on expiry"
			blocked={!!bad}
			save={() =>
				p.save({
					onExpire: how ? { [how]: to } : null,
					autoDeleteOnIdle: idle ? Number(idle) : null,
					changesTo: changes || null,
				})
			}
		>
			<div class="fields">
				<Check
					value={p.of.ttlCeiling}
					set={v => {
						doing(() => p.save({ ttlCeiling: v }))
					}}
				>
					The default is a ceiling: no document lives longer
				</Check>
				<Choice
					label="What has expired"
					value={how}
					set={setHow}
					of={[
						['', 'Is gone'],
						['moveTo', 'Moves to a container'],
						['forwardTo', 'Is sent to a queue or topic'],
					]}
				/>
				{how && <Text label="Its name" value={to} set={setTo} bad={to ? '' : 'a name'} />}
				<Text
					label="Changes are sent to"
					value={changes}
					set={setChanges}
					placeholder="no queue or topic"
				/>
				<Text
					label="Delete when idle for, in seconds"
					value={idle}
					set={setIdle}
					bad={wrongCount(idle)}
					placeholder="never"
					type="number"
				/>
			</div>
		</FormPanel>
	)
}

function Log(p: Part) {
	const [on, set] = useState(!!p.of.expiryEvents),
		[kept, setKept] = useState(String(p.of.expiryEvents?.retention || ''))
	const [hooks, setHooks] = useState<Row[]>(
		(p.of.expiryEvents?.webhooks ?? []).map((h: any) => ({ url: h.url, secret: h.secret ?? '' })),
	)
	const bad = wrongCount(kept) || wrongRows(hookColumns, hooks)
	return (
		<FormPanel
			title="Log of expiries"
			word="Save log"
			blocked={on && !!bad}
			save={() =>
				p.save({
					expiryEvents: on
						? {
								...(kept && { retention: Number(kept) }),
								...(hooks.length && {
									webhooks: hooks.map(h => ({
										url: h.url,
										...(h.secret && { secret: h.secret }),
									})),
								}),
							}
						: null,
				})
			}
		>
			<Check value={on} set={set}>
				Keep a log of what has expired
			</Check>
			{on && (
				<>
					<Text
						label="Kept for, in seconds"
						value={kept}
						set={setKept}
						bad={wrongCount(kept)}
						placeholder="a week"
						type="number"
					/>
					<Rows
						title="Webhooks"
						one="webhook"
						columns={hookColumns}
						rows={hooks}
						set={setHooks}
						hint="Each is told of every expiry. Addresses that are not public need --webhook-allow."
					/>
				</>
			)}
		</FormPanel>
	)
}

// Purges are delayed or starved for tests; they are seen on the page Time.
function Purges(p: In) {
	const at = ownColl(p.db, p.coll, 'reaper')
	const { data } = useData<any>(() => get(at), [p.db, p.coll])
	const [delay, setDelay] = useState<string | null>(null),
		[rate, setRate] = useState<string | null>(null)
	if (!data) return null
	const seconds = delay ?? String(data.delay?.seconds || ''),
		items = rate ?? String(data.starved?.perSecond || '')
	return (
		<FormPanel
			title="Purges held back"
			word="Save purges"
			blocked={!!(wrongCount(seconds) || wrongCount(items))}
			save={() =>
				put(at, {
					delay: seconds ? { seconds: Number(seconds) } : null,
					starved: items ? { perSecond: Number(items) } : null,
				})
			}
		>
			<div class="fields">
				<Text
					label="Each comes later by, in seconds"
					value={seconds}
					set={setDelay}
					bad={wrongCount(seconds)}
					placeholder="0"
					type="number"
				/>
				<Text
					label="At most so many a second"
					value={items}
					set={setRate}
					bad={wrongCount(items)}
					placeholder="as fast as can be"
					type="number"
				/>
			</div>
		</FormPanel>
	)
}
