// Bars of counts, drawn by uPlot.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

export interface Step {
	from: number
	to: number
	count: number
}
export interface BarsProps {
	steps: Step[]
	width: number
	count: number
	name: string
	now: number // milliseconds, of the data clock
}

// at is a moment in UTC, in as many words as a bar is wide.
const at = (ms: number, width: number) => {
	const text = new Date(ms).toISOString()
	if (width < 60) return text.slice(11, 19)
	if (width < 86400) return text.slice(11, 16)
	return width < 2592000 ? text.slice(5, 10) : text.slice(0, 7)
}

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

export default function Bars(p: BarsProps) {
	const host = useRef<HTMLDivElement>(null)
	const last = Math.max(12, ...p.steps.map(s => Math.ceil(s.to / p.width)))
	const xs = Array.from({ length: Math.min(last, p.count) }, (_, i) => i)
	const ys = xs.map(() => 0)
	for (const s of p.steps) {
		const i = Math.floor(s.from / p.width)
		if (i < ys.length) ys[i] += s.count
	}
	useEffect(() => {
		const el = host.current!,
			css = getComputedStyle(el)
		const line = { stroke: css.getPropertyValue('--line'), width: 1 },
			soft = css.getPropertyValue('--soft')
		const axis = { stroke: soft, grid: line, ticks: line, font: '11px system-ui' }
		const plot = new uPlot(
			{
				width: el.clientWidth,
				height: 180,
				legend: { show: false },
				cursor: { drag: { x: false, y: false } },
				scales: {
					x: { time: false, range: [-0.6, xs.length - 0.4] },
					y: { range: (_u, _min, max) => [0, Math.max(max, 1) * 1.1] },
				},
				axes: [
					{ ...axis, values: (_u, v) => v.map(n => (Number.isInteger(n) ? at(p.now + n * p.width * 1000, p.width) : '')) },
					{
						...axis,
						size: 44,
						values: (_u, v) => v.map(n => (Number.isInteger(n) ? compact.format(n) : '')),
					},
				],
				series: [
					{},
					{
						fill: css.getPropertyValue('--accent'),
						points: { show: false },
						width: 0,
						paths: uPlot.paths.bars!({ size: [0.8, 40] }),
					},
				],
			},
			[xs, ys],
			el,
		)
		const sized = new ResizeObserver(() => plot.setSize({ width: el.clientWidth, height: 180 }))
		sized.observe(el)
		return () => {
			sized.disconnect()
			plot.destroy()
		}
	}, [JSON.stringify(ys), p.name])
	return (
		<div
			class="chart"
			ref={host}
			role="img"
			aria-label={`Expiries by ${p.name}: ${
				ys
					.map((y, i) => y && `${y} in ${p.name} ${i}`)
					.filter(Boolean)
					.slice(0, 12)
					.join(', ') || 'none'
			}`}
		/>
	)
}
