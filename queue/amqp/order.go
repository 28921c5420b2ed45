package amqp

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// This file keeps the order of work around transactions. Links are served in parallel, with one exception. A
// discharge is processed after all work of its transaction that arrived before it. Work that arrives on the
// same session after the discharge waits until the discharge is done. If a coordinator is the only link of
// its session, its discharges order the whole connection, because such clients use one session per link.
//
// Work waits only for work that has arrived before it, and links process what has arrived even after their
// client has disconnected. Therefore there is no cycle of waits, and each wait ends. The connection's lock
// guards all of this state.

// connTransactions holds the undischarged transactions of a connection, and the last discharge for which
// later messages and settlements of the whole connection must wait.
type connTransactions struct {
	transactions map[string]*transaction // by id
	last         *dischargeRequest       // the last discharge that is a barrier for the whole connection
}

// transaction is an undischarged transaction that a coordinator of the connection has declared.
type transaction struct {
	by          *Link
	pending     int // transfers and settlements that have arrived and are not done
	incomplete  bool
	provisional map[*outgoingDelivery]struct{} // deliveries that the transaction will settle
	ending      *dischargeRequest              // its discharge; nil: none has arrived
}

// dischargeRequest is a client's request to end a transaction, from its arrival until it is done.
type dischargeRequest struct {
	id   string
	t    *transaction // nil: there is no transaction with the id
	fail bool
	done bool
}

// transactionOrderingConstraints says when a message or a settlement that has arrived may be processed, and
// which transaction must wait for that. It is processed after all discharges (ends of transactions) in the
// field behind. The transaction in the field of cannot end before it has been processed.
type transactionOrderingConstraints struct {
	behind []*dischargeRequest
	of     *transaction      // the transaction in whose pending it is counted; nil: none
	ends   *dischargeRequest // set if the arrival is a discharge
}

// enqueue records that a message or settlement has arrived on the session, and returns the discharges and
// the transaction that determine when it may be processed. state is the state in its frame, which may name
// a transaction. ends is set if the message is a discharge.
func (s *session) enqueue(state frame.DeliveryState, ends *dischargeRequest) transactionOrderingConstraints {
	c := s.c
	w := transactionOrderingConstraints{behind: s.barriers(), ends: ends}
	if ends != nil {
		if ends.t = c.transactions[ends.id]; ends.t != nil && ends.t.ending == nil {
			ends.t.ending = ends
		}
		s.order(ends)
		return w
	}
	part, ok := state.(*frame.Transactional)
	if !ok {
		return w
	}
	switch t := c.transactions[string(part.TxnID)]; {
	case t == nil: // the node refuses it
	case t.ending != nil:
		w.behind = append(w.behind, t.ending)
	default:
		t.pending++
		w.of = t
	}
	return w
}

// barriers returns the discharges (requests to end a transaction) that must be done before work that
// arrives on the session now may be processed: the last discharge of the session and the last one of the
// connection, without those that are done.
func (s *session) barriers() (list []*dischargeRequest) {
	for _, d := range []*dischargeRequest{s.last, s.c.last} {
		if d != nil && !d.done {
			list = append(list, d)
		}
	}
	return list
}

// order makes work that arrives after a discharge wait until the discharge is done: work of its session or,
// if the coordinator's link is the only one of the session, of the whole connection.
func (s *session) order(d *dischargeRequest) {
	if len(s.links) > 1 {
		s.last = d
		return
	}
	s.c.last = d
}

// ready reports whether the message or settlement may be processed now. All discharges (requests to end a
// transaction) that it waits for must be done. If it is a discharge itself, all work of its transaction must
// also be done.
func (w *transactionOrderingConstraints) ready() bool {
	return passed(w.behind) && (w.ends == nil || w.ends.t == nil || w.ends.t.pending == 0)
}

// passed reports whether all transaction discharges (requests to end a transaction) in the list are done.
func passed(list []*dischargeRequest) bool {
	for _, d := range list {
		if !d.done {
			return false
		}
	}
	return true
}

// finish records that a message or settlement, whose dependencies are w, has been processed, and wakes
// everything that waits for it. done says whether it has become part of its transaction or, for a
// discharge, whether the transaction has been committed.
func (c *conn) finish(w *transactionOrderingConstraints, done bool) {
	if w.of != nil {
		w.of.pending--
		w.of.incomplete = w.of.incomplete || !done
	}
	if d := w.ends; d != nil {
		d.done = true
		if d.t != nil && d.t.ending == d {
			c.settleProvisional(d.t, done)
			delete(c.transactions, d.id)
		}
	}
	c.signal()
}

// failTransaction is called if a message or settlement with the delivery state state was lost. If the state
// names an open transaction, that transaction can no longer be committed.
func (c *conn) failTransaction(state frame.DeliveryState) {
	if part, ok := state.(*frame.Transactional); ok {
		if t := c.transactions[string(part.TxnID)]; t != nil && t.ending == nil {
			t.incomplete = true
		}
	}
}

// failFrame is called for a frame that is not processed. If its message or settlement belongs to a
// transaction, that transaction can no longer be committed.
func (c *conn) failFrame(body frame.Body) {
	switch b := body.(type) {
	case *frame.Transfer:
		c.failTransaction(b.State)
	case *frame.Disposition:
		c.failTransaction(b.State)
	}
}

// declared records a transaction that a client has declared at the coordinator.
func (l *Link) declared(id []byte) {
	c := l.s.c
	if c.transactions == nil {
		c.transactions = make(map[string]*transaction)
	}
	c.transactions[string(id)] = &transaction{by: l, provisional: make(map[*outgoingDelivery]struct{})}
}

// abandonTransactions removes the transactions that were declared on this link, a link to the coordinator
// that has ended. As after a rollback, the client can settle their deliveries again.
func (l *Link) abandonTransactions() {
	c := l.s.c
	for id, t := range c.transactions {
		if t.by == l {
			c.settleProvisional(t, false)
			delete(c.transactions, id)
		}
	}
}

// settleProvisional ends the provisional state of the deliveries of a transaction. If the transaction was
// committed, they are settled. After a rollback the client can settle them again (OASIS AMQP 1.0 part 4,
// 4.4.2).
func (c *conn) settleProvisional(t *transaction, committed bool) {
	list := slices.SortedFunc(maps.Keys(t.provisional), func(a, b *outgoingDelivery) int {
		return cmp.Compare(a.id,
			b.id)
	})
	clear(t.provisional)
	for _, d := range list {
		outcome := d.outcome
		d.transaction, d.outcome = nil, nil
		if s := d.link.s; committed {
			delete(s.unsettled, d.id)
			if d.link.acceptsFrames() {
				c.write(s.channel, &frame.Disposition{First: d.id, Settled: true, State: outcome})
			}
		}
	}
}

// setProvisional records the outcome that a delivery will have if its transaction is committed.
func (d *outgoingDelivery) setProvisional(state *frame.Transactional) {
	if t := d.link.s.c.transactions[string(state.TxnID)]; t != nil {
		d.transaction, d.outcome = t, state.Outcome
		t.provisional[d] = struct{}{}
	}
}

// forget removes the delivery from the unsettled deliveries of its session and from its transaction, because
// it is settled or cannot be settled any more.
func (d *outgoingDelivery) forget() {
	delete(d.link.s.unsettled, d.id)
	if d.transaction != nil {
		delete(d.transaction.provisional, d)
		d.transaction, d.outcome = nil, nil
	}
}
