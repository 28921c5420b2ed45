package ttl

import (
	"slices"
	"sort"
)

// Why floors, and why more than one.
//
// Expiry is final, but items have no mark for it. When the default changes from n at second c, every item
// that inherits the default and has _ts + n <= c has expired, and the new default must not revive it. So
// the change records c - n: items written at or before that second stay expired. In the same way a change
// from on to off records c: an item with a ttl of its own whose deadline is at or before c stays expired.
// Each of these records is a floor.
//
// Only items that existed when the policy changed can have expired by it. Each item stores the policy
// generation in which it was written. The change from generation g-1 to g leaves a floor that applies to
// generations before g. For an item whose _ts is from the clock this makes no difference: it was written
// at or after c, and c - n is earlier. But an import may have a _ts in the past. Such an item must only
// follow the policies since its import, not those before.
//
// If all changes applied to all items, the highest floor would be enough. They do not:
//
//	at 1000  default 10 -> 3600     floor  990 for generations before 1
//	at 2000  default 3600 -> off    floor -1600 for generations before 2
//
// An item of generation 0 written at 500 has expired by the first floor. An item of generation 1,
// imported with the _ts 500, only had the default of 3600 and is live. A single number would either
// expire the second item or revive the first, so both floors are kept. A floor can be removed when a
// newer one is at least as high, because the newer one applies to all generations of the older one. In
// the remaining list, from old to new, Before rises and At falls. The first floor that applies to an
// item's generation is then the highest one that does. So an item is decided by one search and one
// comparison.
//
// The list is short: most containers have none or one. It grows only by a change that raises the default by
// more than the time since the previous change. The list for items with a ttl of their own never has more
// than one floor, because its At is the second of the change, and these seconds never decrease.

// A stayExpiredCutoff is the record of one change of a container's default time to live. It says which items
// had expired before the change and must stay expired.
type stayExpiredCutoff struct {
	Before uint32 `json:"before"` // applies to items of generations before this one
	At     int64  `json:"at"`     // seconds since 1970; items at or below it have expired
}

// stayExpiredCutoffs holds the records of the changes of a container's default time to live before which some
// items had expired that must stay expired. The oldest record is first. From each record to the next, the
// generation Before rises and the second At falls. Several policies share the slice, so it must not be
// modified.
type stayExpiredCutoffs []stayExpiredCutoff

// raise returns f with n appended, the record of the newest change of a container's default TTL. The records
// whose At is not above n.At are left out, since n applies to the same items and more. n must be newer than
// all records in f.
func (f stayExpiredCutoffs) raise(n stayExpiredCutoff) stayExpiredCutoffs {
	keep := sort.Search(len(f), func(i int) bool { return f[i].At <= n.At })
	return append(slices.Clip(f[:keep]), n)
}

// expires reports whether an item had expired under an earlier default and therefore stays expired.
// generation is the number of changes of the default before the item was written. Its deadline is ts + own,
// in seconds; it has expired if the first record that applies to its generation has an At at or above the
// deadline.
func (f stayExpiredCutoffs) expires(generation uint32, ts int64, own Seconds) bool {
	i := sort.Search(len(f), func(i int) bool { return f[i].Before > generation })
	return i < len(f) && ts <= f[i].At-int64(own)
}

// valid reports whether the records in f, one for each earlier change of a container's default TTL, are in
// order: from one to the next, Before rises and At falls. No Before may be above the policy's generation.
func (f stayExpiredCutoffs) valid(generation uint32) bool {
	for i, fl := range f {
		if fl.Before > generation || i > 0 && (fl.Before <= f[i-1].Before || fl.At >= f[i-1].At) {
			return false
		}
	}
	return true
}
