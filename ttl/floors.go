package ttl

import (
	"slices"
	"sort"
)

// Why floors, and why more than one.
//
// Expiry is final, but no item carries a mark that says so. When the default changes from n at second c,
// every item that inherits and has _ts + n <= c is dead at that moment, and the new default must not bring it
// back. So the change records c - n: whatever was written at or before that second stays dead. In the same
// way a change from on to off records c: an item with a ttl of its own whose deadline is at or before c stays
// dead. Each of these records is a floor.
//
// Only items that were there when the policy changed can have died by it. An item carries the policy
// generation that it was written in, and the change from generation g-1 to g leaves a floor that counts for
// generations before g. For an item that got its _ts from the clock this makes no difference: it was written
// at or after c, and c - n is earlier. But an import may carry a _ts from the past, and such an item lives by
// the policy that it was imported under, not by one that it never met.
//
// If all changes counted for all items, the highest floor would do. They do not:
//
//	at 1000  default 10 -> 3600     floor  990 for generations before 1
//	at 2000  default 3600 -> off    floor -1600 for generations before 2
//
// An item of generation 0 written at 500 is dead by the first floor. One of generation 1, imported with the
// _ts 500, met only the default of 3600 and lives. One number would either kill the second or revive the
// first, so both are kept. A floor can go as soon as a newer one is at least as high: the newer counts for
// all the generations that the older counts for. What is left is a list in which, from old to new, Before
// rises and At falls. The first floor that counts for an item's generation is then the highest that does, and
// an item is decided by one search and one comparison.
//
// The list is short: empty or one floor in most containers. It grows only by a change that raises the default
// by more than the time since the change before. For items with a ttl of their own it has never more than one
// floor, because there At is the second of the change, and those do not fall.

// A floor is the trace of one change of the default.
type floor struct {
	Before uint32 `json:"before"` // counts for items of an older generation than this
	At     int64  `json:"at"`     // seconds since 1970; what it counts for is dead at or below
}

// floors is a list in which, from the oldest to the newest, Before rises and At falls. It is never changed in
// place: policies share it.
type floors []floor

// raise returns f with n, which must be newer than all of f, and without what n makes superfluous.
func (f floors) raise(n floor) floors {
	keep := sort.Search(len(f), func(i int) bool { return f[i].At <= n.At })
	return append(slices.Clip(f[:keep]), n)
}

// kills reports whether ts + own is at or below a floor that counts for the generation.
func (f floors) kills(generation uint32, ts int64, own Seconds) bool {
	i := sort.Search(len(f), func(i int) bool { return f[i].Before > generation })
	return i < len(f) && ts <= f[i].At-int64(own)
}

// valid reports whether f is such a list and belongs to a policy of the given generation.
func (f floors) valid(generation uint32) bool {
	for i, fl := range f {
		if fl.Before > generation || i > 0 && (fl.Before <= f[i-1].Before || fl.At >= f[i-1].At) {
			return false
		}
	}
	return true
}
