package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
)

// moment converts milliseconds since 1970 to a time.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func (s *messageStore) refuse(code entity.Code, text string) *entity.Error {
	return &entity.Error{Code: code, Message: text, Entity: s.name()}
}

func (s *messageStore) notAllowed(text string) *entity.Error {
	return s.refuse(entity.CodeNotAllowed, text)
}

func (s *messageStore) argument(text string) *entity.Error {
	return s.refuse(entity.CodeArgument, text)
}

func (s *messageStore) outOfRange(text string) *entity.Error {
	return s.refuse(entity.CodeArgumentOutOfRange, text)
}

// sendError returns the error for sending to an entity whose status does not allow it, or nil if it
// does.
func (s *messageStore) sendError() *entity.Error {
	if st := s.e.properties.Load().Status; st == entity.Disabled || st == entity.SendDisabled {
		return s.refuse(
			entity.CodeEntityDisabled,
			"The messaging entity '"+s.name()+"' is disabled for sending.",
		)
	}
	return nil
}

func (s *messageStore) tooLarge() *entity.Error {
	return s.refuse(entity.CodeMessageTooLarge, "The message or batch is larger than the entity takes.")
}

// lockLost returns the error for a token without a lock.
func (s *messageStore) lockLost() *entity.Error {
	if s.bySession() {
		return s.sessionLost()
	}
	return s.refuse(
		entity.CodeMessageLockLost,
		"The lock supplied is invalid. Either the lock expired, or the "+
			"message has already been removed from the queue.",
	)
}

// sessionLost returns the error for a session lock that has ended.
func (s *messageStore) sessionLost() *entity.Error {
	return s.refuse(
		entity.CodeSessionLockLost,
		"The session lock has expired on the session. Accept a new session.",
	)
}

// messageNotFound returns the error for a sequence number without a message in the requested state.
func (s *messageStore) messageNotFound(seq int64) *entity.Error {
	return s.refuse(entity.CodeMessageNotFound,
		fmt.Sprintf("Failed to lock or find the message with the sequence number %d.", seq))
}

// corrupt returns the error for stored data of a message that contradicts itself.
func (s *messageStore) corrupt(seq int64, what string) error {
	return fmt.Errorf("%w: message %d of %s %s", engine.ErrCorrupt, seq, s.name(), what)
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
