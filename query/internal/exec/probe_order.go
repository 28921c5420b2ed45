package exec

import (
	"errors"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
	"slices"
)

// A query with ORDER BY gets its rows by an index that has them in order, or by sorting. Which is better
// depends on how many documents are wanted, and on where in the order they lie, which no count tells. So a
// walk is watched: it is told the rids that are wanted where they can be counted, and reads no document of
// others; and when it has passed more entries than it would take to read the wanted documents and sort them,
// that is done instead.

// Members are the rids that a walk reads the documents of.
type members struct{ rids []uint64 }

func (m *members) has(rid uint64) bool {
	return m == nil || hasRID(m.rids, rid)
}

// openOrder opens the documents of a source in the order of the query.
func (x *Execution) openOrder(src source.Source, source int) (inOrder, error) {
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
	if len(p.ways) > 0 {
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
		return x.openSearch(src, source, &members{found})
	}
	if len(found) <= 2*x.room() {
		p.note("sort")
		return x.sortOf(src, source, found, nil), nil
	}
	p.note("walk, reading no others")
	w := x.watch(src, source, o.Walk)
	w.wk.only, w.wk.patience = &members{found}, x.tune.Patience*len(found)
	return w, nil
}

// recent is a walk through what a source has of one partition, if a composite index begins with the paths of
// the partition key and goes on with the keys of ORDER BY: nobody has to say again in the conditions which
// partition it is.
func (x *Execution) recent(src source.Source) *plan.Walk {
	in, ok := src.(source.Partitioned)
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
			ok = ok && c.Keys[i].Path.String() == path.String()
		}
		if ok {
			w := &plan.Walk{Composite: c, Fixed: values, Reverse: reverse}
			lo, hi, _ := c.Interval(values...)
			w.Spans = []plan.Span{{Lo: lo, Hi: hi}}
			w.Narrow(values, x.Plan.Top.Order, x.Plan.Constraints)
			return w
		}
	}
	return nil
}

func unrouted(k *bind.OrderKey) bool { return k.Route == nil }

// sortOf sorts the documents of rids, those that come behind an entry.
func (x *Execution) sortOf(src source.Source, at int, rids []uint64, after *entry) *batch {
	b := x.newBatch(src, at, func() (source.Documents, error) {
		return &fetched{x: x, src: src, rids: &SortedRIDs{Rids: rids}, skip: x.skip}, nil
	})
	b.after = after
	return b
}

// isScoped reports whether a source's scope is a partition.
func isScoped(src source.Source) bool {
	partition, ok := src.Partition()
	if ok {
		_ = partition.Close() // nothing was read
	}
	return ok
}

// watched is a walk that may turn into a sort.
type watched struct {
	x      *Execution
	src    source.Source
	source int
	wk     *walker
	sort   *batch
	last   *entry // that the walk has given out
}

func (x *Execution) watch(src source.Source, source int, w *plan.Walk) *watched {
	wk := x.newWalk(src, source, w)
	within := w != x.Plan.Order.Walk // the partition
	if len(x.Plan.AccessPaths) > 0 || !within && isScoped(src) {
		wk.patience = x.tune.Walk
	}
	return &watched{x: x, src: src, source: source, wk: wk}
}

func (w *watched) Next() (bool, error) {
	for {
		if w.sort != nil {
			return w.sort.Next()
		}
		if w.wk.tired() {
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
		if ok || err != nil || !w.wk.tired() {
			return ok, err
		}
	}
}

// keptEntry is a copy of an entry, in the memory of an older one.
func keptEntry(old, e *entry) *entry {
	if old == nil {
		old = &entry{}
	}
	key := append(old.key[:0], e.key...)
	*old = *e
	old.key = key
	return old
}

// Turn is called when the walk has lost its patience. It either tells the walk which documents are wanted, or
// sorts those.
func (w *watched) turn() error {
	x, wk := w.x, w.wk
	wk.passed, wk.patience, wk.wanted = 0, 0, x.page.Stats.Matched
	if wk.only == nil {
		p := x.newProbes(w.src, nil)
		if len(p.ways) == 0 {
			return nil
		}
		few, err := p.count(x.tune.Every)
		if err = errors.Join(err, p.close()); err != nil || !few {
			p.release()
			return err
		}
		found := p.rids()
		wk.only, wk.patience = &members{found}, x.tune.Patience*len(found)
		if len(found) > 2*x.room() {
			p.note("walk, reading no others")
			return nil
		}
	}
	w.sort = x.sortOf(w.src, w.source, wk.only.rids, w.last)
	return wk.close()
}

func (w *watched) at() (*entry, source.Document) {
	if w.sort != nil {
		return w.sort.at()
	}
	return w.wk.at()
}

func (w *watched) close() error {
	if w.sort != nil {
		return w.sort.close()
	}
	return w.wk.close()
}
