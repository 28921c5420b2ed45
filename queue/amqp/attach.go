package amqp

import (
	"context"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

const (
	defaultCredit  = 1000
	defaultMaxSize = 1 << 20
)

// attach starts a link. The response is sent later, because the handler may wait. The caller holds the lock.
func (s *session) attach(a *frame.Attach) error {
	// The handle is in use until the server has responded to the detach of the link that had it before.
	s.c.await(s.c.life, func() bool { return !s.leaving[a.Handle] })
	if a.Handle >= handleMax || s.links[a.Handle] != nil {
		s.fail(&frame.Error{Condition: frame.CondHandleInUse,
			Description: "The handle is taken, or too high."})
		return nil
	}
	if s.c.links() >= maxLinks {
		s.fail(&frame.Error{Condition: frame.CondResourceLimit,
			Description: "The connection has as many links as it can have."})
		return nil
	}
	kept := memoryReservation{n: int64(s.c.size)}
	if !s.c.take(kept) {
		s.fail(&frame.Error{Condition: frame.CondResourceLimit,
			Description: "There is no memory for another link."})
		return nil
	}
	l := &Link{requestMemory: kept, s: s, name: a.Name, handle: a.Handle, receiver: a.Receiver, request: a}
	l.life, l.end = context.WithCancel(s.c.life)
	l.whole = context.WithoutCancel(l.life)
	s.links[a.Handle] = l
	s.c.nodes.Attaching(l, a)
	behind := s.barriers()
	l.run(func() {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		s.c.await(l.life, func() bool { return passed(behind) })
		var answer AcceptedLink
		var err error
		s.c.unlocked(func() { answer, err = s.c.nodes.Attach(l.life, l, a) })
		l.begin(answer, err)
	})
	return nil
}

// links returns the number of links in all sessions. The caller holds the lock.
func (c *conn) links() (n int) {
	for _, s := range c.sessions {
		n += len(s.links)
	}
	return n
}

// begin responds to a client's attach after the ConnectionHandler has decided: with answer if it has accepted
// the link, or with the error err. The caller holds the lock.
func (l *Link) begin(answer AcceptedLink, err error) {
	l.sink, l.source = answer.Sink, answer.Source
	switch {
	case l.closing: // the client has detached the link since then
		return
	case err != nil:
		l.fail(l.asError(err))
		return
	}
	if l.maxSize = answer.MaxMessageSize; l.maxSize == 0 {
		l.maxSize = defaultMaxSize
	}
	if l.tooLarge = answer.TooLarge; l.tooLarge == nil {
		l.tooLarge = plainTooLarge
	}
	if l.noRoom = answer.NoRoom; l.noRoom == nil {
		l.noRoom = plainNoRoom
	}
	l.discharges = answer.Discharges
	if l.batch = answer.Credit; l.batch == 0 {
		l.batch = defaultCredit
	}
	from, to := l.request.Source, l.request.Target
	if answer.From != nil {
		from = answer.From
	}
	l.answered = true
	l.debug("a link is attached", nil)
	l.s.c.write(l.s.channel, l.reply(answer, from, to))
	if l.receiver {
		l.pump()
		return
	}
	l.delivered, l.credit = l.request.InitialDeliveryCount.Or(0), l.batch
	l.sendFlow()
}

// reply returns the attach with which the server responds. It repeats the client's modes and termini, because
// clients compare them with those that they have sent.
func (l *Link) reply(answer AcceptedLink, from *frame.Source, to frame.Body) *frame.Attach {
	a := &frame.Attach{Name: l.name, Handle: l.handle, Receiver: !l.receiver,
		SndSettleMode: l.request.SndSettleMode,
		RcvSettleMode: l.request.RcvSettleMode, Source: from, Target: to, Properties: answer.Properties}
	if l.receiver {
		a.InitialDeliveryCount = frame.Some(0)
	} else {
		a.MaxMessageSize = l.maxSize
	}
	return a
}

// detach responds to the client's detach, or processes the client's response to the server's detach. It
// responds after the node has been notified, because the client may then request what the link held, such as
// a session lock.
func (s *session) detach(d *frame.Detach) error {
	l := s.links[d.Handle]
	if l == nil {
		return nil // some clients detach twice, which is harmless
	}
	answer := !l.closing
	if answer {
		l.debug("a link is detached by its client", d.Error)
		l.stop()
	}
	l.forgetDeliveries()
	delete(s.links, d.Handle)
	s.leaving[d.Handle] = true
	s.c.work.Go(func() {
		l.leave()
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		if answer && (!s.ended || s.leaves) { // the client reads until it receives the end
			if !l.answered {
				s.c.write(s.channel, l.reply(AcceptedLink{}, nil, nil))
			}
			s.c.write(s.channel, &frame.Detach{Handle: l.handle, Closed: d.Closed})
		}
		delete(s.leaving, d.Handle)
		s.c.give(l.requestMemory)
		s.c.signal()
	})
	return nil
}
