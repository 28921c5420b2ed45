package amqp

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// The order of work around transactions. Links work side by side, but for one rule: a discharge is looked at
// when all work of its transaction that arrived before it has been done, and work that arrives behind it on
// its session waits until it is done. A coordinator that is the only link of its session orders the whole
// connection, since clients give each link a session of its own then.
//
// Work waits only for work that has arrived before it, and links work off what has arrived whatever becomes
// of their client, so that no wait is a cycle and each ends. The connection's lock guards all of it.

// ordering is what a connection knows of its transactions.
type ordering struct {
	transactions map[string]*transaction // by id
	last         *discharge              // of those that order the whole connection
}

// transaction is one that a coordinator of the connection has declared, until it is discharged.
type transaction struct {
	by          *Link
	pending     int // transfers and settlements of it that have arrived and are not done
	incomplete  bool
	provisional map[*outDelivery]struct{} // deliveries that it settles
	ending      *discharge                // nil: none has arrived
}

// discharge is the end of a transaction that a client asks for, from its arrival until it is done.
type discharge struct {
	id   string
	t    *transaction // nil: there is none of that id
	fail bool
	done bool
}

// turn is when an arrival or a settlement may be worked off, and what its end is to be counted for.
type turn struct {
	behind []*discharge
	of     *transaction // that counts it as pending; nil: none
	ends   *discharge   // that it is; nil: it is none
}

// enqueue notes work that has arrived on the session. state is that of its frame; ends is set of a discharge.
func (s *session) enqueue(state frame.State, ends *discharge) turn {
	c := s.c
	w := turn{behind: s.barriers(), ends: ends}
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

// barriers are the discharges that work which arrives on the session now is behind.
func (s *session) barriers() (list []*discharge) {
	for _, d := range []*discharge{s.last, s.c.last} {
		if d != nil && !d.done {
			list = append(list, d)
		}
	}
	return list
}

// order makes a discharge the last one of what it orders: its session, or the connection.
func (s *session) order(d *discharge) {
	if len(s.links) > 1 {
		s.last = d
		return
	}
	s.c.last = d
}

// ready reports whether the work may be done now.
func (w *turn) ready() bool {
	return passed(w.behind) && (w.ends == nil || w.ends.t == nil || w.ends.t.pending == 0)
}

// passed reports whether all of the discharges are done.
func passed(list []*discharge) bool {
	for _, d := range list {
		if !d.done {
			return false
		}
	}
	return true
}

// finish ends work: done reports whether it has become part of its transaction, if it has one. Of a
// discharge it reports whether the transaction is committed.
func (c *conn) finish(w *turn, done bool) {
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

// lose notes that work of a transaction is not done: it cannot be committed any more.
func (c *conn) lose(state frame.State) {
	if part, ok := state.(*frame.Transactional); ok {
		if t := c.transactions[string(part.TxnID)]; t != nil && t.ending == nil {
			t.incomplete = true
		}
	}
}

// loseFrame is lose for a frame that nobody takes in.
func (c *conn) loseFrame(body frame.Body) {
	switch b := body.(type) {
	case *frame.Transfer:
		c.lose(b.State)
	case *frame.Disposition:
		c.lose(b.State)
	}
}

// declared notes a transaction that the coordinator has declared.
func (l *Link) declared(id []byte) {
	c := l.s.c
	if c.transactions == nil {
		c.transactions = make(map[string]*transaction)
	}
	c.transactions[string(id)] = &transaction{by: l, provisional: make(map[*outDelivery]struct{})}
}

// abandonTransactions forgets the transactions of a coordinator that is gone.
func (l *Link) abandonTransactions() {
	c := l.s.c
	for id, t := range c.transactions {
		if t.by == l {
			c.settleProvisional(t, false)
			delete(c.transactions, id)
		}
	}
}

// settleProvisional ends the provisional state of deliveries: a transaction that is committed settles them,
// after another one the client can settle them again (OASIS AMQP 1.0 part 4, 4.4.2).
func (c *conn) settleProvisional(t *transaction, committed bool) {
	list := slices.SortedFunc(maps.Keys(t.provisional), func(a, b *outDelivery) int {
		return cmp.Compare(a.id,
			b.id)
	})
	clear(t.provisional)
	for _, d := range list {
		outcome := d.outcome
		d.transaction, d.outcome = nil, nil
		if s := d.link.s; committed {
			delete(s.unsettled, d.id)
			if d.link.heard() {
				c.write(s.channel, &frame.Disposition{First: d.id, Settled: true, State: outcome})
			}
		}
	}
}

// setProvisional notes the outcome that a delivery has when a transaction is committed.
func (d *outDelivery) setProvisional(state *frame.Transactional) {
	if t := d.link.s.c.transactions[string(state.TxnID)]; t != nil {
		d.transaction, d.outcome = t, state.Outcome
		t.provisional[d] = struct{}{}
	}
}

// forget forgets a delivery that is settled, or that nobody can settle any more.
func (d *outDelivery) forget() {
	delete(d.link.s.unsettled, d.id)
	if d.transaction != nil {
		delete(d.transaction.provisional, d)
		d.transaction, d.outcome = nil, nil
	}
}
