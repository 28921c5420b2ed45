package exec

import (
	"bytes"
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// A walk of a range index does not need to read a document to get the value at the index's path. If the
// query uses nothing else, the walk builds from the term the smallest document that has that value, and the
// query continues with it as with any other. A row that OFFSET skips needs no such document. A DISTINCT of
// that path needs only one of the entries with the same key, so the walk then seeks the next key. All of
// this requires that a term stands for exactly one value, and that the source lists its dead documents.

// coverDead is the maximum number of dead documents (expired or deleted, but not purged) that a walk asks a
// source to list. It is small, since a page often ends before the walk reaches one of them.
const coverDead = 256

// cover decides whether the walk can return rows, or skip those of OFFSET, from index entries alone. For this
// it must know the dead documents (expired or deleted, but not purged), whose entries are skipped.
func (wk *indexWalker) cover() {
	x, o := wk.x, wk.x.Plan.Order
	if o.Walk != wk.w {
		return
	}
	wk.loose = o.Loose
	if !o.Covered && (!o.Skips || x.done.Offset == 0) {
		return
	}
	c, ok := wk.src.(source.DeadDocumentLister)
	if !ok || isScoped(wk.src) { // the index also has the entries of other partitions
		return
	}
	var err error
	if wk.dead, wk.census, err = c.Dead(coverDead); err != nil {
		wk.census = false // the walk will report the error itself
	}
	if wk.census && o.Covered {
		wk.least = &indexTermFilter{test: plan.LeastAt(wk.w.Path)}
	}
	wk.skips = wk.census && o.Skips
}

// covered handles an entry without reading its document, if the entry's key holds the whole value. done is
// false if the document must be read. ok reports that the entry is to be returned.
func (wk *indexWalker) covered() (done, ok bool) {
	skips := wk.skips && wk.x.done.Offset > 0
	if !wk.census || wk.least == nil && !skips {
		return false, false
	}
	v, exact := plan.ExactTerm(wk.found)
	if !exact {
		return false, false
	}
	if hasRID(wk.dead, wk.rid) || !wk.allowed.has(wk.rid) {
		return true, false
	}
	if wk.least == nil {
		wk.entry = sortEntry{key: wk.orderKey(wk.entry.key[:0]), source: wk.source, rid: wk.rid, unread: true}
		wk.doc = nil
		return true, wk.x.isAfterStart(&wk.entry)
	}
	d := &singleValueDocument{rid: wk.rid, body: wk.least.document(v)}
	wk.x.f.Enter(d)
	wk.entry = sortEntry{key: wk.orderKey(wk.entry.key[:0]), source: wk.source, rid: wk.rid}
	wk.doc = d
	return true, wk.x.isAfterStart(&wk.entry)
}

// orderKey appends the ORDER BY key of the current entry. Its index key is exact, and so holds the same
// bytes: terms and ORDER BY keys encode scalar values alike.
func (wk *indexWalker) orderKey(dst []byte) []byte {
	n := len(dst)
	if c := wk.w.Composite; c != nil {
		dst = append(dst, c.TermsFrom(wk.found, len(wk.w.Fixed))...)
	} else {
		dst = append(dst, index.Term(wk.found)...)
	}
	if wk.w.Reverse {
		for i := n; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// needs reports whether the walk must read the document of an index entry whose key holds the whole value,
// rather than take the value from the key.
func (wk *indexWalker) needs(rid uint64) bool {
	covered := wk.census && (wk.least != nil || wk.skips && wk.x.done.Offset > 0)
	return !covered && wk.allowed.has(rid)
}

// singleValueDocument takes the place of a document of which a query needs only one value: its body is the
// smallest JSON with this value at its path, such as {"a":{"b":1}}.
type singleValueDocument struct {
	rid  uint64
	body []byte
}

func (d *singleValueDocument) RID() uint64                      { return d.rid }
func (d *singleValueDocument) Body() []byte                     { return d.body }
func (d *singleValueDocument) System() jsondoc.SystemProperties { return jsondoc.SystemProperties{} }

// noteReturned records that a row of the current entry has been returned.
func (wk *indexWalker) noteReturned() {
	x, fresh := wk.x, wk.fresh
	wk.fresh = false
	if !fresh || !wk.loose || wk.doc == nil || x.done.Source < 0 || x.done.Rows == noneReturned ||
		!bytes.Equal(x.done.Key, wk.entry.key) {
		return
	}
	wk.leaps = wk.rest > skipFrom || wk.leaps && wk.rest > 0
	wk.returnedKey, wk.rest = append(wk.returnedKey[:0], wk.found...), 0
	if wk.sub != nil {
		if _, lacking := wk.sub.(*missingPathDocumentIterator); !lacking {
			wk.returnedKey = nil // the keys in a run are not exact
			return
		}
		wk.returnedKey = []byte{}
	}
}

// leave moves the walk behind the current key.
func (wk *indexWalker) leave() error {
	p := &wk.parts[0]
	if wk.w.Reverse {
		p.Hi = bytes.Clone(wk.found)
	} else {
		p.Lo = slices.Concat(wk.found, []byte{0xFF})
	}
	over := bytes.Compare(p.Lo, p.Hi) >= 0
	wk.ahead, wk.group = false, wk.group[:0]
	if s, ok := wk.terms.(source.SeekableIndexEntryIterator); ok && !wk.w.Reverse && !over {
		if wk.ahead = wk.x.passEntry() == nil && s.Seek(p.Lo); wk.ahead {
			return nil
		}
		over = true
	}
	err := wk.terms.Close()
	if wk.terms = nil; over {
		wk.parts = wk.parts[1:]
	}
	return err
}

// unread handles a row whose document has not been read yet. skipped is true if OFFSET skips the row, or
// if the document does not exist any more. Otherwise unread reads the document now.
func (x *Execution) unread() (d source.Document, skipped bool, err error) {
	if x.done.Offset > 0 {
		x.done.Offset--
		x.consumed()
		return nil, true, nil
	}
	d, live, err := x.sources[x.current.source].Fetch(x.current.rid)
	if live && err == nil {
		x.page.Stats.Loaded++
		x.page.Stats.LoadedBytes += int64(len(d.Body()))
	}
	return d, !live, err
}
