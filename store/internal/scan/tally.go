package scan

import (
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// Numbers of index entries are cached between queries, for one version of a partition range. Two snapshots
// of the same version have the same index entries, because each change of an entry changes the version:
//
//   - A write of an item takes an LSN. An LSN that is read with a snapshot may be higher than the last one
//     that the snapshot shows. Therefore a snapshot has a version only if the LSN had been found to be
//     durable before the snapshot was opened, and is still the last one: then the snapshot shows exactly the
//     writes up to it.
//   - A purge takes no LSN. It stores its second and removes only items that have expired by then. A
//     snapshot in which an expired item is left has no version. Between two snapshots without one, at the
//     seconds a and b, a purge can only remove items that expire after a; its second is then greater than a,
//     and greater than that of any purge that the first snapshot shows. So purges, and changes of the time
//     to live, which change the mark of the range, make another version.
//   - The end of a lease can let an item expire within the second a. It stores its second as well, and in
//     that second there is no version.
//   - A change of the indexing policy or of the ranges changes the mark, and so does the end of indexing the
//     documents anew; until then there is no version. The same holds for the deletion of partition keys.
//
// Whether documents are alive is not a part of a cached number: the query decides it at each run.

// tallyVersion returns the version of the snapshot; ok is false if it has none.
func (s *Source) tallyVersion() (v work.TallyVersion, ok bool) {
	if s.tallied == tallyUnknown {
		s.tallied = tallyNone
		v, ok, err := s.findTallyVersion()
		if err != nil {
			s.err = err
		} else if ok {
			s.tallied, s.version = tallyKnown, v
		}
	}
	return s.version, s.tallied == tallyKnown
}

// tallyState reports whether a source has a version.
type tallyState uint8

const (
	tallyUnknown tallyState = iota
	tallyNone
	tallyKnown
)

func (s *Source) findTallyVersion() (v work.TallyVersion, ok bool, err error) {
	if s.Tallies == nil || !s.Indexed || !s.At.Settled || s.Before != s.At.LSN ||
		len(s.State.Tombstones) > 0 || !s.State.Lives.Settled() {
		return v, false, nil
	}
	v = work.TallyVersion{LSN: s.At.LSN, Mark: s.At.Mark}
	for _, second := range []struct {
		key []byte
		to  *uint64
	}{{layout.SweptKey(s.Range.Scope), &v.Swept}, {layout.LeasedKey(s.Range.Scope), &v.Leased}} {
		b, err := s.Reader.Get(second.key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return v, false, err
		}
		*second.to, _ = layout.NumberOf(b)
	}
	if v.Leased > 0 && int64(v.Leased) >= s.State.Now {
		return v, false, nil
	}
	expired := false
	ok, err = s.eachDead(view.MaxGhosts, func(uint64) { expired = true })
	return v, ok && !expired, err
}

// countKeys counts the keys of a range whose number changes only with index entries.
func (s *Source) countKeys(rg engine.Range, pass func(n int) error) (n int64, err error) {
	v, cached := s.tallyVersion()
	if cached {
		if n, ok := s.Tallies.Get(rg, v); ok {
			return n, nil
		}
	}
	it := s.Reader.Scan(rg, false)
	for more := true; more && err == nil; {
		skipped := engine.Skip(it, countStep)
		n += int64(skipped)
		more = skipped == countStep
		err = pass(skipped)
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	if err == nil && cached {
		s.Tallies.Put(rg, v, n)
	}
	return n, err
}

// countStep is how many keys are counted between two calls of pass.
const countStep = 256

// CountEntries implements query.EntryCounter.
func (s *Source) CountEntries(lo, hi []byte, pass func(n int) error) (int64, error) {
	return s.countKeys(s.entryRange(lo, hi), pass)
}

// KnownEntries implements query.EntryCounter.
func (s *Source) KnownEntries(lo, hi []byte) (n int64, ok bool) {
	v, ok := s.tallyVersion()
	if !ok {
		return 0, false
	}
	return s.Tallies.Get(s.entryRange(lo, hi), v)
}
