package query

import "github.com/mayflydb/mayfly/doc"

// block runs the form that makes all rows before it gives out the first: aggregates, GROUP BY, DISTINCT,
// subqueries over all items, ranks, and queries without FROM. Their rows are one page, unless they are too
// long for one; then the next page makes them again and leaves out what was given. OFFSET and LIMIT count
// from the beginning each time.
func (x *execution) block() error {
	x.done.offset, x.done.limit = x.plan.top.offset, x.plan.top.limit
	skip := x.from.rows
	if len(x.plan.rank) > 0 {
		return x.rankRows(skip)
	}
	emit := func(v doc.Value) bool {
		x.scratch = v.AppendJSON(x.scratch[:0])
		return x.putBlock(x.scratch, skip)
	}
	rs := x.plan.rows
	if x.plan.only != nil && !x.plan.never {
		g := newGrouper(rs, x.f, new(int))
		if done, err := x.onlyFrom(g); done || err != nil {
			g.each(func() bool { return emitDefined(rs.value(x.f), emit) })
			return err
		}
	}
	if x.plan.counts != nil && !x.plan.never {
		g := newGrouper(rs, x.f, new(int))
		if done, err := x.countTexts(g); done || err != nil {
			g.each(func() bool { return emitDefined(rs.value(x.f), emit) })
			return err
		}
	}
	var failed error
	rs.collect(x.f, new(int), x.feed(x.plan.top, rs, &failed), emit)
	return failed
}

// putBlock gives out a row, unless an earlier page has.
func (x *execution) putBlock(row []byte, skip int) bool {
	if x.run.err != nil {
		return false
	}
	if x.done.offset > 0 {
		x.done.offset--
		return true
	}
	x.given++
	if x.done.limit > 0 {
		x.done.limit--
	}
	if x.given > skip {
		if len(x.page.Rows) > 0 && int(x.page.Stats.OutputBytes)+len(row) > x.opts.MaxBytes {
			x.more = true
			x.done = bookmark{form: blocking, rows: x.given - 1, limit: -1}
			return false
		}
		x.page.Rows = append(x.page.Rows, x.keep(row))
		x.page.Stats.Output++
		x.page.Stats.OutputBytes += int64(len(row))
	}
	return x.done.limit != 0
}

// feed returns what calls its argument with the frame at each row of a block over all sources. An error ends
// it and is kept in failed.
func (x *execution) feed(bl *block, rs *rowset, failed *error) func(row func() bool) bool {
	switch {
	case bl.derived() != nil:
		return x.feedDerived(bl, rs, failed)
	case !bl.container:
		return func(row func() bool) bool { return rs.start(x.f, 0, row) }
	case x.plan.never:
		return func(func() bool) bool { return true }
	}
	return func(row func() bool) bool {
		count := func() bool {
			x.page.Stats.Joined++
			return row()
		}
		more, err := x.feedItems(bl, rs, count)
		if err != nil && *failed == nil {
			*failed = err
		}
		return more && err == nil
	}
}

// feedItems calls row for each row of each document, in the order of the query where it has one.
func (x *execution) feedItems(bl *block, rs *rowset, row func() bool) (more bool, err error) {
	if bl == x.plan.top && len(bl.order) > 0 {
		more = true
		err = x.merge(func() (bool, error) {
			more = x.rows(rs, row)
			_, err := x.stop()
			return more && err == nil, err
		})
		return more, err
	}
	for _, src := range x.sources {
		if more, err := x.feedSource(src, rs, row); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

func (x *execution) feedSource(src Source, rs *rowset, row func() bool) (more bool, err error) {
	docs, err := x.candidates(src, 0, true)
	if err != nil {
		return false, err
	}
	defer func() {
		if e := docs.Close(); err == nil {
			err = e
		}
	}()
	for x.next(docs) {
		if x.enter(docs.Document(), rs) && !x.rows(rs, row) {
			return false, x.run.err
		}
		if _, err := x.stop(); err != nil {
			return false, err
		}
	}
	return true, docs.Err()
}

// feedDerived feeds a block whose first source is a subquery over all items.
func (x *execution) feedDerived(bl *block, rs *rowset, failed *error) func(row func() bool) bool {
	sub := bl.steps[0].sub
	inner := rs.clauses[0].sub
	return func(row func() bool) bool {
		return inner.collect(x.f, new(int), x.feed(sub, inner, failed), func(v doc.Value) bool {
			for _, d := range rs.first {
				if d(x.f) != yes {
					return true
				}
			}
			if rs.clauses[0].kind == stepFlatten {
				return rs.elements(x.f, 0, v, row)
			}
			x.f.slots[rs.clauses[0].slot] = v
			return rs.admit(x.f, 0, row)
		})
	}
}
