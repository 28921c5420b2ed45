// What stands in the place of data that is not there: it is loading, there is none, or it could not be read.
import type { ComponentChildren } from 'preact'
import { Button } from './ui'

interface Loaded<T> {
	data: T | null
	error: string
	again?: () => void
}

// State draws the children of what is loaded. Data that could not be read anew is drawn below the error.
export function State<T>(p: {
	of: Loaded<T>
	empty?: (data: T) => boolean
	nothing?: ComponentChildren // what an empty list says, with what to do about it
	children: (data: T) => ComponentChildren
}) {
	const { data, error, again } = p.of
	return (
		<>
			{error && <Failed text={error} again={again} />}
			{data === null ? (
				!error && <Loading />
			) : p.empty?.(data) ? (
				<div class="nothing">{p.nothing ?? 'Nothing here.'}</div>
			) : (
				p.children(data)
			)}
		</>
	)
}

// Loading is seen a moment later: what comes at once does not flicker.
export const Loading = (p: { what?: string }) => (
	<div class="loading" role="status" aria-busy="true">
		<span>Loading{p.what && ` ${p.what}`}…</span>
		<i />
		<i />
		<i />
	</div>
)

export const Failed = (p: { text: string; again?: () => void }) => (
	<div class="banner failed" role="alert">
		<p>{p.text}</p>
		{p.again && <Button do={p.again}>Try again</Button>}
	</div>
)
