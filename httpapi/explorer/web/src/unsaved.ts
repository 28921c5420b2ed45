// What has been typed and not saved is not lost by the way: who leaves it is asked first.
import { useLayoutEffect, useRef } from 'preact/hooks'

const open = new Set<object>()
const question = 'What you have changed is not saved. Leave it?'

// stay asks where something is unsaved, and tells whether to stay with it. Who leaves it gives it up.
export function stay(): boolean {
	if (!open.size) return false
	if (!confirm(question)) return true
	open.clear()
	return false
}

// forget gives up what is unsaved: it has been saved, or is gone.
export const forget = () => open.clear()

// useUnsaved says that what is drawn holds something that is not saved.
export function useUnsaved(dirty: boolean) {
	const me = useRef({}).current
	useLayoutEffect(() => {
		if (dirty) open.add(me)
		else open.delete(me)
		return () => {
			open.delete(me)
		}
	}, [dirty])
}

const place = () => location.hash.split('?')[0]
let at = location.hash

// guard stands before all that follow the URL: a place that holds something unsaved is left on purpose alone.
export function guard() {
	at = location.hash
	addEventListener('hashchange', e => {
		if (place() !== at.split('?')[0] && stay()) {
			history.replaceState(null, '', at || '#/')
			e.stopImmediatePropagation()
			return
		}
		at = location.hash
	})
	addEventListener('beforeunload', e => {
		if (open.size) e.preventDefault()
	})
}
