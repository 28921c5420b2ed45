package exec

import (
	"bytes"
	"encoding/binary"

	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/plan"
)

func (x *Execution) runPage(in int) bool {
	switch x.Plan.Form {
	case cursor.Blocking:
		return x.emitAll(in)
	case cursor.Grouping:
		return x.rowsOf(in, x.emitGroup)
	}
	return x.rowsOf(in, func() bool { return x.wasReturned() || x.emit(x.out) })
}

// emitAll makes a page of a query whose rows are all made before the first is returned (cursor.Blocking).
// in is the index of the plan node that makes the rows. Rows that earlier pages have returned are skipped.
// emitAll returns false if the page has ended, or the run has failed.
func (x *Execution) emitAll(in int) bool {
	skip := x.from.Rows
	if x.spilled != nil && x.spilled.rows != nil {
		return x.moreRows(skip)
	}
	x.done.Offset, x.done.Limit = x.Plan.Top.Offset, x.Plan.Top.Limit
	more := x.rowsOf(in, func() bool {
		if len(x.Plan.Rank) == 0 {
			x.makeRow(func(dst []byte) ([]byte, bool) { return x.value.AppendJSON(dst), true })
		}
		return x.putBlock(x.out, skip)
	})
	if x.endRows(); x.more { // an error after the page is reported by the next page
		x.Run.Err = nil
	}
	return more
}

// emitGroup counts the row of a group against OFFSET and LIMIT and adds it to the page. It returns false if
// the page has ended.
func (x *Execution) emitGroup() bool {
	switch {
	case x.Run.Err != nil:
		return false
	case x.done.Offset > 0:
		x.done.Offset--
		return true
	case x.isFull(x.out):
		x.more = true
		return false
	}
	x.addRow(x.out)
	if x.done.Limit > 0 {
		x.done.Limit--
	}
	return x.done.Limit != 0
}

// emit counts a row against OFFSET and LIMIT and adds it to the page. It returns false if the page has ended.
func (x *Execution) emit(row []byte) bool {
	if x.done.Offset > 0 {
		x.done.Offset--
		x.consumed()
		return true
	}
	n := len(x.page.Rows)
	if n == x.Opts.MaxItems || n > 0 && int(x.page.Stats.OutputBytes)+len(row) > x.Opts.MaxBytes {
		x.more = true
		x.reach()
		return false
	}
	x.page.Rows = append(x.page.Rows, x.keep(row))
	x.page.Stats.Output++
	x.page.Stats.OutputBytes += int64(len(row))
	x.consumed()
	if x.done.Limit > 0 {
		if x.done.Limit--; x.done.Limit == 0 {
			return false
		}
	}
	if n+1 == x.Opts.MaxItems && !x.Opts.Certain && ReadsAll(x.Plan) {
		x.more = true // whether there are more rows is not checked
		return false
	}
	return true
}

// reach moves the position to just before the current row, which is the first row of the next page, so that
// the next page does not read the documents in between again. If one of these documents changes before the
// next page, it is not looked at again.
func (x *Execution) reach() {
	if x.Plan.Form == cursor.Streaming && x.past == nil && x.rowInDoc == 1 && x.current.rid > 0 {
		x.done.Source, x.done.Rid, x.done.Rows = x.current.source, x.current.rid-1, 0
	}
}

// ReadsAll reports whether the query returns a row for each document and has no WHERE, like a read feed. A
// condition that is always true counts as no WHERE: clients cannot see the difference.
func ReadsAll(p *plan.Plan) bool {
	rs, top := p.Rows, p.Top
	return p.Form == cursor.Streaming && !rs.Distinct && top.Offset == 0 && top.Limit < 0 &&
		!top.Filtered && len(rs.Clauses) == 1 && rs.OfItem()
}

// The rows of a page share pieces of memory. A new piece has space for half as many rows as the page already
// has, at least for firstRows rows, and at most maxArena bytes.
const (
	firstRows = 8
	maxArena  = 256 << 10
	rowSlack  = 256 // bytes that a row may need while it is made, beyond its length
)

