// Files that are dropped on a page.
import { useEffect, useState } from 'preact/hooks'

const hasFiles = (e: DragEvent) => [...(e.dataTransfer?.types ?? [])].includes('Files')

// Drop takes the files that are dropped anywhere on the page while it is drawn, and shows that it would.
export function Drop(p: { word: string; take: (files: File[]) => void }) {
	const [over, set] = useState(false)
	useEffect(() => {
		const drag = (e: DragEvent) => {
			if (!hasFiles(e)) return
			e.preventDefault() // the browser would open the file
			set(true)
		}
		const leave = (e: DragEvent) => {
			if (!e.relatedTarget) set(false)
		}
		const drop = (e: DragEvent) => {
			if (!hasFiles(e)) return
			e.preventDefault()
			set(false)
			const files = [...e.dataTransfer!.files]
			if (files.length && !document.querySelector('dialog[open]')) p.take(files)
		}
		addEventListener('dragover', drag)
		addEventListener('dragleave', leave)
		addEventListener('drop', drop)
		return () => {
			removeEventListener('dragover', drag)
			removeEventListener('dragleave', leave)
			removeEventListener('drop', drop)
		}
	}, [])
	return over ? (
		<div class="drop" aria-hidden="true">
			{p.word}
		</div>
	) : null
}
