// How far something is that takes long, and its end before the time.
import { plural } from './state'

export function Progress(p: {
	what: string
	done: number
	total?: number
	one?: string
	cancel: () => void
}) {
	const one = p.one ?? 'row'
	return (
		<div class="progress" role="group" aria-label={p.what}>
			<progress
				aria-label={p.what}
				max={p.total}
				value={p.total === undefined ? undefined : Math.min(p.done, p.total)}
			/>
			<span class="num" role="status">
				{p.what}:{' '}
				{p.total === undefined
					? plural(p.done, one)
					: `${p.done.toLocaleString('en')} of ${plural(p.total, one)}`}
			</span>
			<button type="button" class="btn" onClick={p.cancel}>
				Cancel {p.what.toLowerCase()}
			</button>
		</div>
	)
}