// makeRow calls write to make a row in the page's shared memory. It first allocates more of that memory if
// the rest is too small for a row as long as the previous one. The first row, and a row that turns out
// longer than the rest, get memory of their own. defined is the second result of write.
func (x *Execution) makeRow(write func(dst []byte) ([]byte, bool)) (defined bool) {
	if need := x.rowBytes + rowSlack; x.rowBytes > 0 && cap(x.arena)-len(x.arena) < need {
		n := len(x.page.Rows)
		rows := min(max(n/2, firstRows), x.Opts.MaxItems-n)
		if x.done.Limit >= 0 {
			rows = min(rows, int(min(x.done.Limit, maxRoom)))
		}
		x.arena = make([]byte, 0, max(need, min(rows*x.rowBytes+rowSlack, maxArena)))
	}
	room := x.arena[len(x.arena):]
	x.out, defined = write(room)
	x.ownRow = cap(room) == 0 || len(x.out) > 0 && &x.out[0] != &room[:1][0]
	return defined
}

// keep returns the row in memory that no later row overwrites. If makeRow has made the row, keep reserves the
// memory in which the row already is; it copies any other row.
func (x *Execution) keep(row []byte) []byte {
	x.rowBytes = len(row)
	if len(row) == 0 || len(x.out) == 0 || &row[0] != &x.out[0] {
		return bytes.Clone(row)
	}
	if !x.ownRow {
		x.arena = x.arena[:len(x.arena)+len(row)]
	}
	return row[:len(row):len(row)]
}

// putBlock adds a row to the page unless an earlier page has returned it. skip is the number of rows that
// earlier pages have returned. It returns false if no more rows are needed or the run has failed.
func (x *Execution) putBlock(row []byte, skip int) bool {
	if x.Run.Err != nil {
		return false
	}
	if x.done.Offset > 0 {
		x.done.Offset--
		return true
	}
	x.returned++
	if x.done.Limit > 0 {
		x.done.Limit--
	}
	if x.returned > skip {
		if x.writer != nil {
			return x.leaveRow(row) && x.done.Limit != 0
		}
		if x.isFull(row) {
			x.more, x.after = true, cursor.PagePosition{Form: cursor.Blocking, Rows: x.returned - 1,
				Limit: -1}
			return x.beginRows() && x.leaveRow(row) && x.done.Limit != 0
		}
		x.addRow(row)
	}
	return x.done.Limit != 0
}

// isFull reports whether a row has to go to the next page.
func (x *Execution) isFull(row []byte) bool {
	return len(x.page.Rows) > 0 && int(x.page.Stats.OutputBytes)+len(row) > x.Opts.MaxBytes
}

// beginRows begins to write the rows that follow a full page. It returns false if they cannot be stored.
func (x *Execution) beginRows() bool {
	if x.spilled = x.newSpilled(); x.spilled == nil {
		return false
	}
	x.writer = x.Run.Env.Temp.NewSorter(rowsHeld, x.Run.Spend)
	return true
}

// rowsHeld is the size in bytes of the buffer of rows to be written.
const rowsHeld = 256 << 10

// leaveRow writes a row for later pages. It returns false if that takes too long or fails; later pages then
// make the rows again.
func (x *Execution) leaveRow(row []byte) bool {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], uint64(x.returned))
	elapsed := x.Run.Env.Elapsed
	if x.returned%32 == 0 && elapsed != nil && elapsed() > x.Opts.Budget || x.writer.Add(key[:], row) != nil {
		x.spilled = nil
		return false
	}
	return true
}

// endRows ends a page of a query that makes all its rows before it returns the first. It keeps the rows that
// did not fit in the page, in their order, for the next page.
func (x *Execution) endRows() {
	if x.more {
		x.done = x.after
	}
	if x.writer == nil {
		return
	}
	defer x.writer.Close()
	if x.spilled == nil || x.Run.Err != nil || x.writer.Flush() != nil {
		x.spilled = nil
		return
	}
	var err error
	if x.spilled.rows, err = x.writer.Sort(); err != nil {
		x.spilled = nil
	}
}

// moreRows adds rows to the page that the previous page has made and stored. skip is the number of rows that
// earlier pages have returned, which are no longer among the stored ones. It returns false if the page is
// full before all of them are added, or if the run has failed.
func (x *Execution) moreRows(skip int) bool {
	x.returned = skip
	rows := x.spilled.rows
	for rows.Next() {
		row := rows.Payload()
		if x.isFull(row) {
			rows.Unread()
			x.more, x.done = true, cursor.PagePosition{Form: cursor.Blocking, Rows: x.returned, Limit: -1}
			return false
		}
		x.returned++
		x.addRow(row)
	}
	return x.Run.Spilled(rows.Err(), "the rows of later pages")
}

// addRow adds a row to the page.
func (x *Execution) addRow(row []byte) {
	x.page.Rows = append(x.page.Rows, x.keep(row))
	x.page.Stats.Output++
	x.page.Stats.OutputBytes += int64(len(row))
}
