package mayfly

import (
	"context"

	"github.com/mayflydb/mayfly/store/fault"
)

// The errors by what they mean, for errors.Is. An error that is one of them tells more by errors.As into a
// *fault.Error: its Code, and a Hint what to do about it.
var (
	ErrNotFound           = fault.ErrNotFound           // there is none, or it has expired
	ErrConflict           = fault.ErrConflict           // the id or a unique key is taken
	ErrPreconditionFailed = fault.ErrPreconditionFailed // somebody else has changed it meanwhile: see IfMatch
	ErrBadRequest         = fault.ErrBadRequest         // malformed or refused input
	// a document is over 2 MB, or a transaction over 16 MB
	ErrTooLarge = fault.ErrTooLarge
	// the context ended first, or the time of a transaction was up
	ErrCanceled    = fault.ErrCanceled
	ErrDiskFull    = fault.ErrDiskFull    // no room on disk; reads go on
	ErrUnavailable = fault.ErrUnavailable // closed, or a write to disk has failed
)

func badRequest(message string, cause error) error {
	return &fault.Error{Code: fault.CodeBadRequest, Message: message, Err: cause}
}

// refused is what a package below said of the caller's input.
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
