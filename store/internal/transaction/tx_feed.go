package transaction

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// The entries of both feeds contain the last sequence of their transaction, which is known only when
// everything else has been written. Until then the entries are kept here.

// latestVersionFeedWrite is an entry of the latest-version feed that Finish writes.
type latestVersionFeedWrite struct {
	seq   layout.WriteSequence
	entry layout.FeedEntry
}

// versionFeedWrite is an entry of the feed of all versions that Finish writes.
type versionFeedWrite struct {
	seq   layout.WriteSequence
	entry layout.AllVersionsFeedEntry
}

// Finish writes the entries of the transaction to the two change feeds (of the latest versions, and of all
// versions) and to the log of expiries.
func (t *Tx) Finish() {
	for _, f := range t.feed {
		f.entry.Last = t.last
		t.set(true, t.feedKey(f.seq), t.mem.Keep(f.entry.Append(t.mem.Free())))
	}
	for i := range t.history {
		v := &t.history[i]
		v.entry.Last = t.last
		t.Set(t.mem.Keep(layout.AppendSequenceKey(t.mem.Free(), t.Range.Scope, layout.FamilyVersions, v.seq)),
			v.entry.Append(make([]byte, 0, v.entry.Size())))
	}
	t.writeExpiries()
}

// dropFeed deletes the feed entry of a version that is not the latest any more.
func (t *Tx) dropFeed(seq layout.WriteSequence) {
	for i, f := range t.feed {
		if f.seq == seq {
			t.feed = append(t.feed[:i], t.feed[i+1:]...)
			return
		}
	}
	t.Delete(t.feedKey(seq))
}

// feedKey returns the key of a version's entry in the feed of latest versions.
func (t *Tx) feedKey(seq layout.WriteSequence) []byte {
	return t.mem.Keep(layout.AppendSequenceKey(t.mem.Free(), t.Range.Scope, layout.FamilyFeed, seq))
}

// record adds the change of an item from old to item to the feed of all versions, if the container keeps one.
// A nil item is a delete. The entry's sequence is the one that the last call of take has allocated.
func (t *Tx) record(kind uint8, old, item *StoredItem) {
	if !t.keeps {
		return
	}
	t.Container.Host.Note(container.MarkWrite, t.Now)
	v := layout.AllVersionsFeedEntry{Kind: kind, Range: t.Range.Number, TS: t.Now}
	if old != nil {
		v.RID, v.EPK, v.PK, v.ID = old.RID, old.Head.EPK, old.PK, old.ID
		v.Previous = layout.PreviousImage{Range: old.Head.Range, Sequence: old.Head.Sequence,
			TS: old.Head.Life.TS}
		if kind != layout.Expired || t.Container.PreviousImage || t.State.AsksPreviousOfDelete() {
			v.Previous.Body = old.Body
		}
	}
	if item != nil {
		v.RID, v.EPK, v.PK, v.ID, v.Body = item.RID, item.Head.EPK, item.PK, "", item.Body
		if item.dated {
			v.Dated = item.Head.Life.TS
		}
	}
	t.history = append(t.history, versionFeedWrite{t.last, v})
}

// SetFloor stores the lower end of a range's feed of all versions: its entries up to the sequence seq have
// been deleted or never existed. ts is the time of seq, in seconds since 1970.
func SetFloor(t engine.Txn, scope []byte, seq layout.WriteSequence, ts int64) {
	floor := layout.AllVersionsFeedEntry{Kind: layout.Floor, Last: seq, TS: ts}
	t.Set(layout.AppendSequenceKey(nil, scope, layout.FamilyVersions, seq), floor.Append(nil))
}

// DropVersions deletes the entries of the feed of all versions in a key range.
func DropVersions(t engine.Txn, r engine.Range) { t.DeleteRange(r) }
