package store

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Records besides the items: what is stored about a slot or a container.

// setShape writes the record of a shape.
func (t *tx) setShape(name, record []byte) {
	t.Set(layout.ShapeRecordKey(t.s.scope, name), record)
}

// wipeTerms deletes all index entries of the slot.
func (t *tx) wipeTerms() {
	t.DeleteRange(layout.SlotFamily(t.s.scope, layout.FamilyTerms))
	t.DeleteRange(layout.SlotFamily(t.s.scope, layout.FamilyComposite))
	t.wiped, t.listed = true, t.listed[:0]
	if t.c.ds.timed {
		t.SetMark(t.s.scope, t.c.ds.wipeMark(t.Mark(t.s.scope)))
	}
}

// setReindexed stores the rid up to which documents have been reindexed.
func (t *tx) setReindexed(rid uint64) {
	t.Set(layout.IndexedKey(t.s.scope), layout.ReindexedValue(t.st.rec.IndexRound, rid))
}

// setSwept stores the second of a purge. The store's clock is never behind it.
func (t *tx) setSwept() {
	t.c.note(markPurge, t.now)
	t.Set(layout.SweptKey(t.s.scope), layout.Number(uint64(t.now)))
}

// setLease sets the end of an item's lease; 0 means no lease. It does not make a new version: nothing but
// the header changes.
func (t *tx) setLease(item *stored, until int64) {
	item.head.Life.LeaseUntil = until
	t.setItem(item)
	t.c.note(markLease, t.now)
	t.Set(layout.LeasedKey(t.s.scope), layout.Number(uint64(t.now)))
}

// setItem writes the item's own key.
func (t *tx) setItem(item *stored) {
	value := item.head.Append(make([]byte, 0, item.head.Len()+len(item.body)))
	t.Set(t.itemKey(item.rid), append(value, item.body...))
	t.touch(item)
}

func setUsed(t engine.Txn, cid uint32, second int64) {
	t.Set(layout.UsedKey(cid), layout.Number(uint64(second)))
}

func setTombstone(t engine.Txn, cid uint32, name string, lsn uint64) {
	t.Set(layout.TombstoneKey(cid, name), layout.Number(lsn))
}

func dropTombstone(t engine.Txn, cid uint32, name string) { t.Delete(layout.TombstoneKey(cid, name)) }

// noteDeadline records the earliest key that was written in each of the reaper's families.
func (t *tx) noteDeadline(item *stored) {
	family, second, ok := view.TimeEntry(item.head.Life)
	switch {
	case !ok:
	case family == layout.FamilyWritten:
		t.dues.written = min(t.dues.written, second)
	default:
		t.dues.deadline = min(t.dues.deadline, second)
	}
}

// dues are the earliest keys that a transaction has written in the reaper's families, in seconds; never if
// there are none.
type dues struct{ written, deadline int64 }

// rescanBehind restarts the reaper's pass if the transaction has written keys that the pass may have left
// behind. It is called when the commit is visible: see partition.isPast.
func (t *tx) rescanBehind() {
	if t.dues.written != never && t.s.isPast(layout.FamilyWritten, t.dues.written) ||
		t.dues.deadline != never && t.s.isPast(layout.FamilyDeadline, t.dues.deadline) {
		t.s.rescan.Store(true)
		t.c.ds.in.WakeReaper()
	}
}

// rebase updates the header and the key in the index of expiry of an item of an earlier era. It does not
// make a new version, and no feed shows it.
func (t *tx) rebase(item *stored) {
	before := item.head.Life
	after := t.st.life(item)
	if before == after {
		return
	}
	old := t.mem.Keep(view.AppendTimeKey(t.mem.Free(), t.s.scope, before, item.rid))
	item.head.Life = after
	key := t.mem.Keep(view.AppendTimeKey(t.mem.Free(), t.s.scope, after, item.rid))
	if string(old) != string(key) {
		if len(old) > 0 {
			t.Delete(old)
		}
		if len(key) > 0 {
			t.Set(key, nil)
		}
	}
	t.setItem(item)
	t.noteDeadline(item)
}

// readItem reads an item that is to be changed without writing a new version. It returns nil if there is
// none.
func (t *tx) readItem(rid uint64) (*stored, error) {
	v, err := t.Get(t.itemKey(rid))
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h, body, err := layout.DecodeItem(v)
	if err != nil {
		return nil, err
	}
	return &stored{rid: rid, head: h, body: body}, nil
}
