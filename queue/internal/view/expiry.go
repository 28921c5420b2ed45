package view

import (
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// LastExpiry returns the latest millisecond at which a message expired that has not been purged yet, or 0 if
// there is none. def is the entity's default time to live in milliseconds. The index families are ordered by
// time, so LastExpiry reads the last entry that is due.
func (s *MessageStore) LastExpiry(r engine.Reader, now, def int64) (at int64, err error) {
	if at, err = lastBefore(r, s.Keys.Family(layout.FamilyDeadline), now); err != nil || def == host.Never {
		return at, err
	}
	inherited, err := lastBefore(r, s.Keys.Family(layout.FamilyEnqueued), now-def)
	if inherited > 0 {
		at = max(at, inherited+def)
	}
	return at, err
}

// lastBefore returns the time of the last index entry with a time at or before upto, among the entries with a
// key prefix, or 0 if there is none.
func lastBefore(r engine.Reader, prefix []byte, upto int64) (at int64, err error) {
	if upto < 0 {
		return 0, nil
	}
	rg := engine.Prefix(prefix)
	rg.End = host.AppendEntry(slices.Clone(prefix), host.DeadlineIndexEntry{At: upto + 1})
	it := engine.Expect(r.Scan(rg, true), 1)
	if it.Next() {
		var e host.DeadlineIndexEntry
		e, err = host.ParseEntry(len(prefix), it.Key())
		at = e.At
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return at, err
}
