package amqp

import (
	"context"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

const (
	defaultCredit  = 1000
	defaultMaxSize = 1 << 20
)

// attach begins a link, whose node may take its time. The lock is held.
func (s *session) attach(a *frame.Attach) error {
	// The handle is in use until the client is told that the link that had it has left.
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
	l := &Link{s: s, name: a.Name, handle: a.Handle, receiver: a.Receiver, request: a}
	l.life, l.end = context.WithCancel(s.c.life)
	s.links[a.Handle] = l
	s.c.nodes.Attaching(l, a)
	behind := s.barriers()
	l.run(func() {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		s.c.await(l.life, func() bool { return passed(behind) })
		var answer Answer
		var err error
		s.c.unlocked(func() { answer, err = s.c.nodes.Attach(l.life, l, a) })
		l.begin(answer, err)
	})
	return nil
}

// links is how many there are in all sessions. The lock is held.
func (c *conn) links() (n int) {
	for _, s := range c.sessions {
		n += len(s.links)
	}
	return n
}

// begin answers an attach. The lock is held.
func (l *Link) begin(answer Answer, err error) {
	l.sink, l.source = answer.Sink, answer.Source
	switch {
	case l.closing: // the client has gone meanwhile, and knows it
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
	l.tell()
}

// reply is the server's attach: the modes and the termini as the client has them, since clients compare them.
func (l *Link) reply(answer Answer, from *frame.Source, to frame.Body) *frame.Attach {
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

// detach answers the client's detach, or takes its answer to the server's. It answers when the node has been
// told: the client may ask next for what the link has held.
func (s *session) detach(d *frame.Detach) error {
	l := s.links[d.Handle]
	if l == nil {
		return nil // some clients say it twice, which harms nobody
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
		if answer && (!s.ended || s.leaves) { // the client still listens until it gets the end
			if !l.answered {
				s.c.write(s.channel, l.reply(Answer{}, nil, nil))
			}
			s.c.write(s.channel, &frame.Detach{Handle: l.handle, Closed: d.Closed})
		}
		delete(s.leaving, d.Handle)
		s.c.signal()
	})
	return nil
}
