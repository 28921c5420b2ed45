package exec

import (
	"math"
	"slices"

	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// If the index has codes of its vectors (see index.Quantizer), a search reads the codes first. A code gives
// a lower bound of the distance of a vector. Vectors are looked up in the order of these bounds until the
// nearest vector found is nearer than the bound of every other. So the number of vectors that are looked up
// depends on how many vectors cannot be excluded by their codes: about a hundred of 100,000 random vectors.
// If the codes exclude few vectors, as when all vectors are alike, all vectors are read.

const (
	// keptCodes is the number of candidate vectors that a vector search keeps at first, selected by their
	// codes (short approximations of the vectors in the index). If they are not enough, all codes are read
	// again and moreCodes times as many candidates are kept.
	keptCodes, moreCodes = 2048, 8
	// if more than fewDoubts + n/doubtShare of n vectors would have to be looked up, all vectors are read
	// instead
	fewDoubts, doubtShare = 64, 16
	// lostSquare is an upper bound of the relative error of a vector's squared length: codes store the length
	// in 32 bits.
	lostSquare = 1e-6
)

// vectorCandidates are the vectors that may be the next in the order of distances. For each it holds a lower
// bound of the distance, computed from the vector's code (see leastDistance).
type vectorCandidates struct {
	heap.Heap[DocumentDistance]                  // lower bounds of the distances
	room                        int              // capacity
	behind                      DocumentDistance // candidates at or after this one have been dropped
	cut                         bool             // some candidates have been dropped
	begun                       bool
	doubts                      int      // number of vectors that are looked up before all are read
	looked                      []uint64 // rids of the vectors that were looked up
}

// before reports whether e comes before o, in a strict total order of estimates: by distance, then by rid.
func (e DocumentDistance) before(o DocumentDistance) bool {
	return e.distance < o.distance || e.distance == o.distance && e.rid < o.rid
}

// walkCodes reads the codes of all vectors, short approximations, and keeps as candidates the vectors that
// may be nearest to the query's vector among those not returned yet. usable is false if the source cannot
// read the codes or a code is invalid.
func (d *nearestVectorIterator) walkCodes() (usable bool, err error) {
	r := &d.candidates
	from, again := r.behind, r.begun
	r.begun, r.cut, r.Before, r.List = true, false, DocumentDistance.before, r.List[:0]
	r.room = max(moreCodes*r.room, keptCodes)
	n := 0
	usable, err = d.each(d.v.CodeKey, func(rid uint64, code []byte) (bool, error) {
		n++
		low, ok := leastDistance(d.v, code)
		if e := (DocumentDistance{low, rid}); ok && (!again || !e.before(from)) && !(r.cut &&
			!e.before(r.behind)) {
			if r.List = append(r.List, e); len(r.List) == 2*r.room {
				r.halve()
			}
		}
		return ok, d.x.pass(lang.EntryWork + len(code))
	})
	d.x.page.Stats.IndexEntries += int64(n)
	d.x.Run.Use(2*estimateSize*r.room, "ORDER BY")
	r.Init()
	if !again {
		r.doubts = fewDoubts + n/doubtShare
	}
	return usable && err == nil, err
}

// halve drops the worse half of the candidates.
func (r *vectorCandidates) halve() {
	slices.SortFunc(r.List, func(a, b DocumentDistance) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	r.behind, r.cut = r.List[r.room], true
	r.List = r.List[:r.room]
}

// leastDistance returns a lower bound of a vector's distance, computed from its code, a short approximation
// of the vector that the index stores. ok is false if the code is invalid.
func leastDistance(v *plan.VectorOrder, code []byte) (distance float64, ok bool) {
	product, bound, norm, ok := v.Codes.Estimate(code)
	switch most := product + bound; {
	case math.IsInf(norm, 0):
		return math.Inf(-1), ok
	case v.Metric == lang.MetricDot:
		return -most, ok
	case v.Metric == lang.MetricEuclidean:
		squares := norm*norm + v.Square
		return math.Sqrt(max(squares*(1-lostSquare)-2*most, 0)), ok
	case norm == 0:
		return 0, ok
	default:
		return -most/(norm*v.Codes.Norm()) - lostSquare, ok
	}
}

// settle computes exact distances of candidates, the one with the lowest lower bound first, until the
// nearest vector found is nearer than the lower bounds of all other vectors, so that it is the next result.
// If too many candidates have been looked at, it reads all vectors.
func (d *nearestVectorIterator) settle() error {
	r := &d.candidates
	for r.begun {
		next := r.behind
		switch {
		case len(r.List) > 0:
			next = r.List[0]
		case !r.cut:
			return nil
		}
		if len(d.exact.List) > 0 && d.exact.List[0].distance < next.distance {
			return nil
		}
		if len(r.looked) == r.doubts {
			return d.readAll()
		}
		if len(r.List) == 0 {
			if _, err := d.walkCodes(); err != nil {
				return err
			}
			continue
		}
		if err := d.lookAt(r.Pop().rid); err != nil {
			return err
		}
	}
	return nil
}

// lookAt reads the whole vector of a document from the index and computes its exact distance.
func (d *nearestVectorIterator) lookAt(rid uint64) error {
	d.x.Run.Use(8, "ORDER BY")
	d.candidates.looked = append(d.candidates.looked, rid)
	value, ok, err := d.src.(source.IndexEntryReader).Value(d.v.Key, rid)
	if err != nil || !ok {
		return err
	}
	n := len(d.exact.List)
	_, err = d.take(rid, value)
	d.exact.Rise(n)
	return err
}

// readAll reads all vectors of the index, except for those that were read one by one already (see lookAt),
// and computes their exact distances.
func (d *nearestVectorIterator) readAll() error {
	looked := d.candidates.looked
	slices.Sort(looked)
	d.candidates = vectorCandidates{}
	_, err := d.each(d.v.Key, func(rid uint64, value []byte) (bool, error) {
		i, found := slices.BinarySearch(looked, rid)
		if looked = looked[i:]; found {
			return true, nil
		}
		return d.take(rid, value)
	})
	d.exact.Init()
	return err
}
