package store

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Code says what kind of failure an Error is. One table at each wire turns it into that protocol's status.
type Code uint8

// The codes. A comment names the meaning; the wire decides on numbers.
const (
	CodeInternal             Code = iota // a defect in Mayfly or in what it stored
	CodeBadRequest                       // malformed or refused input
	CodePartitionKeyMismatch             // the partition key given does not fit the definition or the document
	CodeNotModified                      // If-None-Match holds: not a failure, but no item either
	CodeForbidden                        // the operation is not allowed here
	CodeNotFound                         // the thing addressed does not exist (or has expired)
	CodeOwnerNotFound                    // what the thing would lie in does not exist
	CodeSessionNotAvailable              // the session token is ahead of this store
	CodeConflict                         // the id or a unique key is taken
	CodeRangeGone                        // no such partition key range (any more)
	CodePreconditionFailed               // If-Match or If-None-Match does not hold
	CodeTooLarge                         // a document or request is over its limit
	CodeCanceled                         // the caller's context ended first, or the time that a request may take
	CodeDiskFull                         // no room on disk; reads go on
	CodeUnavailable                      // the store is closed or can no longer write
	CodeCrossPartition                   // the query's ranges must be merged by the client
	CodeThrottled                        // the throughput is used up: retry later
	CodeFailedDependency                 // another operation of the same batch failed
)

var codeNames = [...]string{"internal", "bad request", "partition key mismatch", "not modified", "forbidden", "not found",
	"owner not found", "session not available", "conflict", "range gone", "precondition failed", "too large", "canceled",
	"disk full", "unavailable", "cross partition", "throttled", "failed dependency"}

// String names the code in words.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "unknown"
}

// Error is the one error type that leaves this package.
type Error struct {
	Code    Code
	Message string // for the caller; the protocol's own text where clients look for it
	Hint    string // for the operator: what to do about it; may be empty
	Err     error  // the cause, may be nil
}

// Error returns the message, and the hint where there is one.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorCode tells the Code of err; CodeInternal for an error that is not this package's.
func ErrorCode(err error) Code {
	if err == nil {
		return CodeInternal
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

func fail(c Code, message string) *Error { return &Error{Code: c, Message: message} }

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
	{engine.ErrNewerFormat, CodeInternal, "The data folder has a newer format than this program reads.",
		"open it with the program that wrote it"},
	{engine.ErrOlderFormat, CodeInternal, "The data folder has an older format, which this program does not read.",
		"export with the program that wrote it (mayfly export --db NAME --to FOLDER), import into a new folder"},
	{engine.ErrCorrupt, CodeInternal, "The data folder is corrupt.", "run mayfly check on the folder and restore it from a copy"},
}
