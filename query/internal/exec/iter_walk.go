package exec

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/record"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// indexWalker iterates over the documents of a source in the order of an index. An index key is cut if the
// value is long, and the key of an array or object holds only the type. Documents that share such an inexact
// key form a run: the walker reads and sorts them. Documents that do not have the path have no key in a range
// index; the walker gets them from source.DocumentsWithoutPathLister.
type indexWalker struct {
	x       *Execution
	src     source.DocumentSource
	source  int
	w       *plan.OrderedIndexScan
	parts   []indexWalkPart           // remaining parts, in the order of the query
	terms   source.IndexEntryIterator // of the first part, while it is being walked
	found   []byte                    // key of the current entry
	rid     uint64                    // rid of the current entry
	group   []uint64                  // the remaining rids of the current key, the last one first
	ahead   bool                      // terms is already at the entry after the current one
	key     []byte                    // the last key that was found to be exact
	misses  int                       // entries without a matching document
	allowed *allowedRIDs              // documents that may match; nil: any
	// maxSkips is how many entries without a match the walk may skip before it is restricted or replaced (see
	// indexWalkWithSortFallback), in addition to some for each match; 0: any number
	maxSkips int
	passed   int
	wanted   int64 // matching documents of the page when the walk began
	sub      orderedDocumentIterator
	entry    sortEntry
	doc      source.Document

	// the dead documents of the source, if the values can be taken from the index alone: see covered
	dead        []uint64
	census      bool
	least       *indexTermFilter // builds documents from terms, if the query uses nothing else of them
	skips       bool             // rows that OFFSET skips are not read
	loose       bool             // one row is enough for all entries of a key (DISTINCT)
	returnedKey []byte           // key of which a row has been returned
	rest        int              // entries of it that were skipped
	leaps       bool             // keys have many entries: the walk seeks the next key at the second entry of one
	fresh       bool             // the current entry has just been returned
}

// indexWalkPart is one of the parts that an indexWalker reads one after the other: the index entries in a
// span of keys or, if undefined is set, the documents that have no value at the path of the index.
type indexWalkPart struct {
	plan.KeySpan
	undefined bool
}

func (x *Execution) newWalk(src source.DocumentSource, source int, w *plan.OrderedIndexScan) *indexWalker {
	wk := &indexWalker{x: x, src: src, source: source, w: w, wanted: x.page.Stats.Matched}
	for _, s := range w.Spans {
		wk.parts = append(wk.parts, indexWalkPart{KeySpan: s})
	}
	if w.Undefined {
		wk.parts = append([]indexWalkPart{{undefined: true}}, wk.parts...)
	}
	wk.cover()
	if w.Reverse {
		slices.Reverse(wk.parts)
	}
	wk.resume()
	return wk
}

// resume skips the parts of the index that lie before the beginning of the page.
func (wk *indexWalker) resume() {
	x := wk.x
	if !x.from.Begun || x.from.Cut {
		return
	}
	values, ok := x.orderValues(x.from.Key)
	if !ok {
		return
	}
	var key []byte
	if c := wk.w.Composite; c != nil {
		key, _ = c.Prefix(append(append([]jsondoc.Value{}, wk.w.Fixed...), values...)...)
	} else if values[0].Kind() == jsondoc.Undefined {
		wk.resumeUndefined()
		return
	} else {
		key, _ = x.Plan.Info.Index.Term(wk.w.Path, values[0])
	}
	var left []indexWalkPart
	for _, p := range wk.parts {
		switch {
		case p.undefined && !wk.w.Reverse:
			continue
		case !p.undefined && !wk.w.Reverse:
			p.Lo = plan.Later(p.Lo, wk.from(key))
		case !p.undefined:
			if end := wk.until(key); bytes.Compare(end, p.Hi) < 0 {
				p.Hi = end
			}
		}
		if p.undefined || bytes.Compare(p.Lo, p.Hi) < 0 {
			left = append(left, p)
		}
	}
	wk.parts = left
}

// resumeUndefined makes the walk continue with the documents that have no value at the path of the index:
// it drops all parts of the walk before them.
func (wk *indexWalker) resumeUndefined() {
	for i, p := range wk.parts {
		if p.undefined {
			wk.parts = wk.parts[i:]
			return
		}
	}
}

// from returns the lowest key that a forward walk has to read to continue if the previous page has ended
// at key. The walk may meet documents that were returned, which isAfterStart skips.
func (wk *indexWalker) from(key []byte) []byte {
	f := &wk.x.from
	switch {
	case !wk.exact(key):
		lo, _ := wk.runOf(key)
		return lo
	case wk.flips():
		return key
	case f.Rows > 0:
		return binary.BigEndian.AppendUint64(bytes.Clone(key), f.Rid)
	}
	return binary.BigEndian.AppendUint64(bytes.Clone(key), f.Rid+1)
}

