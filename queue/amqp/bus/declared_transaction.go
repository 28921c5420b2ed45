package bus

import (
	"cmp"
	"context"
	"encoding/binary"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// maxTransactions is the maximal number of transactions of a connection that have not been discharged.
const maxTransactions = 1000

// earlyTransactions is the maximal number of undischarged transactions of a connection whose client is not
// authorized yet. Some clients declare a transaction before they send a token.
const earlyTransactions = 8

// declaredTransaction is a transaction that a client has declared on a connection and not discharged yet.
// The connection's mutex guards the fields that change.
type declaredTransaction struct {
	tx *queue.Transaction
	by *transactionCoordinator

	// the queue or topic that it belongs to, in lower case; "": no operation has joined it yet
	entity    string
	partition string // its partition key; "": none
}

// amqpSessionTransactionState is what the links of one AMQP session share. It holds the session's first link,
// because the entity of that link is the entity to which the session's transactions belong, as in Service
// Bus. The connection's mutex guards it.
type amqpSessionTransactionState struct {
	coordinator bool
	first       *amqp.Link // the first link to an entity; nil: there is none
	entity      string     // of the first link, in lower case
}

// groupOf returns the state that the links of l's session share, and creates it if necessary. The caller
// holds the connection's mutex.
func groupOf(l *amqp.Link) *amqpSessionTransactionState {
	g, ok := l.Session().Own.(*amqpSessionTransactionState)
	if !ok {
		g = &amqpSessionTransactionState{}
		l.Session().Own = g
	}
	return g
}

// Attaching implements amqp.ConnectionHandler. For each session it records the entity of the first link, and
// whether there is a link to a transaction coordinator. The transactions that the coordinator declares then
// belong to that entity.
func (c *conn) Attaching(l *amqp.Link, a *frame.Attach) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := groupOf(l)
	if _, ok := a.Target.(*frame.Coordinator); ok && !a.Receiver {
		g.coordinator = true
		return
	}
	address, ok := addressOf(a)
	if !ok || g.first != nil || isTokenNode(address) {
		return
	}
	if at, management, err := entity.ParseAddress(address); err == nil && !management {
		g.first, g.entity = l, at.TopLevel()
	}
}

// joinGroup returns an error for a receiver on an AMQP session with transactions (with a coordinator link) if
// its entity is not that of the session's first link: without the option CrossEntityTransactions, a
// transaction is limited to one queue or topic.
func (c *conn) joinGroup(l *amqp.Link, at entity.Address) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := groupOf(l)
	if c.bus.o.CrossEntityTransactions || !g.coordinator || g.first == nil || g.entity == at.TopLevel() {
		return nil
	}
	return crossEntityError(at)
}

// leaveGroup forgets a link that was refused: it no longer counts as the first link of its AMQP session,
// which determines the entity of transactions (see Attaching).
func (c *conn) leaveGroup(l *amqp.Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := groupOf(l); g.first == l {
		g.first, g.entity = nil, ""
	}
}

func crossEntityError(at entity.Address) error {
	return &entity.Error{Code: entity.CodeNotAllowed, Entity: at.String(),
		Message: "Local transactions cannot span multiple top-level entities such as queue or topic."}
}

// transactionalOperation is an operation that can be part of a transaction.
type transactionalOperation struct {
	link  *amqp.Link
	at    entity.Address // the entity through which the operation runs
	sends bool           // sends messages, which may go to other entities in a session with a coordinator
	// partition returns the partition key of the operation; "": none.
	partition func() (key string, err error)
}

// join adds an operation to the transaction named by its state. It returns nil if the state names none. It
// fails if the operation cannot be part of the transaction.
func (c *conn) join(state frame.DeliveryState, p transactionalOperation) (*queue.Transaction, error) {
	part, ok := state.(*frame.Transactional)
	if !ok {
		return nil, nil
	}
	key, err := p.partition()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.transactions[string(part.TxnID)]
	if t == nil {
		return nil, unknownTransaction()
	}
	own, together := p.at.TopLevel(), t.by.link.Session() == p.link.Session()
	if t.entity == "" {
		if t.entity = own; together && groupOf(p.link).first != nil {
			t.entity = groupOf(p.link).entity
		}
	}
	if own != t.entity {
		if !c.bus.o.CrossEntityTransactions && !(together && p.sends) {
			return nil, crossEntityError(p.at)
		}
		return t.tx, nil // the partition check applies only to the transaction's own entity
	}
	if key != "" && t.partition != "" && key != t.partition {
		return nil, &entity.Error{Code: entity.CodeNotAllowed, Entity: p.at.String(),
			Message: "Local transactions cannot span multiple entities or partitions."}
	}
	t.partition = cmp.Or(t.partition, key)
	return t.tx, nil
}

