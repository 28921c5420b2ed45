package query

// stream runs the form in which rows come in rid order, source after source.
func (x *execution) stream() error {
	if x.plan.never {
		return nil
	}
	if x.plan.top.distinct {
		x.recall()
	}
	for i, src := range x.sources {
		rid, rows, left := x.from.at.At(x.spans[i])
		if !left && !x.replay {
			continue
		}
		x.current, x.resume = entry{source: i}, mark{rid: rid, rows: rows}
		after := rid
		switch {
		case x.replay:
			after = 0
		case rows > 0 && after > 0:
			after-- // its document has more rows
		}
		more, err := x.streamSource(src, after)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// streamSource gives out rows of one source, behind a rid. It is false where the page has ended. Where a scan
// has found little so far, an index is asked for the rest.
func (x *execution) streamSource(src Source, after uint64) (more bool, err error) {
	docs, err := x.candidates(src, after, false)
	if err != nil {
		return false, err
	}
	defer func() {
		if e := docs.Close(); err == nil {
			err = e
		}
	}()
	looked, wanted := 0, x.page.Stats.Matched
	for x.next(docs) {
		d := docs.Document()
		x.current.rid = d.RID()
		if x.enter(d, x.plan.rows) && !x.rows(x.plan.rows, x.row) {
			return false, nil
		}
		old := x.isOld()
		if !old {
			x.passed()
		}
		if late, err := x.stop(); late && !old || err != nil {
			x.more = late
			return false, err
		}
		looked++
		if x.scanning && looked == x.tune.trial && int(x.page.Stats.Matched-wanted)*x.tune.share < looked {
			if err := docs.Close(); err != nil {
				return false, err
			}
			docs = &valueScan{} // nothing, as long as there is no other
			better, err := x.candidates(src, x.current.rid, true)
			if err != nil {
				return false, err
			}
			docs = better
		}
	}
	return !x.paused, docs.Err()
}

// skip notes that the current source has nothing between the document before and a rid. It is false where the
// run has to end, or the page, if the next one can go on from there.
func (x *execution) skip(rid uint64) bool {
	if x.plan.form != streaming {
		_, err := x.stop()
		return err == nil
	}
	x.current.rid = rid
	old := x.isOld()
	late, err := x.stop()
	if x.paused = late && !old && err == nil; x.paused {
		x.passed()
		x.more = true
	}
	return err == nil && !x.paused
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
