package queue

import (
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// Outcome is how a message is settled.
type Outcome uint8

// The outcomes.
const (
	Complete   Outcome = iota
	Abandon            // back to the store, the delivery is counted
	Release            // back to the store, the delivery is not counted
	Defer              // kept for who asks for its number
	DeadLetter         // to the dead letters
)

// Settlement settles one message.
type Settlement struct {
	Outcome     Outcome
	Modify      []message.Property // application properties that are set; null deletes
	Reason      *string            // of DeadLetter; nil: none
	Description *string
}

// store finds a store of messages: CodeEntityNotFound, and CodeCancelled where there is no server.
func (q *Queues) store(a entity.Address) (*messageStore, error) {
	m, err := q.dataset()
	if err != nil {
		return nil, err
	}
	e, err := m.find(a)
	if err != nil {
		return nil, err
	}
	if int(a.Sub) >= len(e.stores) || e.stores[a.Sub] == nil {
		return nil, &entity.Error{Code: entity.CodeNotAllowed, Entity: a.String(),
			Message: "A topic has no such message store."}
	}
	return e.stores[a.Sub], nil
}
