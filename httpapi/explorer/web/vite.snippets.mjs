import { readFileSync } from 'node:fs'

// pages are the start pages by the languages of their programs. The tests of the documentation run each program.
const pages = [
	['JavaScript', 'javascript', 'js'],
	['Python', 'python', 'python'],
	['.NET', 'dotnet', 'csharp'],
	['Java', 'java', 'java'],
	['Go', 'go', 'go'],
	['Rust', 'rust', 'rust'],
	['curl', 'curl', 'bash'],
]

const name = 'virtual:snippets'

// snippets is a module of the first program of each start page: [language, page, text].
export const snippets = {
	name: 'snippets',
	resolveId: id => (id === name ? '\0' + name : null),
	load(id) {
		if (id !== '\0' + name) return null
		const all = pages.map(([language, page, fence]) => {
			const file = new URL(`../../../docs/start/${page}.md`, import.meta.url)
			this.addWatchFile(file.pathname)
			const found = readFileSync(file, 'utf8').matchAll(new RegExp('^```' + fence + '\\n([^]*?)^```', 'gm'))
			const programs = [...found].map(m => m[1]).filter(t => fence !== 'bash' || t.includes('$URL') || t.includes('URL='))
			if (!programs.length) throw new Error(`docs/start/${page}.md has no program in ${fence}`)
			const text = fence === 'bash' ? programs.slice(0, 3).join('\n') : programs[0]
			return [language, page, text]
		})
		return `export default ${JSON.stringify(all)}`
	},
}
