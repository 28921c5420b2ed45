// What a change of the time to live would do, before it is saved.
import { plural, stamp } from './state'

const effects: Record<string, string> = {
	diesAtOnce: 'die at once',
	diesSooner: 'die sooner',
	diesLater: 'die later',
	becomesMortal: 'become mortal',
	becomesImmortal: 'become immortal',
	unchanged: 'stay as they are',
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
			{!some.length && <p>There is no document that it concerns.</p>}
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
				Then they die:{' '}
				{p.of.deadlines
					.filter((d: any) => d.count)
					.map((d: any) => `${plural(d.count, 'document')} ${within[d.within] ?? d.within}`)
					.join(', ') || 'none'}
				.{p.of.method !== 'exact' && ' Estimated.'}
				{p.of.expiredAlready > 0 && ` ${p.of.expiredAlready} have expired already.`}
			</p>
		</>
	)
}

const when = (at?: string) => (at ? stamp(Date.parse(at)) : 'never')
