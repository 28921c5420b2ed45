package bus

import (
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// AMQP error conditions that Service Bus defines.
const (
	condEntityExists       wire.Symbol = "com.microsoft:entity-already-exists"
	condEntityDisabled     wire.Symbol = "com.microsoft:entity-disabled"
	condMessageLockLost    wire.Symbol = "com.microsoft:message-lock-lost"
	condSessionLockLost    wire.Symbol = "com.microsoft:session-lock-lost"
	condSessionNotLockable wire.Symbol = "com.microsoft:session-cannot-be-locked"
	condMessageNotFound    wire.Symbol = "com.microsoft:message-not-found"
	condTimeout            wire.Symbol = "com.microsoft:timeout"
	condServerBusy         wire.Symbol = "com.microsoft:server-busy"
	condArgument           wire.Symbol = "com.microsoft:argument-error"
	condOutOfRange         wire.Symbol = "com.microsoft:argument-out-of-range"
	condCancelled          wire.Symbol = "com.microsoft:operation-cancelled"
	condDeadLetter         wire.Symbol = "com.microsoft:dead-letter"
)

// conditionAndStatus is how an error is reported to the client: the condition of an AMQP error, and the
// status of a management response.
type conditionAndStatus struct {
	condition wire.Symbol
	status    int32
}

// failureOf returns the AMQP condition and the HTTP status with which an error code of package queue is sent
// to clients.
func failureOf(code entity.ErrorCode) conditionAndStatus {
	switch code {
	case entity.CodeEntityNotFound, entity.CodeRuleNotFound:
		return conditionAndStatus{frame.CondNotFound, http.StatusNotFound}
	case entity.CodeEntityExists, entity.CodeRuleExists:
		return conditionAndStatus{condEntityExists, http.StatusConflict}
	case entity.CodeEntityDisabled:
		return conditionAndStatus{condEntityDisabled, http.StatusForbidden}
	case entity.CodeUnauthorized:
		return conditionAndStatus{frame.CondUnauthorized, http.StatusUnauthorized}
	case entity.CodeMessageLockLost:
		return conditionAndStatus{condMessageLockLost, http.StatusGone}
	case entity.CodeSessionLockLost:
		return conditionAndStatus{condSessionLockLost, http.StatusGone}
	case entity.CodeSessionCannotBeLocked:
		return conditionAndStatus{condSessionNotLockable, http.StatusConflict}
	case entity.CodeMessageNotFound:
		return conditionAndStatus{condMessageNotFound, http.StatusNotFound}
	case entity.CodeTimeout:
		return conditionAndStatus{condTimeout, http.StatusRequestTimeout}
	case entity.CodeServerBusy:
		return conditionAndStatus{condServerBusy, http.StatusServiceUnavailable}
	case entity.CodeQuotaExceeded:
		return conditionAndStatus{frame.CondResourceLimit, http.StatusForbidden}
	case entity.CodeMessageTooLarge:
		return conditionAndStatus{frame.CondMessageSize, http.StatusRequestEntityTooLarge}
	case entity.CodeArgument:
		return conditionAndStatus{condArgument, http.StatusBadRequest}
	case entity.CodeArgumentOutOfRange:
		return conditionAndStatus{condOutOfRange, http.StatusBadRequest}
	case entity.CodeNotAllowed:
		return conditionAndStatus{frame.CondNotAllowed, http.StatusBadRequest}
	case entity.CodeNotImplemented:
		return conditionAndStatus{frame.CondNotImplemented, http.StatusNotImplemented}
	case entity.CodeCancelled:
		return conditionAndStatus{condCancelled, http.StatusServiceUnavailable}
	}
	return conditionAndStatus{frame.CondInternal, http.StatusInternalServerError}
}

// asError converts an error to the error that is sent to the client. path is the entity concerned, if err
// does not name one. Errors that were not caused by a client are logged.
func (c *conn) asError(err error, path string) *frame.Error {
	var standard *frame.Error // an error that is not of package queue
	if errors.As(err, &standard) {
		return &frame.Error{Condition: standard.Condition,
			Description: c.track(standard.Description, path, uuid.NewString())}
	}
	own, tracking := c.toQueueError(err)
	if own.Entity != "" {
		path = own.Entity
	}
	return &frame.Error{Condition: failureOf(own.Code).condition,
		Description: c.track(own.Message, path, tracking)}
}

// toQueueError converts an error to one of package queue, and logs it unless a client has caused it. tracking
// is an id that appears both in the error that the client gets and in the log line.
func (c *conn) toQueueError(err error) (own *entity.Error, tracking string) {
	tracking = uuid.NewString()
	var format *message.FormatError
	var value *wire.CodecError
	switch {
	case errors.As(err, &own):
		if own.Code == entity.CodeStorage || own.Code == entity.CodeInternal {
			c.bus.o.Logger.Error("an operation of Service Bus failed", "activity", tracking,
				"entity", own.Entity, "error", own.Err)
		}
		return own, tracking
	case errors.As(err, &format), errors.As(err, &value):
		return &entity.Error{Code: entity.CodeArgument, Message: err.Error(), Err: err}, tracking
	}
	c.bus.o.Logger.Error("an operation of Service Bus failed with an unexpected error", "activity", tracking,
		"error", err)
	return &entity.Error{Code: entity.CodeInternal, Message: "The server was unable to process the request.",
		Err: err}, tracking
}

// track appends to an error's description what Service Bus appends: " TrackingId:..., SystemTracker:...,
// Timestamp:...".
func (c *conn) track(text, path, tracking string) string {
	var b strings.Builder
	b.WriteString(text)
	b.WriteString(" TrackingId:")
	b.WriteString(tracking)
	b.WriteString("_B0, SystemTracker:")
	b.WriteString(c.namespace)
	if path != "" {
		b.WriteString(":Entity:" + path)
	}
	b.WriteString(", Timestamp:")
	b.WriteString(c.queues.Now().UTC().Format("2006-01-02T15:04:05"))
	return b.String()
}
