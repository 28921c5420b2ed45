package amqp

import (
	"context"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// maxAsked is the maximal number of messages requested from a source at a time.
const maxAsked = 64

// transferHead is an upper bound of the size of a transfer frame without its payload and tag, in bytes.
const transferHead = 64

// outgoingDelivery is a delivery that the client must settle.
type outgoingDelivery struct {
	id   uint32
	link *Link
	tag  []byte
	// busy counts the settlements of the delivery that have arrived and have no response yet. joins is the
	// transaction of the last of them; nil: none.
	busy  int
	joins *transaction

	transaction *transaction // the transaction that will settle it with outcome; nil: none
	outcome     frame.DeliveryState
}

// pump takes messages from the source and sends them while the client has granted credit. The caller holds
// the lock.
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

// serve requests messages from the source once and sends them. The caller holds the lock; serve releases it
// while it waits for the source.
func (l *Link) serve() {
	if l.credit == 0 { // drain was requested without credit: no message can be sent
		l.drained()
		return
	}
	ctx, cancel := context.WithCancel(l.life)
	defer cancel()
	ask, wait := int(min(l.credit, maxAsked)), !l.drain
	l.cancel = cancel
	if l.drain {
		l.cancel = nil // this call of Receive does not wait
	}
	var list []OutgoingMessage
	var err error
	l.s.c.unlocked(func() { list, err = l.source.Receive(ctx, ask, wait) })
	l.cancel = nil
	defer done(list)
	if rest := l.sendAll(list); len(rest) > 0 {
		l.s.c.unlocked(func() { l.source.Release(rest) })
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

// sendAll sends messages in order, until the client has given no more credit or the link ends, and returns
// those that it has not sent. The caller holds the lock; sendAll releases it while it waits for the session's
// window and for space in the output.
func (l *Link) sendAll(list []OutgoingMessage) (rest []OutgoingMessage) {
	l.s.c.cork()
	defer l.s.c.uncork()
	for i, m := range list {
		if l.closing || l.credit == 0 && !m.Final || !l.send(m) {
			return list[i:]
		}
	}
	return nil
}

// done calls OutgoingMessage.Done of each message that has one.
func done(list []OutgoingMessage) {
	for _, m := range list {
		if m.Done != nil {
			m.Done()
		}
	}
}

// drained ends a drain: it sets the remaining credit to 0 and sends the client a flow that says so.
func (l *Link) drained() {
	if !l.drain || l.closing {
		return
	}
	l.delivered += l.credit
	l.credit = 0
	l.sendFlow()
	l.drain = false
}

// send sends a message in as many frames as needed, and waits for the session's window and for space in the
// output. It returns false if the link has ended or has no more credit before the first frame. The caller
// holds the lock; send releases it while it waits.
func (l *Link) send(m OutgoingMessage) bool {
	s, c := l.s, l.s.c
	room := func() bool { return c.out.dead || s.peerWindow > 0 && c.outputFits(lowPendingOutput) }
	// The client may withdraw its credit while send waits.
	withdrawn := func() bool { return l.credit == 0 && !m.Final }
	begin := func() bool { return withdrawn() || room() }
	if !c.await(l.life, begin) || l.closing || c.out.dead || withdrawn() {
		return false
	}
	t := &frame.Transfer{Handle: l.handle, DeliveryID: frame.Some(s.nextDelivery), DeliveryTag: m.Tag,
		MessageFormat: frame.Some(m.Format), Settled: m.Settled}
	if s.nextDelivery++; !m.Settled {
		s.unsettled[t.DeliveryID.Value] = &outgoingDelivery{id: t.DeliveryID.Value, link: l, tag: m.Tag}
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
			return true // a part has been sent: the client settles the message, or the link has ended
		}
		// Frames after the first repeat only the id, which old clients require.
		t.DeliveryTag, t.MessageFormat = nil, frame.OptionalNumber{}
	}
}
