package store

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
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
	for _, m := range leafErrors {
		if errors.Is(err, m.is) {
			return &Error{Code: m.code, Message: m.message, Hint: m.hint, Err: err}
		}
	}
	return &Error{Code: CodeInternal, Message: "internal error: " + err.Error(), Err: err}
}

var leafErrors = []struct {
	is      error
	code    Code
	message string
	hint    string
}{
	{context.Canceled, CodeCanceled, "The request was cancelled.", ""},
	{context.DeadlineExceeded, CodeCanceled, "The request ran out of time.", ""},
	{engine.ErrClosed, CodeUnavailable, "The store is closed.", ""},
	{ttl.ErrReaperClosed, CodeUnavailable, "The store is closed.", ""},
	{engine.ErrTooLarge, CodeTooLarge, "Request size is too large: one transaction may write at most 16 MB.", ""},
	{engine.ErrDiskFull, CodeDiskFull, "The disk is full; nothing was written.", "free some space: writes resume by themselves"},
	{engine.ErrRead, CodeUnavailable, "The data could not be read from disk.", "check the disk"},
	{engine.ErrFailed, CodeUnavailable, "A write to disk failed; the store takes no more writes.", "check the disk and restart"},
	{engine.ErrNoSnapshot, CodeNotFound, "Resource Not Found: there is no such snapshot.", ""},
	{engine.ErrSnapshotExists, CodeConflict, "A snapshot of that name exists already.", ""},
	{engine.ErrSnapshotName, CodeBadRequest, "The name of a snapshot is 1 to 64 lower-case letters, digits, '-', '_' and '.', begins with a letter or a digit, and is no device of Windows (con, nul ...).", ""},
	{engine.ErrCorrupt, CodeInternal, "The data folder is corrupt.", "run mayfly check on the folder and restore it from a copy"},
}
