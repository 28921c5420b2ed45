package index

import (
	"math"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

// This file implements the operations on single edges and rings, on the globe or, if planar is set, in the
// plane. An edge may be a point.

// touch is the distance within which two points count as meeting. On the globe it is an angle, 0.1
// micrometres, far more than the rounding error of converting coordinates to vectors. In the plane it is
// relative to the size of the coordinates.
const touch = 1.5e-14

// onEdge reports whether p lies on the edge from a to b, in the plane if planar is set, otherwise on the
// globe.
func onEdge(planar bool, p, a, b s2.Point) bool {
	switch {
	case p == a || p == b:
		return true
	case planar:
		return p.Sub(planarNearestPoint(p, a, b).Vector).Norm() <= touch*max(math.Abs(p.X), math.Abs(p.Y),
			math.Abs(a.X), math.Abs(a.Y))
	case a == b:
		return p.Sub(a.Vector).Norm() <= touch
	}
	return s2.IsDistanceLess(p, a, b, s1.ChordAngleFromSquaredLength(touch*touch))
}

// meet reports whether two edges have a common point.
func meet(planar bool, a0, a1, b0, b1 s2.Point) bool {
	return crosses(planar, a0, a1, b0, b1) || onEdge(planar, a0, b0, b1) || onEdge(planar, a1, b0, b1) ||
		onEdge(planar, b0, a0, a1) || onEdge(planar, b1, a0, a1)
}

// crosses reports whether two edges cross at an inner point of both.
func crosses(planar bool, a0, a1, b0, b1 s2.Point) bool {
	if !planar {
		return a0 != a1 && b0 != b1 && s2.CrossingSign(a0, a1, b0, b1) == s2.Cross
	}
	return side(a0, a1, b0)*side(a0, a1, b1) < 0 && side(b0, b1, a0)*side(b0, b1, a1) < 0
}

// crossesApart reports whether two edges cross at an inner point of both, and no end of one edge lies on the
// other.
func crossesApart(planar bool, a0, a1, b0, b1 s2.Point) bool {
	return crosses(planar, a0, a1, b0, b1) && !onEdge(planar, a0, b0, b1) && !onEdge(planar, a1, b0, b1) &&
		!onEdge(planar, b0, a0, a1) && !onEdge(planar, b1, a0, a1)
}

// side returns 1, 0 or -1 if p is to the left of the line from a to b, on it, or to its right, in the
// plane.
func side(a, b, p s2.Point) int {
	left, right := (b.X-a.X)*(p.Y-a.Y), (b.Y-a.Y)*(p.X-a.X)
	switch {
	case left > right:
		return 1
	case left < right:
		return -1
	}
	return 0
}

// nearestPoint returns the point of the edge from a to b nearest to p.
func nearestPoint(planar bool, p, a, b s2.Point) s2.Point {
	switch {
	case planar:
		return planarNearestPoint(p, a, b)
	case a == b:
		return a
	}
	return s2.Project(p, a, b)
}

func planarNearestPoint(p, a, b s2.Point) s2.Point {
	ab := b.Sub(a.Vector)
	length := ab.Norm()
	if length == 0 {
		return a
	}
	unit := ab.Mul(1 / length)
	switch along := p.Sub(a.Vector).Dot(unit); {
	case along <= 0:
		return a
	case along >= length:
		return b
	default:
		return s2.Point{Vector: a.Add(unit.Mul(along))}
	}
}

// between returns approximately the point at a fraction of the way from a to b: on the straight line if
// planar is set, otherwise on the sphere.
func between(planar bool, a, b s2.Point, fraction float64) s2.Point {
	at := a.Mul(1 - fraction).Add(b.Mul(fraction))
	if !planar {
		at = at.Normalize()
	}
	return s2.Point{Vector: at}
}

// touches reports whether p lies on the path. planar is set for geometries in the plane, otherwise they are
// on the globe.
func (r *polyline) touches(planar bool, p s2.Point) bool {
	if !r.spend.on(chunk * len(r.boxes)) {
		return false
	}
	for i, b := range r.boxes {
		if b.gap(boundingBox3D{p.Vector, p.Vector}) > touch*(1+p.Norm()) {
			continue
		}
		for k := i * chunk; k < min((i+1)*chunk, r.edges()); k++ {
			if u, v := r.edge(k); onEdge(planar, p, u, v) {
				return true
			}
		}
	}
	return false
}

// contains reports whether p lies inside the ring. For a point on the ring the result may be either.
func (r *linearRing) contains(p s2.Point) bool {
	if r.loop != nil {
		return r.loop.ContainsPoint(p)
	}
	inside := false
	if !r.spend.on(chunk * r.edges()) {
		return false
	}
	for i := range r.edges() {
		a, b := r.edge(i)
		// A ray from p to the right crosses an edge if one end is above p and the other is not.
		if (a.Y > p.Y) != (b.Y > p.Y) && (side(a, b, p) > 0) == (b.Y > a.Y) {
			inside = !inside
		}
	}
	return inside
}

// inside reports whether p lies inside the polygon and not on its boundary.
func (g *polygon) inside(planar bool, p s2.Point) bool {
	if !g.outer.contains(p) || g.outer.touches(planar, p) {
		return false
	}
	for _, h := range g.holes {
		if h.contains(p) || h.touches(planar, p) {
			return false
		}
	}
	return true
}

// covers reports whether p lies inside the polygon or on its boundary. planar is set for geometries in the
// plane, otherwise they are on the globe.
func (g *polygon) covers(planar bool, p s2.Point) bool {
	if !g.outer.contains(p) && !g.outer.touches(planar, p) {
		return false
	}
	for _, h := range g.holes {
		if h.contains(p) && !h.touches(planar, p) {
			return false
		}
	}
	return true
}
