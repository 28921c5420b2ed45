package exec

import (
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// ridListDocumentIterator is a source.DocumentIterator that fetches a document for each of a list of rids.
type ridListDocumentIterator struct {
	x       *Execution
	src     source.DocumentSource
	rids    source.PostingIterator
	after   uint64 // returns only rids greater than this; if begun is set, any
	begun   bool
	ahead   []uint64     // read from rids and not yet fetched
	room    int          // number of rids to prefetch at a time; 0: no prefetch
	allowed *allowedRIDs // returns only these; nil: all
	// called with each rid that has no live document; if it returns false, Next returns false too
	skip func(rid uint64) bool
	doc  source.Document
	err  error
}

// nextRID returns the next rid, or false at the end.
func (d *ridListDocumentIterator) nextRID() (rid uint64, ok bool) {
	if len(d.ahead) > 0 {
		rid, d.ahead = d.ahead[0], d.ahead[1:]
		return rid, true
	}
	if begun := d.begun; begun && !d.rids.Next() || !begun && !d.rids.SeekGE(d.after+1) {
		return 0, false
	}
	rid = d.rids.RID()
	if p, ok := d.src.(source.Prefetcher); ok && d.room == 0 && !d.begun {
		d.room = min(firstAhead, p.Prefetches())
	}
	d.begun = true
	if d.room > 0 {
		d.look(rid)
	}
	return rid, true
}

// firstAhead is the number of documents in the first prefetch: about one page of a client that reads page by
// page. Each further prefetch is twice as large.
const firstAhead = 32

// look prefetches the document of rid and of following rids, together at most d.room. Each call doubles that
// number, up to the maximum of the source.
func (d *ridListDocumentIterator) look(rid uint64) {
	p := d.src.(source.Prefetcher)
	list := append(make([]uint64, 0, d.room), rid)
	for len(list) < d.room && d.rids.Next() {
		list = append(list, d.rids.RID())
	}
	p.Prefetch(list)
	d.ahead, d.room = list[1:], min(2*d.room, p.Prefetches())
}

// note counts an index entry, unless the entry was counted before, when it was read for sorting.
func (d *ridListDocumentIterator) note() error {
	if _, counted := d.rids.(*SortedRIDListIterator); counted {
		return d.x.pass(lang.EntryWork)
	}
	return d.x.passEntry()
}

func (d *ridListDocumentIterator) Next() bool {
	for d.err == nil {
		if d.err = d.note(); d.err != nil {
			return false
		}
		rid, ok := d.nextRID()
		if !ok {
			return false
		}
		live := false
		if d.allowed.has(rid) {
			if d.doc, live, d.err = d.src.Fetch(rid); live && d.err == nil {
				return true
			}
		}
		if d.err == nil && !d.skip(rid) {
			d.err = d.x.Run.Err
			return false
		}
	}
	return false
}

func (d *ridListDocumentIterator) Document() source.Document { return d.doc }
func (d *ridListDocumentIterator) Err() error                { return d.err }

func (d *ridListDocumentIterator) Close() error {
	if err := d.rids.Close(); d.err == nil {
		d.err = err
	}
	return d.err
}

// candidates returns the documents of a source that may match the conditions and have rids greater than
// after, in the order of rids. every reports that the caller will read all of them, not just a page.
func (x *Execution) candidates(src source.DocumentSource, after uint64,
	every bool) (source.DocumentIterator, error) {
	p, ok, err := x.pick(src, every)
	if err != nil {
		return nil, err
	}
	if !ok {
		return x.scan(src, after), nil
	}
	return &ridListDocumentIterator{x: x, src: src, rids: p, after: after, skip: x.skip}, nil
}

// keyRangeDocumentIterator iterates over the documents of the index entries in a range of keys.
type keyRangeDocumentIterator struct {
	x     *Execution
	src   source.DocumentSource
	terms source.IndexEntryIterator
	doc   source.Document
	err   error
}

func (d *keyRangeDocumentIterator) Next() bool {
	for d.err == nil && d.terms.Next() {
		if d.err = d.x.passEntry(); d.err != nil {
			return false
		}
		var live bool
		if d.doc, live, d.err = d.src.Fetch(d.terms.RID()); live && d.err == nil {
			return true
		}
	}
	return false
}

func (d *keyRangeDocumentIterator) Document() source.Document { return d.doc }
func (d *keyRangeDocumentIterator) Err() error                { return d.err }

func (d *keyRangeDocumentIterator) Close() error {
	if err := d.terms.Close(); d.err == nil {
		d.err = err
	}
	return d.err
}