// joined returns the delivery state with which the server answers a client's delivery or settlement: outcome,
// or a Transactional with outcome in it if state, the state that the client has sent, names a transaction.
func joined(state, outcome frame.DeliveryState) frame.DeliveryState {
	if part, ok := state.(*frame.Transactional); ok {
		return &frame.Transactional{TxnID: part.TxnID, Outcome: outcome}
	}
	return outcome
}

func unknownTransaction() error {
	return &frame.Error{Condition: frame.CondTransactionUnknownID,
		Description: "There is no transaction of that id."}
}

// transactionCoordinator is the node at which a client declares and discharges transactions.
type transactionCoordinator struct {
	c    *conn
	link *amqp.Link
}

// answer returns the properties of a link to a coordinator.
func (k *transactionCoordinator) answer() amqp.AcceptedLink {
	return amqp.AcceptedLink{Sink: k, Discharges: discharges}
}

// discharges decodes an AMQP discharge, the message to a transaction coordinator that ends transaction txn.
// fail requests a rollback instead of a commit. ok is false for any other message.
func discharges(payload []byte) (txn []byte, fail, ok bool) {
	request, err := coordination(payload)
	if d, ok := request.(*frame.Discharge); ok && err == nil {
		return d.TxnID, d.Fail, true
	}
	return nil, false, false
}

// coordination decodes a message to a coordinator: *frame.Declare or *frame.Discharge.
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
		return nil, &entity.Error{Code: entity.CodeArgument, Message: err.Error(), Err: err}
	}
	return request, nil
}

// Transfer declares and discharges transactions, as the messages request, and returns the outcome of each.
// It implements amqp.MessageSink.
func (k *transactionCoordinator) Transfer(ctx context.Context,
	list []amqp.IncomingMessage) []frame.DeliveryState {
	states := make([]frame.DeliveryState, len(list))
	for i, in := range list {
		e := k.c.recording(transferFrame, "coordinate transaction", "")
		state, err := k.coordinate(ctx, in)
		if err != nil {
			state = &frame.Rejected{Error: k.c.asError(err, "")}
		}
		k.c.record(e, refusalOf(state))
		states[i] = state
	}
	return states
}

// coordinate declares or discharges a transaction.
func (k *transactionCoordinator) coordinate(ctx context.Context,
	in amqp.IncomingMessage) (frame.DeliveryState, error) {
	request, err := coordination(in.Payload)
	if err != nil {
		return nil, err
	}
	if d, ok := request.(*frame.Discharge); ok {
		return &frame.Accepted{}, k.discharge(ctx, d, in.Incomplete)
	}
	return k.declare(ctx)
}

func (k *transactionCoordinator) declare(ctx context.Context) (frame.DeliveryState, error) {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	if n := len(k.c.transactions); n >= maxTransactions || n >= earlyTransactions && !k.c.Authorized() {
		return nil, &entity.Error{Code: entity.CodeQuotaExceeded,
			Message: "The connection has as many transactions as it can have."}
	}
	tx, err := k.c.queues.Begin(ctx)
	if err != nil {
		return nil, err
	}
	k.c.lastTxn++
	id := binary.BigEndian.AppendUint64(nil, k.c.lastTxn)
	k.c.transactions[string(id)] = &declaredTransaction{tx: tx, by: k}
	return &frame.Declared{TxnID: id}, nil
}

// discharge ends a transaction. incomplete means that some of its work was refused or lost. Then discharge
// rolls the transaction back, because the client may have sent the discharge before it knew that.
func (k *transactionCoordinator) discharge(ctx context.Context, d *frame.Discharge, incomplete bool) error {
	k.c.mu.Lock()
	t := k.c.transactions[string(d.TxnID)]
	delete(k.c.transactions, string(d.TxnID))
	k.c.mu.Unlock()
	if t == nil {
		return unknownTransaction()
	}
	if !d.Fail && !incomplete {
		return t.tx.Commit(ctx)
	}
	t.tx.Rollback()
	if !d.Fail {
		return &frame.Error{Condition: frame.CondTransactionRollback,
			Description: "The transaction was rolled back: an operation that belongs to it was refused."}
	}
	return nil
}

// Detached implements amqp.MessageSink. It rolls back the coordinator's undischarged transactions.
func (k *transactionCoordinator) Detached() {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	for id, t := range k.c.transactions {
		if t.by == k {
			t.tx.Rollback()
			delete(k.c.transactions, id)
		}
	}
}
