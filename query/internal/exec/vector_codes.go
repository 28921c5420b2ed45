package exec

import (
	"math"
	"slices"

	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// Where the index has codes of its vectors (see index.Quantizer), a search goes through these. They tell
// which distance a vector has at the least. Vectors are looked up in this order until the nearest of them is
// nearer than any of the others can be: so as many are ranked again by their distance as the codes leave in
// doubt, a hundred of 100,000 if they are random, and no number is set beforehand. Where the codes leave much
// in doubt, as they do among vectors that are all alike, all vectors are read.

const (
	// keptCodes is how many of the vectors that may be the nearest are kept in mind, at first; for those
	// behind them the codes are gone through again, and more are kept.
	keptCodes, moreCodes = 2048, 8
	// up to so many vectors, and so large a part of all, are looked up one by one
	fewDoubts, doubtShare = 64, 16
	// lostSquare is more than what the length of a vector, which codes have in 32 bits, loses of its square,
	// as a share.
	lostSquare = 1e-6
)

// candidates are the vectors that may come next, by their codes.
type candidates struct {
	heap.Of[Estimate]          // distances are not less than these
	room              int      // how many it has
	behind            Estimate // all that are not less have been left out
	cut               bool     // there are such
	begun             bool
	doubts            int      // how many vectors are looked up before all are read
	looked            []uint64 // those that were
}

// before puts estimates in an order in which no two are equal.
func (e Estimate) before(o Estimate) bool {
	return e.distance < o.distance || e.distance == o.distance && e.rid < o.rid
}

// walkCodes goes through all codes and keeps those of the vectors that may come next.
func (d *distances) walkCodes() (usable bool, err error) {
	r := &d.candidates
	from, again := r.behind, r.begun
	r.begun, r.cut, r.Before, r.List = true, false, Estimate.before, r.List[:0]
	r.room = max(moreCodes*r.room, keptCodes)
	n := 0
	usable, err = d.each(d.v.CodeKey, func(rid uint64, code []byte) (bool, error) {
		n++
		low, ok := leastDistance(d.v, code)
		if e := (Estimate{low, rid}); ok && (!again || !e.before(from)) && !(r.cut && !e.before(r.behind)) {
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

// halve leaves the worse half out.
func (r *candidates) halve() {
	slices.SortFunc(r.List, func(a, b Estimate) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	r.behind, r.cut = r.List[r.room], true
	r.List = r.List[:r.room]
}

// leastDistance returns the distance that a vector has at the least, by its code; false: it is none.
func leastDistance(v *plan.Vectors, code []byte) (distance float64, ok bool) {
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

// settle looks vectors up until the nearest of them cannot be behind one that has not been looked up.
func (d *distances) settle() error {
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

// lookAt looks a vector up.
func (d *distances) lookAt(rid uint64) error {
	d.x.Run.Use(8, "ORDER BY")
	d.candidates.looked = append(d.candidates.looked, rid)
	value, ok, err := d.src.(source.Values).Value(d.v.Key, rid)
	if err != nil || !ok {
		return err
	}
	n := len(d.exact.List)
	_, err = d.take(rid, value)
	d.exact.Rise(n)
	return err
}

// readAll reads all vectors that have not been looked up.
func (d *distances) readAll() error {
	looked := d.candidates.looked
	slices.Sort(looked)
	d.candidates = candidates{}
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
