// A component that is loaded when it is first drawn.
import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { say } from './state'
import { Bad } from './ui'

export function lazy<P extends object>(load: () => Promise<{ default: FunctionComponent<P> }>) {
	let loaded: FunctionComponent<P> | null = null
	return (p: P) => {
		const [wrong, set] = useState('')
		const [, again] = useState(false)
		useEffect(() => {
			if (!loaded)
				load().then(
					m => {
						loaded = m.default
						again(true)
					},
					e => set(say(e)),
				)
		}, [])
		const Loaded = loaded
		return Loaded ? <Loaded {...p} /> : <Bad text={wrong} />
	}
}
