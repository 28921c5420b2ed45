package amqp

import (
	"context"
	"fmt"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// incomingWindow is the session's incoming window: the number of transfers that a client may send before the
// next flow.
const incomingWindow = 5000

// session is one AMQP session. The connection's lock guards it.
type session struct {
	SessionWithHandlerData
	c       *conn
	channel uint16 // both sides use the same number
	links   map[uint32]*Link
	leaving map[uint32]bool // handles of links whose detach has not been responded to yet

	nextIncoming uint32 // transfer id
	window       uint32 // transfers that the client may still send
	nextOutgoing uint32 // transfer id
	peerWindow   uint32 // transfers that the client still accepts

	nextDelivery uint32
	last         *dischargeRequest // the last discharge that is a barrier for the session; nil: none
	unsettled    map[uint32]*outgoingDelivery
	ended        bool // end has been sent, or will be sent after the links have ended
	leaves       bool // the client has sent end and waits for the response
}

// beginSession responds to a begin.
func (c *conn) beginSession(channel uint16, b *frame.Begin) error {
	if c.closing {
		return nil
	}
	c.await(c.life, func() bool { s := c.sessions[channel]; return s == nil || !s.leaves })
	if channel > channelMax || c.sessions[channel] != nil {
		return &frame.FormatError{Condition: frame.CondFraming,
			Reason: fmt.Sprintf("the channel %d is taken, or above %d",
				channel, channelMax)}
	}
	s := &session{c: c, channel: channel, links: make(map[uint32]*Link), leaving: make(map[uint32]bool),
		nextIncoming: b.NextOutgoingID, window: incomingWindow, peerWindow: b.IncomingWindow,
		unsettled: make(map[uint32]*outgoingDelivery)}
	c.sessions[channel] = s
	c.write(channel, &frame.Begin{RemoteChannel: frame.Some(uint32(channel)), NextOutgoingID: s.nextOutgoing,
		IncomingWindow: s.window, OutgoingWindow: incomingWindow, HandleMax: handleMax - 1})
	return nil
}

// handle processes a frame on the session's channel. The caller holds the lock.
func (s *session) handle(body frame.Body, payload []byte) error {
	if e, ok := body.(*frame.End); ok {
		return s.end(e)
	}
	if s.ended {
		s.c.failFrame(body)
		return nil // the client sent it before it received the end
	}
	switch b := body.(type) {
	case *frame.Attach:
		return s.attach(b)
	case *frame.Flow:
		return s.flow(b)
	case *frame.Transfer:
		return s.transfer(b, payload)
	case *frame.Disposition:
		return s.disposition(b)
	case *frame.Detach:
		return s.detach(b)
	}
	return &frame.FormatError{Condition: frame.CondFraming,
		Reason: "a frame that does not belong to a session"}
}

// end responds to the client's end frame after all links of the session have ended.
func (s *session) end(*frame.End) error {
	if s.leaves {
		return nil // some clients send it twice
	}
	answer := !s.ended
	links := s.drop()
	s.leaves = true
	s.c.work.Go(func() {
		for _, l := range links {
			l.leave()
		}
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		s.c.await(context.WithoutCancel(s.c.life), func() bool { return len(s.leaving) == 0 })
		if answer {
			s.c.write(s.channel, &frame.End{})
		}
		for _, l := range links {
			s.c.give(l.requestMemory)
		}
		delete(s.c.sessions, s.channel)
		s.c.signal()
	})
	return nil
}

// fail ends the session with an error.
func (s *session) fail(condition *frame.Error) {
	if s.ended {
		return
	}
	s.c.write(s.channel, &frame.End{Error: condition})
	s.ended = true
	for _, l := range s.links {
		l.stop()
	}
}

// drop stops all links of the session, and returns those that were not stopped before. The caller must call
// leave for each of them, without the lock.
func (s *session) drop() (links []*Link) {
	for _, l := range s.links {
		l.stop()
		links = append(links, l)
	}
	for _, d := range s.unsettled {
		d.forget()
	}
	clear(s.links)
	s.ended = true
	s.c.signal()
	return links
}

// flow processes a flow frame: the client's window and, if it names a link, the link's credit.
func (s *session) flow(f *frame.Flow) error {
	s.peerWindow = remaining(f.IncomingWindow, f.NextIncomingID.Or(0), s.nextOutgoing)
	s.c.signal()
	if !f.Handle.Set {
		if f.Echo {
			s.sendFlow()
		}
		return nil
	}
	l := s.links[f.Handle.Value]
	if l == nil {
		s.fail(&frame.Error{Condition: frame.CondUnattachedHandle,
			Description: "There is no link of that handle."})
		return nil
	}
	l.flow(f)
	return nil
}

// state returns a flow performative with the session's windows.
func (s *session) state() *frame.Flow {
	return &frame.Flow{NextIncomingID: frame.Some(s.nextIncoming), IncomingWindow: s.window,
		NextOutgoingID: s.nextOutgoing, OutgoingWindow: incomingWindow}
}

func (s *session) sendFlow() { s.c.write(s.channel, s.state()) }
