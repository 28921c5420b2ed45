package split

import (
	"bytes"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// splitLogs are the families that are ordered by sequence alone and whose entries go with their partition
// keys. Entries come behind all others, and never change. They are freed from the front: the first one may
// become a floor.
var splitLogs = [...]struct {
	family byte
	epk    func(value []byte) ([]byte, error)
}{{layout.FamilyVersions, layout.VersionEPK}, {layout.FamilyExpired, layout.ExpiryEPK}}

// copyLog copies the entries of a log that have come since it was copied, as far as there is room, and
// removes what has been freed. left is about how many are left: too few where transactions had several.
func (m *Mover) copyLog(r engine.Reader, i int, room *int) (left uint64, err error) {
	family, at := splitLogs[i].family, &m.logs[i]
	it := r.Scan(layout.SlotFamily(m.From.Scope, family), false)
	first := layout.Sequence(0)
	for more := it.Next(); more; more = it.Next() {
		seq := layout.KeySequence(it.Key())
		if first == 0 {
			first = seq
			m.freeLog(at, family, first)
			if err = m.copyFirst(i, seq, it.Value()); err != nil {
				break
			}
			// On to the first that has not been copied, which this one may be.
			if seq <= at.last && !it.SeekGE(layout.Behind(m.From.Scope, family, at.last).Start) {
				break
			}
			seq = layout.KeySequence(it.Key())
		}
		if seq == 0 {
			err = engine.ErrCorrupt
			break
		}
		if *room <= 0 || m.bytes >= stepBytes {
			left = max(m.c.Horizon(m.From.Scope), seq.LSN()) - at.last.LSN() + 1
			break
		}
		*room--
		if err = m.copyEntry(i, seq, it.Value()); err != nil {
			break
		}
		at.last = seq
	}
	if first == 0 {
		m.freeLog(at, family, 0)
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return left, err
}

// freeLog removes the copies of entries that lie before the first one that the range has; 0: it has none.
func (m *Mover) freeLog(at *movedLog, family byte, first layout.Sequence) {
	if at.first != first && at.first != 0 {
		for i := range m.Halves {
			freed := layout.SlotFamily(m.Halves[i].Scope, family)
			if first != 0 {
				freed.End = layout.AppendSequenceKey(nil, m.Halves[i].Scope, family, first)
			}
			m.removeAll(freed)
		}
	}
	at.first = first
}

// copyFirst copies the first entry of a log if it is a floor, which it may have become since it was copied.
func (m *Mover) copyFirst(i int, seq layout.Sequence, value []byte) error {
	epk, err := splitLogs[i].epk(value)
	if err != nil || epk != nil {
		return err
	}
	return m.copyEntry(i, seq, value)
}

// copyEntry copies an entry to the half that it belongs to; a floor is one in both.
func (m *Mover) copyEntry(i int, seq layout.Sequence, value []byte) error {
	epk, err := splitLogs[i].epk(value)
	if err != nil {
		return err
	}
	for n := range m.Halves {
		if h := &m.Halves[n]; epk == nil || h.Holds(epk) {
			m.set(layout.AppendSequenceKey(nil, h.Scope, splitLogs[i].family, seq), bytes.Clone(value))
		}
	}
	return nil
}

// Inherit gives the halves what the range's slot has recorded of itself. Their LSNs start where those of the
// range may have come to: what is born later has the higher one.
func (m *Mover) Inherit(t engine.Txn) error {
	first, err := engine.Ceiling(t, m.From.Scope)
	if err != nil {
		return err
	}
	for i := range m.Halves {
		scope := m.Halves[i].Scope
		if first > 0 {
			t.RaiseLSN(scope, first)
		}
		for _, key := range []func(scope []byte) []byte{layout.SweptKey, layout.LeasedKey} {
			v, err := t.Get(key(m.From.Scope))
			if err == nil {
				t.Set(key(scope), v)
			} else if !errors.Is(err, engine.ErrNotFound) {
				return err
			}
		}
		t.Set(layout.IndexedKey(scope), layout.ReindexedValue(m.policy.Round, layout.AllReindexed))
	}
	return nil
}
