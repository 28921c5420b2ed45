package fault

import "errors"

// Code says what kind of failure an Error is. One table at each wire turns it into that protocol's status.
type Code uint8

// The codes. A comment names the meaning; the wire decides on numbers.
const (
	CodeInternal   Code = iota // a defect in Mayfly or in what it stored
	CodeBadRequest             // malformed or refused input
	// the partition key given does not fit the definition or the document
	CodePartitionKeyMismatch
	CodeNotModified         // If-None-Match holds: not a failure, but no item either
	CodeForbidden           // the operation is not allowed here
	CodeNotFound            // the thing addressed does not exist (or has expired)
	CodeOwnerNotFound       // what the thing would lie in does not exist
	CodeSessionNotAvailable // the session token is ahead of this store
	CodeConflict            // the id or a unique key is taken
	CodeRangeGone           // no such partition key range (any more)
	CodePreconditionFailed  // If-Match or If-None-Match does not hold
	CodeTooLarge            // a document or request is over its limit
	// the caller's context ended first, or the time that a request may take
	CodeCanceled
	CodeDiskFull         // no room on disk; reads go on
	CodeUnavailable      // the store is closed or can no longer write
	CodeCrossPartition   // the query's ranges must be merged by the client
	CodeThrottled        // the throughput is used up: retry later
	CodeFailedDependency // another operation of the same batch failed
)

var codeNames = [...]string{"internal", "bad request", "partition key mismatch", "not modified", "forbidden",
	"not found",
	"owner not found", "session not available", "conflict", "range gone", "precondition failed", "too large", "canceled",
	"disk full", "unavailable", "cross partition", "throttled", "failed dependency"}

// String names the code in words.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "unknown"
}

// Error is the one error type that leaves package store.
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

// ErrorCode tells the Code of err; CodeInternal for another error.
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

// New makes an Error.
func New(c Code, message string) *Error { return &Error{Code: c, Message: message} }

// Owner returns err with CodeOwnerNotFound in the place of CodeNotFound: what does not exist is a resource
// that another one would lie in. Cosmos DB tells clients so by a substatus, on which they drop what they have
// cached of the resource.
func Owner(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Code == CodeNotFound {
		return &Error{Code: CodeOwnerNotFound, Message: e.Message, Err: err}
	}
	return err
}
