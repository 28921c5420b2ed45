package transaction

import (
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

const (
	reindexBatch = 32 // documents per transaction
	// reindexBytes is the maximum number of bytes of index entries in a transaction. If a single document
	// has more, its old entries are deleted in a transaction of their own. Queries do not miss those
	// entries: they use only paths that the current policy indexes as well.
	reindexBytes = 4 << 20
)

// ReindexedDocument is a document with its new and old index entries, as of one version.
type ReindexedDocument struct {
	rid    uint64
	seq    layout.WriteSequence
	after  []index.Entry   // by the current policy
	before [][]index.Entry // by each of the older ones
	size   int             // of all of them, in bytes
}

// IsLarge reports whether the entries are too many for one transaction.
func (d *ReindexedDocument) IsLarge() bool { return d.size > reindexBytes }

// DropBefore removes from d the index entries that earlier policies have given the document. The caller
// has deleted them from the index.
func (d *ReindexedDocument) DropBefore() { d.before = nil }

// Remake computes the index entries of the next documents of a range, a few of those after rid at. next is
// the rid to continue from.
func Remake(r engine.Reader, st *container.State, s *container.Partition,
	at uint64) (found []ReindexedDocument,
	next uint64, err error) {
	next = layout.AllReindexed
	rg := layout.ScopeFamily(s.Scope, layout.FamilyItem)
	rg.Start = layout.AppendScopeKey(nil, s.Scope, layout.FamilyItem, at+1)
	it := r.Scan(rg, false)
	for size := 0; it.Next(); {
		d, err := remakeOne(st, s, it.Key(), it.Value())
		if err != nil {
			it.Close()
			return nil, 0, err
		}
		size += d.size
		if n := len(found); n == reindexBatch || n > 0 && size > reindexBytes {
			next = found[n-1].rid
			break
		}
		found = append(found, d)
	}
	return found, next, it.Close()
}

// remakeOne computes the index entries of a document from its stored key and value. It fails with
// engine.ErrCorrupt if these are malformed.
func remakeOne(st *container.State, s *container.Partition, key, value []byte) (ReindexedDocument, error) {
	rid, ok := layout.ScopeKeyNumber(key)
	head, body, err := layout.DecodeItem(value)
	if !ok || err != nil {
		return ReindexedDocument{}, errors.Join(engine.ErrCorrupt, err)
	}
	d := ReindexedDocument{rid: rid, seq: head.Sequence}
	entries := func(x *index.Indexer) []index.Entry {
		list := view.AppendTerms(nil, x, s.Scope, &view.DecodedItem{RID: rid, Head: head, Body: body})
		for _, e := range list {
			d.size += len(e.Key) + len(e.Value)
		}
		return list
	}
	if len(st.OlderIndexers) == 0 {
		return d, nil // only its key in the index of expiry may be wrong
	}
	d.after = entries(st.Terms)
	for _, old := range st.OlderIndexers {
		d.before = append(d.before, entries(old))
	}
	return d, nil
}

// Reindex writes the entries of the current policy for an item and deletes the entries that only older
// policies have. It does nothing if the item has been written since d was computed. If sets is false, it
// only deletes.
func (t *Tx) Reindex(d ReindexedDocument, sets bool) error {
	item, err := t.readItem(d.rid)
	if err != nil || item == nil || item.Head.Sequence != d.seq {
		return err
	}
	if sets {
		t.rebase(item)
	}
	if len(t.State.OlderIndexers) == 0 {
		return nil
	}
	after := slices.Clone(d.after)
	if err := t.listShape(after, !sets); err != nil {
		return err
	}
	var before []index.Entry
	for _, old := range d.before {
		n := len(before)
		before = append(before, old...)
		if err := t.listShape(before[n:], true); err != nil {
			return err
		}
	}
	before = sortTerms(before)
	if !sets {
		before = slices.DeleteFunc(before, func(e index.Entry) bool {
			_, found := slices.BinarySearchFunc(after, e, view.CompareTerms)
			return found
		})
		after = nil
	}
	t.diffTerms(before, after, false, false)
	return nil
}
