package amqp

import (
	"context"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// maxAsked is how many messages a source is asked for at a time.
const maxAsked = 64

// transferHead is more than a transfer takes without its payload and tag.
const transferHead = 64

// outDelivery is one that the client has to settle.
type outDelivery struct {
	id   uint32
	link *Link
	tag  []byte
	// busy counts the settlements that have arrived and are not answered; joins is the transaction that the
	// last of them is part of, nil: none.
	busy  int
	joins *transaction

	transaction *transaction // that settles it with the outcome; nil: none
	outcome     frame.State
}

// pump lets the source give messages while there is credit. The lock is held.
func (l *Link) pump() {
	if l.pumping || l.closing || !l.answered || l.source == nil || l.credit == 0 && !l.drain {
		return
	}
	l.pumping = true
	l.run(func() {
		l.s.c.mu.Lock()
		defer l.s.c.mu.Unlock()
		for !l.closing && (l.credit > 0 || l.drain) {
			if l.s.c.await(l.life, func() bool { return passed(l.behind) }) {
				l.serve()
			}
		}
		l.pumping = false
	})
}

// serve asks the source once and sends what it gives. The lock is held, but not while the source is asked.
func (l *Link) serve() {
	if l.credit == 0 { // there is nothing to drain
		l.drained()
		return
	}
	ctx, cancel := context.WithCancel(l.life)
	defer cancel()
	ask, wait := int(min(l.credit, maxAsked)), !l.drain
	l.cancel = cancel
	if l.drain {
		l.cancel = nil // it ends soon by itself
	}
	var list []Outgoing
	var err error
	l.s.c.unlocked(func() { list, err = l.source.Receive(ctx, ask, wait) })
	l.cancel = nil
	defer done(list)
	for i, m := range list {
		if l.closing || l.credit == 0 && !m.Final || !l.send(m) {
			l.s.c.unlocked(func() { l.source.GiveBack(list[i:]) })
			break
		}
	}
	switch {
	case err != nil:
		if !l.closing {
			l.fail(l.asError(err))
		}
	case len(list) == 0 && !wait:
		l.drained()
	}
}

// done reports that messages are not kept any more.
func done(list []Outgoing) {
	for _, m := range list {
		if m.Done != nil {
			m.Done()
		}
	}
}

// drained uses the credit up that is left, and tells the client so.
func (l *Link) drained() {
	if !l.drain || l.closing {
		return
	}
	l.delivered += l.credit
	l.credit = 0
	l.tell()
	l.drain = false
}

// send sends a message in as many frames as it takes, as the session's window and the output allow. It is
// false where the link, or its credit, has ended before the first one. The lock is held, but not while it
// waits.
func (l *Link) send(m Outgoing) bool {
	s, c := l.s, l.s.c
	room := func() bool { return c.out.dead || s.peerWindow > 0 && c.outputFits(roomy) }
	// The client may take its credit back while there is no room.
	withdrawn := func() bool { return l.credit == 0 && !m.Final }
	begin := func() bool { return withdrawn() || room() }
	if !c.await(l.life, begin) || l.closing || c.out.dead || withdrawn() {
		return false
	}
	t := &frame.Transfer{Handle: l.handle, DeliveryID: frame.Some(s.nextDelivery), DeliveryTag: m.Tag,
		MessageFormat: frame.Some(m.Format), Settled: m.Settled}
	if s.nextDelivery++; !m.Settled {
		s.unsettled[t.DeliveryID.Value] = &outDelivery{id: t.DeliveryID.Value, link: l, tag: m.Tag}
	}
	l.credit -= min(l.credit, 1)
	l.delivered++
	for left := m.Payload; ; {
		piece := left
		if most := int(c.peerMax) - transferHead - len(t.DeliveryTag); len(piece) > most {
			piece = piece[:most]
		}
		left = left[len(piece):]
		t.More = len(left) > 0
		s.nextOutgoing++
		s.peerWindow--
		c.writeTransfer(s.channel, t, piece)
		if !t.More {
			return true
		}
		if !c.await(l.life, room) || l.closing || c.out.dead {
			return true // it was begun: the client has to settle it, or the link is gone
		}
		// Later frames repeat no more than the id, which old clients look for.
		t.DeliveryTag, t.MessageFormat = nil, frame.Maybe{}
	}
}
