package exec

import (
	"errors"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
	"slices"
)

// A query with ORDER BY either walks an index in that order, or sorts. Which is cheaper depends on how many
// documents match and on where they are in the order, which is not known beforehand. So the cost of a walk
// is observed. If the matching rids are known, the walk receives them and reads no other documents. If the
// walk has skipped more entries than it would take to read the matching documents and sort them, it is
// replaced by a sort.

// allowedRIDs is the set of rids to which an index scan is restricted: it reads no other documents.
type allowedRIDs struct{ rids []uint64 }

func (m *allowedRIDs) has(rid uint64) bool {
	return m == nil || hasRID(m.rids, rid)
}

// openOrder opens the documents of a source in the order of the query.
func (x *Execution) openOrder(src source.DocumentSource, source int) (orderedDocumentIterator, error) {
	o := x.Plan.Order
	if b := x.leftOrder(src, source); b != nil {
		return b, nil
	}
	if w := x.recent(src); w != nil {
		return x.watch(src, source, w), nil
	}
	switch {
	case o.Walk == nil && o.Vectors == nil && o.Texts == nil:
		return x.sortAll(src, source), nil
	case o.Walk != nil && len(o.Walk.Fixed) > 0:
		return x.watch(src, source, o.Walk), nil
	}
	p := x.newProbes(src, plan.Beside(o.Walk))
	few, err := false, error(nil)
	if len(p.paths) > 0 {
		few, err = p.count(min(x.tune.Sort, x.tune.Rows*x.room()))
	}
	if err = errors.Join(err, p.close()); err != nil {
		return nil, err
	}
	if !few {
		p.release()
		if o.Walk != nil {
			p.note("walk")
			return x.watch(src, source, o.Walk), nil
		}
		return x.openSearch(src, source, nil)
	}
	found := p.rids()
	if o.Walk == nil {
		p.note("search of the wanted")
		return x.openSearch(src, source, &allowedRIDs{found})
	}
	if len(found) <= 2*x.room() {
		p.note("sort")
		return x.sortOf(src, source, found, nil), nil
	}
	p.note("walk, reading no others")
	w := x.watch(src, source, o.Walk)
	w.wk.allowed, w.wk.maxSkips = &allowedRIDs{found}, x.tune.Patience*len(found)
	return w, nil
}

// recent returns a walk over one partition of a source, if a composite index begins with the paths of the
// partition key and continues with the keys of ORDER BY. It returns nil otherwise. The conditions of the
// query need not contain the partition key, since the scope is already limited to it.
func (x *Execution) recent(src source.DocumentSource) *plan.OrderedIndexScan {
	in, ok := src.(source.ScopePartitionKeyReporter)
	if !ok || x.Plan.Order.Vectors != nil {
		return nil
	}
	values, paths := in.PartitionValues(), x.Plan.Info.PartitionPaths
	if len(values) == 0 || len(values) != len(paths) {
		return nil
	}
	for _, c := range x.Plan.Info.Index.Own() {
		if !c.Ready || len(c.Keys) <= len(paths) || slices.ContainsFunc(x.Plan.Top.Order, unrouted) {
			continue
		}
		reverse, ok := plan.MatchKeys(c.Keys[len(paths):], x.Plan.Top.Order)
		for i, path := range paths {
			ok = ok && c.Keys[i].Path.Equal(path)
		}
		if ok {
			w := &plan.OrderedIndexScan{Composite: c, Fixed: values, Reverse: reverse}
			lo, hi, _ := c.Interval(values...)
			w.Spans = []plan.KeySpan{{Lo: lo, Hi: hi}}
			w.Narrow(values, x.Plan.Top.Order, x.Plan.Constraints)
			return w
		}
	}
	return nil
}

func unrouted(k *bind.OrderKey) bool { return k.Route == nil }

// sortOf returns an iterator over the documents with the given rids, sorted by the query's ORDER BY. It
// begins after the position of the entry after; nil means at the beginning. at is the index of the source.
func (x *Execution) sortOf(src source.DocumentSource, at int, rids []uint64,
	after *sortEntry) *sortedDocumentIterator {
	b := x.newBatch(src, at, func() (source.DocumentIterator, error) {
		return &ridListDocumentIterator{x: x, src: src, rids: &SortedRIDListIterator{Rids: rids},
			skip: x.skip}, nil
	})
	b.after = after
	return b
}

// isScoped reports whether the source covers only one logical partition.
func isScoped(src source.DocumentSource) bool {
	partition, ok := src.Partition()
	if ok {
		_ = partition.Close() // nothing was read
	}
	return ok
}

// indexWalkWithSortFallback iterates over documents by a walk over an index in the order of the query. If the
// walk skips too many entries, it is replaced by a sort of the matching documents.
type indexWalkWithSortFallback struct {
	x      *Execution
	src    source.DocumentSource
	source int
	wk     *indexWalker
	sort   *sortedDocumentIterator
	last   *sortEntry // last entry returned by the walk
}

func (x *Execution) watch(src source.DocumentSource, source int,
	w *plan.OrderedIndexScan) *indexWalkWithSortFallback {
	wk := x.newWalk(src, source, w)
	within := w != x.Plan.Order.Walk // the walk covers only the partition
	if len(x.Plan.AccessPaths) > 0 || !within && isScoped(src) {
		wk.maxSkips = x.tune.Walk
	}
	return &indexWalkWithSortFallback{x: x, src: src, source: source, wk: wk}
}

func (w *indexWalkWithSortFallback) Next() (bool, error) {
	for {
		if w.sort != nil {
			return w.sort.Next()
		}
		if w.wk.tooManySkips() {
			if err := w.turn(); err != nil {
				return false, err
			}
			continue
		}
		ok, err := w.wk.Next()
		if ok {
			w.wk.passed++
			w.wk.fresh = true
			w.last = keptEntry(w.last, &w.wk.entry)
		}
		if ok || err != nil || !w.wk.tooManySkips() {
			return ok, err
		}
	}
}

// keptEntry returns a copy of e that reuses the memory of old.
func keptEntry(old, e *sortEntry) *sortEntry {
	if old == nil {
		old = &sortEntry{}
	}
	key := append(old.key[:0], e.key...)
	*old = *e
	old.key = key
	return old
}

// turn is called when the walk has skipped too many entries (AccessPathLimits.Patience). If an access path
// lists few documents, it restricts the walk to these documents or, if a page can sort them, replaces the
// walk by a sort.
func (w *indexWalkWithSortFallback) turn() error {
	x, wk := w.x, w.wk
	wk.passed, wk.maxSkips, wk.wanted = 0, 0, x.page.Stats.Matched
	if wk.allowed == nil {
		p := x.newProbes(w.src, nil)
		if len(p.paths) == 0 {
			return nil
		}
		few, err := p.count(x.tune.Every)
		if err = errors.Join(err, p.close()); err != nil || !few {
			p.release()
			return err
		}
		found := p.rids()
		wk.allowed, wk.maxSkips = &allowedRIDs{found}, x.tune.Patience*len(found)
		if len(found) > 2*x.room() {
			p.note("walk, reading no others")
			return nil
		}
	}
	w.sort = x.sortOf(w.src, w.source, wk.allowed.rids, w.last)
	return wk.close()
}

func (w *indexWalkWithSortFallback) at() (*sortEntry, source.Document) {
	if w.sort != nil {
		return w.sort.at()
	}
	return w.wk.at()
}

func (w *indexWalkWithSortFallback) close() error {
	if w.sort != nil {
		return w.sort.close()
	}
	return w.wk.close()
}
