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

// Transfer implements amqp.Sink.
func (k *coordinator) Transfer(ctx context.Context, list []amqp.Incoming) []frame.State {
	states := make([]frame.State, len(list))
	for i, in := range list {
		state, err := k.answer(ctx, in.Payload)
		if err != nil {
			state = &frame.Rejected{Error: k.c.asError(err, "")}
		}
		states[i] = state
	}
	return states
}

// answer declares a transaction or ends one.
func (k *coordinator) answer(ctx context.Context, payload []byte) (frame.State, error) {
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
	if d, ok := request.(*frame.Discharge); ok {
		return k.discharge(ctx, d)
	}
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

func (k *coordinator) discharge(ctx context.Context, d *frame.Discharge) (frame.State, error) {
	tx, err := k.c.transaction(d.TxnID)
	if err != nil {
		return nil, err
	}
	k.c.mu.Lock()
	delete(k.c.transactions, string(d.TxnID))
	k.c.mu.Unlock()
	if d.Fail {
		tx.Rollback()
		return &frame.Accepted{}, nil
	}
	return &frame.Accepted{}, tx.Commit(ctx)
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
