package frame

import "github.com/mayflydb/mayfly/queue/wire"

// Error conditions that AMQP 1.0 defines.
const (
	CondInternal             wire.Symbol = "amqp:internal-error"
	CondNotFound             wire.Symbol = "amqp:not-found"
	CondUnauthorized         wire.Symbol = "amqp:unauthorized-access"
	CondDecode               wire.Symbol = "amqp:decode-error"
	CondResourceLimit        wire.Symbol = "amqp:resource-limit-exceeded"
	CondNotAllowed           wire.Symbol = "amqp:not-allowed"
	CondInvalidField         wire.Symbol = "amqp:invalid-field"
	CondNotImplemented       wire.Symbol = "amqp:not-implemented"
	CondPreconditionFailed   wire.Symbol = "amqp:precondition-failed"
	CondIllegalState         wire.Symbol = "amqp:illegal-state"
	CondForced               wire.Symbol = "amqp:connection:forced"
	CondFraming              wire.Symbol = "amqp:connection:framing-error"
	CondWindowViolation      wire.Symbol = "amqp:session:window-violation"
	CondErrantLink           wire.Symbol = "amqp:session:errant-link"
	CondHandleInUse          wire.Symbol = "amqp:session:handle-in-use"
	CondUnattachedHandle     wire.Symbol = "amqp:session:unattached-handle"
	CondDetachForced         wire.Symbol = "amqp:link:detach-forced"
	CondTransferLimit        wire.Symbol = "amqp:link:transfer-limit-exceeded"
	CondMessageSize          wire.Symbol = "amqp:link:message-size-exceeded"
	CondTransactionUnknownID wire.Symbol = "amqp:transaction:unknown-id"
	CondTransactionRollback  wire.Symbol = "amqp:transaction:rollback"
	CondTransactionTimeout   wire.Symbol = "amqp:transaction:timeout"
)

// Error is an AMQP error.
type Error struct {
	Condition   wire.Symbol
	Description string
	Info        wire.Map
}

func (*Error) descriptor() uint64 { return descError }

func (e *Error) fields(l *fieldListEncoder) {
	l.symbol(e.Condition)
	l.text(e.Description)
	l.pairs(e.Info)
}

func (e *Error) Error() string { return string(e.Condition) + ": " + e.Description }

func readError(f *wire.FieldReader) *Error {
	in, ok := inner(f, descError, "amqp:error:list")
	if !ok {
		return nil
	}
	e := &Error{Condition: symbol(&in)}
	e.Description, _ = in.Text()
	e.Info = in.Map()
	f.Fail(in.Err())
	return e
}
