// The page of requests, loaded when it is first seen.
import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'

let loaded: FunctionComponent | null = null

export function Requests() {
	const [, again] = useState(false)
	useEffect(() => {
		if (!loaded)
			import('./requests').then(m => {
				loaded = m.default
				again(true)
			})
	}, [])
	const Loaded = loaded
	return Loaded ? <Loaded /> : <div aria-busy="true" />
}
