package index

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/golang/geo/r2"
	"github.com/golang/geo/r3"
	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

// How geometries are found.
//
// A space is divided into cells. A cell has four children, a quarter of it each, down to level 30. The globe
// is six cells at level 0, the faces of a cube around it, as in the S2 library, whose numbers are used: a
// leaf is about a centimetre wide. The plane is one cell at level 0, the bounding box of the index policy,
// halved in both directions at each level; its cells on the rim reach beyond the box without end, so that
// what lies outside is found as well.
//
//	bits   3      2        2              1    the rest
//	     +------+--------+--------+ ... +----+-----------+
//	     | face | child  | child  |     | 1  | 0 ... 0   |     a cell of level n has n children's numbers
//	     +------+--------+--------+ ... +----+-----------+
//
// In that form the numbers of all that is inside a cell c, with c in the middle of them, are the interval
// from c.RangeMin() to c.RangeMax(), and no other cell's number is in it. Eight bytes, big-endian, keep the
// order.
//
// A geometry is indexed under the cells that cover it: a point under its leaf, all else under at most 8 cells
// of even levels, as small as they can be. A query covers what it asks for by at most 16 cells. If both have
// a point in common, some cell of the one and some cell of the other both hold it, and of two cells with a
// common point one is inside the other. So what is looked up for each cell q of the query is
//
//	the interval of q           geometries indexed under q or cells inside of it
//	each ancestor of q          geometries indexed under a cell that q is inside of; only even levels are ever used
//
// and every geometry that meets the query is among what is found, with some that do not. Coverings are as
// wide as touch, twice over, for what is compared with that tolerance to be found in spite of rounding.

const (
	maxIndexCells = 8
	maxQueryCells = 16
	levelStep     = 2 // index cells have levels that are multiples of it
)

// CellRange is an interval of cell numbers, both ends included.
type CellRange struct{ Low, High uint64 }

// AppendCell appends the eight bytes of a cell's number, which sort as the numbers do.
func AppendCell(dst []byte, cell uint64) []byte { return binary.BigEndian.AppendUint64(dst, cell) }

// Cells returns the cells that a geometry is indexed under, in rising order: at most eight. box bounds the
// plane of planar geometries, and is nil on the globe.
func (g *Geometry) Cells(box *Box) []uint64 {
	c := coverer{g: g, box: box, reach: 2 * touch}
	if points := g.paths[0].points; len(points) == 1 {
		return []uint64{uint64(c.leaf(points[0]))}
	}
	cells := c.cover(maxIndexCells, levelStep)
	numbers := make([]uint64, len(cells))
	for i, cell := range cells {
		numbers[i] = uint64(cell)
	}
	return numbers
}

// QueryCells returns what to look up for the geometries that are no further from g than distance, in metres
// on the globe and in the coordinates' unit in the plane; with distance 0 those that meet it. The ranges are
// in rising order and do not overlap. Each such geometry has one of its Cells in one of them; it may have
// several.
func (g *Geometry) QueryCells(box *Box, distance float64) []CellRange {
	c := coverer{g: g, box: box, reach: 2 * touch}
	if g.planar {
		c.reach += distance
	} else {
		// No line on the ellipsoid is shorter than the radius of curvature along the equator's meridians
		// says; lengths are summed up to eight digits.
		c.reach += distance / (polar * polar / equatorial) * (1 + 1e-7)
	}
	ancestors := map[s2.CellID]bool{}
	var ranges []CellRange
	for _, cell := range c.cover(maxQueryCells, 1) {
		ranges = append(ranges, CellRange{uint64(cell.RangeMin()), uint64(cell.RangeMax())})
		for level := 0; level < cell.Level(); level += levelStep {
			ancestors[cell.Parent(level)] = true
		}
	}
	for cell := range ancestors {
		ranges = append(ranges, CellRange{uint64(cell), uint64(cell)})
	}
	slices.SortFunc(ranges, func(a, b CellRange) int {
		if a.Low < b.Low {
			return -1
		}
		return 1
	})
	return merge(ranges)
}

