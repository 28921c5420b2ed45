package bus

import (
	"context"
	"encoding/binary"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// maxTransactions is how many a connection can have declared and not discharged.
const maxTransactions = 1000

// earlyTransactions is maxTransactions for a client that has shown no token yet. Some declare their first
// transaction before they put one.
const earlyTransactions = 8

// transaction is one that a client has declared.
type transaction struct {
	tx *queue.Transaction
	by *coordinator
}

// transaction finds one by its id.
func (c *conn) transaction(id []byte) (*queue.Transaction, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.transactions[string(id)]
	if t == nil {
		return nil, &frame.Error{Condition: frame.CondTransactionUnknownID,
			Description: "There is no transaction of that id."}
	}
	return t.tx, nil
}

// coordinator is the node to which a client declares transactions, and by which it ends them.
type coordinator struct{ c *conn }

// answer is what the link of a coordinator is like.
func (k *coordinator) answer() amqp.Answer { return amqp.Answer{Sink: k, Discharges: discharges} }

// discharges tells which transaction a message to a coordinator ends.
func discharges(payload []byte) (txn []byte, fail, ok bool) {
	request, err := coordination(payload)
	if d, ok := request.(*frame.Discharge); ok && err == nil {
		return d.TxnID, d.Fail, true
	}
	return nil, false, false
}

// coordination reads a message to a coordinator: *frame.Declare or *frame.Discharge.
func coordination(payload []byte) (frame.Body, error) {
	m, err := message.Parse(payload)
	if err != nil {
		return nil, err
	}
	_, _, value, _, err := wire.SplitDescribed(m.Body)
	if err != nil {
		return nil, err
	}
	request, err := frame.ParseRequest(value)
	if err != nil {
		return nil, &queue.Error{Code: queue.CodeArgument, Message: err.Error(), Err: err}
	}
	return request, nil
}

// Transfer implements amqp.Sink.
func (k *coordinator) Transfer(ctx context.Context, list []amqp.Incoming) []frame.State {
	states := make([]frame.State, len(list))
	for i, in := range list {
		state, err := k.coordinate(ctx, in)
		if err != nil {
			state = &frame.Rejected{Error: k.c.asError(err, "")}
		}
		states[i] = state
	}
	return states
}

// coordinate declares a transaction or ends one.
func (k *coordinator) coordinate(ctx context.Context, in amqp.Incoming) (frame.State, error) {
	request, err := coordination(in.Payload)
	if err != nil {
		return nil, err
	}
	if d, ok := request.(*frame.Discharge); ok {
		return &frame.Accepted{}, k.discharge(ctx, d, in.Incomplete)
	}
	return k.declare(ctx)
}

func (k *coordinator) declare(ctx context.Context) (frame.State, error) {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	if n := len(k.c.transactions); n >= maxTransactions || n >= earlyTransactions && !k.c.Authorized() {
		return nil, &queue.Error{Code: queue.CodeQuotaExceeded,
			Message: "The connection has as many transactions as it can have."}
	}
	tx, err := k.c.queues.Begin(ctx)
	if err != nil {
		return nil, err
	}
	k.c.lastTxn++
	id := binary.BigEndian.AppendUint64(nil, k.c.lastTxn)
	k.c.transactions[string(id)] = &transaction{tx, k}
	return &frame.Declared{TxnID: id}, nil
}

// discharge ends a transaction. One of which some work was refused or lost is rolled back, since the client may
// have asked for the end before it knew.
func (k *coordinator) discharge(ctx context.Context, d *frame.Discharge, incomplete bool) error {
	tx, err := k.c.transaction(d.TxnID)
	if err != nil {
		return err
	}
	k.c.mu.Lock()
	delete(k.c.transactions, string(d.TxnID))
	k.c.mu.Unlock()
	if !d.Fail && !incomplete {
		return tx.Commit(ctx)
	}
	tx.Rollback()
	if !d.Fail {
		return &frame.Error{Condition: frame.CondTransactionRollback,
			Description: "The transaction was rolled back: an operation that belongs to it was refused."}
	}
	return nil
}

// Detached implements amqp.Sink: what was declared and not ended is rolled back.
func (k *coordinator) Detached() {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	for id, t := range k.c.transactions {
		if t.by == k {
			t.tx.Rollback()
			delete(k.c.transactions, id)
		}
	}
}
