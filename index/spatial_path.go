package index

import (
	"math"

	"github.com/golang/geo/r3"
	"github.com/golang/geo/s2"
)

// polyline is a point, a line or a ring: one position, or positions joined by edges. The last position of
// a ring is its first.
//
// The edges are grouped into chunks, each with a bounding box, so that two paths of thousands of edges
// need not be compared edge by edge: chunks whose boxes are too far apart are skipped. Boxes are
// three-dimensional and contain the arcs of great circles, not only their chords.
type polyline struct {
	points []s2.Point
	boxes  []boundingBox3D
	spend  WorkBudgetFunc
}

// WorkBudgetFunc is called before work is done; n is the amount of work, about one unit per byte. If it
// returns false, the result is no longer needed: the computation ends soon with an arbitrary result. A nil
// WorkBudgetFunc allows any work.
type WorkBudgetFunc func(n int) bool

func (s WorkBudgetFunc) on(n int) bool { return s == nil || s(n) }

// pairWork is the work, in units of WorkBudgetFunc, of comparing each edge in one chunk of a line or polygon
// with each edge in a chunk of another.
const pairWork = 16 * chunk * chunk

// chunk is the number of consecutive edges of a path that have one bounding box in common.
const chunk = 16

// boundingBox3D is a three-dimensional bounding box: an interval in each dimension.
type boundingBox3D struct{ low, high r3.Vector }

func newPath(points []s2.Point, planar bool, spend WorkBudgetFunc) *polyline {
	p := &polyline{points: points, spend: spend}
	for from := 0; from < p.edges(); from += chunk {
		b := boundingBox3D{points[from].Vector, points[from].Vector}
		bulge := 0.0
		for i := from; i < min(from+chunk, p.edges()); i++ {
			u, v := p.edge(i)
			b.low = minVector(b.low, v.Vector)
			b.high = maxVector(b.high, v.Vector)
			if !planar {
				half := u.Sub(v.Vector).Norm() / 2
				bulge = max(bulge, 1-math.Sqrt(max(1-half*half, 0))) // the distance of an arc to its chord
			}
		}
		if !planar {
			bulge += 1e-14
		}
		grow := r3.Vector{X: bulge, Y: bulge, Z: bulge}
		p.boxes = append(p.boxes, boundingBox3D{b.low.Sub(grow), b.high.Add(grow)})
	}
	return p
}

// edges returns the number of edges of the path. A point has one edge, from itself to itself.
func (p *polyline) edges() int { return max(len(p.points)-1, min(len(p.points), 1)) }

func (p *polyline) edge(i int) (u, v s2.Point) {
	return p.points[i], p.points[min(i+1, len(p.points)-1)]
}

// gap returns the distance between two boxes, 0 if they meet.
func (b boundingBox3D) gap(o boundingBox3D) float64 {
	return math.Sqrt(gap1(b.low.X, b.high.X, o.low.X, o.high.X) + gap1(b.low.Y, b.high.Y, o.low.Y, o.high.Y) +
		gap1(b.low.Z, b.high.Z, o.low.Z, o.high.Z))
}

// gap1 returns the square of the distance between two intervals.
func gap1(low, high, low2, high2 float64) float64 {
	d := max(low2-high, low-high2, 0)
	return d * d
}

func minVector(a, b r3.Vector) r3.Vector {
	return r3.Vector{X: min(a.X, b.X), Y: min(a.Y, b.Y), Z: min(a.Z, b.Z)}
}

func maxVector(a, b r3.Vector) r3.Vector {
	return r3.Vector{X: max(a.X, b.X), Y: max(a.Y, b.Y), Z: max(a.Z, b.Z)}
}

// eachNear calls fn for pairs of an edge of p and an edge of q. It may leave out pairs that are farther apart
// than reach(), and tests this for the bounding boxes of groups of edges. It calls reach again for each pair
// of groups, since fn may have found a smaller value. If fn returns false, or the work limit is reached,
// eachNear stops and returns false.
func (p *polyline) eachNear(q *polyline, reach func() float64,
	fn func(a0, a1, b0, b1 s2.Point) bool) bool {
	for i, b := range p.boxes {
		if !p.spend.on(chunk * len(q.boxes)) {
			return false
		}
		for j, c := range q.boxes {
			if b.gap(c) > reach() {
				continue
			}
			if !p.spend.on(pairWork) {
				return false
			}
			for k := i * chunk; k < min((i+1)*chunk, p.edges()); k++ {
				a0, a1 := p.edge(k)
				for l := j * chunk; l < min((j+1)*chunk, q.edges()); l++ {
					if b0, b1 := q.edge(l); !fn(a0, a1, b0, b1) {
						return false
					}
				}
			}
		}
	}
	return true
}

// touching returns the distance within which eachNear must look for pairs of edges of p and q, so that it
// finds all pairs that meet: a constant just larger than the rounding errors. It is a function because
// eachNear takes one.
func (p *polyline) touching(q *polyline) func() float64 {
	// in the plane the rounding error is proportional to the coordinates
	size := 1 + p.boxes[0].low.Norm() + q.boxes[0].low.Norm()
	return func() float64 { return touch * size }
}
