package mayfly

import (
	"context"

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

// refused returns the error for input that a lower package has rejected.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return badRequest(err.Error(), err)
}

func canceled(ctx context.Context) error {
	return &fault.Error{Code: fault.CodeCanceled, Message: "the context ended: " + ctx.Err().Error(),
		Err: ctx.Err()}
}