// until is the counterpart of from for a backward walk: it returns the key before which the walk begins.
func (wk *indexWalker) until(key []byte) []byte {
	f := &wk.x.from
	switch {
	case !wk.exact(key):
		_, hi := wk.runOf(key)
		return hi
	case wk.flips():
		return append(bytes.Clone(key), 0xFF)
	case f.Rows > 0:
		return binary.BigEndian.AppendUint64(bytes.Clone(key), f.Rid+1)
	}
	return binary.BigEndian.AppendUint64(bytes.Clone(key), f.Rid)
}

// exact reports whether a key stands for exactly one value of each path.
func (wk *indexWalker) exact(key []byte) bool {
	if c := wk.w.Composite; c != nil {
		return c.Exact(key)
	}
	return index.ExactTerm(key)
}

func (wk *indexWalker) at() (*sortEntry, source.Document) { return &wk.entry, wk.doc }

func (wk *indexWalker) close() error {
	var err error
	if wk.terms != nil {
		err = wk.terms.Close()
		wk.terms = nil
	}
	if wk.sub != nil {
		if e := wk.sub.close(); err == nil {
			err = e
		}
	}
	return err
}

func (wk *indexWalker) Next() (bool, error) {
	wk.noteReturned()
	for {
		if wk.sub != nil {
			ok, err := wk.sub.Next()
			if ok || err != nil {
				e, d := wk.sub.at()
				key := append(wk.entry.key[:0], e.key...)
				wk.entry, wk.doc = *e, d
				wk.entry.key = key
				return ok, err
			}
			err, wk.sub = wk.sub.close(), nil
			if err != nil {
				return false, err
			}
		}
		if wk.terms == nil {
			if len(wk.parts) == 0 {
				return false, nil
			}
			if p := wk.parts[0]; p.undefined {
				wk.parts = wk.parts[1:]
				wk.sub = wk.without()
				continue
			}
			terms := wk.src.Terms(wk.parts[0].Lo, wk.parts[0].Hi, wk.w.Reverse)
			wk.terms = wk.x.prefetchTerms(wk.src, terms, wk.needs)
		}
		ok, err := wk.step()
		if ok || err != nil || wk.tooManySkips() {
			return ok, err
		}
	}
}

// tooManySkips reports whether the walk has skipped so many index entries, whose documents do not match,
// that it may be cheaper to find the matching documents in another way.
func (wk *indexWalker) tooManySkips() bool {
	wanted := int(wk.x.page.Stats.Matched - wk.wanted)
	return wk.maxSkips > 0 && wk.passed > wk.maxSkips+wk.x.tune.Share*wanted
}

// step advances to the next index entry with a live document. It returns false at the end of the span of keys
// and at a key that does not contain the whole value (a cut string): run then sorts the documents of the key.
func (wk *indexWalker) step() (bool, error) {
	for wk.advance() {
		if err := wk.x.pass(lang.EntryWork); err != nil {
			return false, err
		}
		if !bytes.Equal(wk.found, wk.key) {
			if !wk.exact(wk.found) {
				return false, wk.run(bytes.Clone(wk.found))
			}
			wk.key = append(wk.key[:0], wk.found...)
		}
		if wk.returnedKey != nil && bytes.Equal(wk.returnedKey, wk.found) {
			if wk.rest++; wk.rest > skipFrom || wk.leaps {
				return false, wk.leave()
			}
			continue
		}
		if done, ok := wk.covered(); done {
			if ok {
				return true, nil
			}
			continue
		}
		if wk.allowed.has(wk.rid) {
			d, live, err := wk.src.Fetch(wk.rid)
			if err != nil {
				return false, err
			}
			if live {
				wk.x.load(d)
				if wk.reach(d, wk.orderKey(wk.entry.key[:0])) {
					return true, nil
				}
			}
		}
		if wk.stops(wk.rid, wk.values) {
			return true, nil
		}
		if wk.passed++; wk.tooManySkips() {
			return false, nil
		}
	}
	err := wk.terms.Close()
	wk.terms, wk.parts = nil, wk.parts[1:]
	return false, err
}

// advance moves to the next index entry and returns false at the end. The walk meets documents with equal
// keys in the wrong order if it runs forward for a query whose first ORDER BY key is DESC, or backward for
// one whose first key is ASC. advance then reads all entries of a key and returns them last to first.
func (wk *indexWalker) advance() bool {
	if n := len(wk.group); n > 0 {
		wk.rid, wk.group = wk.group[n-1], wk.group[:n-1]
		return true
	}
	if !wk.ahead && !wk.read() {
		return false
	}
	wk.ahead = false
	wk.found = append(wk.found[:0], wk.terms.Key()...)
	wk.rid = wk.terms.RID()
	if !wk.flips() || !wk.exact(wk.found) {
		return true
	}
	for wk.group = append(wk.group, wk.rid); wk.read(); wk.group = append(wk.group, wk.terms.RID()) {
		if wk.ahead = !bytes.Equal(wk.terms.Key(), wk.found); wk.ahead {
			break
		}
	}
	return wk.advance()
}

