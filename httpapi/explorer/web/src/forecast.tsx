// What is going to expire, as a chart: bars of counts over the seconds, minutes, hours, days or months to come.
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { get } from './api'
import { plural, span, useData, useSignal } from './state'
import { Bad, Stats } from './ui'

interface Step { from: number, to: number, count: number }
const unit: Record<string, number> = { second: 1, minute: 60, hour: 3600, day: 86400, month: 2592000 }
const bars: Record<string, number> = { second: 60, minute: 60, hour: 48, day: 60, month: 24 }

export function Forecast(p: { path: string, db: string }) {
	const moved = useSignal('data'), [by, setBy] = useState('')
	const { data, error, again } = useData<any>(() => get(p.path), [p.path, moved])
	useEffect(() => { const t = setInterval(() => { if (!document.hidden) again() }, 5000); return () => clearInterval(t) }, [])
	if (!data) return <Bad text={error} />
	// what shows the nearest in most detail, and still most of it
	const fit = by || ['second', 'minute', 'hour', 'day', 'month'].find(u => sum(data.by[u]) >= data.coming * 0.9 && sum(data.by[u])) || 'hour'
	return <div class="forecast">
		<Bad text={error} />
		<Stats of={[['To expire', data.coming.toLocaleString('en')], ['Next in', data.nextIn == null ? '–' : span(data.nextIn)],
			['Overdue', data.overdue.toLocaleString('en'), data.overdue ? 'warn' : ''],
			...(data.lagSeconds ? [['Lag', span(data.lagSeconds)] as [string, string]] : [])]} />
		<div class="seg" role="group" aria-label="Width of a bar">{Object.keys(unit).map(u =>
			<button type="button" aria-pressed={u === fit} onClick={() => setBy(u)}>{u}</button>)}</div>
		<Bars steps={data.by[fit] ?? []} width={unit[fit]} count={bars[fit]} name={fit} />
		<p class="soft">{sum(data.by[fit]) < data.coming
			? `${plural(data.coming - sum(data.by[fit]), 'expiry', 'expiries')} beyond this chart.`
			: data.coming ? 'All that is to expire is on this chart.' : 'Nothing is going to expire.'}</p>
	</div>
}

const sum = (steps?: Step[]) => (steps ?? []).reduce((n, s) => n + s.count, 0)

function Bars(p: { steps: Step[], width: number, count: number, name: string }) {
	const host = useRef<HTMLDivElement>(null)
	const last = Math.max(12, ...p.steps.map(s => Math.ceil(s.to / p.width)))
	const xs = Array.from({ length: Math.min(last, p.count) }, (_, i) => i)
	const ys = xs.map(() => 0)
	for (const s of p.steps) { const i = Math.floor(s.from / p.width); if (i < ys.length) ys[i] += s.count }
	useEffect(() => {
		const el = host.current!, css = getComputedStyle(el)
		const line = { stroke: css.getPropertyValue('--line'), width: 1 }, soft = css.getPropertyValue('--soft')
		const axis = { stroke: soft, grid: line, ticks: line, font: '11px system-ui' }
		const plot = new uPlot({
			width: el.clientWidth, height: 180, legend: { show: false }, cursor: { drag: { x: false, y: false } },
			scales: { x: { time: false, range: [-0.6, xs.length - 0.4] }, y: { range: (_u, _min, max) => [0, Math.max(max, 1) * 1.1] } },
			axes: [{ ...axis, values: (_u, v) => v.map(n => Number.isInteger(n) ? String(n) : '') },
				{ ...axis, size: 44, values: (_u, v) => v.map(n => Number.isInteger(n) ? n.toLocaleString('en') : '') }],
			series: [{}, { fill: css.getPropertyValue('--accent'), points: { show: false }, width: 0, paths: uPlot.paths.bars!({ size: [0.8, 40] }) }],
		}, [xs, ys], el)
		const sized = new ResizeObserver(() => plot.setSize({ width: el.clientWidth, height: 180 }))
		sized.observe(el)
		return () => { sized.disconnect(); plot.destroy() }
	}, [JSON.stringify(ys), p.name])
	return <div class="chart" ref={host} role="img"
		aria-label={`Expiries by ${p.name}: ${ys.map((y, i) => y && `${y} in ${p.name} ${i}`).filter(Boolean).slice(0, 12).join(', ') || 'none'}`} />
}
