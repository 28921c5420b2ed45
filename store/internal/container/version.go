package container

import (
	"fmt"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/fault"
)

// VersionOf returns the version of the container's state in the mark that the engine stores for a range.
func VersionOf(mark uint64) uint32 { return uint32(mark) }

// remark returns a range's mark (a number that the engine stores for it) with its lower 32 bits, the
// version of the container's state, replaced by version.
func remark(mark uint64, version uint32) uint64 { return mark&^math.MaxUint32 | uint64(version) }

// OutdatedStateError reports that an operation has used an outdated state of the container.
type OutdatedStateError struct{ Version uint32 }

func (e *OutdatedStateError) Error() string {
	return fmt.Sprintf("store: the container has changed since its version %d", e.Version)
}

// ErrSplitElsewhere is the error for a write to a range that another server is splitting. The write is
// refused because that server would not copy it.
var ErrSplitElsewhere = &fault.Error{Code: fault.CodeUnavailable,
	Message: "The partition range is being split by another server.",
	Hint:    "try again"}

// FirstVersion is the version of a container's first state.
const FirstVersion = 1

// Current fails with *OutdatedStateError if another server has changed the container since this state was
// read. mark is the number that the engine stores for a range of the container: it contains the version of
// the container's newest state.
func (st *State) Current(mark uint64) error {
	if VersionOf(mark) != st.Version {
		return &OutdatedStateError{st.Version}
	}
	return nil
}

// Commit is the common part of all transactions that replace state st by next. It checks that st is still
// current, calls fn, and sets the version of next, also in the marks of its ranges (numbers that the engine
// stores for each range, by which other servers notice the change).
func (st *State) Commit(t engine.Txn, next *State, fn func() error) error {
	marks := make(map[*Partition]uint64, len(st.Ranges))
	for _, s := range st.Ranges {
		marks[s] = t.Mark(s.Scope)
		if err := st.Current(marks[s]); err != nil {
			return err
		}
	}
	if st.Elsewhere {
		return ErrSplitElsewhere
	}
	if err := fn(); err != nil {
		return err
	}
	next.Version = st.Version + 1
	from := uint64(0) // the mark of the split range, whose upper half its halves get
	for _, s := range st.Ranges {
		if !slices.Contains(next.Ranges, s) {
			from = marks[s]
			t.SetMark(s.Scope, 0)
		}
	}
	for _, s := range next.Ranges {
		if !slices.Contains(st.Ranges, s) {
			marks[s] = from
		}
		t.SetMark(s.Scope, remark(marks[s], next.Version))
	}
	return nil
}
