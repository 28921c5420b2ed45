package exec

import (
	"encoding/binary"

	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/source"
	"github.com/mayflydb/mayfly/query/spill"
)

// sortAll sorts the documents of a source. For the first page of a query it keeps only as many documents as
// the page needs, in memory. For a later page it may sort all of them, in temporary files; the pages after it
// then read on in these files.
func (x *Execution) sortAll(src source.DocumentSource, at int) *sortedDocumentIterator {
	b := x.newBatch(src, at, func() (source.DocumentIterator, error) { return x.candidates(src, 0, true) })
	b.whole = true
	return b
}

// leftOrder returns an iterator over the documents of a source that the previous page has sorted in files and
// not returned yet, or nil if there are none.
func (x *Execution) leftOrder(src source.DocumentSource, source int) *sortedDocumentIterator {
	if x.spilled == nil || len(x.spilled.sorted) <= source || x.spilled.sorted[source] == nil {
		return nil
	}
	b := x.sortAll(src, source)
	b.it, b.begun, x.spilled.sorted[source] = x.spilled.sorted[source], true, nil
	return b
}

// many reports whether all documents should be sorted at once. This is so if the source has been read
// before, by this page or an earlier one, and the query needs more documents than a page or a batch holds.
func (b *sortedDocumentIterator) many() bool {
	x := b.x
	if !b.whole || x.Run.Env.Temp == nil || !b.begun && !x.from.Begun {
		return false
	}
	limit := x.done.Limit
	return limit < 0 || limit > int64(x.Opts.MaxItems) || limit+x.done.Offset > maxRoom
}

// fillSpilled sorts, with temporary files, all documents that come after those already returned.
func (b *sortedDocumentIterator) fillSpilled() (err error) {
	x := b.x
	budget := x.Run.LimitHeld() / 8
	x.Run.Hold(&b.held, budget, "ORDER BY")
	sorter := x.Run.Env.Temp.NewSorter(budget, x.Run.Spend)
	defer sorter.Close()
	docs, err := b.open()
	if err != nil {
		return err
	}
	defer func() {
		if e := docs.Close(); err == nil {
			err = e
		}
	}()
	var key []byte
	for x.Next(docs) {
		d := docs.Document()
		x.load(d)
		key = x.orderKey(key[:0])
		e := sortEntry{key: key, source: b.source, rid: d.RID()}
		if x.isAfterStart(&e) && (!b.begun || x.compare(&e, &b.last) > 0) && x.passes(x.Plan.Rows) {
			key = binary.BigEndian.AppendUint64(key, x.ridKey(e.rid))
			if !x.Run.Spilled(sorter.Add(key, nil), "ORDER BY") {
				return x.Run.Err
			}
		}
		if _, err := x.stop(); err != nil {
			return err
		}
	}
	if err := docs.Err(); err != nil {
		return err
	}
	if x.Plan.Form == cursor.Sorting && x.Opts.Memory != nil { // the files may be kept for long
		x.Run.Spilled(sorter.Flush(), "ORDER BY")
	}
	b.it, err = sorter.Sort()
	if !x.Run.Spilled(err, "ORDER BY") {
		return x.Run.Err
	}
	x.Run.Hold(&b.held, -budget, "ORDER BY")
	b.begun = true
	x.sortedRows++ // documents sorted on this page are returned on it, as far as they fit
	return nil
}

// ridKey returns the number that is appended to an ORDER BY key, so that documents with equal keys are sorted
// by their rids: rid itself, or its complement if the query returns such documents in the reverse order.
func (x *Execution) ridKey(rid uint64) uint64 {
	if x.backwards() {
		return ^rid
	}
	return rid
}

// nextSpilled moves to the next document if the sorted documents are in files. It returns false at the end.
func (b *sortedDocumentIterator) nextSpilled() (bool, error) {
	if b.it == nil {
		x := b.x
		x.Run.Hold(&b.held, -b.held, "ORDER BY")
		b.heap.List, b.returned = nil, 0
		if err := b.fillSpilled(); err != nil {
			return false, err
		}
	}
	for b.it.Next() {
		key := b.it.Key()
		n := len(key) - 8
		b.last = sortEntry{key: append(b.last.key[:0:0], key[:n]...), source: b.source,
			rid: b.x.ridKey(binary.BigEndian.Uint64(key[n:])), holds: true}
		if !b.x.isAfterStart(&b.last) {
			continue // the previous page has returned it already
		}
		d, live, err := b.src.Fetch(b.last.rid)
		if err != nil {
			return false, err
		}
		if live {
			b.doc = d
			return true, nil
		}
		if _, err := b.x.stop(); err != nil {
			return false, err
		}
	}
	b.x.Run.Spilled(b.it.Err(), "ORDER BY")
	return false, b.x.Run.Err
}

// close passes the files with the sorted documents on to the next page, or deletes them if no page
// follows.
func (b *sortedDocumentIterator) close() error {
	if b.it == nil {
		return nil
	}
	x := b.x
	if x.more && x.Plan.Form == cursor.Sorting && x.Run.Err == nil && x.spilled == nil {
		x.spilled = x.newSpilled()
	}
	if x.more && x.Plan.Form == cursor.Sorting && x.Run.Err == nil && x.spilled != nil {
		if x.spilled.sorted == nil {
			x.spilled.sorted = make([]*spill.Iterator, len(x.sources))
		}
		b.it.Unread()
		x.spilled.sorted[b.source] = b.it
	} else {
		b.it.Close()
	}
	b.it = nil
	return nil
}
