package host

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Class says what kind of failure an error of the engine, the reaper or a context is, so that every tenant
// answers for the same thing alike. The words are the tenant's.
type Class uint8

// The classes.
const (
	Unclassified   Class = iota // not an error of this table: a tenant's own, or a defect
	Canceled                    // the caller's context was cancelled
	Deadline                    // the caller's context ran out of time
	Closed                      // the host, or the instance that it had before a restore, is closed
	TooLarge                    // a transaction writes more than engine.MaxTxnBytes; nothing was written
	DiskFull                    // nothing was written; writes resume when there is room
	ReadFailed                  // the disk could not be read; the next try may succeed
	WriteFailed                 // the disk could not be written: the process takes no more writes
	Unreachable                 // the database that keeps the data does not answer; nothing was written
	UnknownOutcome              // it has not answered a commit: all or nothing of it was written
	NoSnapshot                  // there is none of that name
	SnapshotExists              // the name is taken
	SnapshotName                // not a name for a snapshot
	NoSnapshots                 // the engine keeps none
	NewerFormat                 // the data were written by a newer release
	// the data were written by an older release, in a format that is not read any more
	OlderFormat
	Corrupt // stored bytes are not what they must be
)

// ErrNoSnapshots is returned where the engine keeps no snapshots.
var ErrNoSnapshots = errors.New("host: the engine keeps no snapshots")

var classes = []struct {
	is    error
	class Class
}{
	{context.Canceled, Canceled},
	{context.DeadlineExceeded, Deadline},
	{engine.ErrClosed, Closed},
	{ttl.ErrReaperClosed, Closed},
	{engine.ErrTooLarge, TooLarge},
	{engine.ErrDiskFull, DiskFull},
	{engine.ErrRead, ReadFailed},
	{engine.ErrFailed, WriteFailed},
	{engine.ErrUnknownOutcome, UnknownOutcome},
	{engine.ErrUnavailable, Unreachable},
	{engine.ErrNoSnapshot, NoSnapshot},
	{engine.ErrSnapshotExists, SnapshotExists},
	{engine.ErrSnapshotName, SnapshotName},
	{ErrNoSnapshots, NoSnapshots},
	{engine.ErrNewerFormat, NewerFormat},
	{engine.ErrOlderFormat, OlderFormat},
	{engine.ErrCorrupt, Corrupt},
}

// Classify finds the class of an error, wrapped or not.
func Classify(err error) Class {
	for _, c := range classes {
		if errors.Is(err, c.is) {
			return c.class
		}
	}
	return Unclassified
}

// Reserve returns how many bytes the disk has free, and how many it must have for a write, where an error is
// a DiskFull for that reason.
func Reserve(err error) (free, reserve int64, ok bool) {
	var full *engine.ReserveError
	if !errors.As(err, &full) {
		return 0, 0, false
	}
	return full.Free, full.Reserve, true
}

// Gone reports whether an error says no more than that the store is closed, or cannot be reached for what its
// disk does: who works in the background keeps quiet about it.
func (c Class) Gone() bool {
	return c == Closed || c == ReadFailed || c == WriteFailed || c == Unreachable || c == UnknownOutcome
}
