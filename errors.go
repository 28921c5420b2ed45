package mayfly

import (
	"context"

	"github.com/mayflydb/mayfly/store"
)

// The errors by what they mean, for errors.Is. An error that is one of them tells more by errors.As into a
// *store.Error: its Code, and a Hint what to do about it.
var (
	ErrNotFound           = store.ErrNotFound           // there is none, or it has expired
	ErrConflict           = store.ErrConflict           // the id or a unique key is taken
	ErrPreconditionFailed = store.ErrPreconditionFailed // somebody else has changed it meanwhile: see IfMatch
	ErrBadRequest         = store.ErrBadRequest         // malformed or refused input
	ErrTooLarge           = store.ErrTooLarge           // a document is over 2 MB, or a transaction over 16 MB
	ErrCanceled           = store.ErrCanceled           // the context ended first, or the time of a transaction was up
	ErrDiskFull           = store.ErrDiskFull           // no room on disk; reads go on
	ErrUnavailable        = store.ErrUnavailable        // closed, or a write to disk has failed
)

func badRequest(message string, cause error) error {
	return &store.Error{Code: store.CodeBadRequest, Message: message, Err: cause}
}

// refused is what a package below said of the caller's input.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return badRequest(err.Error(), err)
}

func canceled(ctx context.Context) error {
	return &store.Error{Code: store.CodeCanceled, Message: "the context ended: " + ctx.Err().Error(), Err: ctx.Err()}
}
