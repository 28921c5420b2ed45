import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

export interface Command {
	text: string
	hint?: string
	run: () => unknown
}

// Palette finds a command by the letters of its words, in their order, and runs it.
export function Palette(p: { of: () => Command[]; close: () => void }) {
	const [typed, set] = useState(''),
		[at, move] = useState(0)
	const ref = useRef<HTMLDialogElement>(null),
		all = useMemo(p.of, [])
	useLayoutEffect(() => {
		const d = ref.current!
		d.showModal()
		return () => d.close() // so that the focus goes back
	}, [])
	const found = all
		.map(c => ({ c, rank: rank(`${c.text} ${c.hint ?? ''}`.toLowerCase(), typed.toLowerCase()) }))
		.filter(f => f.rank >= 0)
		.sort((a, b) => a.rank - b.rank)
		.slice(0, 50)
	const run = (i: number) => {
		const f = found[i]
		if (f) {
			p.close()
			f.c.run()
		}
	}
	const keys = (e: KeyboardEvent) => {
		if (e.key === 'ArrowDown') move(Math.min(at + 1, found.length - 1))
		else if (e.key === 'ArrowUp') move(Math.max(at - 1, 0))
		else if (e.key === 'Enter') run(at)
		else return
		e.preventDefault()
	}
	useEffect(() => {
		ref.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
	}, [at])
	return (
		<dialog
			class="palette"
			ref={ref}
			aria-label="Command palette"
			onClose={() => ref.current && p.close()}
			onMouseDown={e => {
				if (e.target === ref.current) p.close()
			}}
		>
			<input
				role="combobox"
				aria-expanded="true"
				aria-controls="found"
				aria-label="Command or place"
				autofocus
				aria-activedescendant={found.length ? `found-${at}` : undefined}
				placeholder="Command or place"
				value={typed}
				onKeyDown={keys}
				onInput={e => {
					set((e.target as HTMLInputElement).value)
					move(0)
				}}
			/>
			<div id="found" role="listbox" aria-label="Found">
				{found.map((f, i) => (
					<div
						role="option"
						id={`found-${i}`}
						aria-selected={i === at}
						onMouseMove={() => move(i)}
						onClick={() => run(i)}
					>
						{f.c.text}
						<span class="soft">{f.c.hint}</span>
					</div>
				))}
			</div>
		</dialog>
	)
}

// rank is -1 where the letters are not all there, and else lower for a better match.
function rank(text: string, typed: string): number {
	const whole = text.indexOf(typed)
	if (whole >= 0) return whole
	let pos = 0,
		gaps = 0
	for (const letter of typed) {
		const next = text.indexOf(letter, pos)
		if (next < 0) return -1
		gaps += next - pos
		pos = next + 1
	}
	return 100 + gaps
}
