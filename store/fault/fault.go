package fault

import "errors"

// Code is the kind of failure of an Error. Each wire protocol has one table that maps codes to its own
// statuses.
type Code uint8

// The codes. Their numbers are not sent to clients; each wire protocol has its own.
const (
	CodeInternal   Code = iota // a defect in Mayfly or in its stored data
	CodeBadRequest             // malformed or refused input
	// CodePartitionKeyMismatch: the partition key does not fit the definition or the document.
	CodePartitionKeyMismatch
	CodeNotModified         // If-None-Match holds: not a failure, but no item is returned
	CodeForbidden           // the resource or the server does not allow the operation
	CodeNotFound            // the addressed resource does not exist (or has expired)
	CodeOwnerNotFound       // the owner of the addressed resource does not exist
	CodeSessionNotAvailable // the session token is ahead of this store
	CodeConflict            // the id or a unique key is taken
	CodeRangeGone           // no such partition key range (any more)
	CodePreconditionFailed  // If-Match or If-None-Match does not hold
	CodeTooLarge            // a document or request is over its limit
	// CodeCanceled: the caller's context, or the time limit of the request, ended first.
	CodeCanceled
	CodeDiskFull         // no space on disk; reads still work
	CodeUnavailable      // the store is closed or can no longer write
	CodeCrossPartition   // the client must query each range and merge the results
	CodeThrottled        // the throughput is used up: retry later
	CodeFailedDependency // another operation of the same batch failed
)

var codeNames = [...]string{"internal", "bad request", "partition key mismatch", "not modified", "forbidden",
	"not found",
	"owner not found", "session not available", "conflict", "range gone", "precondition failed", "too large", "canceled",
	"disk full", "unavailable", "cross partition", "throttled", "failed dependency"}

// String returns the code in words.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "unknown"
}

// Error is the only error type that package store returns.
type Error struct {
	Code    Code
	Message string // for the caller; Cosmos DB's own text where clients parse it
	Hint    string // for the operator: how to fix it; may be empty
	Err     error  // the cause, may be nil
}

// Error returns the message, followed by the hint if there is one.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorCode returns the Code of err; CodeInternal for an error without one.
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

// New returns an Error with the given code and message.
func New(c Code, message string) *Error { return &Error{Code: c, Message: message} }

// Owner changes the code of err from CodeNotFound to CodeOwnerNotFound: the resource that does not exist is
// the owner (the container, for example) of the addressed one. Cosmos DB reports this with a substatus,
// after which clients discard what they have cached about the owner.
func Owner(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Code == CodeNotFound {
		return &Error{Code: CodeOwnerNotFound, Message: e.Message, Err: err}
	}
	return err
}
