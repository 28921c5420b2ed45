package index

import (
	"math"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

// Distance returns the shortest distance between two geometries of the same space, and 0 where they meet: in
// metres on the globe, in the coordinates' unit in the plane. On the globe it is measured along the ellipsoid
// of WGS-84.
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
	// The sphere reports which edges are candidates: lengths on the ellipsoid differ from those on it by less
	// than 1 %.
	nearest := math.Inf(1)
	g.eachFoot(o, func() float64 { return 1.02*chord + 1e-15 }, func(p, a, b s2.Point, d float64) {
		if d <= 1.02*chord+1e-15 {
			nearest = min(nearest, geodesicToEdge(p, a, b, nearest))
		}
	})
	return nearest
}

// chord returns the least distance between the vectors of two geometries that do not meet.
func (g *Geometry) chord(o *Geometry) float64 {
	best := math.Inf(1)
	for _, p := range g.paths { // a first guess, that spares most of the work
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

// eachFoot calls fn with ends of edges of one geometry, edges of the other, and the distance between the
// vectors of both; at least with all that are within reach. Two edges that do not meet are nearest at an end
// of one of them.
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

// distanceToEdge returns how far the vector of p is from the nearest one of the edge.
func distanceToEdge(planar bool, p, a, b s2.Point) float64 {
	if planar || a == b {
		return p.Sub(foot(planar, p, a, b).Vector).Norm()
	}
	d, _ := s2.UpdateMinDistance(p, a, b, s1.InfChordAngle())
	return math.Sqrt(float64(d))
}

// geodesicToEdge returns the distance of p from the edge in metres, unless it is more than enough. The
// nearest point on the sphere is near the one on the ellipsoid; around it the golden section closes in on the
// latter, which changes the distance by far less than 0.1 %.
func geodesicToEdge(p, a, b s2.Point, enough float64) float64 {
	near := foot(false, p, a, b)
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

// Area returns the area of the polygons, in square metres of the ellipsoid on the globe; 0 for points and
// lines.
func (g *Geometry) Area() float64 {
	total := 0.0
	for _, p := range g.polygons {
		outside := 0.0 // of the polygon
		for _, h := range p.holes {
			if g.planar {
				outside += planarArea(h)
			} else { // the polygon is to its left
				outside += 4*math.Pi*authalicRadius2 - globeArea(h.path)
			}
		}
		if g.planar {
			total += planarArea(p.outer) - outside
		} else {
			total += globeArea(p.outer.path) - outside
		}
	}
	return max(total, 0)
}

func planarArea(r *ring) float64 {
	twice, first := 0.0, r.points[0]
	for i := range r.edges() {
		a, b := r.edge(i)
		twice += (a.X-first.X)*(b.Y-first.Y) - (b.X-first.X)*(a.Y-first.Y)
	}
	return math.Abs(twice) / 2
}
