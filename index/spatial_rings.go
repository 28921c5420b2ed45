package index

import "github.com/golang/geo/s2"

// This file checks whether rings on the globe form valid polygons. The service's messages identify a ring
// by its number in the polygon.

// checkRings returns an error if a ring crosses itself or overlaps itself along an edge, if two rings
// cross or overlap, or if a ring lies outside of its polygon or inside another polygon.
func (g *Geometry) checkRings() error {
	number := 0
	var before []*polyline
	for i := range g.polygons {
		if err := g.polygons[i].check(); err != nil {
			return err
		}
		for _, r := range g.polygons[i].rings() {
			number++
			if err := checkDisjoint(r.polyline, number, before); err != nil {
				return err
			}
		}
		for _, r := range g.polygons[i].rings() {
			before = append(before, r.polyline)
		}
	}
	for i := range g.polygons {
		for k := range i {
			a, b := &g.polygons[i], &g.polygons[k]
			if a.holdsPartOf(b.outer) || b.holdsPartOf(a.outer) {
				return interior(i + 1)
			}
		}
	}
	return nil
}

func (g *polygon) rings() []*linearRing { return append([]*linearRing{g.outer}, g.holes...) }

// check checks the rings of one polygon: no ring may cross itself or another, and no ring may lie to the
// right of another.
func (g *polygon) check() error {
	rings := g.rings()
	var before []*polyline
	for i, r := range rings {
		if err := simple(r.polyline, i+1); err != nil {
			return err
		}
		if err := checkDisjoint(r.polyline, i+1, before); err != nil {
			return err
		}
		before = append(before, r.polyline)
	}
	for i, r := range rings {
		for k, s := range rings {
			if p, ok := pointOff(s.polyline, r.polyline); i != k && ok && r.contains(p) != (i == 0) {
				if i > 0 && k > 0 {
					i = max(i, k)
				}
				return interior(i + 1)
			}
		}
	}
	return nil
}

// holdsPartOf reports whether any position of a ring lies inside the polygon.
func (g *polygon) holdsPartOf(r *linearRing) bool {
	p, ok := pointOff(r.polyline, g.outer.polyline)
	return ok && g.inside(false, p)
}

// pointOff returns a position of p that does not lie on q; ok is false if there is none.
func pointOff(p, q *polyline) (at s2.Point, ok bool) {
	for _, at := range p.points {
		if !q.touches(false, at) {
			return at, true
		}
	}
	return at, false
}

func interior(ring int) error {
	return invalid("Not valid because some portion of a polygon ring (%d) lies in the interior of a polygon.",
		ring)
}

// simple returns an error if a ring meets itself in more than single positions.
func simple(p *polyline, number int) (err error) {
	p.eachNear(p, p.touching(p), func(a0, a1, b0, b1 s2.Point) bool {
		switch {
		case a0 == b0 && a1 == b1:
		case overlap(a0, a1, b0, b1):
			err = invalid("Not valid because of two overlapping edges in ring (%d) of a polygon.", number)
		case crossesApart(false, a0, a1, b0, b1):
			err = interior(number)
		}
		return err == nil
	})
	return err
}

// checkDisjoint returns an error if a ring meets one of the others in more than single positions.
func checkDisjoint(p *polyline, number int, others []*polyline) (err error) {
	for i, q := range others {
		p.eachNear(q, p.touching(q), func(a0, a1, b0, b1 s2.Point) bool {
			switch {
			case overlap(a0, a1, b0, b1):
				err = invalid("Not valid because an edge of ring (%d) of a polygon overlaps an edge of ring (%d).", number, i+1)
			case crossesApart(false, a0, a1, b0, b1):
				err = interior(i + 1)
			}
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// overlap reports whether two edges have more than one common point.
func overlap(a0, a1, b0, b1 s2.Point) bool {
	var common []s2.Point
	add := func(p s2.Point, on bool) {
		if on && (len(common) == 0 || common[0].Sub(p.Vector).Norm() > 4*touch) {
			common = append(common, p)
		}
	}
	add(a0, onEdge(false, a0, b0, b1))
	add(a1, onEdge(false, a1, b0, b1))
	add(b0, onEdge(false, b0, a0, a1))
	add(b1, onEdge(false, b1, a0, a1))
	return len(common) > 1
}
