package transaction

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// A container whose change feed policy has a retention keeps every version of its items, and their deletes,
// for that long: the key family v, with one entry for each write, delete and purge, ordered by sequence. As
// for expiry, whether an entry is inside the window is decided by its time when it is read; the reaper only
// frees the space of entries outside.
//
// A reader gets an error only if there is an entry outside the window that it has not read. An old position
// alone is no error: a reader of a range without changes may pause for any time. To make this possible, the
// newest entry outside the window is kept without its content when the older ones are deleted. Such an
// entry is a floor: entries before it cannot be read, even if the retention becomes longer. Turning the
// policy on sets a floor, too. So a range has at most one floor, and it is the range's first entry.

// SwitchVersions returns a function that writes what a change of the container's policy requires if it turns
// the feed of all versions on or off: the beginning of the feed in each range, or its removal. The caller
// holds the container's gate (its lock) exclusively.
func SwitchVersions(old, next *container.State, now int64) (write func(engine.Txn)) {
	on := next.Retention() > 0
	if on == (old.Retention() > 0) {
		return func(engine.Txn) {}
	}
	return func(t engine.Txn) {
		for _, s := range next.Ranges {
			if on {
				SetFloor(t, s.Scope, layout.FirstOf(t.NextLSN(s.Scope)), now)
			} else {
				DropVersions(t, layout.ScopeFamily(s.Scope, layout.FamilyVersions))
			}
		}
	}
}
