package amqp

import (
	"cmp"
	"context"
	"slices"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// settle is a settlement that waits for its source.
type settle struct {
	Settlement
	turn
	*outDelivery
	silent bool // the client has settled: it waits for no answer
}

// disposition takes in what the client says of deliveries. The lock is held.
func (s *session) disposition(d *frame.Disposition) error {
	if !d.Receiver {
		return nil // of what the client has sent: it was told the outcome, and agrees
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
		// More ids than there are deliveries: in the order of the ids all the same, which are numbers of a
		// circle.
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
		s.c.lose(d.State)
	}
	return nil
}

// settleOne takes in what the client says of one delivery. It reports whether that is one which the client
// can settle.
func (s *session) settleOne(id uint32, d *frame.Disposition) bool {
	out := s.unsettled[id]
	if out == nil || !out.settleable() {
		return false // settled before, or never sent
	}
	l := out.link
	if l.refusal != nil { // the client has not known yet when it wrote this
		out.forget()
		s.c.lose(d.State)
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
	l.settles = append(l.settles, settle{Settlement{out.tag, d.State}, w, out, d.Settled})
	if !l.settling {
		l.settling = true
		l.run(l.settleAll)
	}
	return true
}

// settleable reports whether a settlement of the delivery is taken in: the first one, and one that comes
// behind the end of the transaction which the first is part of.
func (d *outDelivery) settleable() bool {
	return d.busy == 0 || d.busy == 1 && d.joins != nil && d.joins.ending != nil
}

// settleAll gives the source what the client has settled, all that is there and ready at a time, until there
// is no more. What was settled before the link went is settled all the same.
func (l *Link) settleAll() {
	c := l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(l.settles) > 0 {
		list := l.nextSettles()
		wanted := make([]Settlement, len(list))
		for i, s := range list {
			wanted[i] = s.Settlement
		}
		var states []frame.State
		c.unlocked(func() { states = l.source.Settle(context.WithoutCancel(c.life), wanted) })
		l.answers(list, states)
		for i := range list {
			_, joined := states[i].(*frame.Transactional)
			c.finish(&list[i].turn, joined)
		}
	}
	l.settling = false
}

// nextSettles takes what the source may be given now out of what was settled, in order, when there is some.
func (l *Link) nextSettles() (list []settle) {
	l.s.c.await(context.WithoutCancel(l.life), l.settles[0].ready)
	n := 1
	for n < len(l.settles) && l.settles[n].ready() {
		n++
	}
	list, l.settles = l.settles[:n:n], l.settles[n:]
	return list
}

// answers tells the client what has become of its settlements; those in a row that were accepted in one
// frame.
func (l *Link) answers(list []settle, states []frame.State) {
	for i := 0; i < len(list); {
		j := i + 1
		if part, ok := states[i].(*frame.Transactional); ok {
			l.provisional(&list[i], part)
			i = j
			continue
		}
		if !list[i].silent && isAccepted(states[i]) {
			for j < len(list) && !list[j].silent && list[j].id == list[j-1].id+1 && isAccepted(states[j]) {
				j++
			}
		}
		if !list[i].silent {
			for _, s := range list[i:j] {
				s.forget()
			}
			if l.heard() {
				l.s.c.write(l.s.channel, &frame.Disposition{First: list[i].id, Last: frame.Some(list[j-1].id),
					Settled: true, State: states[i]})
			}
		}
		i = j
	}
}

// provisional tells the client that a settlement depends on a transaction: the delivery stays unsettled.
func (l *Link) provisional(s *settle, state *frame.Transactional) {
	s.busy--
	if s.silent || !l.heard() {
		return
	}
	s.setProvisional(state)
	l.s.c.write(l.s.channel, &frame.Disposition{First: s.id, Last: frame.Some(s.id), State: state})
}
