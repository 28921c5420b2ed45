package entity

import (
	"errors"
	"strconv"
)

// Code says what kind of failure an Error is. Each has its condition in AMQP and its status in REST, in the
// tables of those packages.
type Code uint8

// The codes.
const (
	CodeInternal              Code = iota
	CodeEntityNotFound             // there is no such entity
	CodeEntityExists               // one of that name, or of the other kind, is there
	CodeEntityDisabled             // its status refuses this
	CodeUnauthorized               // no right to it
	CodeMessageLockLost            // the lock has lapsed, or was never held; the message is untouched
	CodeSessionLockLost            // the same of a session
	CodeSessionCannotBeLocked      // somebody else holds it
	CodeMessageNotFound            // no deferred or scheduled message has that number
	CodeRuleNotFound               // the subscription has no such rule
	CodeRuleExists                 // the subscription has a rule of that name
	CodeTimeout                    // nothing came in the time that the caller gave
	CodeServerBusy                 // too much at once; a retry may succeed
	CodeQuotaExceeded              // the entity is full
	CodeMessageTooLarge            // one message, or one batch
	CodeArgument                   // malformed, or refused for what it says
	CodeArgumentOutOfRange         // a number or duration outside of its bounds
	CodeNotAllowed                 // sessions where there are none, sending to dead letters, and the like
	CodeNotImplemented             // known, and not here
	CodeCancelled                  // the caller's context ended, or the server stops
	CodeStorage                    // the engine: see Err and host.Classify
)

// String returns the name of the code, for logs.
func (c Code) String() string {
	names := [...]string{"Internal", "EntityNotFound", "EntityExists", "EntityDisabled", "Unauthorized",
		"MessageLockLost", "SessionLockLost", "SessionCannotBeLocked", "MessageNotFound", "RuleNotFound",
		"RuleExists", "Timeout", "ServerBusy", "QuotaExceeded", "MessageTooLarge", "Argument",
		"ArgumentOutOfRange", "NotAllowed", "NotImplemented", "Cancelled", "Storage"}
	if int(c) < len(names) {
		return names[c]
	}
	return "Code(" + strconv.Itoa(int(c)) + ")"
}

// Error is the one error type of the package.
type Error struct {
	Code    Code
	Message string // for the client; the wire adds its tracking id
	Entity  string // whom it concerns; "" for none
	Err     error  // what lies below it; nil for none
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what lies below.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf is the code of an error, wrapped or not: CodeInternal for one of another type.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// Retryable reports whether the same call may succeed later: of timeouts, a busy server, failures within.
func (c Code) Retryable() bool {
	switch c {
	case CodeTimeout, CodeServerBusy, CodeInternal, CodeCancelled, CodeStorage:
		return true
	}
	return false
}
