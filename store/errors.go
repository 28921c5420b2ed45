package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// Error is the one error type that leaves this package.
type Error = fault.Error

// Code says what kind of failure an Error is.
type Code = fault.Code

// The codes: see package fault.
const (
	CodeInternal             = fault.CodeInternal
	CodeBadRequest           = fault.CodeBadRequest
	CodePartitionKeyMismatch = fault.CodePartitionKeyMismatch
	CodeNotModified          = fault.CodeNotModified
	CodeForbidden            = fault.CodeForbidden
	CodeNotFound             = fault.CodeNotFound
	CodeOwnerNotFound        = fault.CodeOwnerNotFound
	CodeSessionNotAvailable  = fault.CodeSessionNotAvailable
	CodeConflict             = fault.CodeConflict
	CodeRangeGone            = fault.CodeRangeGone
	CodePreconditionFailed   = fault.CodePreconditionFailed
	CodeTooLarge             = fault.CodeTooLarge
	CodeCanceled             = fault.CodeCanceled
	CodeDiskFull             = fault.CodeDiskFull
	CodeUnavailable          = fault.CodeUnavailable
	CodeCrossPartition       = fault.CodeCrossPartition
	CodeThrottled            = fault.CodeThrottled
	CodeFailedDependency     = fault.CodeFailedDependency
)

// The errors by what they mean, for errors.Is: see package fault.
var (
	ErrNotFound           = fault.ErrNotFound
	ErrConflict           = fault.ErrConflict
	ErrPreconditionFailed = fault.ErrPreconditionFailed
	ErrNotModified        = fault.ErrNotModified
	ErrBadRequest         = fault.ErrBadRequest
	ErrTooLarge           = fault.ErrTooLarge
	ErrCanceled           = fault.ErrCanceled
	ErrThrottled          = fault.ErrThrottled
	ErrDiskFull           = fault.ErrDiskFull
	ErrUnavailable        = fault.ErrUnavailable
)

// ErrorCode tells the Code of err; CodeInternal for another error.
func ErrorCode(err error) Code { return fault.ErrorCode(err) }

func fail(c Code, message string) *Error { return fault.New(c, message) }

// wrap turns whatever a leaf returned into an Error. It is the only place that knows the leaves' errors.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if e := queryError(err); e != nil {
		return e
	}
	if e := scriptError(err); e != nil {
		return e
	}
	if e := hostError(err); e != nil {
		return e
	}
	if a, known := classErrors[host.Classify(err)]; known {
		return &Error{Code: a.code, Message: a.message, Hint: a.hint, Err: err}
	}
	return &Error{Code: CodeInternal, Message: "internal error: " + err.Error(), Err: err}
}

// hostError turns what the host refuses into an Error.
func hostError(err error) *Error {
	var change *ttl.ChangeError
	var far *host.TooFarBackError
	var behind *host.BehindError
	switch {
	case errors.As(err, &change):
		return &Error{Code: CodeBadRequest, Message: change.Reason, Err: err}
	case errors.Is(err, host.ErrSystemClock):
		return &Error{Code: CodeForbidden, Err: err,
			Message: "The clock of this server is the system's: it cannot be moved."}
	case errors.As(err, &far):
		return &Error{
			Code: CodeBadRequest,
			Message: fmt.Sprintf("The clock cannot be set to %s: %s at %s (%d).",
				clockText(far.To.Unix()), far.What, clockText(far.At.Unix()), far.At.Unix()),
			Hint: "restore a snapshot to go further back",
			Err:  err,
		}
	case errors.As(err, &behind):
		data := "The data"
		if behind.Of != "" {
			data += " " + behind.Of
		}
		return &Error{
			Code: CodeUnavailable,
			Message: fmt.Sprintf("%s was written up to %s, but the clock says %s.",
				data, clockText(behind.Data), clockText(behind.Clock)),
			Hint: "set the system's clock right, or open the folder with a virtual clock (--virtual-clock)",
			Err:  err,
		}
	}
	return nil
}

func clockText(t int64) string { return time.Unix(t, 0).UTC().Format(time.RFC3339) }

// classErrors are the answers to the host's classes of errors.
var classErrors = map[host.Class]struct {
	code    Code
	message string
	hint    string
}{
	host.Canceled: {CodeCanceled, "The request was cancelled.", ""},
	host.Deadline: {CodeCanceled, "The request ran out of time.", ""},
	host.Closed:   {CodeUnavailable, "The store is closed.", ""},
	host.TooLarge: {CodeTooLarge, "Request size is too large: one transaction may write at most 16 MB.", ""},
	host.DiskFull: {CodeDiskFull, "The disk is full; nothing was written.",
		"free some space: writes resume by themselves"},
	host.ReadFailed: {CodeUnavailable, "The data could not be read from disk.", "check the disk"},
	host.WriteFailed: {CodeUnavailable, "A write to disk failed; the store takes no more writes.",
		"check the disk and restart"},
	host.NoSnapshot:     {CodeNotFound, "Resource Not Found: there is no such snapshot.", ""},
	host.SnapshotExists: {CodeConflict, "A snapshot of that name exists already.", ""},
	host.SnapshotName: {CodeBadRequest, "The name of a snapshot is 1 to 64 lower-case letters, digits, '-', '_' and '.'," +
		" begins with a letter or a digit, and is no device of Windows (con, nul ...).", ""},
	host.NoSnapshots: {CodeForbidden, "The storage engine of this server keeps no snapshots.", ""},
	host.NewerFormat: {CodeInternal, "The data folder has a newer format than this program reads.",
		"open it with the program that wrote it"},
	host.OlderFormat: {CodeInternal, "The data folder has an older format, which this program does not read.",
		"export with the program that wrote it (mayfly export --db NAME --to FOLDER), import into a new folder"},
	host.Corrupt: {CodeInternal, "The data folder is corrupt.",
		"run mayfly check on the folder and restore it from a copy"},
}
