package split

import (
	"bytes"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// splitLogs are the families (kinds of keys) of a partition range whose keys are ordered by write sequence
// alone: its feed of all versions and its log of expiries. epk returns the effective partition key of an
// entry; a split copies the entry to the new range that contains this key. Entries are appended at the end,
// never change, and are removed from the front. The first entry may be a floor, which stands for all removed
// ones.
var splitLogs = [...]struct {
	family byte
	epk    func(value []byte) ([]byte, error)
}{{layout.FamilyVersions, layout.VersionEPK}, {layout.FamilyExpired, layout.ExpiryEPK}}

// copyLog copies the entries of the i-th of splitLogs (the feed of all versions, the log of expiries) that
// were appended since the last call, and subtracts their number from *room, the maximum. It removes the
// copies of entries that have been removed from the range. left is the estimated number of entries still
// to copy; the estimate is too low if transactions have several entries.
func (m *RangeCopier) copyLog(r engine.Reader, i int, room *int) (left uint64, err error) {
	family, at := splitLogs[i].family, &m.logs[i]
	it := r.Scan(layout.ScopeFamily(m.From.Scope, family), false)
	first := layout.WriteSequence(0)
	for more := it.Next(); more; more = it.Next() {
		seq := layout.KeySequence(it.Key())
		if first == 0 {
			first = seq
			m.freeLog(at, family, first)
			if err = m.copyFirst(i, seq, it.Value()); err != nil {
				break
			}
			// Continue at the first entry that has not been copied, which may be this one.
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

// freeLog deletes, during a split of a range, the copies of log entries that the range itself has removed
// since they were copied. It deletes them in both halves (the new ranges). first is the first entry of the
// range's log; 0 means that the log is empty, and all copies are deleted.
func (m *RangeCopier) freeLog(at *logCopyProgress, family byte, first layout.WriteSequence) {
	if at.first != first && at.first != 0 {
		for i := range m.Halves {
			freed := layout.ScopeFamily(m.Halves[i].Scope, family)
			if first != 0 {
				freed.End = layout.AppendSequenceKey(nil, m.Halves[i].Scope, family, first)
			}
			m.removeAll(freed)
		}
	}
	at.first = first
}

// copyFirst copies the first entry of a log if it is a floor, which stands for all older entries that were
// removed. The entry may have become a floor since it was copied.
func (m *RangeCopier) copyFirst(i int, seq layout.WriteSequence, value []byte) error {
	epk, err := splitLogs[i].epk(value)
	if err != nil || epk != nil {
		return err
	}
	return m.copyEntry(i, seq, value)
}

// copyEntry copies an entry to the half that it belongs to. A floor (the entry that stands for all older ones
// that were removed) is copied to both.
func (m *RangeCopier) copyEntry(i int, seq layout.WriteSequence, value []byte) error {
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

// Inherit copies the records of the range itself (its last purge, for instance) to both halves. The halves
// issue LSNs from the ceiling of the range's LSNs on (the first LSN that the range must not issue), so that
// their writes have higher LSNs than the writes before the split.
func (m *RangeCopier) Inherit(t engine.Txn) error {
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
