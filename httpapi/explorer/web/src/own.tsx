// What Mayfly alone has of a container: what is done on expiry, who is told, how purges are held back.
import { useState } from 'preact/hooks'
import { get, ownColl, patch, put } from './api'
import type { In } from './container'
import { Rows, wrongRows, type Column, type Row } from './rows'
import { doing, useData } from './state'
import { Bad, Check, Choice, FormPanel, Text } from './ui'
import { durationHint, secondsOf, typed, wrongDuration } from './duration'
import { wrongCount } from './valid'

const hookColumns: Column[] = [
	{
		name: 'url',
		label: 'URL',
		fresh: 'https://',
		wrong: v => (/^https?:\/\/[^/]/.test(v) ? '' : 'a URL of http or https'),
	},
	{ name: 'secret', label: 'Signing secret', fresh: '' },
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
	const [idle, setIdle] = useState(typed(p.of.autoDeleteOnIdle)),
		[changes, setChanges] = useState<string>(p.of.changesTo ?? '')
	const bad = wrongDuration(idle, { whole: true }) || (how && !to ? 'a name' : '')
	return (
		<FormPanel
			title="On expiry and on change"
			word="Save on expiry"
			blocked={!!bad}
			save={() =>
				p.save({
					onExpire: how ? { [how]: to } : null,
					autoDeleteOnIdle: secondsOf(idle) ?? null,
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
					The default TTL is the maximum: no document lives longer
				</Check>
				<Choice
					label="Expired documents"
					value={how}
					set={setHow}
					of={[
						['', 'Are deleted'],
						['moveTo', 'Move to a container'],
						['forwardTo', 'Are sent to a queue or topic'],
					]}
				/>
				{how && <Text label={how === 'moveTo' ? 'Container' : 'Queue or topic'} value={to} set={setTo} bad={to ? '' : 'a name'} />}
				<Text
					label="Send changes to"
					value={changes}
					set={setChanges}
					placeholder="queue or topic; none"
				/>
				<Text
					label="Auto-delete on idle"
					value={idle}
					set={setIdle}
					bad={wrongDuration(idle, { whole: true })}
					placeholder="never"
					hint={durationHint}
					mono
				/>
			</div>
		</FormPanel>
	)
}

function Log(p: Part) {
	const [on, set] = useState(!!p.of.expiryEvents),
		[kept, setKept] = useState(typed(p.of.expiryEvents?.retention))
	const [hooks, setHooks] = useState<Row[]>(
		(p.of.expiryEvents?.webhooks ?? []).map((h: any) => ({ url: h.url, secret: h.secret ?? '' })),
	)
	const bad = wrongDuration(kept, { whole: true }) || wrongRows(hookColumns, hooks)
	return (
		<FormPanel
			title="Expiry events"
			word="Save expiry events"
			blocked={on && !!bad}
			save={() =>
				p.save({
					expiryEvents: on
						? {
								...(kept.trim() && { retention: secondsOf(kept) }),
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
				Keep a log of expired documents
			</Check>
			{on && (
				<>
					<Text
						label="Retention"
						value={kept}
						set={setKept}
						bad={wrongDuration(kept, { whole: true })}
						placeholder="7d"
						hint={durationHint}
						mono
					/>
					<Rows
						title="Webhooks"
						one="webhook"
						columns={hookColumns}
						rows={hooks}
						set={setHooks}
						hint="Each receives every expiry event. Addresses that are not public need --webhook-allow."
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
	const seconds = delay ?? typed(data.delay?.seconds),
		items = rate ?? String(data.starved?.perSecond || '')
	return (
		<FormPanel
			title="Purges: delay and limit"
			word="Save purges"
			blocked={!!(wrongDuration(seconds, { whole: true }) || wrongCount(items))}
			save={() =>
				put(at, {
					delay: seconds.trim() ? { seconds: secondsOf(seconds) } : null,
					starved: items ? { perSecond: Number(items) } : null,
				})
			}
		>
			<div class="fields">
				<Text
					label="Delay of each purge"
					value={seconds}
					set={setDelay}
					bad={wrongDuration(seconds, { whole: true })}
					placeholder="none"
					hint={durationHint}
					mono
				/>
				<Text
					label="Maximum items per second"
					value={items}
					set={setRate}
					bad={wrongCount(items)}
					placeholder="no limit"
					type="number"
				/>
			</div>
		</FormPanel>
	)
}
