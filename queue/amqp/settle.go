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
	id     uint32
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
	last := d.Last.Or(d.First)
	if count := last - d.First; int64(count) < int64(len(s.unsettled)) {
		for id := d.First; ; id++ {
			s.settleOne(id, d)
			if id == last {
				return nil
			}
		}
	}
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
		s.settleOne(id, d)
	}
	return nil
}

func (s *session) settleOne(id uint32, d *frame.Disposition) {
	out := s.unsettled[id]
	if out == nil || out.busy {
		return // settled before, or never sent
	}
	if out.busy = true; d.Settled {
		delete(s.unsettled, id)
	}
	l := out.link
	l.settles = append(l.settles, settle{Settlement{out.tag, d.State}, id, d.Settled})
	if !l.settling {
		l.settling = true
		l.run(l.settleAll)
	}
}

// settleAll gives the source what the client has settled, all that is there at a time, until there is no
// more. What was settled before the link went is settled all the same.
func (l *Link) settleAll() {
	c := l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(l.settles) > 0 {
		list := l.settles
		l.settles = nil
		wanted := make([]Settlement, len(list))
		for i, s := range list {
			wanted[i] = s.Settlement
		}
		var states []frame.State
		c.unlocked(func() { states = l.source.Settle(context.WithoutCancel(c.life), wanted) })
		if !l.s.ended {
			l.answers(list, states)
		}
	}
	l.settling = false
}

// answers tells the client what has become of its settlements; those in a row that were accepted in one
// frame.
func (l *Link) answers(list []settle, states []frame.State) {
	for i := 0; i < len(list); {
		j := i + 1
		if !list[i].silent && isAccepted(states[i]) {
			for j < len(list) && !list[j].silent && list[j].id == list[j-1].id+1 && isAccepted(states[j]) {
				j++
			}
		}
		if !list[i].silent {
			for _, s := range list[i:j] {
				delete(l.s.unsettled, s.id)
			}
			if !l.closing {
				l.s.c.write(l.s.channel, &frame.Disposition{First: list[i].id, Last: frame.Some(list[j-1].id),
					Settled: true, State: states[i]})
			}
		}
		i = j
	}
}
