package store

import (
	"bytes"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// splitLogs are the families that are ordered by LSN alone and whose entries go with their partition keys.
// Entries come behind all others, and never change. They are freed from the front: the first one may become a
// floor.
var splitLogs = [...]struct {
	family byte
	epk    func(value []byte) ([]byte, error)
}{{layout.FamilyVersions, layout.VersionEPK}, {layout.FamilyExpired, layout.ExpiryEPK}}

// bringLog copies the entries of a log that have come since it was copied, as far as there is room, and
// removes what has been freed. behind is about how many are left.
func (m *mover) bringLog(r engine.Reader, i int, room *int) (behind uint64, err error) {
	family, at := splitLogs[i].family, &m.logs[i]
	it := r.Scan(layout.SlotFamily(m.from.scope, family), false)
	first := uint64(0)
	for more := it.Next(); more; more = it.Next() {
		lsn, ok := layout.SlotKeyNumber(it.Key())
		if !ok {
			err = engine.ErrCorrupt
			break
		}
		if first == 0 {
			first = lsn
			m.freeLog(at, family, first)
			if err = m.bringFirst(i, lsn, it.Value()); err != nil {
				break
			}
			// On to the first that has not been copied, which this one may be.
			if lsn <= at.last && !it.SeekGE(layout.AppendSlotKey(nil, m.from.scope, family, at.last+1)) {
				break
			}
			if lsn, ok = layout.SlotKeyNumber(it.Key()); !ok {
				err = engine.ErrCorrupt
				break
			}
		}
		if *room <= 0 || m.bytes >= stepBytes {
			behind = max(m.c.db.eng.Horizon(m.from.scope), lsn) - at.last
			break
		}
		*room--
		if err = m.bringEntry(i, lsn, it.Value()); err != nil {
			break
		}
		at.last = lsn
	}
	if first == 0 {
		m.freeLog(at, family, 0)
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return behind, err
}

// freeLog removes the copies of entries that lie before the first one that the range has; 0: it has none.
func (m *mover) freeLog(at *movedLog, family byte, first uint64) {
	if at.first != first && at.first != 0 {
		for i := range m.halves {
			freed := layout.SlotFamily(m.halves[i].slot.scope, family)
			if first != 0 {
				freed.End = layout.AppendSlotKey(nil, m.halves[i].slot.scope, family, first)
			}
			m.removeAll(freed)
		}
	}
	at.first = first
}

// bringFirst copies the first entry of a log if it is a floor, which it may have become since it was copied.
func (m *mover) bringFirst(i int, lsn uint64, value []byte) error {
	epk, err := splitLogs[i].epk(value)
	if err != nil || epk != nil {
		return err
	}
	return m.bringEntry(i, lsn, value)
}

// bringEntry copies an entry to the half that it belongs to; a floor is one in both.
func (m *mover) bringEntry(i int, lsn uint64, value []byte) error {
	epk, err := splitLogs[i].epk(value)
	if err != nil {
		return err
	}
	for n := range m.halves {
		if s := m.halves[n].slot; epk == nil || s.holds(epk) {
			m.set(layout.AppendSlotKey(nil, s.scope, splitLogs[i].family, lsn), bytes.Clone(value))
		}
	}
	return nil
}

// inherit gives the halves what the range's slot has recorded of itself. Their LSNs start where those of the
// range may have come to: what is born later has the higher one.
func (m *mover) inherit(t engine.Txn) error {
	first, err := engine.Ceiling(t, m.from.scope)
	if err != nil {
		return err
	}
	for i := range m.halves {
		scope := m.halves[i].slot.scope
		if first > 0 {
			t.RaiseLSN(scope, first)
		}
		for _, key := range []func(scope []byte) []byte{layout.SweptKey, layout.LeasedKey} {
			v, err := t.Get(key(m.from.scope))
			if err == nil {
				t.Set(key(scope), v)
			} else if !isAbsent(err) {
				return err
			}
		}
		t.Set(layout.IndexedKey(scope), layout.ReindexedValue(m.round, allReindexed))
	}
	return nil
}
