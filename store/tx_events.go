package store

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// The writes of the log of expiries: see events.go.

// expiryWrite is an entry that finish writes.
type expiryWrite struct {
	lsn   uint64
	entry expiry
}

// mourn puts the death of an item into the log, under the last LSN issued.
func (t *tx) mourn(ghost *stored) {
	at, ok := t.st.policy().ExpiresAt(ghost.head.Life)
	if !ok || at > t.now {
		at = t.now // it is dead by a floor whose policy has gone
	}
	t.expiries = append(t.expiries, expiryWrite{t.last, expiry{at, version{
		kind: ChangeExpire, slot: t.s.number, rid: ghost.rid, ts: t.now, epk: ghost.head.EPK, pk: ghost.pk, id: ghost.id,
		previous: image{slot: ghost.head.Slot, lsn: ghost.head.LSN, ts: ghost.head.Life.TS, body: ghost.body},
	}}})
}

// announce puts the death of an item that stays for a while into the log.
func (t *tx) announce(ghost *stored) {
	t.nextLSN()
	t.mourn(ghost)
	ghost.head.Announced = true
	t.setItem(ghost)
}

// writeExpiries is the part of finish that writes the log.
func (t *tx) writeExpiries() {
	for i := range t.expiries {
		e := &t.expiries[i]
		e.entry.last = t.last
		t.Set(t.keep(layout.AppendSlotKey(t.free(), t.s.scope, layout.FamilyExpired, e.lsn)), e.entry.append(make([]byte, 0, expiryFixed+e.entry.size())))
	}
}

// setExpiryFloor says that what was in a slot's log up to an LSN is not there any more.
func setExpiryFloor(t engine.Txn, scope []byte, lsn uint64, ts int64) {
	floor := expiry{version: version{kind: changeFloor, last: lsn, ts: ts}}
	t.Set(layout.AppendSlotKey(nil, scope, layout.FamilyExpired, lsn), floor.append(nil))
}

func dropExpiries(t engine.Txn, r engine.Range) { t.DeleteRange(r) }

func setConfirmed(t engine.Txn, cid uint32, webhook, position string) {
	t.Set(layout.ConfirmedKey(cid, webhook), []byte(position))
}

func dropConfirmed(t engine.Txn, cid uint32, webhook string) {
	t.Delete(layout.ConfirmedKey(cid, webhook))
}
