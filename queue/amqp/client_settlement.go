package amqp

import (
	"cmp"
	"slices"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// pendingClientSettlement is a client's settlement that waits to be passed to the source.
type pendingClientSettlement struct {
	Settlement
	transactionOrderingConstraints
	*outgoingDelivery
	settledByClient bool // the client has settled the delivery and expects no response
}

// disposition processes a client's disposition. The caller holds the lock.
func (s *session) disposition(d *frame.Disposition) error {
	if !d.Receiver {
		return nil // it confirms the outcome of messages that the client has sent
	}
	if _, progress := d.State.(*frame.Received); progress || d.State == nil && !d.Settled {
		return nil
	}
	known := false
	last := d.Last.Or(d.First)
	if count := last - d.First; int64(count) < int64(len(s.unsettled)) {
		for id := d.First; ; id++ {
			known = s.settleOne(id, d) || known
			if id == last {
				break
			}
		}
	} else {
		// The range may contain more ids than there are deliveries. Deliveries are settled in the order of
		// their ids, which are serial numbers and may wrap around.
		var ids []uint32
		for id := range s.unsettled {
			if id-d.First <= last-d.First {
				ids = append(ids, id)
			}
		}
		slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(a-d.First, b-d.First) })
		for _, id := range ids {
			known = s.settleOne(id, d) || known
		}
	}
	if !known {
		s.c.failTransaction(d.State)
	}
	return nil
}

// settleOne queues a client's settlement of one delivery. It returns false if the client cannot settle the
// delivery.
func (s *session) settleOne(id uint32, d *frame.Disposition) bool {
	out := s.unsettled[id]
	if out == nil || !out.settleable() {
		return false // it was settled before, or was never sent
	}
	l := out.link
	if l.refusal != nil { // the client sent this before it had received the detach
		out.forget()
		s.c.failTransaction(d.State)
		if !d.Settled {
			s.c.write(s.channel, &frame.Disposition{First: id, Settled: true,
				State: &frame.Rejected{Error: l.refusal}})
		}
		return true
	}
	w := s.enqueue(d.State, nil)
	if out.busy > 0 {
		w.behind = append(w.behind, out.joins.ending)
	}
	out.busy++
	if out.joins = w.of; d.Settled {
		out.forget()
	}
	l.settles = append(l.settles, pendingClientSettlement{Settlement{out.tag, d.State}, w, out, d.Settled})
	if !l.settling {
		l.settling = true
		l.pass(l.settleAll, l.settles[0].ready())
	}
	return true
}

// settleable reports whether the server accepts a settlement of the delivery now. It accepts the first one.
// It accepts a second one only if the first is part of a transaction that the client has asked to commit or
// roll back.
func (d *outgoingDelivery) settleable() bool {
	return d.busy == 0 || d.busy == 1 && d.joins != nil && d.joins.ending != nil
}

// settleAll passes queued settlements to the source, each time as many as are ready, until the queue is
// empty. It also processes settlements that arrived before the link ended.
func (l *Link) settleAll() {
	c := l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.endBusy()
	for len(l.settles) > 0 {
		list := l.nextSettles()
		wanted := make([]Settlement, len(list))
		for i, s := range list {
			wanted[i] = s.Settlement
		}
		var states []frame.DeliveryState
		c.process(func() { states = l.source.Settle(l.whole, wanted) })
		c.cork()
		l.answers(list, states)
		for i := range list {
			_, joined := states[i].(*frame.Transactional)
			c.finish(&list[i].transactionOrderingConstraints, joined)
		}
		c.uncorkBusy()
	}
	l.settling = false
}

// nextSettles waits until the first settlement is ready, and removes the ready ones from the front of the
// queue.
func (l *Link) nextSettles() (list []pendingClientSettlement) {
	l.s.c.await(l.whole, l.settles[0].ready)
	n := 1
	for n < len(l.settles) && l.settles[n].ready() {
		n++
	}
	list, l.settles = l.settles[:n:n], l.settles[n:]
	return list
}

// answers sends the results of settlements to the client. Consecutive accepted settlements are sent in one
// frame.
func (l *Link) answers(list []pendingClientSettlement, states []frame.DeliveryState) {
	for i := 0; i < len(list); {
		j := i + 1
		if part, ok := states[i].(*frame.Transactional); ok {
			l.provisional(&list[i], part)
			i = j
			continue
		}
		if !list[i].settledByClient && isAccepted(states[i]) {
			for j < len(list) && !list[j].settledByClient && list[j].id == list[j-1].id+1 &&
				isAccepted(states[j]) {
				j++
			}
		}
		if !list[i].settledByClient {
			for _, s := range list[i:j] {
				s.forget()
			}
			if l.acceptsFrames() {
				l.s.c.write(l.s.channel, &frame.Disposition{First: list[i].id, Last: frame.Some(list[j-1].id),
					Settled: true, State: states[i]})
			}
		}
		i = j
	}
}

// provisional notifies the client that a transaction will settle the delivery. The delivery stays unsettled
// until then.
func (l *Link) provisional(s *pendingClientSettlement, state *frame.Transactional) {
	s.busy--
	if s.settledByClient || !l.acceptsFrames() {
		return
	}
	s.setProvisional(state)
	l.s.c.write(l.s.channel, &frame.Disposition{First: s.id, Last: frame.Some(s.id), State: state})
}
