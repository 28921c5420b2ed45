package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// SettlementOutcome says how a message is settled.
type SettlementOutcome uint8

// The ways to settle a message.
const (
	Complete   SettlementOutcome = iota
	Abandon                      // gives the message back to the store; this counts as a delivery
	Release                      // gives the message back to the store; this does not count as a delivery
	Defer                        // keeps the message for receives by its sequence number
	DeadLetter                   // moves the message to the dead-letter queue
)

// SettlementRequest describes how to settle one message.
type SettlementRequest struct {
	Outcome     SettlementOutcome
	Modify      []message.ApplicationProperty // application properties to set; null deletes one
	Reason      *string                       // of DeadLetter; nil: no reason
	Description *string
}

// store returns the message store with an address. Errors: CodeEntityNotFound; CodeNotAllowed for a topic,
// which has no message store; CodeCancelled if the server is not open.
func (q *Queues) store(ctx context.Context, a entity.Address) (*inMemoryMessageStoreState, error) {
	m, err := q.dataset()
	if err != nil {
		return nil, err
	}
	e, err := m.lookup(ctx, a)
	if err != nil {
		return nil, err
	}
	if int(a.Sub) >= len(e.stores) || e.stores[a.Sub] == nil {
		return nil, &entity.Error{Code: entity.CodeNotAllowed, Entity: a.String(),
			Message: "A topic has no such message store."}
	}
	return e.stores[a.Sub], nil
}
