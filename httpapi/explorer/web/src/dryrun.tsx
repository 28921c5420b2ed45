// What a change of the time to live would do, before it is saved.
import { moment, plural } from './state'

const effects: Record<string, string> = {
	diesAtOnce: 'expire at once',
	diesSooner: 'expire sooner',
	diesLater: 'expire later',
	becomesMortal: 'will expire, and did not before',
	becomesImmortal: 'never expire, and did before',
	unchanged: 'are unchanged',
}
const within: Record<string, string> = {
	atOnce: 'at once',
	minute: 'within a minute',
	hour: 'within an hour',
	day: 'within a day',
	week: 'within a week',
	month: 'within a month',
	later: 'later',
	never: 'never',
}

export function DryRun(p: { of: any }) {
	const some = Object.keys(effects).filter(e => p.of.effects[e]?.count)
	return (
		<>
			{!some.length && <p>No document is affected.</p>}
			<ul class="effects">
				{some.map(e => (
					<li class={e === 'diesAtOnce' ? 'dead' : ''}>
						<b class="num">{p.of.effects[e].count.toLocaleString('en')}</b> {effects[e]}
						{p.of.effects[e].examples?.map((x: any) => (
							<span class="soft example">
								<span class="mono">{x.id}</span>: {when(x.expiredAtBefore)} →{' '}
								{when(x.expiresAtAfter)}
							</span>
						))}
					</li>
				))}
			</ul>
			<p class="soft">
				Expiring then:{' '}
				{p.of.deadlines
					.filter((d: any) => d.count)
					.map((d: any) => `${plural(d.count, 'document')} ${within[d.within] ?? d.within}`)
					.join(', ') || 'none'}
				.{p.of.method !== 'exact' && ' Estimated.'}
				{p.of.expiredAlready > 0 && ` ${plural(p.of.expiredAlready, 'document')} expired before.`}
			</p>
		</>
	)
}

const when = (at?: string) => (at ? moment(Date.parse(at)) : 'never')
