package query

// PageState is what the page of a query hands to the page after it: the set of rows that a DISTINCT has given
// out, or rows that are made and not given out. It has one owner, who closes it.
type PageState struct {
	hashes  *rowHashes // DISTINCT without a fitting ORDER BY: the rows that have been given out; nil: none
	spilled *spilledRows
}

// Size returns about how many bytes of memory the state takes.
func (p *PageState) Size() int {
	n := 0
	if p.hashes != nil {
		n += p.hashes.size()
	}
	if p.spilled != nil {
		n += p.spilled.held()
	}
	return n
}

// Close removes the temporary files that the state has.
func (p *PageState) Close() {
	if p.hashes != nil {
		p.hashes.close()
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
func (x *execution) recall() {
	if x.opts.Cursor != "" && x.opts.Memory != nil {
		if state := x.opts.Memory.Take(x.opts.Cursor); state != nil {
			x.past = state.hashes
			state.spilled.close()
		}
	}
	if x.past == nil {
		x.past = newRowHashes()
		x.replay = x.opts.Cursor != ""
	}
	x.run.Use(x.past.size(), "DISTINCT")
}

// firstTime calls row for a row of a DISTINCT that has not been given before; old ones come from a part that
// earlier pages have passed, and are only noted. It is false where the page has ended.
func (x *execution) firstTime(old bool, row func() bool) bool {
	sum := x.past.sum(x.out)
	given, err := x.past.has(sum)
	if !x.run.spilled(err, "DISTINCT") {
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
	x.past.rows[sum] = struct{}{}
	x.run.Use(rowHashSize, "DISTINCT")
	if temp := x.run.env.Temp; temp != nil && rowHashSize*len(x.past.rows) > x.run.LimitHeld()/8 {
		size := x.past.size()
		x.run.spilled(x.past.spill(temp, x.run.Spend), "DISTINCT")
		x.run.Use(x.past.size()-size, "DISTINCT")
	}
	return more && x.run.Err == nil
}

// isOld tells whether earlier pages have passed the current document. The page's time begins behind those.
func (x *execution) isOld() bool {
	if !x.replay {
		return false
	}
	if rid := x.current.rid; rid < x.resume.rid || rid == x.resume.rid && x.resume.rows == 0 {
		return true
	}
	if !x.caughtUp && x.run.env.Elapsed != nil {
		x.opts.Budget += x.run.env.Elapsed()
		x.late = false
	}
	x.caughtUp = true
	return false
}
