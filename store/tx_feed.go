package store

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// The entries of both feeds name the last sequence of their transaction, which is known when all else is
// written. Until then they are kept here.

type feedWrite struct {
	seq   layout.Sequence
	entry layout.FeedEntry
}

type versionWrite struct {
	seq   layout.Sequence
	entry layout.Version
}

// finish writes the entries of the transaction in both feeds and in the log of expiries.
func (t *tx) finish() {
	for _, f := range t.feed {
		f.entry.Last = t.last
		t.Set(t.mem.Keep(layout.AppendSequenceKey(t.mem.Free(), t.s.scope, layout.FamilyFeed, f.seq)),
			t.mem.Keep(f.entry.Append(t.mem.Free())))
	}
	for i := range t.history {
		v := &t.history[i]
		v.entry.Last = t.last
		t.Set(t.mem.Keep(layout.AppendSequenceKey(t.mem.Free(), t.s.scope, layout.FamilyVersions, v.seq)),
			v.entry.Append(make([]byte, 0, v.entry.Size())))
	}
	t.writeExpiries()
}

// dropFeed takes the feed entry of a version away that is not the latest any more.
func (t *tx) dropFeed(seq layout.Sequence) {
	for i, f := range t.feed {
		if f.seq == seq {
			t.feed = append(t.feed[:i], t.feed[i+1:]...)
			return
		}
	}
	t.Delete(t.mem.Keep(layout.AppendSequenceKey(t.mem.Free(), t.s.scope, layout.FamilyFeed, seq)))
}

// record notes a change under the last sequence taken, where the container keeps all versions. item is nil
// for a delete.
func (t *tx) record(kind uint8, old, item *stored) {
	if !t.keeps {
		return
	}
	t.c.note(markWrite, t.now)
	v := layout.Version{Kind: kind, Slot: t.s.number, TS: t.now}
	if old != nil {
		v.RID, v.EPK, v.PK, v.ID = old.rid, old.head.EPK, old.pk, old.id
		v.Previous = layout.Image{Slot: old.head.Slot, Sequence: old.head.Sequence, TS: old.head.Life.TS}
		if kind != layout.Expired || t.c.ds.opts.TTLPreviousImage || t.st.asksPreviousOfDelete() {
			v.Previous.Body = old.body
		}
	}
	if item != nil {
		v.RID, v.EPK, v.PK, v.ID, v.Body = item.rid, item.head.EPK, item.pk, "", item.body
		if item.dated {
			v.Dated = item.head.Life.TS
		}
	}
	t.history = append(t.history, versionWrite{t.last, v})
}

// asksPreviousOfDelete reports whether the definition says that the versions before deletes are kept, of
// which expiries are a kind. The version before a replace or a delete is kept in any case, and shown or not
// as the definition says when it is read.
func (st *containerState) asksPreviousOfDelete() bool {
	mode, _ := st.spec.PreviousImages()
	return mode&definition.PreviousOfDelete != 0
}

// setFloor says that what was in a slot's feed of all versions up to a sequence is not there any more.
func setFloor(t engine.Txn, scope []byte, seq layout.Sequence, ts int64) {
	floor := layout.Version{Kind: layout.Floor, Last: seq, TS: ts}
	t.Set(layout.AppendSequenceKey(nil, scope, layout.FamilyVersions, seq), floor.Append(nil))
}

func dropVersions(t engine.Txn, r engine.Range) { t.DeleteRange(r) }