func (wk *indexWalker) read() bool {
	return wk.x.passEntry() == nil && wk.terms.Next()
}

// flips reports whether the index holds rows with equal keys in the order opposite to the query's.
func (wk *indexWalker) flips() bool { return wk.w.Reverse != wk.x.backwards() }

// reach makes a loaded document the current one and reports whether it comes after the beginning of the page.
func (wk *indexWalker) reach(d source.Document, key []byte) bool {
	wk.entry = sortEntry{key: key, source: wk.source, rid: d.RID()}
	wk.doc = d
	return wk.x.isAfterStart(&wk.entry)
}

// restEvery is the number of index entries without a matching document after which a walk checks whether the
// page must end, and lets it end there.
const restEvery = 64

// stops lets a page end within a long series of entries without a matching document. For some of these
// entries it makes the entry the current one, without a document, and returns true; the next page can then
// resume after it. values returns the entry's values of the ORDER BY keys.
func (wk *indexWalker) stops(rid uint64, values func() []jsondoc.Value) bool {
	x := wk.x
	if wk.misses++; wk.misses%restEvery != 0 || x.Plan.Form != cursor.Sorting {
		return false
	}
	e := sortEntry{source: wk.source, rid: rid, passed: true}
	for i, v := range values() {
		e.key = eval.AppendKey(x.Plan.Top.Order[i], e.key, eval.OrderedBy(v))
	}
	if len(e.key) > record.MaxCursorKey || x.from.Cut {
		return false // a cut key can be restored only from its document
	}
	if x.from.Begun && x.compare(&e, &sortEntry{key: x.from.Key, rid: x.from.Rid}) <= 0 {
		return false
	}
	wk.entry, wk.doc = e, nil
	return true
}

// values returns the current entry's values for the ORDER BY keys. The entry's key must be exact, that is,
// hold these values completely.
func (wk *indexWalker) values() []jsondoc.Value {
	if c := wk.w.Composite; c != nil {
		values, _ := c.Values(wk.found)
		return values[len(wk.w.Fixed):]
	}
	v, _ := index.TermValue(wk.found)
	return []jsondoc.Value{v}
}

// runOf returns the interval [lo, hi) of the index keys whose documents the walker has to sort, because key
// does not hold the whole value and so does not determine the order (it is inexact). In a range index this
// is key alone. In a composite index the order of the paths behind the inexact value is lost, so it is all
// keys with the same values at the paths before. If the inexact value is an array or an object, it is only
// the keys that have a value of that type at that path.
func (wk *indexWalker) runOf(key []byte) (lo, hi []byte) {
	c := wk.w.Composite
	if c == nil {
		return key, append(bytes.Clone(key), 0xFF)
	}
	values, n := c.Values(key)
	if n < len(values) && values[n].Kind() >= jsondoc.Array {
		lo, hi, _ = c.Range(values[:n], index.Less, values[n])
	} else {
		lo, hi, _ = c.Interval(values[:n]...)
	}
	return lo, hi
}

// run continues the walk in a run of documents that share an inexact index key, such as that of a truncated
// string: key belongs to it. It sets sub to an iterator that sorts these documents by their values, and
// removes the run from the part of the index that remains to be walked.
func (wk *indexWalker) run(key []byte) error {
	p := &wk.parts[0]
	lo, hi := wk.runOf(key)
	if wk.w.Reverse {
		lo, hi = plan.Later(p.Lo, lo), append(bytes.Clone(key), 0xFF)
	} else {
		lo = key
		if bytes.Compare(p.Hi, hi) < 0 {
			hi = p.Hi
		}
	}
	err := wk.terms.Close()
	wk.terms, wk.ahead = nil, false
	if wk.w.Reverse {
		p.Hi = lo
	} else {
		p.Lo = hi
	}
	if bytes.Compare(p.Lo, p.Hi) >= 0 {
		wk.parts = wk.parts[1:]
	}
	wk.sub = wk.x.newBatch(wk.src, wk.source, func() (source.DocumentIterator, error) {
		terms := wk.x.prefetchTerms(wk.src, wk.src.Terms(lo, hi, false), nil)
		return &keyRangeDocumentIterator{x: wk.x, src: wk.src, terms: terms}, nil
	})
	return err
}
