package queue

import (
	"context"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
)

// moment converts milliseconds since 1970 to a time.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// sendError returns the error for sending to an entity whose status does not allow it, or nil if it
// does.
func (s *inMemoryMessageStoreState) sendError() *entity.Error {
	if st := s.e.properties.Load().Status; st == entity.Disabled || st == entity.SendDisabled {
		return s.Refuse(
			entity.CodeEntityDisabled,
			"The messaging entity '"+s.Name()+"' is disabled for sending.",
		)
	}
	return nil
}

// wrap converts errors of the engine and of contexts to *entity.Error.
func wrap(err error) error {
	var own *entity.Error
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return &entity.Error{Code: entity.CodeCancelled, Message: "The operation was cancelled.", Err: err}
	case errors.Is(err, engine.ErrClosed):
		return &entity.Error{Code: entity.CodeCancelled, Message: "The server is stopping.", Err: err}
	case errors.Is(err, engine.ErrTooLarge):
		text := "The messages are too large for one transaction."
		return &entity.Error{Code: entity.CodeMessageTooLarge, Message: text, Err: err}
	}
	return &entity.Error{
		Code:    entity.CodeStorage,
		Message: "The messages could not be stored or read.",
		Err:     err,
	}
}
