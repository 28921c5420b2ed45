// A container's time: what is going to expire, the reaper, and times to live that are probably not meant.
import { useState } from 'preact/hooks'
import { get, ownColl, post, put } from './api'
import type { In } from './container'
import { Forecast } from './forecast'
import { note, plural, moment, tell, useData, useSignal } from './state'
import { Bad, Button, Panel, Stats, Text } from './ui'

export function ExpiryTab(p: In) {
	return (
		<div class="halves">
			<div>
				<Panel title="Upcoming expiries">
					<Forecast path={ownColl(p.db, p.coll, 'forecast')} db={p.db} />
				</Panel>
			</div>
			<div>
				<Reaper {...p} />
				<Lint {...p} />
			</div>
		</div>
	)
}

function Reaper(p: In) {
	const moved = useSignal('data'),
		at = (tail = '') => ownColl(p.db, p.coll, 'reaper' + tail)
	const { data, error, again } = useData<any>(() => get(at()), [p.db, p.coll, moved])
	const [items, setItems] = useState('1')
	if (!data) return <Bad text={error} />
	const purge = (tail: string, body: unknown) => async () => {
		const done = await post(at(tail), body)
		note(`${plural(done.purged, 'expired item')} purged.`)
		tell('data')
	}
	return (
		<Panel
			title="Reaper"
			side={
				<>
					<Button
						do={async () => {
							await put(at(), { paused: !data.paused })
							again()
						}}
					>
						{data.paused ? 'Resume' : 'Pause'}
					</Button>
					<Button do={purge('/run', {})}>Purge all now</Button>
				</>
			}
		>
			<Bad text={error} />
			<Stats
				of={[
					[
						'State',
						data.allPaused ? 'paused for all' : data.paused ? 'paused' : 'running',
						data.paused || data.allPaused ? 'warn' : '',
					],
					['Expired, not purged', data.backlog.toLocaleString('en'), data.backlog ? 'warn' : ''],
					['Oldest expired', data.oldest ? moment(data.oldest * 1000) : '–'],
					['Purged', data.purged.toLocaleString('en')],
				]}
			/>
			<p class="soft">Expired documents are never returned; the reaper removes them from disk.</p>
			<div class="row">
				<Text label="Items to purge" value={items} set={setItems} type="number" />
				<Button do={purge('/step', { items: Number(items) })}>Step</Button>
			</div>
		</Panel>
	)
}

function Lint(p: In) {
	const moved = useSignal('data')
	const { data, error } = useData<any>(() => get(ownColl(p.db, p.coll, 'lint')), [p.db, p.coll, moved])
	const found = [...(data?.container ?? []), ...(data?.items ?? [])]
	return (
		<Panel title="Likely mistakes">
			<Bad text={error} />
			{data && !found.length && <p class="soft">No likely mistake found.</p>}
			{found.map(f => (
				<div class="finding">
					<b class="mono">{f.rule}</b> {f.count > 1 && <span class="chip">{f.count}</span>}
					<p>{f.explain}</p>
				</div>
			))}
		</Panel>
	)
}
