package queue

import "context"

// Transaction collects sends and settlements, which happen together at Commit, or not at all.
type Transaction struct{}

// Begin begins a transaction. It ends by Commit, Rollback, or by itself after two minutes.
func (q *Queues) Begin(ctx context.Context) (*Transaction, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// Commit makes all of it happen, durably and in one step, or nothing: the error says why.
func (t *Transaction) Commit(ctx context.Context) error { return &Error{Code: CodeNotImplemented} }

// Rollback gives it up: messages that it would have settled stay locked.
func (t *Transaction) Rollback() {}

func (t *Transaction) settle(s *messageStore, c *claim, st Settlement) error {
	return &Error{Code: CodeNotImplemented}
}
func (t *Transaction) send(e *entity, arrivals []arrival) error {
	return &Error{Code: CodeNotImplemented}
}
