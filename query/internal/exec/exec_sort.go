package exec

import (
	"bytes"
	"cmp"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// sortEntry is a document in the order of the query: by key, then by rid. Rids descend if the first key is
// DESC. A rid occurs in one source only, so this order does not depend on how documents are divided among
// sources.
type sortEntry struct {
	key    []byte
	source int
	rid    uint64
	holds  bool // the document matches the conditions
	passed bool // not a document: a position that the walk has reached without finding a document
	unread bool // the document has not been read yet, since OFFSET may skip its row
}

// compare compares two entries in the order of the query.
func (x *Execution) compare(a, b *sortEntry) int {
	if c := x.Run.Compare(a.key, b.key); c != 0 {
		return c
	}
	c := cmp.Compare(a.rid, b.rid)
	if x.backwards() {
		return -c
	}
	return c
}

// backwards reports whether rows with equal ORDER BY keys are returned in descending order of rids: that
// is so if the first key is DESC.
func (x *Execution) backwards() bool { return x.Plan.Top.Order[0].Desc }

// orderKey appends the sort key of the current document: the encodings of its values for the ORDER BY
// expressions, with inverted bytes for DESC.
func (x *Execution) orderKey(dst []byte) []byte {
	x.Plan.Rows.BindPaths(x.f)
	for i, k := range x.Plan.Top.Order {
		dst = eval.AppendKey(k, dst, eval.OrderedBy(x.Plan.Order.Keys[i](x.f)))
	}
	return dst
}

// orderValues decodes the values of a key; arrays and objects are returned as empty ones. It returns false
// if the key is invalid or was cut.
func (x *Execution) orderValues(key []byte) ([]jsondoc.Value, bool) {
	var values []jsondoc.Value
	for _, k := range x.Plan.Top.Order {
		b := bytes.Clone(key)
		if k.Desc {
			for j := range b {
				b[j] = ^b[j]
			}
		}
		v, rest, ok := eval.DecodeOrderValue(b)
		if !ok {
			return nil, false
		}
		values = append(values, v)
		key = key[len(key)-len(rest):]
	}
	return values, true
}

// orderedDocumentIterator iterates over the documents of one source in the order of the query. Next makes the
// next document the current one and returns false at the end. If it reads many index entries without finding
// a document, it returns an entry with passed set from time to time, so that the page can end, and continues
// at the next call.
type orderedDocumentIterator interface {
	Next() (bool, error)
	at() (*sortEntry, source.Document)
	close() error
}

// completeKey restores the ORDER BY key of the last row of the previous page, which was cut if it was too
// long for the continuation token. It reads the document of that row. If the document no longer exists or
// has changed, the page begins with the first key that begins with the cut key.
func (x *Execution) completeKey() error {
	x.resume = cursor.SourceWalkSectionProgress{Rid: x.from.Rid, Rows: x.from.Rows}
	if !x.from.Begun || !x.from.Cut {
		return nil
	}
	d, err := x.find(x.from.Rid)
	if err != nil {
		return err
	}
	if d != nil {
		x.f.Enter(d)
		if key := x.orderKey(nil); cursor.KeySum(key) == x.from.Sum {
			x.from.Key, x.from.Cut = key, false
			return nil
		}
	}
	x.from.Rows, x.resume.Rows = 0, 0
	return nil
}

// find looks for a live document in all sources, also outside the scope if the sources support that. It
// returns nil if there is none.
func (x *Execution) find(rid uint64) (source.Document, error) {
	for _, src := range x.sources {
		if f, ok := src.(source.ContainerWideDocumentFinder); ok {
			d, live, err := f.Find(rid)
			if err != nil || !live {
				return nil, err
			}
			return d, nil
		}
		if d, live, err := src.Fetch(rid); live || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// isAfterStart reports whether an entry comes after the beginning of the page.
func (x *Execution) isAfterStart(e *sortEntry) bool {
	if !x.from.Begun {
		return true
	}
	if x.from.Cut {
		return bytes.Compare(e.key, x.from.Key) >= 0
	}
	c := x.compare(e, &sortEntry{key: x.from.Key, rid: x.from.Rid})
	if n := x.distinct(); n > 0 {
		return c > 0 && (x.from.Rows == noneReturned ||
			!bytes.Equal(x.leading(e.key, n), x.leading(x.from.Key, n)))
	}
	return c > 0 || c == 0 && x.from.Rows > 0
}

// distinct returns n if the query has DISTINCT and its rows consist of the first n ORDER BY keys, so that
// equal rows are adjacent in the order of the query. Otherwise it returns 0.
func (x *Execution) distinct() int {
	if x.Plan.Form != cursor.Sorting {
		return 0
	}
	return x.Plan.Order.Distinct
}

// noneReturned is a special value of PagePosition.Rows for a DISTINCT query whose equal rows are adjacent. It
// means that no row with the DISTINCT values of the document at the position has been returned yet, neither
// for this document nor for an earlier one. So the row of the next document with these values must be
// returned.
const noneReturned = 1

// repeated reports whether a row with the current document's DISTINCT values has been returned.
func (x *Execution) repeated() bool {
	n := x.distinct()
	return (x.done.Source >= 0 || x.from.Begun) && x.done.Rows != noneReturned &&
		bytes.Equal(x.leading(x.current.key, n), x.leading(x.done.Key, n))
}

// leading returns the part of an encoded sort key that holds the values of the first n keys of ORDER BY.
func (x *Execution) leading(key []byte, n int) []byte {
	if n == len(x.Plan.Top.Order) {
		return key
	}
	rest := key
	for _, k := range x.Plan.Top.Order[:n] {
		b := bytes.Clone(rest)
		if k.Desc {
			for j := range b {
				b[j] = ^b[j]
			}
		}
		_, after, ok := eval.DecodeOrderValue(b)
		if !ok {
			return key
		}
		rest = rest[len(rest)-len(after):]
	}
	return key[:len(key)-len(rest)]
}

// merge calls fn for each document in the order of the query, until fn returns false. During a call of fn,
// the document is the current document of x.
func (x *Execution) merge(fn func() (bool, error)) (err error) {
	var live []orderedDocumentIterator
	defer func() {
		for _, s := range live {
			if e := s.close(); err == nil {
				err = e
			}
		}
	}()
	for i, src := range x.sources {
		s, err := x.openOrder(src, i)
		if err != nil {
			return err
		}
		live = append(live, s)
	}
	open := make([]orderedDocumentIterator, 0, len(live))
	for _, s := range live {
		ok, err := s.Next()
		if err != nil {
			return err
		}
		if ok {
			open = append(open, s)
		}
	}
	for len(open) > 0 {
		first := x.firstOf(open)
		e, d := open[first].at()
		x.current = *e
		if more, err := x.mergeEntry(d, fn); !more || err != nil {
			return err
		}
		ok, err := open[first].Next()
		if err != nil {
			return err
		}
		if !ok {
			open = append(open[:first], open[first+1:]...)
		}
	}
	return nil
}

// mergeEntry makes d, a document read in ORDER BY order, the current one, and calls fn if it matches the
// conditions. more is the result of fn, or false if the page must end.
func (x *Execution) mergeEntry(d source.Document, fn func() (bool, error)) (more bool, err error) {
	late, skipped := false, false
	if x.current.unread {
		if d, skipped, err = x.unread(); err != nil {
			return false, err
		}
	}
	if skipped {
		late, err = x.stop()
	} else if x.current.passed {
		err = x.checkTime()
		late = x.late
	} else if x.f.Enter(d); x.current.holds || x.passes(x.Plan.Rows) {
		x.rowInDoc = 0
		return fn()
	} else {
		late, err = x.stop()
	}
	if late = late && err == nil && x.Plan.Form == cursor.Sorting; late {
		x.passed()
		x.more = true
	}
	return !late && err == nil, err
}

// firstOf returns the index of the iterator whose document comes first.
func (x *Execution) firstOf(open []orderedDocumentIterator) int {
	first := 0
	for i := 1; i < len(open); i++ {
		a, _ := open[i].at()
		b, _ := open[first].at()
		if x.compare(a, b) < 0 {
			first = i
		}
	}
	return first
}

// repeats reports whether a row equals the row of the previous call.
func (x *Execution) repeats(row []byte) bool {
	key := jsondoc.AppendOrdered(nil, jsondoc.Of(row))
	if x.last != nil && string(key) == string(x.last) {
		return true
	}
	x.last = key
	return false
}
