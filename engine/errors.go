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
	// ErrScope is returned by Update if it names no scope, or if its transaction asks for an LSN of a scope
	// that it does not name. Nothing was written.
	ErrScope = errors.New("engine: no such scope in this update")
	// ErrEmptyKey is returned by Update if its transaction sets or deletes the empty key. Nothing was
	// written.
	ErrEmptyKey = errors.New("engine: a key is empty")
	// ErrTooLarge is returned by Update if a transaction exceeds MaxTxnBytes, or MaxLargeTxnBytes after
	// Enlarge. Nothing was written.
	ErrTooLarge = errors.New("engine: transaction too large")
	// ErrLocked is returned by Open if another process has the folder open.
	ErrLocked = errors.New("engine: the data folder is in use by another process")
	// ErrNotDatabase is returned by Open if the path is a file, or a folder that holds other files and no
	// database.
	ErrNotDatabase = errors.New("engine: the data folder holds something else")
	// ErrNewerFormat is returned by Open if the folder was written in a newer format.
	ErrNewerFormat = errors.New("engine: the data folder has a newer format")
	// ErrOlderFormat is returned if the folder was written in an older format that this release cannot read.
	ErrOlderFormat = errors.New("engine: the data folder has an older format")
	// ErrIncomplete is returned if a migration into this store has not finished.
	ErrIncomplete = errors.New("engine: a migration into this store has not finished")
	// ErrMoved is returned for a store that has been migrated to another folder or database.
	ErrMoved = errors.New("engine: the store was migrated to another place")
	// ErrCorrupt is returned if stored bytes are invalid.
	ErrCorrupt = errors.New("engine: the data folder is corrupt")
	// ErrDamagedLog is returned by Open if a write-ahead log is damaged or missing, so that acknowledged
	// writes would be lost. An option of the engine may accept the loss.
	ErrDamagedLog = fmt.Errorf("%w: a log of writes", ErrCorrupt)
	// ErrDiskFull is returned by Update if the disk has no room left. Nothing was written; reads still work.
	ErrDiskFull = errors.New("engine: the disk is full")
	// ErrRead is returned if stored bytes could not be read from disk. A retry may succeed.
	ErrRead = errors.New("engine: reading from disk failed")
	// ErrUnavailable is returned if the database that keeps the data does not respond. Nothing was written;
	// a retry may succeed.
	ErrUnavailable = errors.New("engine: the database does not answer")
	// ErrUnknownOutcome is returned by Update if the connection was lost during a commit and the outcome
	// could not be determined. Either the whole transaction was written or nothing.
	ErrUnknownOutcome = errors.New("engine: the outcome of a commit is not known")
	// ErrDenied is returned if the database refuses the engine's user.
	ErrDenied = errors.New("engine: the database denies access")
	// ErrFailed is returned by every Update after a write to the log has failed. The data on disk are
	// intact, but this process can no longer guarantee durability and must be restarted.
	ErrFailed = errors.New("engine: a write to disk failed; restart the process")
)

// DiskReserveError is an ErrDiskFull for a disk that has free space, but less than the reserve. The reserve
// is free space for writes that must not fail: to the log, and to delete data.
type DiskReserveError struct{ Free, Reserve int64 } // bytes

func (e *DiskReserveError) Error() string {
	return fmt.Sprintf("%v: %d bytes are free, %d must be", ErrDiskFull, e.Free, e.Reserve)
}

// Unwrap returns ErrDiskFull.
func (e *DiskReserveError) Unwrap() error { return ErrDiskFull }

const (
	// MaxTxnBytes is the maximum number of bytes of keys and values that one Update may write.
	MaxTxnBytes = 16 << 20
	// MaxLargeTxnBytes is the maximum number of bytes of keys and values that an Update may write after
	// its transaction has called TxnLSNAndCommitControl.Enlarge.
	MaxLargeTxnBytes = 128 << 20
)
