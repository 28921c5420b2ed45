import { collPath, get, ownColl, post } from './api'
import type { In } from './container'
import { note, useData } from './state'
import { Bad, Button, Panel, Table } from './ui'

export function RangesTab(p: In) {
	const { data, error, again } = useData<any>(
		() => get(`${collPath(p.db, p.coll)}/pkranges`),
		[p.db, p.coll],
	)
	const ranges: any[] = data?.PartitionKeyRanges ?? []
	return (
		<Panel title="Partition key ranges">
			<Bad text={error} />
			<Map of={ranges} />
			<Table
				label="Ranges"
				head={['Id', 'From', 'To', 'Share', 'LSN', 'Status', 'Parents', '']}
				rows={ranges.map(r => [
					r.id,
					<span class="mono">{r.minInclusive || '–∞'}</span>,
					<span class="mono">{r.maxExclusive}</span>,
					`${(100 * r.throughputFraction).toFixed(1)} %`,
					r.lsn,
					r.status,
					r.parents.join(', '),
					<Button
						do={async () => {
							await post(ownColl(p.db, p.coll, 'split'), { range: r.id })
							note(`Range ${r.id} is two now.`)
							again()
						}}
					>
						Split {r.id}
					</Button>,
				])}
			/>
		</Panel>
	)
}

// Map shows each range as wide as its share of the keys.
function Map(p: { of: any[] }) {
	const at = (bound: string) =>
		bound === '' ? 0 : bound === 'FF' ? 1 : parseInt(bound.slice(0, 4).padEnd(4, '0'), 16) / 0x4000
	return (
		<div class="ranges" aria-hidden="true">
			{p.of.map(r => (
				<span
					style={{
						flexGrow: Math.max(
							0.02,
							Math.min(1, at(r.maxExclusive)) - Math.min(1, at(r.minInclusive)),
						),
					}}
				>
					{r.id}
				</span>
			))}
		</div>
	)
}
