package index

import (
	"slices"

	"github.com/golang/geo/s2"
)

// Intersects reports whether two geometries, both on the globe or both in the plane, have a common point.
// The boundary of a polygon, including the edges of its holes, belongs to the polygon.
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
	// No edges meet. So a path of one geometry lies inside the other, or the geometries are apart.
	return g.coversStartOf(o) || o.coversStartOf(g)
}

// coversStartOf reports whether a polygon of g covers the first position of a path of o.
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

// Within reports whether all of g lies in o, and not all of it on the boundary of o. Each part of g must
// lie in a single polygon of a MultiPolygon o. If o is a point or a line, g must be a point or a line
// that lies on o, and a point must not be an end of the line.
func (g *Geometry) Within(o *Geometry) bool {
	if !o.IsPolygon() {
		return !g.IsPolygon() && g.liesOn(o) && !g.isEndOf(o)
	}
	in := func(holds func(polygon) bool) bool { return slices.ContainsFunc(o.polygons, holds) }
	if !g.IsPolygon() {
		return in(func(p polygon) bool {
			return p.coversPath(g.planar, g.paths[0]) &&
				p.hasPartOf(g.planar, g.paths[0])
		})
	}
	for _, part := range g.polygons {
		if !in(func(p polygon) bool { return p.coversPolygon(g.planar, part) }) {
			return false
		}
	}
	return true
}

// coversPolygon reports whether no point of part lies outside of the polygon.
func (g *polygon) coversPolygon(planar bool, part polygon) bool {
	if !g.coversPath(planar, part.outer.polyline) {
		return false
	}
	// The path of part's outer ring lies in g. A region outside of g could still lie in the middle of
	// part.
	if middle, ok := part.outer.interiorPoint(planar); ok && part.inside(planar, middle) &&
		!g.covers(planar, middle) {
		return false
	}
	for _, h := range append([]*linearRing{g.outer}, g.holes...) {
		if middle, ok := h.interiorPoint(planar); h != g.outer && ok && part.inside(planar, middle) {
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

// hasPartOf reports whether a part of a path that the polygon covers is not on the polygon's boundary.
func (g *polygon) hasPartOf(planar bool, p *polyline) bool {
	rings := []*polyline{g.outer.polyline}
	for _, h := range g.holes {
		rings = append(rings, h.polyline)
	}
	return !p.eachPiece(planar, rings, func(middle s2.Point) bool { return !g.inside(planar, middle) })
}

// isEndOf reports whether g is a point at an end of the line o. A closed line has no ends.
func (g *Geometry) isEndOf(o *Geometry) bool {
	p, line := g.paths[0].points, o.paths[0].points
	return len(p) == 1 && len(line) > 1 && line[0] != line[len(line)-1] &&
		(p[0] == line[0] || p[0] == line[len(line)-1])
}

// interiorPoint returns a point inside the ring. It tries a point in the triangle of each corner with its two
// neighbours: one of these triangles lies inside the ring. ok may be false if the ring crosses itself or
// has no inside.
func (r *linearRing) interiorPoint(planar bool) (p s2.Point, ok bool) {
	for i := range r.edges() {
		u, v := r.edge(i)
		_, w := r.edge((i + 1) % r.edges())
		p = between(planar, between(planar, u, w, 0.5), v, 1.0/3)
		if r.contains(p) && !r.touches(planar, p) {
			return p, true
		}
	}
	if planar {
		return p, false
	}
	for i := range r.edges() { // a region larger than half the globe may have no such corner
		u, v := r.edge(i)
		aside := u.Cross(v.Vector).Normalize().Mul(1e-3 * u.Sub(v.Vector).Norm())
		for _, side := range [2]float64{1, -1} {
			p = s2.Point{Vector: between(planar, u, v, 0.5).Add(aside.Mul(side)).Normalize()}
			if r.contains(p) && !r.touches(planar, p) {
				return p, true
			}
		}
	}
	return p, false
}

// coversPath reports whether the polygon covers the whole path.
func (g *polygon) coversPath(planar bool, p *polyline) bool {
	if !g.covers(planar, p.points[0]) {
		return false
	}
	rings := []*polyline{g.outer.polyline}
	for _, h := range g.holes {
		rings = append(rings, h.polyline)
	}
	for _, r := range rings {
		stays := p.eachNear(r, p.touching(r),
			func(a0, a1, b0, b1 s2.Point) bool { return !crossesApart(planar, a0, a1, b0, b1) })
		if !stays {
			return false
		}
	}
	// No edge crosses another, but the path may leave the polygon and return at points of the boundary
	// that it touches. Between two such points it stays on one side.
	return p.eachPiece(planar, rings, func(middle s2.Point) bool { return g.covers(planar, middle) })
}

// eachPiece cuts the path's edges at the positions of the other paths that lie on them. It calls fn with
// the middle of each piece until fn returns false.
func (p *polyline) eachPiece(planar bool, others []*polyline, fn func(middle s2.Point) bool) bool {
	for i := range p.edges() {
		if !p.spend.on(chunk) {
			return false
		}
		u, v := p.edge(i)
		cuts := []float64{0, 1}
		edge := newPath([]s2.Point{u, v}, planar, p.spend)
		for _, q := range others {
			edge.eachNear(q, edge.touching(q), func(_, _, b, _ s2.Point) bool {
				if u != v && b != u && b != v && onEdge(planar, b, u, v) {
					cuts = append(cuts, b.Sub(u.Vector).Norm()/(b.Sub(u.Vector).Norm()+
						b.Sub(v.Vector).Norm()))
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

// liesOn reports whether all of g, a point or a line, lies on the lines of o. The rings of a polygon are
// lines as well.
func (g *Geometry) liesOn(o *Geometry) bool {
	on := func(p s2.Point) bool {
		return slices.ContainsFunc(o.paths, func(q *polyline) bool { return q.touches(g.planar, p) })
	}
	for _, p := range g.paths {
		if slices.ContainsFunc(p.points, func(at s2.Point) bool { return !on(at) }) ||
			!p.eachPiece(g.planar, o.paths, on) {
			return false
		}
	}
	return true
}
