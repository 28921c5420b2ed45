package engine

import (
	"errors"
	"fmt"
)

// Sentinels that every engine returns (possibly wrapped; use errors.Is).
var (
	// ErrNotFound is returned by Get for a key that is absent.
	ErrNotFound = errors.New("engine: key not found")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("engine: closed")
	// ErrScope is returned by Update where it names no scope, or where its transaction asks for an LSN of one
	// that it does not name. Nothing was written.
	ErrScope = errors.New("engine: no such scope in this update")
	// ErrEmptyKey is returned by Update where its transaction sets or deletes the empty key. Nothing was
	// written.
	ErrEmptyKey = errors.New("engine: a key is empty")
	// ErrTooLarge is returned by Update where a transaction exceeds MaxTxnBytes, or MaxLargeTxnBytes where
	// it has called Enlarge. Nothing was written.
	ErrTooLarge = errors.New("engine: transaction too large")
	// ErrLocked is returned by Open where another process has the folder open.
	ErrLocked = errors.New("engine: the data folder is in use by another process")
	// ErrNotDatabase is returned by Open where the path is a file, or a folder that holds other files and no
	// database.
	ErrNotDatabase = errors.New("engine: the data folder holds something else")
	// ErrNewerFormat is returned by Open where the folder was written by a newer format.
	ErrNewerFormat = errors.New("engine: the data folder has a newer format")
	// ErrOlderFormat is returned where the folder was written by an older format that is not read any more.
	ErrOlderFormat = errors.New("engine: the data folder has an older format")
	// ErrCorrupt is returned where stored bytes do not hold what they must.
	ErrCorrupt = errors.New("engine: the data folder is corrupt")
	// ErrDamagedLog is returned by Open where a log of writes is damaged or missing, so that acknowledged
	// writes would be lost. Options of the engine may accept that.
	ErrDamagedLog = fmt.Errorf("%w: a log of writes", ErrCorrupt)
	// ErrDiskFull is returned by Update where the disk has no room left. Nothing was written; reads go on.
	ErrDiskFull = errors.New("engine: the disk is full")
	// ErrRead is returned where stored bytes could not be read from disk. The next try may succeed.
	ErrRead = errors.New("engine: reading from disk failed")
	// ErrUnavailable is returned where the database that keeps the data does not answer. Nothing was written;
	// the next try may succeed.
	ErrUnavailable = errors.New("engine: the database does not answer")
	// ErrUnknownOutcome is returned by Update where the database has not answered a commit and cannot be
	// asked what has become of it: all or nothing of it was written.
	ErrUnknownOutcome = errors.New("engine: the outcome of a commit is not known")
	// ErrDenied is returned where the database refuses the user that the engine comes as.
	ErrDenied = errors.New("engine: the database denies access")
	// ErrFailed is returned by every Update after a write to the log has failed: what is on disk is intact,
	// but this process can no longer promise durability and must be restarted.
	ErrFailed = errors.New("engine: a write to disk failed; restart the process")
)

// ReserveError is an ErrDiskFull where the disk has room, but less than a write must find: the rest is kept
// for what must not fail, the log and the deletion of data.
type ReserveError struct{ Free, Reserve int64 } // bytes

func (e *ReserveError) Error() string {
	return fmt.Sprintf("%v: %d bytes are free, %d must be", ErrDiskFull, e.Free, e.Reserve)
}

// Unwrap returns ErrDiskFull.
func (e *ReserveError) Unwrap() error { return ErrDiskFull }

const (
	// MaxTxnBytes caps the bytes of keys and values that one Update may write.
	MaxTxnBytes = 16 << 20
	// MaxLargeTxnBytes caps those of an Update that has called Enlarge.
	MaxLargeTxnBytes = 128 << 20
)
