// The rows of a grid that are selected: how many, and what is done to them.
import type { MenuItem } from './menu'
import { everyRow, noRows, type Selection } from './selection'
import { doing } from './state'

// Chosen tells how many rows are selected, and offers those that are not loaded.
export function Chosen(p: {
	count: number
	every?: number
	select: (s: Selection) => void
	acts: MenuItem[]
}) {
	return (
		<span class="row" role="status">
			{p.count > 0 && (
				<>
					<b>{p.count.toLocaleString('en')} selected</b>
					{p.every !== undefined && (
						<button type="button" class="btn quiet" onClick={() => p.select(everyRow)}>
							Select all {p.every.toLocaleString('en')}
						</button>
					)}
					<button type="button" class="btn quiet" onClick={() => p.select(noRows)}>
						Clear selection
					</button>
					{p.acts.map(act => (
						<button
							type="button"
							class={`btn ${act.bad ? 'bad' : ''}`}
							onClick={() => doing(async () => act.do())}
						>
							{act.label}
						</button>
					))}
				</>
			)}
		</span>
	)
}
