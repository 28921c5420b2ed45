// The policies of a container that are lists: vectors, full text, computed properties, all versions and
// deletes. The form of a container that there is and that of a new one are the same.
import { Rows, wrongRows, type Column, type Row } from './rows'
import { Choice, Text } from './ui'
import { wrongCount, wrongPath } from './valid'

const named = (words: string[]): [string, string][] => words.map(w => [w, w])
const some = (v: string) => (v.trim() ? '' : 'must not be empty')
const path = { name: 'path', label: 'Path', fresh: '/', wrong: wrongPath }
const languages = ['en-US', 'de-DE', 'es-ES', 'fr-FR']

const vectorColumns: Column[] = [
	path,
	{
		name: 'dataType',
		label: 'Data type',
		fresh: 'float32',
		of: named(['float32', 'float16', 'uint8', 'int8']),
	},
	{
		name: 'distanceFunction',
		label: 'Distance function',
		fresh: 'cosine',
		of: named(['cosine', 'dotproduct', 'euclidean']),
	},
	{
		name: 'dimensions',
		label: 'Dimensions',
		fresh: '3',
		type: 'number',
		wrong: v => wrongCount(v) || some(v),
	},
	{
		name: 'index',
		label: 'Index',
		fresh: 'flat',
		of: [['', 'none'], ...named(['flat', 'quantizedFlat', 'diskANN'])],
	},
]
const textColumns: Column[] = [
	path,
	{
		name: 'language',
		label: 'Language',
		fresh: '',
		of: [['', 'default'], ...named(languages)],
	},
	{
		name: 'index',
		label: 'Index',
		fresh: 'yes',
		of: [
			['yes', 'yes'],
			['', 'none'],
		],
	},
]
const computedColumns: Column[] = [
	{ name: 'name', label: 'Name', fresh: 'lower', wrong: some },
	{ name: 'query', label: 'Query', fresh: 'SELECT VALUE LOWER(c.name) FROM c', wrong: some, wide: true },
]

export interface Draft {
	vectors: Row[]
	texts: Row[]
	language: string
	computed: Row[]
	versions: string // minutes that the feed of all versions and deletes reaches back; '' for none
}

// draftOf reads a definition; of none it is what a new container has.
export function draftOf(of: any): Draft {
	const indexed = (list: any[] | undefined, at: string) => list?.find(x => x.path === at)
	const policy = of?.indexingPolicy
	return {
		vectors: (of?.vectorEmbeddingPolicy?.vectorEmbeddings ?? []).map((v: any) => ({
			...v,
			dimensions: String(v.dimensions),
			index: indexed(policy?.vectorIndexes, v.path)?.type ?? '',
		})),
		texts: (of?.fullTextPolicy?.fullTextPaths ?? []).map((t: any) => ({
			path: t.path,
			language: t.language ?? '',
			index: indexed(policy?.fullTextIndexes, t.path) ? 'yes' : '',
		})),
		language: of?.fullTextPolicy?.defaultLanguage ?? 'en-US',
		computed: of?.computedProperties ?? [],
		versions: String(of?.changeFeedPolicy?.retentionDuration || ''),
	}
}

export const wrongDraft = (d: Draft) =>
	wrongRows(vectorColumns, d.vectors) ||
	wrongRows(textColumns, d.texts) ||
	wrongRows(computedColumns, d.computed) ||
	wrongCount(d.versions)

// definitionOf is what of a definition the form says. What an index has beside its kind is kept.
export function definitionOf(d: Draft, policy: any): Record<string, unknown> {
	const vectorIndexes = d.vectors
		.filter(v => v.index)
		.map(v => {
			const was = policy?.vectorIndexes?.find((x: any) => x.path === v.path && x.type === v.index)
			return was ?? { path: v.path, type: v.index }
		})
	const fullTextIndexes = d.texts.filter(t => t.index).map(t => ({ path: t.path }))
	return {
		...((d.vectors.length || policy?.vectorIndexes || d.texts.length || policy?.fullTextIndexes) && {
			indexingPolicy: {
				indexingMode: 'consistent',
				includedPaths: [{ path: '/*' }],
				excludedPaths: d.vectors.map(v => ({ path: v.path + '/*' })),
				...policy,
				vectorIndexes,
				fullTextIndexes,
			},
		}),
		vectorEmbeddingPolicy: d.vectors.length
			? {
					vectorEmbeddings: d.vectors.map(({ index: _, ...v }) => ({
						...v,
						dimensions: Number(v.dimensions),
					})),
				}
			: undefined,
		fullTextPolicy: d.texts.length
			? {
					defaultLanguage: d.language,
					fullTextPaths: d.texts.map(t => ({
						path: t.path,
						...(t.language && { language: t.language }),
					})),
				}
			: undefined,
		computedProperties: d.computed.length ? d.computed : undefined,
		changeFeedPolicy: d.versions ? { retentionDuration: Number(d.versions) } : undefined,
	}
}

export function Policies(p: { of: Draft; set: (d: Draft) => void }) {
	const change = (part: Partial<Draft>) => p.set({ ...p.of, ...part })
	return (
		<>
			<Rows
				title="Vector policy"
				one="vector"
				columns={vectorColumns}
				rows={p.of.vectors}
				set={vectors => change({ vectors })}
			/>
			<Rows
				title="Full text policy"
				one="text"
				columns={textColumns}
				rows={p.of.texts}
				set={texts => change({ texts })}
			/>
			{p.of.texts.length > 0 && (
				<Choice
					label="Default language"
					value={p.of.language}
					set={language => change({ language })}
					of={named(languages)}
				/>
			)}
			<Rows
				title="Computed properties"
				one="property"
				columns={computedColumns}
				rows={p.of.computed}
				set={computed => change({ computed })}
				hint="Queries can use them; they are not stored in documents."
			/>
			<Text
				label="All versions and deletes: retention, in minutes"
				value={p.of.versions}
				set={versions => change({ versions })}
				bad={wrongCount(p.of.versions)}
				placeholder="none"
				type="number"
			/>
		</>
	)
}
