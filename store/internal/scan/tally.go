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
//   - A write of an item takes an LSN. The LSN that is read together with a snapshot may be higher than the
//     last write in the snapshot. Therefore a snapshot has a version only if its LSN was known to be
//     durable before the snapshot was opened. Then the snapshot contains exactly the writes up to this LSN.
//   - A purge takes no LSN. It stores its second, and removes only items that have expired by then. A
//     snapshot that contains an expired item has no version. A purge between two snapshots that contain
//     none, taken at the seconds a and b, can remove only items that expire after a. So its second is
//     greater than a, and greater than that of any purge before the first snapshot. Therefore a purge
//     changes the version. A change of the time to live does so too, because it changes the mark of the
//     range.
//   - The end of a lease can make an item expire within the second a. It stores its second as well, and a
//     snapshot taken in that second has no version.
//   - A change of the indexing policy or of the ranges changes the mark, and so does the end of reindexing;
//     while documents are reindexed there is no version. The same holds for the deletion of partition keys.
//
// On a remote engine there is no version, because determining it would take additional round trips.
//
// A cached number counts index entries, including those of expired documents. Each run of a query subtracts
// the expired documents itself.

// tallyVersion returns the version of the snapshot, for which counts of index entries are cached; ok is false
// if it has none.
func (s *DocumentSource) tallyVersion() (v work.IndexEntryCountVersion, ok bool) {
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

// entryCountVersionLookupState says what a DocumentSource knows about the version of its data under which it
// can cache counts of index entries: not determined yet, none, or known.
type entryCountVersionLookupState uint8

const (
	tallyUnknown entryCountVersionLookupState = iota
	tallyNone
	tallyKnown
)

func (s *DocumentSource) findTallyVersion() (v work.IndexEntryCountVersion, ok bool, err error) {
	if s.Tallies == nil || s.ahead() != nil || !s.Indexed || !s.At.Settled || s.Before != s.At.LSN ||
		len(s.State.Tombstones) > 0 || !s.State.Lives.Settled() {
		return v, false, nil
	}
	v = work.IndexEntryCountVersion{LSN: s.At.LSN, Mark: s.At.Mark}
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
	// The purge of a document in another partition changes the counts as well.
	ok, err = s.eachDead(view.MaxGhosts, isAnywhere, func(uint64) { expired = true })
	return v, ok && !expired, err
}

// countKeys counts the keys of a key range of the index, or returns the cached number. It calls pass with
// the number of keys after each step.
func (s *DocumentSource) countKeys(rg engine.Range, pass func(n int) error) (n int64, err error) {
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

// countStep is the number of keys that CountEntries counts before it reports them by a call of its parameter
// pass.
const countStep = 256

// CountEntries returns the number of index entries in [lo, hi). It calls pass repeatedly with the number of
// entries counted since the last call; an error of pass ends the count.
func (s *DocumentSource) CountEntries(lo, hi []byte, pass func(n int) error) (int64, error) {
	return s.countKeys(s.entryRange(lo, hi), pass)
}

// KnownEntries returns the number of index entries in [lo, hi) if it is cached.
func (s *DocumentSource) KnownEntries(lo, hi []byte) (n int64, ok bool) {
	v, ok := s.tallyVersion()
	if !ok {
		return 0, false
	}
	return s.Tallies.Get(s.entryRange(lo, hi), v)
}
