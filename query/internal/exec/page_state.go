package exec

import "github.com/mayflydb/mayfly/query/internal/eval"

// StateBetweenPages is what one page of a query passes to the next page: the set of rows that a DISTINCT has
// returned, or rows that were made and not returned. It belongs to one page at a time, which closes it or
// leaves it to the next page.
type StateBetweenPages struct {
	// hashes is the set of rows that a DISTINCT has returned, if the rows do not come in an order in which
	// duplicates are adjacent. Otherwise it is nil.
	hashes  *eval.RowHashSet
	spilled *spilledRows
}

// Size returns the approximate memory of the state in bytes.
func (p *StateBetweenPages) Size() int {
	n := 0
	if p.hashes != nil {
		n += p.hashes.Size()
	}
	if p.spilled != nil {
		n += p.spilled.held()
	}
	return n
}

// Close removes the temporary files of the state.
func (p *StateBetweenPages) Close() {
	if p.hashes != nil {
		p.hashes.Close()
	}
	p.spilled.close()
}

// PageStateStore stores the StateBetweenPages of a page until the next page needs it. Its key is the
// continuation token (cursor) of the page. It may drop and close states at any time; the next page then
// repeats the work of the pages before it. It must be safe for concurrent use.
type PageStateStore interface {
	Take(cursor string) *StateBetweenPages // the state then belongs to the caller; nil: it was dropped
	Keep(cursor string, g *StateBetweenPages)
}

// restoreDistinct loads the set of rows that earlier pages of a DISTINCT have returned. If it was dropped,
// the page reads the documents again to restore it.
func (x *Execution) restoreDistinct() {
	if x.Opts.Cursor != "" && x.Opts.Memory != nil {
		if state := x.Opts.Memory.Take(x.Opts.Cursor); state != nil {
			x.past = state.hashes
			state.spilled.close()
		}
	}
	if x.past == nil {
		x.past = eval.NewRowHashes()
		x.replay = x.Opts.Cursor != ""
	}
	x.Run.Use(x.past.Size(), "DISTINCT")
}

// ifFirst calls row for a row of a DISTINCT, unless an equal row has been returned before. If old is set,
// the row comes from a document that earlier pages have read, and is only recorded. ifFirst returns false if
// the page has ended.
func (x *Execution) ifFirst(old bool, row func() bool) bool {
	sum := x.past.Sum(x.out)
	given, err := x.past.Has(sum)
	if !x.Run.Spilled(err, "DISTINCT") {
		return false
	}
	if given {
		return true
	}
	more := true
	if !old {
		n := len(x.page.Rows)
		if more = row(); !more && len(x.page.Rows) == n {
			return false // it belongs to the next page
		}
	}
	x.past.Rows[sum] = struct{}{}
	x.Run.Use(eval.RowHashSize, "DISTINCT")
	if temp := x.Run.Env.Temp; temp != nil && eval.RowHashSize*len(x.past.Rows) > x.Run.LimitHeld()/8 {
		size := x.past.Size()
		x.Run.Spilled(x.past.Spill(temp, x.Run.Spend), "DISTINCT")
		x.Run.Use(x.past.Size()-size, "DISTINCT")
	}
	return more && x.Run.Err == nil
}

// isReplayed reports whether earlier pages have read the current document. The time of the page starts with
// the first document that they have not read.
func (x *Execution) isReplayed() bool {
	if !x.replay {
		return false
	}
	if rid := x.current.rid; rid < x.resume.Rid || rid == x.resume.Rid && x.resume.Rows == 0 {
		return true
	}
	if !x.caughtUp && x.Run.Env.Elapsed != nil {
		x.Opts.Budget += x.Run.Env.Elapsed()
		x.late = false
	}
	x.caughtUp = true
	return false
}
