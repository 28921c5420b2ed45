// The tabs of a container's queries, and what is done with the one that is shown.
import { MenuButton } from './menu'
import { isDirty, type Draft, type Drafts } from './querystore'

export const titleOf = (d: Draft) => d.saved || `Query ${d.id}`

// closing asks where a text would be lost, and closes a tab.
export function closing(drafts: Drafts, d: Draft, then: () => void) {
	if (isDirty(d) && !confirm(`The text of ${titleOf(d)} is not saved. Close it?`)) return
	drafts.close(d.id)
	then()
}

export interface Actions {
	add: () => void
	show: (id: number) => void
	close: (d: Draft) => void
	save: () => void
	saveAs: () => void
	saved: () => void
	history: () => void
	openFile: () => void
	saveFile: () => void
}

export function QueryTabs(p: { of: Drafts; do: Actions }) {
	return (
		<div class="query-tabs">
			<ul aria-label="Queries">
				{p.of.all.map(d => (
					<li class={d.id === p.of.now.id ? 'at' : ''}>
						<button
							type="button"
							aria-current={d.id === p.of.now.id ? 'true' : undefined}
							onClick={() => p.do.show(d.id)}
							onAuxClick={e => e.button === 1 && p.do.close(d)}
							title={d.text.slice(0, 200)}
						>
							{titleOf(d)}
							{isDirty(d) && (
								<span class="dirty">
									<span class="unseen"> not saved</span>
								</span>
							)}
						</button>
						<button type="button" class="shut" aria-label={`Close ${titleOf(d)}`} onClick={() => p.do.close(d)}>
							×
						</button>
					</li>
				))}
				<li>
					<button type="button" onClick={p.do.add} title="Ctrl J" aria-label="New query">
						+
					</button>
				</li>
			</ul>
			<div class="row">
				<button type="button" class="btn quiet" onClick={p.do.history}>
					History
				</button>
				<button type="button" class="btn quiet" onClick={p.do.saved}>
					Saved queries
				</button>
				<MenuButton
					word="File"
					kind="quiet"
					items={() => [
						{ label: 'Save', key: 'Ctrl S', do: p.do.save },
						{ label: 'Save as…', do: p.do.saveAs },
						{ label: 'Open a .sql file…', do: p.do.openFile },
						{ label: 'Download as .sql', do: p.do.saveFile },
					]}
				/>
			</div>
		</div>
	)
}
