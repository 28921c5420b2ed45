package exec

import "github.com/mayflydb/mayfly/query/internal/eval"

// PageState is what the page of a query hands to the page after it: the set of rows that a DISTINCT has given
// out, or rows that are made and not given out. It has one owner, who closes it.
type PageState struct {
	// DISTINCT without a fitting ORDER BY: the rows that have been given out; nil: none
	hashes  *eval.RowHashes
	spilled *spilledRows
}

// Size returns about how many bytes of memory the state takes.
func (p *PageState) Size() int {
	n := 0
	if p.hashes != nil {
		n += p.hashes.Size()
	}
	if p.spilled != nil {
		n += p.spilled.held()
	}
	return n
}

// Close removes the temporary files that the state has.
func (p *PageState) Close() {
	if p.hashes != nil {
		p.hashes.Close()
	}
	p.spilled.close()
}

// Memory keeps what pages leave for the page after them, which is found by its cursor. It may forget, and
// closes what it forgets: then that page goes through all that the pages before it went through. It is used
// concurrently.
type Memory interface {
	Take(cursor string) *PageState // hands over what was kept; nil: it is forgotten
	Keep(cursor string, g *PageState)
}

// recall begins a page of a DISTINCT with what the pages before have given out.
func (x *Execution) recall() {
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

// firstTime calls row for a row of a DISTINCT that has not been given before; old ones come from a part that
// earlier pages have passed, and are only noted. It is false where the page has ended.
func (x *Execution) firstTime(old bool, row func() bool) bool {
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
			return false // it is for the next page
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

// isOld reports whether earlier pages have passed the current document. The page's time begins behind those.
func (x *Execution) isOld() bool {
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
