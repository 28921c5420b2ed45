package index

import (
	"slices"

	"github.com/golang/geo/s2"
)

// Intersects tells whether two geometries of the same space have a point in common. What lies on the edge of a polygon belongs to
// it, whether that is the edge of a hole or not.
func (g *Geometry) Intersects(o *Geometry) bool {
	for _, p := range g.paths {
		for _, q := range o.paths {
			apart := p.eachNear(q, p.touching(q), func(a0, a1, b0, b1 s2.Point) bool {
				return !meet(g.planar, a0, a1, b0, b1)
			})
			if !apart {
				return true
			}
		}
	}
	// No edges meet: a path of one lies inside the other, or it is outside with all that it holds.
	return g.coversStartOf(o) || o.coversStartOf(g)
}

// coversStartOf tells whether a polygon of g covers the first position of a path of o.
func (g *Geometry) coversStartOf(o *Geometry) bool {
	for _, p := range o.paths {
		if g.covers(p.points[0]) {
			return true
		}
	}
	return false
}

func (g *Geometry) covers(p s2.Point) bool {
	return slices.ContainsFunc(g.polygons, func(polygon polygon) bool { return polygon.covers(g.planar, p) })
}

// Within tells whether all of g lies in o, its edge included. Of a MultiPolygon one polygon must hold each part of g. Where o is a
// point or a line, g must be one that lies on it.
func (g *Geometry) Within(o *Geometry) bool {
	if !o.IsPolygon() {
		return !g.IsPolygon() && g.liesOn(o)
	}
	in := func(holds func(polygon) bool) bool { return slices.ContainsFunc(o.polygons, holds) }
	if !g.IsPolygon() {
		return in(func(p polygon) bool { return p.coversPath(g.planar, g.paths[0]) })
	}
	for _, part := range g.polygons {
		if !in(func(p polygon) bool { return p.coversPolygon(g.planar, part) }) {
			return false
		}
	}
	return true
}

// coversPolygon tells whether part has no point outside of the polygon.
func (g *polygon) coversPolygon(planar bool, part polygon) bool {
	if !g.coversPath(planar, part.outer.path) {
		return false
	}
	// What is left is a hole in g that part fills: its outer ring does not go through it.
	for _, h := range g.holes {
		if middle, ok := h.somewhere(planar); ok && part.inside(planar, middle) {
			return false
		}
		for i := range h.edges() {
			if u, v := h.edge(i); part.inside(planar, u) || part.inside(planar, between(planar, u, v, 0.5)) {
				return false
			}
		}
	}
	return true
}

// somewhere returns a point inside the ring. There is a corner whose triangle with its neighbours is inside, unless the ring crosses
// itself or has nothing inside; then ok may be false.
func (r *ring) somewhere(planar bool) (p s2.Point, ok bool) {
	for i := range r.edges() {
		u, v := r.edge(i)
		_, w := r.edge((i + 1) % r.edges())
		p = between(planar, between(planar, u, w, 0.5), v, 1.0/3)
		if r.contains(p) && !r.touches(planar, p) {
			return p, true
		}
	}
	return p, false
}

// coversPath tells whether the path never leaves the polygon.
func (g *polygon) coversPath(planar bool, p *path) bool {
	if !g.covers(planar, p.points[0]) {
		return false
	}
	rings := []*path{g.outer.path}
	for _, h := range g.holes {
		rings = append(rings, h.path)
	}
	for _, r := range rings {
		stays := p.eachNear(r, p.touching(r), func(a0, a1, b0, b1 s2.Point) bool { return !crossesApart(planar, a0, a1, b0, b1) })
		if !stays {
			return false
		}
	}
	// No edge crosses another, but the path may leave and come back where it touches the edge of the polygon. Between two such
	// places it is on one side all along.
	return p.eachPiece(planar, rings, func(middle s2.Point) bool { return g.covers(planar, middle) })
}

// eachPiece calls fn with the middle of each piece of the path's edges, as the positions of the other paths that lie on them cut
// them, until fn returns false.
func (p *path) eachPiece(planar bool, others []*path, fn func(middle s2.Point) bool) bool {
	for i := range p.edges() {
		u, v := p.edge(i)
		cuts := []float64{0, 1}
		edge := newPath([]s2.Point{u, v}, planar)
		for _, q := range others {
			edge.eachNear(q, edge.touching(q), func(_, _, b, _ s2.Point) bool {
				if u != v && b != u && b != v && onEdge(planar, b, u, v) {
					cuts = append(cuts, b.Sub(u.Vector).Norm()/(b.Sub(u.Vector).Norm()+b.Sub(v.Vector).Norm()))
				}
				return true
			})
		}
		slices.Sort(cuts)
		for k := 1; k < len(cuts); k++ {
			if !fn(between(planar, u, v, (cuts[k-1]+cuts[k])/2)) {
				return false
			}
		}
	}
	return true
}

// liesOn tells whether all of g, a point or a line, is on the paths of o.
func (g *Geometry) liesOn(o *Geometry) bool {
	on := func(p s2.Point) bool {
		return slices.ContainsFunc(o.paths, func(q *path) bool { return q.touches(g.planar, p) })
	}
	for _, p := range g.paths {
		if slices.ContainsFunc(p.points, func(at s2.Point) bool { return !on(at) }) || !p.eachPiece(g.planar, o.paths, on) {
			return false
		}
	}
	return true
}
