import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// contents reads the table of contents: the lists of docs/README.md, below their headings. A page that no list has
// comes last, below More.
export function contents(docs) {
	const index = readFileSync(join(docs, 'README.md'), 'utf8')
	const pages = [{ file: 'README.md', title: 'Overview', section: '' }]
	let section = ''
	for (const line of index.split('\n')) {
		if (line.startsWith('## ')) section = line.slice(3)
		const [, title, file] = /^- \[([^\]]+)\]\(([^)#:]+\.md)\)/.exec(line) ?? []
		if (file) pages.push({ file, title, section })
	}
	const names = readdirSync(docs, { recursive: true }).map((name) => name.replaceAll('\\', '/')).sort()
	for (const file of names) {
		if (!file.endsWith('.md') || pages.some((p) => p.file === file)) continue
		const [, title] = /^# (.+)$/m.exec(readFileSync(join(docs, file), 'utf8')) ?? [file, file]
		pages.push({ file, title, section: 'More' })
	}
	return pages.map((page, i) => ({ ...page, first: page.section !== pages[i - 1]?.section && page.section }))
}
