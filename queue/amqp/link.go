package amqp

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// Link is a link of a client with a node. The connection's lock guards what is not fixed.
type Link struct {
	s        *session
	name     string
	handle   uint32 // both sides number it alike
	receiver bool   // the client receives
	request  *frame.Attach
	kept     hold            // the room of the request
	life     context.Context // ends when the link is stopped
	end      context.CancelFunc
	workers  sync.WaitGroup

	answered bool         // attach is sent
	closing  bool         // detach is sent, or the link is stopped
	refusal  *frame.Error // with which the server has detached it; nil: it has not
	sink     Sink
	source   Source
	maxSize  uint64
	tooLarge func() *frame.Error
	noRoom   func() *frame.Error
	// discharges is as in Answer.
	discharges func(payload []byte) (txn []byte, fail, ok bool)
	batch      uint32 // credit that a sink gives
	credit     uint32 // of the one who sends
	delivered  uint32 // deliveries of the one who sends: the delivery-count

	// Of a sink.
	partial  *partial
	room     hold         // of the message under way
	since    time.Time    // when that began; zero: there is none
	denied   *frame.Error // why the transfer that is handled has no room; nil: it has
	arrived  []arrival
	sinking  bool
	settling bool
	settles  []settle
	// Of a source.
	drain   bool
	behind  []*discharge // that the last flow has come behind
	pumping bool
	cancel  context.CancelFunc // of the Receive that is under way
}

// Name is what the client calls the link.
func (l *Link) Name() string { return l.name }

// Session is the session that the link is of.
func (l *Link) Session() *Session { return &l.s.Session }

// IsOpen reports whether neither side has ended the link.
func (l *Link) IsOpen() bool {
	l.s.c.mu.Lock()
	defer l.s.c.mu.Unlock()
	return !l.closing
}

// Detach ends the link with an error. It may be called at any time, by anybody.
func (l *Link) Detach(e *frame.Error) {
	l.s.c.mu.Lock()
	defer l.s.c.mu.Unlock()
	l.fail(e)
}

// Break breaks the connection of the link off, without a word to the client. It may be called at any time, by
// anybody.
func (l *Link) Break() { _ = l.s.c.raw.Close() }

// fail is Detach with the lock held. The client's answer forgets the link.
func (l *Link) fail(e *frame.Error) {
	if l.closing || l.s.ended {
		return
	}
	if l.answered {
		l.debug("a link is detached by the server", e)
	} else { // an attach that is refused names nothing
		l.debug("a link is refused", e)
		l.answered = true
		l.s.c.write(l.s.channel, l.reply(Answer{}, nil, nil))
	}
	l.s.c.write(l.s.channel, &frame.Detach{Handle: l.handle, Closed: true, Error: e})
	if l.refusal = e; e == nil {
		l.refusal = &frame.Error{Condition: frame.CondDetachForced, Description: "The link was detached."}
	}
	list := l.arrived
	l.arrived = nil
	for i := range list {
		l.s.c.pending -= len(list[i].Payload)
		l.s.c.give(list[i].hold)
		l.s.c.finish(&list[i].turn, false)
	}
	l.stop()
}

// stop ends what waits for the link. What the client has sent or settled before is done all the same: it may
// have said that it wants to hear no more of it. The lock is held.
func (l *Link) stop() {
	l.closing = true
	l.end()
	l.free()
	if l.partial != nil {
		l.s.c.lose(l.partial.State)
	}
	l.partial = nil
	if l.refusal == nil {
		l.forgetDeliveries()
	}
	l.s.c.signal()
}

// forgetDeliveries forgets what was handed out on the link: the client settles no more of it.
func (l *Link) forgetDeliveries() {
	for _, d := range l.s.unsettled {
		if d.link == l {
			d.forget()
		}
	}
}

// heard reports whether the client still listens to what is said of the link's deliveries: until it has
// detached the link, or has confirmed that the server has.
func (l *Link) heard() bool {
	return !l.s.ended && (!l.closing || l.refusal != nil && l.s.links[l.handle] == l)
}

// leave waits until all is done that the link was to do, and tells the node. The link is stopped.
func (l *Link) leave() {
	l.workers.Wait()
	if l.sink != nil {
		l.sink.Detached()
	}
	if l.source != nil {
		l.source.Detached()
	}
	l.s.c.mu.Lock()
	defer l.s.c.mu.Unlock()
	l.abandonTransactions()
}

// run lets fn work for the link. Where it has a defect the link ends with it, and no other.
func (l *Link) run(fn func()) {
	l.workers.Go(func() {
		defer func() {
			if cause := recover(); cause != nil {
				l.s.c.o.Logger.Error("a node of AMQP has a defect", "link", l.name, "cause", cause,
					"stack", string(debug.Stack()))
				l.Detach(&frame.Error{Condition: frame.CondInternal, Description: "The server has a defect."})
			}
		}()
		fn()
	})
}

// asError is an error of a node as the client gets it.
func (l *Link) asError(err error) *frame.Error {
	var e *frame.Error
	if errors.As(err, &e) {
		return e
	}
	l.s.c.o.Logger.Error("a node of AMQP failed", "link", l.name, "error", err)
	return &frame.Error{Condition: frame.CondInternal,
		Description: "The server was unable to process the request."}
}

// flow takes a client's credit in, or answers its question.
func (l *Link) flow(f *frame.Flow) {
	if l.closing {
		return
	}
	if l.receiver && f.LinkCredit.Set {
		l.credit = remaining(f.LinkCredit.Value, f.DeliveryCount.Or(0), l.delivered)
		l.drain = f.Drain
		l.behind = l.s.barriers()
		if l.cancel != nil {
			l.cancel() // it asks for more than there is credit for, or is not to wait any more
		}
		l.pump()
	}
	if f.Echo && l.answered {
		l.tell()
	}
}

// tell writes a flow of the link.
func (l *Link) tell() {
	f := l.s.state()
	f.Handle, f.DeliveryCount, f.LinkCredit = frame.Some(l.handle), frame.Some(l.delivered), frame.Some(
		l.credit)
	f.Drain = l.receiver && l.drain
	l.s.c.write(l.s.channel, f)
}
