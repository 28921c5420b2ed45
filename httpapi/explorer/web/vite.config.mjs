import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig } from 'vite'
import { snippets } from './vite.snippets.mjs'

// packed keeps each file of the build as .br and .gz alone: the server sends them as they are.
const packed = {
	name: 'packed',
	writeBundle(options) {
		for (const entry of readdirSync(options.dir, { recursive: true, withFileTypes: true })) {
			if (!entry.isFile()) continue
			const file = join(entry.parentPath, entry.name),
				text = readFileSync(file)
			const params = {
				[constants.BROTLI_PARAM_QUALITY]: 11,
				[constants.BROTLI_PARAM_SIZE_HINT]: text.length,
			}
			writeFileSync(file + '.br', brotliCompressSync(text, { params }))
			writeFileSync(file + '.gz', gzipSync(text, { level: 9 }))
			rmSync(file)
		}
	},
}

export default defineConfig({
	base: '/_explorer/',
	plugins: [packed, snippets],
	esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
	build: {
		outDir: '../dist',
		emptyOutDir: true,
		target: 'es2022',
		modulePreload: false,
		assetsInlineLimit: 0,
	},
})
