package exec

import (
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/source"
)

func (x *Execution) runDocuments(row func() bool) bool {
	pages := x.Plan.Form == cursor.Streaming
	for i, src := range x.sources {
		after := uint64(0)
		x.current = sortEntry{source: i}
		if pages {
			rid, rows, left := x.from.At.At(x.spans[i])
			if !left && !x.replay {
				continue
			}
			x.resume = cursor.SourceWalkSectionProgress{Rid: rid, Rows: rows}
			if after = rid; rows > 0 && after > 0 {
				after-- // the document has more rows
			}
			if x.replay {
				after = 0
			}
		}
		more, err := x.readSource(src, after, !pages, row)
		if err != nil {
			x.Run.Fail(err)
		}
		if err != nil || !more {
			return false
		}
	}
	return true
}

// readSource reads the documents of one source whose rids are greater than after. every says that the caller
// reads all matching documents, not just a page. more is false if the page has ended. If a scan finds few
// documents, readSource reads the rest through an index.
func (x *Execution) readSource(src source.DocumentSource, after uint64, every bool,
	row func() bool) (more bool, err error) {
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
	for x.Next(docs) {
		d := docs.Document()
		x.current.rid = d.RID()
		if x.load(d); !row() || !x.endDocument() {
			return false, x.Run.Err
		}
		looked++
		if !every && x.scanning && looked == x.tune.Trial &&
			int(x.page.Stats.Matched-wanted)*x.tune.Share < looked {
			if err := docs.Close(); err != nil {
				return false, err
			}
			docs = &inMemoryScan{} // empty until another iterator is opened
			better, err := x.candidates(src, x.current.rid, true)
			if err != nil {
				return false, err
			}
			docs = better
		}
	}
	return !x.paused, docs.Err()
}

// endDocument is called after the rows of a document. It returns false if the page ends there.
func (x *Execution) endDocument() bool {
	positions := x.Plan.Form == cursor.Streaming || x.Plan.Form == cursor.Sorting
	old := positions && x.isReplayed()
	if positions && !old {
		x.passed()
	}
	late, err := x.stop()
	if late = late && positions && !old; late {
		x.more = true
	}
	return !late && err == nil
}

// skip records that the current source has no document between the previous one and rid. It returns false if
// the run has to end, or if the page has to end and the next page can resume at rid.
func (x *Execution) skip(rid uint64) bool {
	if x.Plan.Form != cursor.Streaming {
		_, err := x.stop()
		return err == nil
	}
	x.current.rid = rid
	old := x.isReplayed()
	late, err := x.stop()
	if x.paused = late && !old && err == nil; x.paused {
		x.passed()
		x.more = true
	}
	return err == nil && !x.paused
}

func (x *Execution) runOrder(row func() bool) bool {
	if x.Plan.Form == cursor.Sorting {
		if err := x.completeKey(); err != nil {
			x.Run.Fail(err)
			return false
		}
	}
	more := true
	err := x.merge(func() (bool, error) {
		more = row() && x.endDocument()
		return more, x.Run.Err
	})
	if err != nil {
		x.Run.Fail(err)
	}
	return more && err == nil
}

func (x *Execution) runRank(row func() bool) bool {
	more := true
	err := x.rankRows(func() bool {
		more = row()
		return more
	})
	if err != nil {
		x.Run.Fail(err)
	}
	return more && err == nil
}
