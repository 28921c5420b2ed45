import { dbPath, remove } from './api'
import { State } from './loading'
import { go, tell, url } from './state'
import { ClockPanel } from './time'
import type { Tree } from './tree'
import { Button, Confirm, Empty, Panel, Table } from './ui'
import { undoCost, undoIsOn, withUndo } from './undo'

export function DatabasePage(p: { db: string; tree: Tree | null; make: () => void }) {
	const found = p.tree?.databases.find(d => d.id === p.db),
		containers = found?.containers ?? []
	if (p.tree && !found) return <Nowhere what={`There is no database ${p.db}.`} />
	return (
		<>
			<header class="page-head">
				<h1>{p.db}</h1>
				<div class="row">
					<Button kind="main" do={p.make}>
						New container
					</Button>
					<Confirm
						word="Delete database"
						typed={p.db}
						what={
							`This deletes ${p.db} and its ${containers.length} containers.` +
							(undoIsOn() ? ' ' + undoCost : ' It cannot be undone.')
						}
						do={() =>
							withUndo(`Database ${p.db} is deleted.`, { db: p.db }, async () => {
								await remove(dbPath(p.db))
								tell('tree')
								go()
							})
						}
					/>
				</div>
			</header>
			<Panel title="Containers">
				<State
					of={{ data: p.tree, error: '' }}
					empty={() => !containers.length}
					nothing="No container yet."
				>
					{() => (
						<Table
							label="Containers"
							head={['Container', '']}
							rows={containers.map(c => [
								<a href={url('db', p.db, c)}>{c}</a>,
								<a href={url('db', p.db, c, 'query')}>
									query<span class="unseen"> {c}</span>
								</a>,
							])}
						/>
					)}
				</State>
			</Panel>
			<ClockPanel db={p.db} />
		</>
	)
}

export function Nowhere(p: { what: string }) {
	return (
		<>
			<h1>Nothing here</h1>
			<Empty>
				{p.what} <a href="#/">Overview</a>
			</Empty>
		</>
	)
}
