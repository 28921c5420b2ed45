package view

import (
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
)

// NotFound returns the error for a store that no longer exists.
func (s *MessageStore) NotFound() *entity.Error {
	return &entity.Error{Code: entity.CodeEntityNotFound, Entity: s.Name(),
		Message: "The messaging entity '" + s.Name() + "' could not be found."}
}

// Refuse returns an error about this store, with a code and a text.
func (s *MessageStore) Refuse(code entity.ErrorCode, text string) *entity.Error {
	return &entity.Error{Code: code, Message: text, Entity: s.Name()}
}

// NotAllowed returns an error about this store with CodeNotAllowed and a text.
func (s *MessageStore) NotAllowed(text string) *entity.Error {
	return s.Refuse(entity.CodeNotAllowed, text)
}

// Argument returns an error about this store with CodeArgument and a text.
func (s *MessageStore) Argument(text string) *entity.Error {
	return s.Refuse(entity.CodeArgument, text)
}

// OutOfRange returns an error about this store with CodeArgumentOutOfRange and a text.
func (s *MessageStore) OutOfRange(text string) *entity.Error {
	return s.Refuse(entity.CodeArgumentOutOfRange, text)
}

// TooLarge returns the error for a message or batch that exceeds the limit of the entity.
func (s *MessageStore) TooLarge() *entity.Error {
	return s.Refuse(entity.CodeMessageTooLarge, "The message or batch is larger than the entity takes.")
}

// LockLost returns the error for a token without a lock.
func (s *MessageStore) LockLost() *entity.Error {
	if s.BySession {
		return s.SessionLost()
	}
	return s.Refuse(
		entity.CodeMessageLockLost,
		"The lock supplied is invalid. Either the lock expired, or the "+
			"message has already been removed from the queue.",
	)
}

// SessionLost returns the error for a session lock that has ended.
func (s *MessageStore) SessionLost() *entity.Error {
	return s.Refuse(
		entity.CodeSessionLockLost,
		"The session lock has expired on the session. Accept a new session.",
	)
}

// MessageNotFound returns the error for a sequence number without a message in the requested state.
func (s *MessageStore) MessageNotFound(seq int64) *entity.Error {
	return s.Refuse(entity.CodeMessageNotFound,
		fmt.Sprintf("Failed to lock or find the message with the sequence number %d.", seq))
}

// Corrupt returns the error for stored data of a message that is inconsistent.
func (s *MessageStore) Corrupt(seq int64, what string) error {
	return fmt.Errorf("%w: message %d of %s %s", engine.ErrCorrupt, seq, s.Name(), what)
}
