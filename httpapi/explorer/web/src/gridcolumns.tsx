// The choice of a grid's columns, and their order.
import { useState } from 'preact/hooks'
import { isShown, moved, ordered, resetLayout, type Layout } from './gridlayout'
import { below, Popup } from './menu'

interface Named {
	name: string
	label?: string
	hidden?: boolean
}

export function GridColumns(p: { columns: Named[]; layout: Layout; change: (l: Layout) => void }) {
	const [at, open] = useState<{ x: number; y: number } | null>(null)
	const all = ordered(p.columns, p.layout)
	const show = (c: Named, on: boolean) =>
		p.change({ ...p.layout, shown: { ...p.layout.shown, [c.name]: on } })
	const shift = (i: number, by: number) =>
		p.change(moved(p.columns, p.layout, all[i].name, all[by < 0 ? i - 1 : i + 2]?.name ?? null))
	return (
		<>
			<button
				type="button"
				class="btn quiet"
				aria-haspopup="dialog"
				aria-expanded={!!at}
				onClick={e => open(below(e.currentTarget))}
			>
				Columns
			</button>
			{at && (
				<Popup at={at} label="Columns" close={() => open(null)}>
					<ul class="plain columns">
						{all.map((c, i) => (
							<li>
								<label class="check">
									<input
										type="checkbox"
										checked={isShown(c, p.layout)}
										onChange={e => show(c, e.currentTarget.checked)}
									/>
									<span>{c.label ?? c.name}</span>
								</label>
								<button
									type="button"
									aria-label={`Move ${c.label ?? c.name} to the front`}
									disabled={i === 0}
									onClick={() => shift(i, -1)}
								>
									↑
								</button>
								<button
									type="button"
									aria-label={`Move ${c.label ?? c.name} to the back`}
									disabled={i === all.length - 1}
									onClick={() => shift(i, 1)}
								>
									↓
								</button>
							</li>
						))}
					</ul>
					<button type="button" class="btn" onClick={() => p.change(resetLayout)}>
						Reset columns
					</button>
				</Popup>
			)}
		</>
	)
}
