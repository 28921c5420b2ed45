package transaction

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// This file has the writes to the log of expiries, which store/events.go describes.

// expiryLogWrite is an entry that the transaction adds to the log of expiries, with its sequence (LSN and
// position).
type expiryLogWrite struct {
	seq   layout.WriteSequence
	entry layout.ExpiryLogEntry
}

// logExpiry adds the expiry of an item to the log of expiries. The entry gets the sequence that the last
// call of take has allocated.
func (t *Tx) logExpiry(ghost *StoredItem) {
	at, ok := t.State.Policy().ExpiresAt(t.State.Life(&ghost.DecodedItem))
	if !ok || at > t.Now {
		at = t.Now // it expired under a former policy, which a floor records
	}
	t.expiries = append(t.expiries,
		expiryLogWrite{t.last, layout.ExpiryLogEntry{At: at, AllVersionsFeedEntry: layout.AllVersionsFeedEntry{
			Kind: layout.Expired, Range: t.Range.Number, RID: ghost.RID, TS: t.Now,
			EPK: ghost.Head.EPK, PK: ghost.PK, ID: ghost.ID,
			Previous: layout.PreviousImage{Range: ghost.Head.Range, Sequence: ghost.Head.Sequence,
				TS: ghost.Head.Life.TS, Body: ghost.Body},
		}}})
}

// Logs reports whether the transaction adds entries to the log of expiries.
func (t *Tx) Logs() bool { return len(t.expiries) > 0 }

// Announce adds the expiry of an item to the log of expiries before the item is purged, and marks the item
// in its header, so that the later purge does not log it again.
func (t *Tx) Announce(ghost *StoredItem) {
	t.take()
	t.logExpiry(ghost)
	ghost.Head.Announced = true
	t.setItem(ghost, false)
}

// writeExpiries adds the expiries that the transaction has recorded to the log of expiries, with the sequence
// of the transaction's last write in each. Finish calls it.
func (t *Tx) writeExpiries() {
	for i := range t.expiries {
		e := &t.expiries[i]
		e.entry.Last = t.last
		t.Set(t.mem.Keep(layout.AppendSequenceKey(t.mem.Free(), t.Range.Scope, layout.FamilyExpired, e.seq)),
			e.entry.Append(make([]byte, 0, layout.ExpiryFixed+e.entry.Size())))
	}
}

// SetExpiryFloor stores the lower end of a range's log of expiries: its entries up to the sequence seq have
// been deleted or never existed. ts is the time of seq, in seconds since 1970.
func SetExpiryFloor(t engine.Txn, scope []byte, seq layout.WriteSequence, ts int64) {
	entry := layout.AllVersionsFeedEntry{Kind: layout.Floor, Last: seq, TS: ts}
	floor := layout.ExpiryLogEntry{AllVersionsFeedEntry: entry}
	t.Set(layout.AppendSequenceKey(nil, scope, layout.FamilyExpired, seq), floor.Append(nil))
}

// DropExpiries deletes the entries of the log of expiries in a key range.
func DropExpiries(t engine.Txn, r engine.Range) { t.DeleteRange(r) }

// SetConfirmed stores the position up to which a webhook has confirmed its events.
func SetConfirmed(t engine.Txn, cid uint32, webhook, position string) {
	t.Set(layout.ConfirmedKey(cid, webhook), []byte(position))
}

// DropConfirmed deletes the stored position up to which a webhook has confirmed its events.
func DropConfirmed(t engine.Txn, cid uint32, webhook string) {
	t.Delete(layout.ConfirmedKey(cid, webhook))
}
