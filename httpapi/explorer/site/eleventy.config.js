import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import syntaxHighlight from '@11ty/eleventy-plugin-syntaxhighlight'
import { buildSync } from 'esbuild'
import anchor from 'markdown-it-anchor'
import { contents } from './contents.js'
import { sections } from './search-sections.js'

const root = '/_explorer/docs'
const project = join(import.meta.dirname, '..', '..', '..')
const pages = contents(join(project, 'docs'))

// urlOf is where a page of docs/ is on the site.
const urlOf = (page) => (page === 'README.md' ? root : root + '/' + page.replace(/\.md$/, ''))

// localLinks leads links between pages to their places on the site. Elsewhere in the repository nothing of it can
// follow, so that such a link loses its address there.
function localLinks(md) {
	const render = md.renderer.renderToken.bind(md.renderer)
	const place = (address, from) => posix.join(dirname(from), address)
	md.renderer.rules.link_open = (tokens, i, options, env) => {
		const token = tokens[i]
		const [address, fragment] = token.attrGet('href').split('#')
		const from = env.page.inputPath.split('/docs/').slice(1).join('/docs/')
		if (/^[a-z]+:/.test(address)) token.attrSet('rel', 'noreferrer')
		else if (address !== '') {
			const to = place(address, from)
			if (pages.some((p) => p.file === to)) token.attrSet('href', urlOf(to) + (fragment ? '#' + fragment : ''))
			else token.attrs = null
		}
		return render(tokens, i, options)
	}
	md.renderer.rules.image = (tokens, i, options, env, self) => {
		const token = tokens[i]
		token.attrSet('src', root + '/images/' + posix.basename(token.attrGet('src')))
		token.attrSet('alt', self.renderInlineAsText(token.children, options, env))
		return render(tokens, i, options)
	}
}

// slug is a heading's name in addresses, as GitHub makes it.
const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')

// packed keeps each file of the build as .br and .gz alone: the server sends them as they are.
function packed(dir) {
	for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
		if (!entry.isFile()) continue
		const file = join(entry.parentPath, entry.name)
		const text = readFileSync(file)
		const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: text.length }
		writeFileSync(file + '.br', brotliCompressSync(text, { params }))
		writeFileSync(file + '.gz', gzipSync(text, { level: 9 }))
		rmSync(file)
	}
}

export default function (config) {
	config.addPlugin(syntaxHighlight, { preAttributes: { tabindex: 0 } })
	config.amendLibrary('md', (md) => {
		md.use(anchor, { permalink: anchor.permalink.headerLink({ safariReaderFix: true }), level: [2, 3], slugify: slug })
		md.use(localLinks)
	})
	config.addGlobalData('layout', 'page.njk')
	config.addGlobalData('root', root)
	config.addGlobalData('permalink', () => ({ page }) => {
		const file = page.inputPath.split('/docs/').slice(1).join('/docs/')
		return file === 'README.md' ? '/index.html' : '/' + file.replace(/\.md$/, '/index.html')
	})
	config.addGlobalData('eleventyComputed', {
		contents: ({ page }) => {
			const here = page.inputPath.split('/docs/').slice(1).join('/docs/')
			return pages.map((p) => ({ ...p, url: urlOf(p.file), here: p.file === here }))
		},
	})
	// Comments are for those who write the pages, and for the test that runs the examples.
	config.addTransform('without comments', (html) => html.replace(/<!--.*?-->\n?/gs, ''))
	config.addTransform('tables', (html) =>
		html.replaceAll('<pre>', '<pre tabindex="0">').replaceAll('<table>', '<div class="table" tabindex="0"><table>').replaceAll('</table>', '</table></div>'))
	config.addPassthroughCopy({ [join(project, 'docs', 'images')]: 'images' })
	config.on('eleventy.before', ({ directories }) => rmSync(directories.output, { recursive: true, force: true }))
	config.on('eleventy.after', ({ directories, results }) => {
		const { output } = directories
		results.sort((a, b) => (a.url < b.url ? -1 : 1)) // they come in the order in which they were done
		const found = results.flatMap(({ url, content }) => sections(root + url.replace(/\/$/, ''), content))
		writeFileSync(join(output, 'search.json'), JSON.stringify(found))
		for (const name of readdirSync(join(output, 'images'))) { // some are for the README alone
			if (!results.some(({ content }) => content.includes(root + '/images/' + name))) rmSync(join(output, 'images', name))
		}
		for (const file of ['search.js', 'site.css']) {
			buildSync({
				entryPoints: [join(import.meta.dirname, file)], outfile: join(output, file),
				bundle: true, minify: true, format: 'esm', target: 'es2022',
			})
		}
		packed(output)
	})
	return {
		dir: { input: '../../../docs', includes: '../httpapi/explorer/site', output: '../docs' },
		templateFormats: ['md'],
		markdownTemplateEngine: false,
	}
}
