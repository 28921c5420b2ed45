package index

import (
	"math"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

// Distance returns the shortest distance between two geometries, both on the globe or both in the plane,
// or 0 if they meet. It is in metres along the ellipsoid of WGS-84 on the globe, and in the coordinates'
// unit in the plane.
func (g *Geometry) Distance(o *Geometry) float64 {
	if len(g.paths[0].points) == 1 && len(o.paths[0].points) == 1 {
		if g.planar {
			return g.paths[0].points[0].Sub(o.paths[0].points[0].Vector).Norm()
		}
		return geodesic(g.paths[0].points[0], o.paths[0].points[0])
	}
	if g.Intersects(o) {
		return 0
	}
	chord := g.chord(o)
	if g.planar {
		return chord
	}
	// Candidate edges are selected by distances on the sphere, which differ from those on the ellipsoid
	// by less than 1 %.
	nearest := math.Inf(1)
	g.eachFoot(o, func() float64 { return 1.02*chord + 1e-15 }, func(p, a, b s2.Point, d float64) {
		if d <= 1.02*chord+1e-15 {
			nearest = min(nearest, geodesicToEdge(p, a, b, nearest))
		}
	})
	return nearest
}

// chord returns the shortest straight distance between two geometries that do not meet: in the plane the
// distance itself, on the globe the length of the chord between points of the unit sphere.
func (g *Geometry) chord(o *Geometry) float64 {
	best := math.Inf(1)
	for _, p := range g.paths { // a first bound, which avoids most of the work
		for _, q := range o.paths {
			for i := 0; i < len(p.points); i += chunk {
				for j := 0; j < len(q.points); j += chunk {
					best = min(best, p.points[i].Sub(q.points[j].Vector).Norm())
				}
			}
		}
	}
	g.eachFoot(o, func() float64 { return best }, func(_, _, _ s2.Point, d float64) { best = min(best, d) })
	return best
}

// eachFoot calls fn with an end p of an edge of one geometry, an edge from a to b of the other, and the
// straight-line distance d from p to that edge. It may leave out pairs of edges that are farther apart than
// reach returns. The shortest distance between geometries that do not meet is among the distances, since two
// edges are nearest at an end of one of them.
func (g *Geometry) eachFoot(o *Geometry, reach func() float64, fn func(p, a, b s2.Point, d float64)) {
	visit := func(p, a, b s2.Point) { fn(p, a, b, distanceToEdge(g.planar, p, a, b)) }
	for _, p := range g.paths {
		for _, q := range o.paths {
			p.eachNear(q, reach, func(a0, a1, b0, b1 s2.Point) bool {
				visit(a0, b0, b1)
				visit(b0, a0, a1)
				if a1 != a0 {
					visit(a1, b0, b1)
				}
				if b1 != b0 {
					visit(b1, a0, a1)
				}
				return true
			})
		}
	}
}

// distanceToEdge returns the straight-line distance from p to the nearest point of the edge from a to b. In
// the plane (planar is set) its unit is that of the coordinates. On the globe the points are unit vectors,
// and it is the length of a chord.
func distanceToEdge(planar bool, p, a, b s2.Point) float64 {
	if planar || a == b {
		return p.Sub(nearestPoint(planar, p, a, b).Vector).Norm()
	}
	d, _ := s2.UpdateMinDistance(p, a, b, s1.InfChordAngle())
	return math.Sqrt(float64(d))
}

// geodesicToEdge returns the distance of p from the edge in metres. If the distance is clearly more than
// enough, the result is only approximate. The nearest point on the sphere is close to the nearest one on
// the ellipsoid. A golden-section search around it finds the latter, which changes the distance by far
// less than 0.1 %.
func geodesicToEdge(p, a, b s2.Point, enough float64) float64 {
	near := nearestPoint(false, p, a, b)
	first := geodesic(p, near)
	if a == b || first > 1.001*enough {
		return first
	}
	length := a.Distance(b).Radians()
	at := s2.DistanceFraction(near, a, b)
	spread := 0.01 * p.Distance(near).Radians() / length
	low, high := max(at-spread, 0), min(at+spread, 1)
	along := func(fraction float64) float64 { return geodesic(p, s2.Interpolate(fraction, a, b)) }
	const golden = 0.6180339887498949
	x, y := high-golden*(high-low), low+golden*(high-low)
	fx, fy := along(x), along(y)
	for range 30 {
		if fx < fy {
			high, y, fy = y, x, fx
			x = high - golden*(high-low)
			fx = along(x)
		} else {
			low, x, fx = x, y, fy
			y = low + golden*(high-low)
			fy = along(y)
		}
	}
	return min(fx, fy, first)
}

// Area returns the area of the polygons, on the globe in square metres on the ellipsoid; 0 for points and
// lines.
func (g *Geometry) Area() float64 {
	total := 0.0
	for _, p := range g.polygons {
		outside := 0.0 // area of the holes
		for _, h := range p.holes {
			if g.planar {
				outside += planarArea(h)
			} else { // the polygon is to the left of the hole's ring
				outside += 4*math.Pi*authalicRadius2 - globeArea(h.polyline)
			}
		}
		if g.planar {
			total += planarArea(p.outer) - outside
		} else {
			total += globeArea(p.outer.polyline) - outside
		}
	}
	return max(total, 0)
}

func planarArea(r *linearRing) float64 {
	twice, first := 0.0, r.points[0]
	for i := range r.edges() {
		a, b := r.edge(i)
		twice += (a.X-first.X)*(b.Y-first.Y) - (b.X-first.X)*(a.Y-first.Y)
	}
	return math.Abs(twice) / 2
}
