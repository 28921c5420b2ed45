// Questions that are asked before something is done: dialogs of the page's own, one at a time.
import { useState } from 'preact/hooks'
import { tell, useSignal } from './state'
import { Dialog, Text } from './ui'

interface Question {
	title: string
	text: string
	word: string // of the button that says yes
	bad?: boolean
	typed?: string // what must be typed before
	more?: string
	name?: string // of the dialog's class
	answer: (yes: boolean) => void
}

let open: Question | null = null

// question asks, and tells whether the answer was yes.
export function question(q: Omit<Question, 'answer'>): Promise<boolean> {
	open?.answer(false)
	return new Promise(then => {
		open = { ...q, answer: then }
		tell('question')
	})
}

export function Questions() {
	useSignal('question')
	return open ? <Asked key={open.title + open.text} of={open} /> : null
}

function Asked({ of: q }: { of: Question }) {
	const [typed, set] = useState('')
	const end = (yes: boolean) => {
		if (open !== q) return
		open = null
		tell('question')
		q.answer(yes)
	}
	return (
		<Dialog
			title={q.title}
			close={() => end(false)}
			send={async () => {
				if (q.typed && typed !== q.typed) throw new Error(`Type ${q.typed} to go on.`)
				end(true)
			}}
			word={q.word}
			bad={q.bad}
			name={q.name}
		>
			<p>{q.text}</p>
			{q.more && <p class="soft">{q.more}</p>}
			{q.typed && <Text label={`Type the id ${q.typed} to confirm`} value={typed} set={set} mono wide />}
		</Dialog>
	)
}
