// The editor, loaded when it is first seen: it is most of what the explorer weighs.
import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { EditorProps } from './codemirror'

let loaded: FunctionComponent<EditorProps> | null = null

// Editor is empty for as long as it has to wait for what it is to show: nobody types what that would overwrite.
export function Editor({ wait, ...p }: EditorProps & { wait?: boolean }) {
	const [, again] = useState(false)
	useEffect(() => {
		if (!loaded)
			import('./codemirror').then(m => {
				loaded = m.default
				again(true)
			})
	}, [])
	const Loaded = loaded
	return Loaded && !wait ? <Loaded {...p} /> : <div class={`editor ${p.height ?? ''}`} aria-busy="true" />
}