// merge joins ranges that overlap or almost do: between two leaves that follow each other there is at most
// one number.
func merge(ranges []CellRange) []CellRange {
	var merged []CellRange
	for _, r := range ranges {
		if n := len(merged); n > 0 && r.Low <= merged[n-1].High+2 {
			merged[n-1].High = max(merged[n-1].High, r.High)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// coverer finds cells for what is near a geometry.
type coverer struct {
	g     *Geometry
	box   *Box
	reach float64 // radians, or units of the plane
}

// cover returns cells that hold all that is within reach, in rising order. It starts with the largest ones
// and takes the children of one for it, as far as they are within reach, while that leaves at most limit
// cells; of the levels it uses only the multiples of step.
func (c *coverer) cover(limit, step int) []s2.CellID {
	cells := []s2.CellID{planarRoot}
	if !c.g.planar {
		cells = c.near(s2.CellIDFromFace(0), s2.CellIDFromFace(1), s2.CellIDFromFace(2), s2.CellIDFromFace(3),
			s2.CellIDFromFace(4),
			s2.CellIDFromFace(5))
	}
	for level := 0; level+step <= s2.MaxLevel; level += step {
		var next []s2.CellID
		divided := false
		for i, cell := range cells {
			inside := []s2.CellID{cell}
			if cell.Level() == level {
				inside = c.descendants(cell, step)
			}
			if len(next)+len(inside)+len(cells)-i-1 > limit {
				inside = []s2.CellID{cell}
			} else {
				divided = divided || cell.Level() == level
			}
			next = append(next, inside...)
		}
		if cells = next; !divided {
			break
		}
	}
	return cells
}

// descendants returns the cells that are step levels below a cell and within reach.
func (c *coverer) descendants(cell s2.CellID, step int) []s2.CellID {
	cells := []s2.CellID{cell}
	for range step {
		var next []s2.CellID
		for _, cell := range cells {
			children := cell.Children()
			next = append(next, c.near(children[:]...)...)
		}
		cells = next
	}
	return cells
}

// near returns those of the cells that are within reach of the geometry.
func (c *coverer) near(cells ...s2.CellID) []s2.CellID {
	return slices.DeleteFunc(slices.Clone(cells), func(id s2.CellID) bool {
		if c.g.planar {
			return !c.nearRect(c.rect(id))
		}
		return !c.nearCell(s2.CellFromCellID(id))
	})
}

// nearCell reports whether a cell of the globe is within reach.
func (c *coverer) nearCell(cell s2.Cell) bool {
	center := cell.Center()
	if c.g.covers(center) {
		return true
	}
	reach := s1.ChordAngleFromAngle(s1.Angle(min(c.reach, math.Pi)))
	radius := cell.CapBound().Radius().Radians() + c.reach // no less than the chord
	around := box{center.Vector, center.Vector}
	for _, p := range c.g.paths {
		for i, b := range p.boxes {
			if b.gap(around) > radius {
				continue
			}
			for k := i * chunk; k < min((i+1)*chunk, p.edges()); k++ {
				if u, v := p.edge(k); cellDistance(cell, u, v) <= reach {
					return true
				}
			}
		}
	}
	return false
}

func cellDistance(cell s2.Cell, u, v s2.Point) s1.ChordAngle {
	if u == v {
		return cell.Distance(u)
	}
	return cell.DistanceToEdge(u, v)
}

// planarRoot is the whole plane: a cell with the number of a face, so that the arithmetic of those applies to
// all below it.
var planarRoot = s2.CellIDFromFace(0)

// leaf returns the smallest cell that holds a point.
func (c *coverer) leaf(p s2.Point) s2.CellID {
	if !c.g.planar {
		return s2.CellFromPoint(p).ID()
	}
	id, rect := planarRoot, c.bounds()
	for range s2.MaxLevel {
		middle := rect.Center()
		k := 0
		if p.X >= middle.X {
			k |= 1
		}
		if p.Y >= middle.Y {
			k |= 2
		}
		id, rect = id.Children()[k], quarter(rect, k)
	}
	return id
}

func (c *coverer) bounds() r2.Rect {
	return r2.RectFromPoints(r2.Point{X: c.box.XMin, Y: c.box.YMin}, r2.Point{X: c.box.XMax, Y: c.box.YMax})
}

// quarter returns the part of a rectangle that is its k-th child: bit 0 tells right from left, bit 1 upper
// from lower.
func quarter(rect r2.Rect, k int) r2.Rect {
	middle := rect.Center()
	if k&1 == 0 {
		rect.X.Hi = middle.X
	} else {
		rect.X.Lo = middle.X
	}
	if k&2 == 0 {
		rect.Y.Hi = middle.Y
	} else {
		rect.Y.Lo = middle.Y
	}
	return rect
}

// rect returns the rectangle of a cell of the plane. Sides on the rim of the bounding box are infinitely far
// out.
func (c *coverer) rect(id s2.CellID) (rect r2.Rect, finite r2.Rect) {
	finite = c.bounds()
	rim := finite
	for level := 1; level <= id.Level(); level++ {
		finite = quarter(finite, id.ChildPosition(level))
	}
	rect = finite
	if rect.X.Lo == rim.X.Lo {
		rect.X.Lo = math.Inf(-1)
	}
	if rect.X.Hi == rim.X.Hi {
		rect.X.Hi = math.Inf(1)
	}
	if rect.Y.Lo == rim.Y.Lo {
		rect.Y.Lo = math.Inf(-1)
	}
	if rect.Y.Hi == rim.Y.Hi {
		rect.Y.Hi = math.Inf(1)
	}
	return rect, finite
}

// nearRect reports whether a rectangle is within reach, or almost: its corners are not rounded off. finite is
// the part of it that is inside the bounding box.
func (c *coverer) nearRect(rect, finite r2.Rect) bool {
	if center := finite.Center(); c.g.covers(s2.Point{Vector: r3.Vector{X: center.X, Y: center.Y}}) {
		return true
	}
	for _, p := range c.g.paths {
		for i := range p.edges() {
			u, v := p.edge(i)
			grow := c.reach + touch*(math.Abs(u.X)+math.Abs(u.Y)+math.Abs(v.X)+math.Abs(v.Y))
			if clips(rect.ExpandedByMargin(grow), u, v) {
				return true
			}
		}
	}
	return false
}

// clips reports whether some part of the edge from u to v is in the rectangle.
func clips(rect r2.Rect, u, v s2.Point) bool {
	from, to := 0.0, 1.0 // of the edge, what may be
	inside := func(start, step, low, high float64) bool {
		if step == 0 {
			return low <= start && start <= high
		}
		a, b := (low-start)/step, (high-start)/step
		from, to = max(from, min(a, b)), min(to, max(a, b))
		return from <= to
	}
	return inside(u.X, v.X-u.X, rect.X.Lo, rect.X.Hi) && inside(u.Y, v.Y-u.Y, rect.Y.Lo, rect.Y.Hi)
}
