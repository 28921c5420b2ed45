package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

// moment is a millisecond as a time.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func (s *messageStore) refuse(code Code, text string) *Error {
	return &Error{Code: code, Message: text, Entity: s.name()}
}

func (s *messageStore) notAllowed(text string) *Error { return s.refuse(CodeNotAllowed, text) }

func (s *messageStore) argument(text string) *Error { return s.refuse(CodeArgument, text) }

func (s *messageStore) outOfRange(text string) *Error { return s.refuse(CodeArgumentOutOfRange, text) }

// refusesSenders says that the entity's status refuses messages; nil where it does not.
func (s *messageStore) refusesSenders() *Error {
	if st := s.e.properties.Load().Status; st == Disabled || st == SendDisabled {
		return s.refuse(CodeEntityDisabled, "The messaging entity '"+s.name()+"' is disabled for sending.")
	}
	return nil
}

func (s *messageStore) tooLarge() *Error {
	return s.refuse(CodeMessageTooLarge, "The message or batch is larger than the entity takes.")
}

// lockLost says that a token is that of no lock.
func (s *messageStore) lockLost() *Error {
	if s.bySession() {
		return s.sessionLost()
	}
	return s.refuse(CodeMessageLockLost, "The lock supplied is invalid. Either the lock expired, or the "+
		"message has already been removed from the queue.")
}

// sessionLost says that the lock of a session has ended.
func (s *messageStore) sessionLost() *Error {
	return s.refuse(CodeSessionLockLost, "The session lock has expired on the session. Accept a new session.")
}

// messageNotFound says that a number is that of no message that is in the state that was asked for.
func (s *messageStore) messageNotFound(seq int64) *Error {
	return s.refuse(CodeMessageNotFound,
		fmt.Sprintf("Failed to lock or find the message with the sequence number %d.", seq))
}

// corrupt says that what is stored of a message contradicts itself.
func (s *messageStore) corrupt(seq int64, what string) error {
	return fmt.Errorf("%w: message %d of %s %s", engine.ErrCorrupt, seq, s.name(), what)
}

// wrap makes an *Error of an error of the engine, and of a context's.
func wrap(err error) error {
	var own *Error
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeCancelled, Message: "The operation was cancelled.", Err: err}
	case errors.Is(err, engine.ErrClosed):
		return &Error{Code: CodeCancelled, Message: "The server is stopping.", Err: err}
	case errors.Is(err, engine.ErrTooLarge):
		text := "The messages are too large for one transaction."
		return &Error{Code: CodeMessageTooLarge, Message: text, Err: err}
	}
	return &Error{Code: CodeStorage, Message: "The messages could not be stored or read.", Err: err}
}
