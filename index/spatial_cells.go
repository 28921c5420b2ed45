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

// The cells of geometries.
//
// A space is divided into cells. Each cell has four children, each a quarter of it, down to level 30. The
// globe has six cells at level 0, the faces of a cube around it. Numbers and cells are those of the S2
// library; a leaf is about a centimetre wide. The plane has one cell at level 0, the bounding box of the
// index policy, and each level halves it in both directions. Its cells on the rim extend beyond the box
// without end, so that geometries outside of the box are found too.
//
//	bits   3      2        2              1    the rest
//	     +------+--------+--------+ ... +----+-----------+
//	     | face | child  | child  |     | 1  | 0 ... 0   |     a cell of level n has n children's numbers
//	     +------+--------+--------+ ... +----+-----------+
//
// In this form the numbers of all cells inside a cell c are the interval from c.RangeMin() to
// c.RangeMax(), with c in its middle. The interval contains no other cell's number. Eight bytes,
// big-endian, keep the order.
//
// A geometry is indexed under the cells that cover it: a point under its leaf, any other geometry under
// at most 8 cells of even levels, which are as small as possible. A query is covered by at most 16 cells.
// If a geometry and the query have a common point, a cell of each contains that point. Of two cells with
// a common point, one lies inside the other. So for each cell q of the query the index is searched for
//
//	the interval of q           geometries indexed under q or cells inside of it
//	each ancestor of q          geometries indexed under a cell that contains q (even levels only)
//
// The results contain every geometry that meets the query, and some that do not. Coverings are widened by
// twice touch, so that geometries that meet only within that tolerance are found in spite of rounding.

const (
	maxIndexCells = 8
	maxQueryCells = 16
	levelStep     = 2 // the levels of index cells are multiples of levelStep
)

// SpatialCellRange is an interval of cell numbers, including both ends.
type SpatialCellRange struct{ Low, High uint64 }

// AppendCell appends the eight bytes of a cell's number, which sort like the numbers.
func AppendCell(dst []byte, cell uint64) []byte { return binary.BigEndian.AppendUint64(dst, cell) }

// Cells returns the cells under which a geometry is indexed, ascending, at most eight. box bounds the
// plane of planar geometries; it is nil on the globe.
func (g *Geometry) Cells(box *SpatialIndexBoundingBox) []uint64 {
	c := cellCoverer{g: g, box: box, reach: 2 * touch}
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

// QueryCells returns the cell ranges in which to search for the geometries within a distance of g, in
// metres on the globe and in the coordinates' unit in the plane. With distance 0 these are the geometries
// that meet g. The ranges are ascending and do not overlap. Each such geometry has at least one of its
// Cells in one of the ranges.
func (g *Geometry) QueryCells(box *SpatialIndexBoundingBox, distance float64) []SpatialCellRange {
	c := cellCoverer{g: g, box: box, reach: 2 * touch}
	if g.planar {
		c.reach += distance
	} else {
		// The smallest radius of curvature of a meridian, at the equator, gives the largest angle for a
		// distance. Lengths are computed to eight digits.
		c.reach += distance / (polar * polar / equatorial) * (1 + 1e-7)
	}
	ancestors := map[s2.CellID]bool{}
	var ranges []SpatialCellRange
	for _, cell := range c.cover(maxQueryCells, 1) {
		ranges = append(ranges, SpatialCellRange{uint64(cell.RangeMin()), uint64(cell.RangeMax())})
		for level := 0; level < cell.Level(); level += levelStep {
			ancestors[cell.Parent(level)] = true
		}
	}
	for cell := range ancestors {
		ranges = append(ranges, SpatialCellRange{uint64(cell), uint64(cell)})
	}
	slices.SortFunc(ranges, func(a, b SpatialCellRange) int {
		if a.Low < b.Low {
			return -1
		}
		return 1
	})
	return merge(ranges)
}

// merge joins ranges that overlap or are adjacent. The ranges are sorted. Two ranges are adjacent if the
// second begins at most 2 above the end of the first: the number between them is then no leaf cell.
func merge(ranges []SpatialCellRange) []SpatialCellRange {
	var merged []SpatialCellRange
	for _, r := range ranges {
		if n := len(merged); n > 0 && r.Low <= merged[n-1].High+2 {
			merged[n-1].High = max(merged[n-1].High, r.High)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// cellCoverer finds the cells that contain all points within a distance, reach, of a geometry.
type cellCoverer struct {
	g     *Geometry
	box   *SpatialIndexBoundingBox
	reach float64 // radians, or units of the plane
}

// cover returns cells that together contain all points whose distance from the geometry is at most
// c.reach, in ascending order. It starts with the largest cells and replaces a cell by its descendants
// that have such points, as long as there are at most limit cells. It only uses levels that are multiples
// of step.
func (c *cellCoverer) cover(limit, step int) []s2.CellID {
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

// descendants returns those cells, step levels below a cell, that are at most c.reach away from the
// geometry.
func (c *cellCoverer) descendants(cell s2.CellID, step int) []s2.CellID {
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

// near returns those of the given cells that have a point within the distance c.reach of the geometry.
func (c *cellCoverer) near(cells ...s2.CellID) []s2.CellID {
	return slices.DeleteFunc(slices.Clone(cells), func(id s2.CellID) bool {
		if c.g.planar {
			return !c.nearRect(c.rect(id))
		}
		return !c.nearCell(s2.CellFromCellID(id))
	})
}

// nearCell reports whether a cell of the globe has a point within the distance c.reach of the geometry.
func (c *cellCoverer) nearCell(cell s2.Cell) bool {
	center := cell.Center()
	if c.g.covers(center) {
		return true
	}
	reach := s1.ChordAngleFromAngle(s1.Angle(min(c.reach, math.Pi)))
	radius := cell.CapBound().Radius().Radians() + c.reach // an angle, so not less than the chord
	around := boundingBox3D{center.Vector, center.Vector}
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

// planarRoot is the cell of the whole plane. It has the number of a face, so that the arithmetic of S2
// cells applies to all cells below it.
var planarRoot = s2.CellIDFromFace(0)

// leaf returns the smallest cell that contains a point.
func (c *cellCoverer) leaf(p s2.Point) s2.CellID {
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

func (c *cellCoverer) bounds() r2.Rect {
	return r2.RectFromPoints(r2.Point{X: c.box.XMin, Y: c.box.YMin}, r2.Point{X: c.box.XMax, Y: c.box.YMax})
}

// quarter returns the k-th child of a rectangle. Bit 0 of k selects the right half, bit 1 the upper half.
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

// rect returns the rectangle of a cell of the plane twice: finite as it is, and rect with each side that lies
// on the edge of the bounding box moved to infinity.
func (c *cellCoverer) rect(id s2.CellID) (rect r2.Rect, finite r2.Rect) {
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

// nearRect reports whether the rectangle of a cell is at most c.reach away from the geometry. The corners of
// the widened rectangle are not rounded off, so it may also return true for a rectangle that is slightly
// farther away diagonally. In rect, sides of the cell on the rim of the bounding box are moved to infinity;
// finite is the unchanged rectangle.
func (c *cellCoverer) nearRect(rect, finite r2.Rect) bool {
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

// clips reports whether a part of the edge from u to v lies in the rectangle.
func clips(rect r2.Rect, u, v s2.Point) bool {
	from, to := 0.0, 1.0 // the part of the edge that may lie in the rectangle
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
