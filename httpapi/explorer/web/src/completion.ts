// Completion in queries: the paths of the container's own documents, its functions and those of the language.
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import type { EditorView } from '@codemirror/view'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { collPath, isObject, list, runQuery } from './api'
import type { In } from './container'
import { functions } from './functions'

const keywords = (
	'SELECT VALUE DISTINCT TOP FROM IN JOIN WHERE AND OR NOT BETWEEN LIKE ESCAPE EXISTS ARRAY ORDER BY RANK ASC ' +
	'DESC OFFSET LIMIT GROUP AS null true false undefined'
).split(' ')

// pathsOf collects the members of sampled documents: after "a.b." its next names are offered.
function pathsOf(doc: unknown, at: string, into: Map<string, Set<string>>) {
	if (Array.isArray(doc)) {
		doc.slice(0, 3).forEach(v => pathsOf(v, at, into))
		return
	}
	if (!isObject(doc)) return
	const names = into.get(at) ?? new Set<string>()
	into.set(at, names)
	for (const [name, v] of Object.entries(doc)) {
		names.add(name)
		pathsOf(v, at ? `${at}.${name}` : name, into)
	}
}

// bracketed puts a name that is no word into c["..."]: the dot before it goes.
const bracketed = (name: string) => (view: EditorView, _: Completion, from: number, to: number) =>
	view.dispatch({ changes: { from: from - 1, to, insert: `[${JSON.stringify(name)}]` } })

const plain = /^[A-Za-z_]\w*$/

// aliases are what a query's JOIN ... IN ... and FROM ... IN name: the path that each stands for.
function aliases(text: string): Map<string, string> {
	const out = new Map<string, string>()
	for (const [, name, root, rest] of text.matchAll(/\b(?:JOIN|FROM)\s+(\w+)\s+IN\s+(\w+)((?:\.\w+)*)/gi))
		out.set(name, [out.get(root), rest.slice(1)].filter(Boolean).join('.'))
	return out
}

function complete(
	paths: Map<string, Set<string>>,
	own: string[],
	c: CompletionContext,
): CompletionResult | null {
	const word = c.matchBefore(/[\w.]*/)
	if (!word || (word.from === word.to && !c.explicit)) return null
	const dot = word.text.lastIndexOf('.')
	if (dot >= 0) {
		const [root, ...steps] = word.text.slice(0, dot).split('.'),
			named = aliases(c.state.doc.toString())
		const at = [named.get(root), ...steps].filter(Boolean).join('.')
		const from = word.from + dot + 1
		if (root === 'udf')
			return {
				from,
				options: own.map(f => ({ label: f.slice(4), type: 'function', apply: f.slice(4) + '(' })),
			}
		return {
			from,
			options: [...(paths.get(at) ?? [])].map(label => ({
				label,
				type: 'property',
				apply: plain.test(label) ? label : bracketed(label),
			})),
			validFor: /^\w*$/,
		}
	}
	return {
		from: word.from,
		validFor: /^\w*$/,
		options: [
			...keywords.map(label => ({ label, type: 'keyword' })),
			...functions.concat(own).map(label => ({ label, type: 'function', apply: label + '(' })),
			{ label: 'c', type: 'variable' },
		],
	}
}

// useCompletion knows the names of a container: what is asked for before they are there waits for them.
export function useCompletion(p: In) {
	const paths = useRef(new Map<string, Set<string>>()),
		own = useRef<string[]>([]),
		asking = useRef<Promise<unknown> | null>(null)
	useLayoutEffect(() => {
		for (const path of p.of.partitionKey.paths)
			pathsOf(
				path
					.slice(1)
					.split('/')
					.reduceRight<any>((v, k) => ({ [k]: v }), 1),
				'',
				paths.current,
			)
		asking.current = Promise.allSettled([
			runQuery(p.db, p.coll, 'SELECT TOP 50 * FROM c', [], { count: 50 }).then(a =>
				a.rows.forEach(r => pathsOf(r, '', paths.current)),
			),
			list(`${collPath(p.db, p.coll)}/udfs`, 'UserDefinedFunctions').then(
				all => (own.current = all.map(f => `udf.${f.id}`)),
			),
		]).then(() => (asking.current = null)) // where one has failed completion goes without
	}, [])
	return (c: CompletionContext) => {
		const offer = () => complete(paths.current, own.current, c)
		return asking.current?.then(offer) ?? offer()
	}
}
