package exec

import (
	"slices"

	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// The iterators over rids. All of them implement source.PostingIterator, so that they can be nested.

const (
	// nexts is how many times an iterator calls Next before it calls SeekGE, which costs about as much as
	// that many steps.
	nexts = 16
)

// advance moves an iterator to the first rid that is not less than rid. It returns false if there is none.
func advance(p source.PostingIterator, rid uint64) bool {
	for range nexts {
		if p.RID() >= rid {
			return true
		}
		if !p.Next() {
			return false
		}
	}
	return p.RID() >= rid || p.SeekGE(rid)
}

// hasRID reports whether a sorted list contains a rid.
func hasRID(rids []uint64, rid uint64) bool {
	if len(rids) == 0 {
		return false
	}
	_, found := slices.BinarySearch(rids, rid)
	return found
}

// closeAll closes iterators and returns the first error.
func closeAll(list []source.PostingIterator) (err error) {
	for _, p := range list {
		if e := p.Close(); err == nil {
			err = e
		}
	}
	return err
}

// RIDIntersection iterates over the rids that all lists contain. It leaps from one candidate of any list to
// the next.
type RIDIntersection struct {
	List     []source.PostingIterator
	begun    bool
	Pass     func() error // counts an entry
	timedOut func() bool  // reports whether the time is over: see align; nil: there is no limit
	err      error        // returned by Pass
}

// Next moves to the next rid and returns false at the end.
func (x *RIDIntersection) Next() bool {
	if !x.begun {
		x.begun = true
		for _, p := range x.List {
			if !p.Next() {
				return false
			}
		}
	} else if !x.List[0].Next() {
		return false
	}
	return x.align()
}

// SeekGE moves to the first rid that is not less than rid. It returns false if there is none.
func (x *RIDIntersection) SeekGE(rid uint64) bool {
	x.begun = true
	for _, p := range x.List {
		if !p.SeekGE(rid) {
			return false
		}
	}
	return x.align()
}

// align advances the lists until all are at the same rid. If the time is over, it stops at a rid that may not
// be in all lists: the page can end behind the document of that rid, which does not match the conditions. It
// returns false at the end of a list.
func (x *RIDIntersection) align() bool {
	target := x.List[0].RID()
	for at, agree := 1, 1; agree < len(x.List); at++ {
		p := x.List[at%len(x.List)]
		if x.err = x.Pass(); x.err != nil {
			return false
		}
		if !advance(p, target) {
			return false
		}
		if r := p.RID(); r > target {
			if target, agree = r, 1; x.timedOut != nil && x.timedOut() {
				return true
			}
		} else {
			agree++
		}
	}
	return true
}

// RID returns the current rid.
func (x *RIDIntersection) RID() uint64 { return x.List[0].RID() }

// Close releases the iterator and returns its first error.
func (x *RIDIntersection) Close() error {
	if err := closeAll(x.List); x.err == nil {
		x.err = err
	}
	return x.err
}

// RIDUnionIterator iterates over the rids that any of the lists contains.
type RIDUnionIterator struct {
	All  []source.PostingIterator          // to be closed
	live heap.Heap[source.PostingIterator] // those that have not ended
	init bool
}

// Next moves to the next rid and returns false at the end.
func (u *RIDUnionIterator) Next() bool {
	if !u.init {
		return u.SeekGE(0)
	}
	if len(u.live.List) == 0 {
		return false
	}
	for last := u.RID(); len(u.live.List) > 0 && u.RID() == last; {
		u.moved(u.live.List[0].Next())
	}
	return len(u.live.List) > 0
}

// moved restores the order of the heap after its first iterator has advanced. ok is false if that iterator
// has ended.
func (u *RIDUnionIterator) moved(ok bool) {
	if ok {
		u.live.Fix()
	} else {
		u.live.Pop()
	}
}

// SeekGE moves to the first rid that is not less than rid. It returns false if there is none.
func (u *RIDUnionIterator) SeekGE(rid uint64) bool {
	if !u.init {
		u.init = true
		u.live.Before = func(a, b source.PostingIterator) bool { return a.RID() < b.RID() }
		for _, p := range u.All {
			if p.SeekGE(rid) {
				u.live.List = append(u.live.List, p)
			}
		}
		u.live.Init()
		return len(u.live.List) > 0
	}
	for len(u.live.List) > 0 && u.RID() < rid {
		u.moved(advance(u.live.List[0], rid))
	}
	return len(u.live.List) > 0
}

// RID returns the current rid.
func (u *RIDUnionIterator) RID() uint64 { return u.live.List[0].RID() }

// Close releases the iterator and returns its first error.
func (u *RIDUnionIterator) Close() error { return closeAll(u.All) }

// SortedRIDListIterator iterates over a sorted list of rids.
type SortedRIDListIterator struct {
	Rids    []uint64
	at      int    // index after the current one
	release func() // gives the memory of the list back; may be nil
}

// Next moves to the next rid and returns false at the end.
func (g *SortedRIDListIterator) Next() bool {
	if g.at >= len(g.Rids) {
		return false
	}
	g.at++
	return true
}

// SeekGE moves to the first rid that is not less than rid. It returns false if there is none.
func (g *SortedRIDListIterator) SeekGE(rid uint64) bool {
	from := max(g.at-1, 0)
	i, _ := slices.BinarySearch(g.Rids[from:], rid)
	g.at = from + i + 1
	return g.at <= len(g.Rids)
}

// RID returns the current rid.
func (g *SortedRIDListIterator) RID() uint64 { return g.Rids[g.at-1] }

// Close releases the iterator and returns its first error.
func (g *SortedRIDListIterator) Close() error {
	if g.release != nil {
		g.release()
	}
	g.Rids, g.release = nil, nil
	return nil
}

// list opens an index access of the plan that reads only posting lists. It returns the sorted rids of the
// access's candidate documents.
func (x *Execution) list(src source.DocumentSource, a plan.IndexAccess) source.PostingIterator {
	switch a := a.(type) {
	case *plan.IndexKeysAccess:
		if len(a.Keys) == 1 {
			return src.Postings(a.Keys[0])
		}
		u := &RIDUnionIterator{}
		for _, key := range a.Keys {
			u.All = append(u.All, src.Postings(key))
		}
		return u
	case *plan.IntersectionAccess:
		return x.intersect(x.listsOf(src, a.List))
	case *plan.UnionAccess:
		return &RIDUnionIterator{All: x.listsOf(src, a.List)}
	}
	return &SortedRIDListIterator{}
}

func (x *Execution) listsOf(src source.DocumentSource, list []plan.IndexAccess) []source.PostingIterator {
	open := make([]source.PostingIterator, len(list))
	for i, a := range list {
		open[i] = x.list(src, a)
	}
	return open
}

func (x *Execution) intersect(list []source.PostingIterator) source.PostingIterator {
	return &RIDIntersection{List: list, Pass: x.passEntry, timedOut: x.isTimedOut}
}

// isTimedOut reports whether an intersection of posting lists has to stop, because the time of the page is
// over. It is false if pages of this query cannot end between two documents.
func (x *Execution) isTimedOut() bool {
	if x.Plan.Form != cursor.Streaming {
		return false
	}
	if x.leaps++; x.leaps%restEvery == 0 && x.checkTime() != nil {
		return true
	}
	return x.late && !x.isReplayed()
}
