package host

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// ErrorClass is the kind of failure of an error of the engine, the reaper or a context. With it, the
// document store and the message store report the same failure in the same way, each in the terms of its
// protocol.
type ErrorClass uint8

// The classes into which the host divides errors of engines and contexts, so that the document store and
// the message store can report them.
const (
	Unclassified   ErrorClass = iota // none of the other classes: a tenant's own error, or a defect
	Canceled                         // the caller's context was cancelled
	Deadline                         // the caller's context ran out of time
	Closed                           // the host is closed, or a restore has replaced the instance
	TooLarge                         // a transaction writes more than engine.MaxTxnBytes; nothing was written
	DiskFull                         // nothing was written; writes resume when there is room
	ReadFailed                       // the disk could not be read; the next try may succeed
	WriteFailed                      // the disk could not be written: the process takes no more writes
	Unreachable                      // the database with the data does not respond; nothing was written
	UnknownOutcome                   // the response to a commit was lost: all of it was written or nothing
	NoSnapshot                       // there is no snapshot of that name
	SnapshotExists                   // there is a snapshot of that name already
	SnapshotName                     // not a name for a snapshot
	NoSnapshots                      // the engine does not support snapshots
	NewerFormat                      // the data were written by a newer release
	// OlderFormat: the data were written by an older release, in a format that this one does not read.
	OlderFormat
	Incomplete // a migration into the store has not finished
	Moved      // the store was migrated to another place
	Corrupt    // stored bytes are invalid
)

// ErrNoSnapshots is returned if the engine does not support snapshots.
var ErrNoSnapshots = errors.New("host: the engine keeps no snapshots")

var classes = []struct {
	is    error
	class ErrorClass
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
	{engine.ErrIncomplete, Incomplete},
	{engine.ErrMoved, Moved},
	{engine.ErrCorrupt, Corrupt},
}

// Classify returns the class of an error, wrapped or not.
func Classify(err error) ErrorClass {
	for _, c := range classes {
		if errors.Is(err, c.is) {
			return c.class
		}
	}
	return Unclassified
}

// Reserve returns the free bytes of the disk and the bytes that must be free for a write, if err says that
// too few are free. ok is false for all other errors.
func Reserve(err error) (free, reserve int64, ok bool) {
	var full *engine.DiskReserveError
	if !errors.As(err, &full) {
		return 0, 0, false
	}
	return full.Free, full.Reserve, true
}

// Gone reports whether an error of the class only means that the store is closed or cannot use its disk.
// Background work does not log such errors.
func (c ErrorClass) Gone() bool {
	return c == Closed || c == ReadFailed || c == WriteFailed || c == Unreachable || c == UnknownOutcome
}
