// The spatial indexes of a policy, for all kinds of shapes: on a globe, or on a plane, where each has a box that
// the shapes lie in.
import { Rows, wrongRows, type Column, type Row } from './rows'
import { Choice } from './ui'
import { wrongPath } from './valid'

const types = ['Point', 'LineString', 'Polygon', 'MultiPolygon']
const edges = ['xmin', 'ymin', 'xmax', 'ymax']
const number = (v: string) => (v.trim() !== '' && Number.isFinite(Number(v)) ? '' : 'a number')

const columns: Column[] = [{ name: 'path', label: 'Path', fresh: '/location/*', wrong: wrongPath }]
const boxed: Column[] = [
	...columns,
	...edges.map(name => ({
		name,
		label: name,
		fresh: name.endsWith('min') ? '0' : '100',
		type: 'number',
		wrong: number,
	})),
]
export interface Spatial {
	plane: boolean
	rows: Row[]
}

export const spatialOf = (of: any): Spatial => ({
	plane: of.geospatialConfig?.type === 'Geometry',
	rows: (of.indexingPolicy.spatialIndexes ?? []).map((x: any) => ({
		path: x.path,
		...Object.fromEntries(edges.map(e => [e, String(x.boundingBox?.[e] ?? '')])),
	})),
})

export const wrongSpatial = (s: Spatial) => wrongRows(s.plane ? boxed : columns, s.rows)

// spatialIndexes are the indexes as the policy has them.
export const spatialIndexes = (s: Spatial) =>
	s.rows.map(r => ({
		path: r.path,
		types,
		...(s.plane && { boundingBox: Object.fromEntries(edges.map(e => [e, Number(r[e])])) }),
	}))

export function SpatialIndexes(p: { of: Spatial; set: (s: Spatial) => void }) {
	return (
		<>
			<Choice
				label="Coordinates"
				value={p.of.plane ? 'Geometry' : 'Geography'}
				set={v =>
					p.set({
						plane: v === 'Geometry',
						rows: p.of.rows.map(r => ({ ...fresh, ...r, ...(r.xmin ? {} : fresh) })),
					})
				}
				of={[
					['Geography', 'On the globe: longitude, latitude'],
					['Geometry', 'On a plane'],
				]}
			/>
			<Rows
				title="Spatial indexes"
				one="spatial index"
				columns={p.of.plane ? boxed : columns}
				rows={p.of.rows}
				set={rows => p.set({ ...p.of, rows })}
				hint={p.of.plane ? 'What lies outside of the box is found without the index.' : undefined}
			/>
		</>
	)
}

// fresh is the box of an index that has none yet.
const fresh = Object.fromEntries(boxed.slice(columns.length).map(c => [c.name, c.fresh]))
