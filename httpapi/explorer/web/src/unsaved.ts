// What has been typed and not saved is not lost by the way: who leaves it is asked first.
import { useLayoutEffect, useRef } from 'preact/hooks'
import { question } from './question'

const open = new Set<object>()

// leave does something that gives up what is unsaved: at once where nothing is, and else where the user says so.
export function leave(then: () => unknown) {
	if (!open.size) {
		then()
		return
	}
	question({
		title: 'Discard changes?',
		text: 'What you have changed is not saved.',
		word: 'Discard',
		bad: true,
		name: 'leave',
	}).then(yes => {
		if (!yes) return
		open.clear()
		then()
	})
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
		if (place() !== at.split('?')[0] && open.size) {
			const to = location.hash
			history.replaceState(null, '', at || '#/')
			e.stopImmediatePropagation()
			leave(() => {
				location.hash = to
			})
			return
		}
		at = location.hash
	})
	addEventListener('beforeunload', e => {
		if (open.size) e.preventDefault()
	})
}
