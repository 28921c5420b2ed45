package mayfly

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// The kinds of errors, for errors.Is. errors.As with a *fault.Error returns the details: the Code of the
// error, and a Hint that says what to do.
var (
	ErrNotFound           = fault.ErrNotFound           // the object does not exist, or has expired
	ErrConflict           = fault.ErrConflict           // the id, the name or the unique key already exists
	ErrPreconditionFailed = fault.ErrPreconditionFailed // the document has another etag: see IfMatch
	ErrBadRequest         = fault.ErrBadRequest         // the input is malformed or not allowed
	// ErrTooLarge is returned if a document has more than 2 MB, or a transaction more than 16 MB.
	ErrTooLarge = fault.ErrTooLarge
	// ErrCanceled is returned if the context ends before the operation, or if a transaction exceeds its time
	// limit.
	ErrCanceled    = fault.ErrCanceled
	ErrDiskFull    = fault.ErrDiskFull    // not enough free space on the disk for the write; reads still work
	ErrUnavailable = fault.ErrUnavailable // the store is closed, or a write to the disk has failed
)

func badRequest(message string, cause error) error {
	return &fault.Error{Code: fault.CodeBadRequest, Message: message, Err: cause}
}

// inputError returns the error for input that a lower package has rejected.
func inputError(err error) error {
	if err == nil {
		return nil
	}
	return badRequest(err.Error(), err)
}

// about adds the names of the container, the partition key and the document to the error of an operation on a
// document. The code and the hint stay the same. The messages of package store are those of Cosmos DB's
// protocol, which do not contain these names.
func (c *Container) about(err error, pk definition.PartitionKey, id string) error {
	var e *fault.Error
	if !errors.As(err, &e) || pk.IsZero() || id == "" {
		return err
	}
	document := fmt.Sprintf("document %q in %s", id, pk)
	switch e.Code {
	case fault.CodeCanceled, fault.CodeUnavailable, fault.CodeDiskFull:
		return err // it is not about the document
	case fault.CodeNotFound:
		document = "no " + document
	case fault.CodeOwnerNotFound:
		document = "no such container"
	default:
		document += ": " + e.Message
	}
	return &fault.Error{Code: e.Code, Message: c.Path() + ": " + document, Hint: e.Hint, Err: err}
}

func canceled(ctx context.Context) error {
	return &fault.Error{Code: fault.CodeCanceled, Message: "the context ended: " + ctx.Err().Error(),
		Err: ctx.Err()}
}
