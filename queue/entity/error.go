package entity

import (
	"errors"
	"strconv"
)

// ErrorCode is a kind of failure. The packages of the protocols map each code to an AMQP condition and a REST
// status.
type ErrorCode uint8

// The codes of errors, one for each kind of failure.
const (
	CodeInternal              ErrorCode = iota
	CodeEntityNotFound                  // the entity does not exist
	CodeEntityExists                    // a queue or topic with the name exists already
	CodeEntityDisabled                  // its status does not allow the operation
	CodeUnauthorized                    // the token lacks the required right
	CodeMessageLockLost                 // the lock has lapsed or never existed; the message has not been changed
	CodeSessionLockLost                 // the session lock has lapsed or never existed
	CodeSessionCannotBeLocked           // another receiver holds the lock
	CodeMessageNotFound                 // no message with this sequence number is in the required state
	CodeRuleNotFound                    // the subscription has no rule with the name
	CodeRuleExists                      // the subscription has a rule with the name already
	CodeTimeout                         // nothing arrived within the caller's time limit
	CodeServerBusy                      // overload; a retry may succeed
	CodeQuotaExceeded                   // the entity is full
	CodeMessageTooLarge                 // a message or batch exceeds the limit
	CodeArgument                        // an argument is malformed or invalid
	CodeArgumentOutOfRange              // a number or duration is out of bounds
	CodeNotAllowed                      // the entity does not support the operation
	CodeNotImplemented                  // the operation is not implemented
	CodeCancelled                       // the caller's context has ended, or the server is stopping
	CodeStorage                         // the engine failed: see Err and host.Classify
)

// String returns the name of the code, for logs.
func (c ErrorCode) String() string {
	names := [...]string{"Internal", "EntityNotFound", "EntityExists", "EntityDisabled", "Unauthorized",
		"MessageLockLost", "SessionLockLost", "SessionCannotBeLocked", "MessageNotFound", "RuleNotFound",
		"RuleExists", "Timeout", "ServerBusy", "QuotaExceeded", "MessageTooLarge", "Argument",
		"ArgumentOutOfRange", "NotAllowed", "NotImplemented", "Cancelled", "Storage"}
	if int(c) < len(names) {
		return names[c]
	}
	return "Code(" + strconv.Itoa(int(c)) + ")"
}

// Error is the error type of queues.
type Error struct {
	Code    ErrorCode
	Message string // text for the client, without the tracking id
	Entity  string // the entity concerned; "" for none
	Err     error  // the cause; nil for none
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrorCodeOf returns the code of an error, which may be wrapped, or CodeInternal for an error of another
// type.
func ErrorCodeOf(err error) ErrorCode {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// Retryable reports whether a retry of the same call may succeed.
func (c ErrorCode) Retryable() bool {
	switch c {
	case CodeTimeout, CodeServerBusy, CodeInternal, CodeCancelled, CodeStorage:
		return true
	}
	return false
}
