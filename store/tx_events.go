package store

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// The writes to the log of expiries: see events.go.

// expiryWrite is an entry of the log that finish writes.
type expiryWrite struct {
	seq   layout.Sequence
	entry layout.Expiry
}

// logExpiry adds the expiry of an item to the log, under the last sequence taken.
func (t *tx) logExpiry(ghost *stored) {
	at, ok := t.State.Policy().ExpiresAt(t.State.Life(&ghost.Item))
	if !ok || at > t.now {
		at = t.now // it expired under a former policy, by a floor
	}
	t.expiries = append(t.expiries, expiryWrite{t.last, layout.Expiry{At: at, Version: layout.Version{
		Kind: layout.Expired, Slot: t.Range.Number, RID: ghost.RID, TS: t.now, EPK: ghost.Head.EPK, PK: ghost.PK, ID: ghost.ID,
		Previous: layout.Image{Slot: ghost.Head.Slot, Sequence: ghost.Head.Sequence, TS: ghost.Head.Life.TS,
			Body: ghost.Body},
	}}})
}

// announce adds the expiry of an item to the log before the item is purged, and marks the item.
func (t *tx) announce(ghost *stored) {
	t.take()
	t.logExpiry(ghost)
	ghost.Head.Announced = true
	t.setItem(ghost)
}

// writeExpiries is the part of finish that writes the log.
func (t *tx) writeExpiries() {
	for i := range t.expiries {
		e := &t.expiries[i]
		e.entry.Last = t.last
		t.Set(t.mem.Keep(layout.AppendSequenceKey(t.mem.Free(), t.Range.Scope, layout.FamilyExpired, e.seq)),
			e.entry.Append(make([]byte, 0, layout.ExpiryFixed+e.entry.Size())))
	}
}

// setExpiryFloor records that the entries of a slot's log up to a sequence have been deleted.
func setExpiryFloor(t engine.Txn, scope []byte, seq layout.Sequence, ts int64) {
	floor := layout.Expiry{Version: layout.Version{Kind: layout.Floor, Last: seq, TS: ts}}
	t.Set(layout.AppendSequenceKey(nil, scope, layout.FamilyExpired, seq), floor.Append(nil))
}

func dropExpiries(t engine.Txn, r engine.Range) { t.DeleteRange(r) }

func setConfirmed(t engine.Txn, cid uint32, webhook, position string) {
	t.Set(layout.ConfirmedKey(cid, webhook), []byte(position))
}

func dropConfirmed(t engine.Txn, cid uint32, webhook string) {
	t.Delete(layout.ConfirmedKey(cid, webhook))
}
