package query

import "github.com/mayflydb/mayfly/query/internal/source"

func (x *execution) runDocuments(row func() bool) bool {
	pages := x.plan.form == streaming
	for i, src := range x.sources {
		after := uint64(0)
		x.current = entry{source: i}
		if pages {
			rid, rows, left := x.from.at.At(x.spans[i])
			if !left && !x.replay {
				continue
			}
			x.resume = mark{rid: rid, rows: rows}
			if after = rid; rows > 0 && after > 0 {
				after-- // its document has more rows
			}
			if x.replay {
				after = 0
			}
		}
		more, err := x.readSource(src, after, !pages, row)
		if err != nil {
			x.run.Fail(err)
		}
		if err != nil || !more {
			return false
		}
	}
	return true
}

// readSource reads one source, behind a rid; every tells that all documents that are wanted will be read. It
// is false where the page has ended. Where a scan has found little so far, an index is asked for the rest.
func (x *execution) readSource(src source.Source, after uint64, every bool, row func() bool) (more bool, err error) {
	docs, err := x.candidates(src, after, every)
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
		if x.load(d); !row() || !x.endDocument() {
			return false, x.run.Err
		}
		looked++
		if !every && x.scanning && looked == x.tune.trial &&
			int(x.page.Stats.Matched-wanted)*x.tune.share < looked {
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

// endDocument is called behind the rows of a document. It is false where the page ends there.
func (x *execution) endDocument() bool {
	positions := x.plan.form == streaming || x.plan.form == sorting
	old := positions && x.isOld()
	if positions && !old {
		x.passed()
	}
	late, err := x.stop()
	if late = late && positions && !old; late {
		x.more = true
	}
	return !late && err == nil
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

func (x *execution) runOrder(row func() bool) bool {
	if x.plan.form == sorting {
		if err := x.completeKey(); err != nil {
			x.run.Fail(err)
			return false
		}
	}
	more := true
	err := x.merge(func() (bool, error) {
		more = row() && x.endDocument()
		return more, x.run.Err
	})
	if err != nil {
		x.run.Fail(err)
	}
	return more && err == nil
}

func (x *execution) runRank(row func() bool) bool {
	more := true
	err := x.rankRows(func() bool {
		more = row()
		return more
	})
	if err != nil {
		x.run.Fail(err)
	}
	return more && err == nil
}
