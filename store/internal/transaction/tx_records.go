package transaction

import (
	"bytes"
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Writes of records other than items: the ones that belong to a range or a container.

// setShape writes the record of a shape, the set of paths of a document.
func (t *Tx) setShape(name, record []byte) {
	t.Set(layout.ShapeRecordKey(t.Range.Scope, name), record)
}

// WipeTerms deletes all index entries of the range.
func (t *Tx) WipeTerms() {
	t.DeleteRange(layout.ScopeFamily(t.Range.Scope, layout.FamilyTerms))
	t.DeleteRange(layout.ScopeFamily(t.Range.Scope, layout.FamilyComposite))
	t.termsWiped, t.listed = true, t.listed[:0]
}

// SetReindexed stores the rid up to which documents have been reindexed.
func (t *Tx) SetReindexed(rid uint64) {
	t.Set(layout.IndexedKey(t.Range.Scope), layout.ReindexedValue(t.State.Rec.IndexRound, rid))
}

// SetSwept stores with the range the second of this purge. The container's clock never returns an earlier
// time.
func (t *Tx) SetSwept() {
	t.Container.Host.Note(container.MarkPurge, t.Now)
	t.Set(layout.SweptKey(t.Range.Scope), layout.Number(uint64(t.Now)))
}

// SetLease sets the end of an item's lease; 0 means no lease. It creates no new version: nothing but the
// header changes.
func (t *Tx) SetLease(item *StoredItem, until int64) {
	item.Head.Life.LeaseUntil = until
	t.setItem(item, false)
	t.Container.Host.Note(container.MarkLease, t.Now)
	t.Set(layout.LeasedKey(t.Range.Scope), layout.Number(uint64(t.Now)))
}

// setItem writes the item's own key, whose value is its header and body. fresh means that the key is not
// stored yet.
func (t *Tx) setItem(item *StoredItem, fresh bool) {
	value := slices.Grow(t.value[:0], item.Head.Len()+len(item.Body))
	t.value = append(item.Head.Append(value), item.Body...)
	t.set(fresh, t.itemKey(item.RID), t.value) // the engine copies t.value
	t.touch(item)
}

// SetUsed stores the second until which a container counts as used.
func SetUsed(t engine.Txn, cid uint32, second int64) {
	t.Set(layout.UsedKey(cid), layout.Number(uint64(second)))
}

// SetTombstone stores the record that the items of a partition key that were created at or below lsn are
// deleted. name is its layout.TombstoneName.
func SetTombstone(t engine.Txn, cid uint32, name string, lsn uint64) {
	t.Set(layout.TombstoneKey(cid, name), layout.Number(lsn))
}

// DropTombstone removes the record that the items of a partition key were deleted. name is its
// layout.TombstoneName.
func DropTombstone(t engine.Txn, cid uint32, name string) { t.Delete(layout.TombstoneKey(cid, name)) }

// noteDeadline records that the transaction has written the item's key in the index of expiry. Of the seconds
// in these keys the earliest one is kept, separately for the two families: by time of the write, and by
// deadline.
func (t *Tx) noteDeadline(item *StoredItem) {
	family, second, ok := view.TimeEntry(item.Head.Life)
	switch {
	case !ok:
	case family == layout.FamilyWritten:
		t.dues.written = min(t.dues.written, second)
	default:
		t.dues.deadline = min(t.dues.deadline, second)
	}
}

// earliestWrittenExpiryTimes are the earliest seconds of the keys that a transaction has written in the two
// families (kinds of keys) of the index of expiry: by time of the write, and by deadline; never if there
// are none.
type earliestWrittenExpiryTimes struct{ written, deadline int64 }

// rescanBehind reports whether the transaction has written keys of the index of expiry at places that the
// reaper's pass may have gone past, and then makes the pass start again. It is called once the commit is
// visible: see container.Partition.HasPassed.
func (t *Tx) rescanBehind() bool {
	if t.dues.written != view.Never && t.Range.HasPassed(layout.FamilyWritten, t.dues.written) ||
		t.dues.deadline != view.Never && t.Range.HasPassed(layout.FamilyDeadline, t.dues.deadline) {
		t.Range.Rescan.Store(true)
		return true
	}
	return false
}

// rebase updates the header and the key in the index of expiry of an item that was written under an earlier
// ttlPropertyPath. It creates no new version, and no feed shows it.
func (t *Tx) rebase(item *StoredItem) {
	before := item.Head.Life
	after := t.State.Life(&item.DecodedItem)
	if before == after {
		return
	}
	old := t.mem.Keep(view.AppendTimeKey(t.mem.Free(), t.Range.Scope, before, item.RID))
	item.Head.Life = after
	key := t.mem.Keep(view.AppendTimeKey(t.mem.Free(), t.Range.Scope, after, item.RID))
	if string(old) != string(key) {
		if len(old) > 0 {
			t.Delete(old)
		}
		if len(key) > 0 {
			t.Set(key, nil)
		}
	}
	t.setItem(item, false)
	t.noteDeadline(item)
}

// readItem reads an item that the caller will change without creating a new version. It returns nil if
// there is none.
func (t *Tx) readItem(rid uint64) (*StoredItem, error) {
	v, err := t.Get(t.itemKey(rid))
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h, body, err := layout.DecodeItem(v)
	if err != nil {
		return nil, err
	}
	return &StoredItem{DecodedItem: view.DecodedItem{RID: rid, Head: h, Body: body}}, nil
}

// Prefetch reads the items of several operations in one call, if the engine supports that. A read error is
// not reported here but when the item is needed.
func (t *Tx) Prefetch(list []*PreparedOperation) {
	far, ok := t.Txn.(engine.Prefetcher)
	if !ok {
		return
	}
	var points, items [][]byte
	for _, p := range list {
		if p != nil {
			points = append(points, p.Point)
		}
	}
	far.Prefetch(points)
	for _, point := range points {
		if v, err := t.Get(point); err == nil {
			if rid, ok := layout.NumberOf(v); ok {
				items = append(items, t.itemKey(rid))
			}
		}
	}
	far.Prefetch(items)
}

// ClearAround deletes the empty part of the key space around a deleted item as one key range, in each of the
// families whose keys are in the order of creation or of time. at is the deleted item, which was found by its
// expiry.
//
// After a purge of many items, each of these families has a long run of deleted keys. An iterator must step
// over them one by one until compactions have removed them, but it skips a range at once. ClearAround only
// deletes ranges between two adjacent keys, so it changes nothing that a reader can see. The other families
// do not have such runs, or too many of them.
func ClearAround(t engine.Txn, scope []byte, at sweep.ExpiryCandidate) error {
	anchors := [][]byte{
		layout.AppendScopeKey(nil, scope, layout.FamilyItem, at.RID),
		layout.AppendSequenceKey(nil, scope, layout.FamilyFeed, layout.RIDCreated(at.RID)),
	}
	if at.Family != 0 {
		anchors = append(anchors, layout.AppendTimeKey(nil, scope, at.Family, at.Second, at.RID))
	}
	var gaps []engine.Range // found first: a read after a write needs an index of the writes
	for _, anchor := range anchors {
		gap, err := gapAround(t, layout.ScopeFamily(scope, anchor[layout.ScopeLen]), anchor)
		if err != nil {
			return err
		}
		if bytes.Compare(gap.Start, gap.End) < 0 {
			gaps = append(gaps, gap)
		}
	}
	for _, gap := range gaps {
		t.DeleteRange(gap)
	}
	return nil
}

// gapAround returns the largest key range around an absent key that has no keys, within the key range family.
// The result is empty if the key exists.
func gapAround(r engine.Reader, family engine.Range, key []byte) (gap engine.Range, err error) {
	gap = family
	before := r.Scan(engine.Range{Start: family.Start, End: key}, true)
	if before.Next() {
		gap.Start = append(bytes.Clone(before.Key()), 0)
	}
	if err := before.Close(); err != nil {
		return gap, err
	}
	after := r.Scan(engine.Range{Start: key, End: family.End}, false)
	if after.Next() {
		if gap.End = bytes.Clone(after.Key()); bytes.Equal(gap.End, key) {
			gap.Start = gap.End
		}
	}
	return gap, after.Close()
}
