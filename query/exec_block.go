package query

import (
	"encoding/binary"

	"github.com/mayflydb/mayfly/doc"
)

// block runs the form that makes all rows before it gives out the first: aggregates, GROUP BY, DISTINCT,
// subqueries over all items, ranks, and queries without FROM. Their rows are one page, unless they are too
// long for one; then the next page makes them again and leaves out what was given. OFFSET and LIMIT count
// from the beginning each time.
func (x *execution) block() error {
	skip := x.from.rows
	if x.takeLeft(); x.left != nil && x.left.rows != nil {
		return x.moreRows(skip)
	}
	err := x.blockRows(skip)
	if x.endRows(); x.more { // an error behind the page is for the next one
		err, x.run.err = nil, nil
	}
	return err
}

func (x *execution) blockRows(skip int) error {
	x.done.offset, x.done.limit = x.plan.top.offset, x.plan.top.limit
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
		defer g.close()
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
		if x.writer != nil {
			return x.leaveRow(row) && x.done.limit != 0
		}
		if x.isFull(row) {
			x.more, x.after = true, bookmark{form: blocking, rows: x.given - 1, limit: -1}
			return x.beginRows() && x.leaveRow(row) && x.done.limit != 0
		}
		x.addRow(row)
	}
	return x.done.limit != 0
}

// isFull tells whether a row is for the next page.
func (x *execution) isFull(row []byte) bool {
	return len(x.page.Rows) > 0 && int(x.page.Stats.OutputBytes)+len(row) > x.opts.MaxBytes
}

// beginRows begins to write the rows that follow a full page. It is false where nobody keeps them.
func (x *execution) beginRows() bool {
	if x.left = x.newLeft(); x.left == nil {
		return false
	}
	x.writer = x.run.env.Temp.NewSorter(rowsHeld, x.run.spend)
	return true
}

// rowsHeld is how many bytes of rows wait to be written.
const rowsHeld = 256 << 10

// leaveRow writes a row for the pages to come. It is false where that takes too long or fails: they make
// their rows again then.
func (x *execution) leaveRow(row []byte) bool {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], uint64(x.given))
	elapsed := x.run.env.Elapsed
	if x.given%32 == 0 && elapsed != nil && elapsed() > x.opts.Budget || x.writer.Add(key[:], row) != nil {
		x.left = nil
		return false
	}
	return true
}

// endRows ends a page of the blocking form, and hands over the rows that follow it.
func (x *execution) endRows() {
	if x.more {
		x.done = x.after
	}
	if x.writer == nil {
		return
	}
	defer x.writer.Close()
	if x.left == nil || x.run.err != nil || x.writer.Flush() != nil {
		x.left = nil
		return
	}
	var err error
	if x.left.rows, err = x.writer.Sort(); err != nil {
		x.left = nil
	}
}

// moreRows is a page of the rows that the page before has left.
func (x *execution) moreRows(skip int) error {
	x.given = skip
	rows := x.left.rows
	for rows.Next() {
		row := rows.Payload()
		if x.isFull(row) {
			rows.Unread()
			x.more, x.done = true, bookmark{form: blocking, rows: x.given, limit: -1}
			return nil
		}
		x.given++
		x.addRow(row)
	}
	x.run.spilled(rows.Err(), "the rows of later pages")
	return x.run.err
}

// addRow adds a row to the page.
func (x *execution) addRow(row []byte) {
	x.page.Rows = append(x.page.Rows, x.keep(row))
	x.page.Stats.Output++
	x.page.Stats.OutputBytes += int64(len(row))
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
