package query

import (
	"encoding/binary"
)

func (x *execution) runPage(in int) bool {
	switch x.plan.form {
	case blocking:
		return x.giveAll(in)
	case grouping:
		return x.rowsOf(in, x.giveGroup)
	}
	return x.rowsOf(in, func() bool { return x.isGiven() || x.put(x.out) })
}

// giveAll gives out rows that are all made first, behind those of earlier pages.
func (x *execution) giveAll(in int) bool {
	skip := x.from.rows
	if x.spilled != nil && x.spilled.rows != nil {
		return x.moreRows(skip)
	}
	x.done.offset, x.done.limit = x.plan.top.offset, x.plan.top.limit
	more := x.rowsOf(in, func() bool {
		if len(x.plan.rank) == 0 {
			x.out = x.value.AppendJSON(x.scratch[:0])
			x.scratch = x.out[:0]
		}
		return x.putBlock(x.out, skip)
	})
	if x.endRows(); x.more { // an error behind the page is for the next one
		x.run.Err = nil
	}
	return more
}

// giveGroup gives out the row of a group.
func (x *execution) giveGroup() bool {
	switch {
	case x.run.Err != nil:
		return false
	case x.done.offset > 0:
		x.done.offset--
		return true
	case x.isFull(x.out):
		x.more = true
		return false
	}
	x.addRow(x.out)
	if x.done.limit > 0 {
		x.done.limit--
	}
	return x.done.limit != 0
}

// put counts a row against OFFSET and LIMIT and adds it to the page.
func (x *execution) put(row []byte) bool {
	if x.done.offset > 0 {
		x.done.offset--
		x.consumed()
		return true
	}
	n := len(x.page.Rows)
	if n == x.opts.MaxItems || n > 0 && int(x.page.Stats.OutputBytes)+len(row) > x.opts.MaxBytes {
		x.more = true
		x.reach()
		return false
	}
	x.page.Rows = append(x.page.Rows, x.keep(row))
	x.page.Stats.Output++
	x.page.Stats.OutputBytes += int64(len(row))
	x.consumed()
	if x.done.limit > 0 {
		if x.done.limit--; x.done.limit == 0 {
			return false
		}
	}
	if n+1 == x.opts.MaxItems && !x.opts.Certain && readsAll(x.plan) {
		x.more = true // even if nothing follows: nobody has looked
		return false
	}
	return true
}

// reach moves the position to the front of the current row, the first of the next page, so that no page looks
// again at what lies between. A document there that is changed until the next page counts as passed.
func (x *execution) reach() {
	if x.plan.form == streaming && x.past == nil && x.rowInDoc == 1 && x.current.rid > 0 {
		x.done.source, x.done.rid, x.done.rows = x.current.source, x.current.rid-1, 0
	}
}

// readsAll reports whether the query gives out a row for each document and has no conditions, like a read
// feed.
func readsAll(p *planned) bool {
	rs, top := p.rows, p.top
	return p.form == streaming && !rs.distinct && top.offset == 0 && top.limit < 0 && len(rs.first) == 0 &&
		len(rs.clauses) == 1 && rs.ofItem() && len(rs.clauses[0].filter) == 0
}

// keep copies a row into memory of the page.
func (x *execution) keep(row []byte) []byte {
	if cap(x.arena)-len(x.arena) < len(row) {
		x.arena = make([]byte, 0, max(len(row), min(2*cap(x.arena)+1024, 256<<10)))
	}
	n := len(x.arena)
	x.arena = append(x.arena, row...)
	return x.arena[n:len(x.arena):len(x.arena)]
}

// putBlock gives out a row, unless an earlier page has.
func (x *execution) putBlock(row []byte, skip int) bool {
	if x.run.Err != nil {
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
	if x.spilled = x.newSpilled(); x.spilled == nil {
		return false
	}
	x.writer = x.run.env.Temp.NewSorter(rowsHeld, x.run.Spend)
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
		x.spilled = nil
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
	if x.spilled == nil || x.run.Err != nil || x.writer.Flush() != nil {
		x.spilled = nil
		return
	}
	var err error
	if x.spilled.rows, err = x.writer.Sort(); err != nil {
		x.spilled = nil
	}
}

// moreRows is a page of the rows that the page before has left.
func (x *execution) moreRows(skip int) bool {
	x.given = skip
	rows := x.spilled.rows
	for rows.Next() {
		row := rows.Payload()
		if x.isFull(row) {
			rows.Unread()
			x.more, x.done = true, bookmark{form: blocking, rows: x.given, limit: -1}
			return false
		}
		x.given++
		x.addRow(row)
	}
	return x.run.spilled(rows.Err(), "the rows of later pages")
}

// addRow adds a row to the page.
func (x *execution) addRow(row []byte) {
	x.page.Rows = append(x.page.Rows, x.keep(row))
	x.page.Stats.Output++
	x.page.Stats.OutputBytes += int64(len(row))
}
