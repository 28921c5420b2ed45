package mayfly

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// The kinds of errors, for errors.Is. errors.As with a *fault.Error gives the details: its Code, and a Hint
// on what to do.
var (
	ErrNotFound           = fault.ErrNotFound           // it does not exist, or has expired
	ErrConflict           = fault.ErrConflict           // the id or a unique key is taken
	ErrPreconditionFailed = fault.ErrPreconditionFailed // changed meanwhile: see IfMatch
	ErrBadRequest         = fault.ErrBadRequest         // malformed or refused input
	// a document is over 2 MB, or a transaction over 16 MB
	ErrTooLarge = fault.ErrTooLarge
	// the context ended first, or the transaction exceeded its time
	ErrCanceled    = fault.ErrCanceled
	ErrDiskFull    = fault.ErrDiskFull    // no room on disk; reads go on
	ErrUnavailable = fault.ErrUnavailable // closed, or a write to disk has failed
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

// about returns the error of an operation on a document with the names of the container, the partition key
// and the document. The code and the hint stay the same. The store's sentences are those of the protocol,
// whose clients know what they have asked for.
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
