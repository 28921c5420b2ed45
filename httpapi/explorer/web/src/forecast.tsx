// What is going to expire, as a chart: bars of counts over the seconds, minutes, hours, days or months
// to come.
import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { BarsProps, Step } from './bars'
import { get } from './api'
import { plural, span, useData, useSignal } from './state'
import { nowOf } from './state'
import { Loading } from './loading'
import { Bad, Stats } from './ui'

const unit: Record<string, number> = { second: 1, minute: 60, hour: 3600, day: 86400, month: 2592000 }
const bars: Record<string, number> = { second: 60, minute: 60, hour: 48, day: 60, month: 24 }

export function Forecast(p: { path: string; db: string }) {
	const moved = useSignal('data'),
		[by, setBy] = useState('')
	const { data, error, again } = useData<any>(() => get(p.path), [p.path, moved])
	useEffect(() => {
		const t = setInterval(() => {
			if (!document.hidden) again()
		}, 5000)
		return () => clearInterval(t)
	}, [])
	if (!data) return error ? <Bad text={error} /> : <Loading />
	// what shows the nearest in most detail, and still most of it
	const fit =
		by ||
		['second', 'minute', 'hour', 'day', 'month'].find(
			u => sum(data.by[u]) >= data.coming * 0.9 && sum(data.by[u]),
		) ||
		'hour'
	return (
		<div class="forecast">
			<Bad text={error} />
			<Stats
				of={[
					['To expire', data.coming.toLocaleString('en')],
					['Next in', data.nextIn == null ? '–' : span(data.nextIn)],
					['Overdue', data.overdue.toLocaleString('en'), data.overdue ? 'warn' : ''],
					...(data.lagSeconds ? [['Lag', span(data.lagSeconds)] as [string, string]] : []),
				]}
			/>
			<div class="seg" role="group" aria-label="Unit of the chart">
				{Object.keys(unit).map(u => (
					<button type="button" aria-pressed={u === fit} onClick={() => setBy(u)}>
						{u}
					</button>
				))}
			</div>
			<Bars steps={data.by[fit] ?? []} width={unit[fit]} count={bars[fit]} name={fit} now={nowOf(p.db)} />
			<p class="soft">
				{sum(data.by[fit]) < data.coming
					? `${plural(data.coming - sum(data.by[fit]), 'expiry', 'expiries')} later than this chart.`
					: data.coming
						? `All ${plural(data.coming, 'expiry', 'expiries')} by ${fit}, times in UTC.`
						: 'No item has an expiry time.'}
			</p>
		</div>
	)
}

let loaded: FunctionComponent<BarsProps> | null = null

// Bars are loaded when they are first seen.
function Bars(p: BarsProps) {
	const [, again] = useState(false)
	useEffect(() => {
		if (!loaded)
			import('./bars').then(m => {
				loaded = m.default
				again(true)
			})
	}, [])
	const Loaded = loaded
	return Loaded ? <Loaded {...p} /> : <div class="chart" aria-busy="true" />
}

const sum = (steps?: Step[]) => (steps ?? []).reduce((n, s) => n + s.count, 0)
