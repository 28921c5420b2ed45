package amqp

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// Link is a link between a client and a node. The connection's lock guards the fields that change.
type Link struct {
	s             *session
	name          string
	handle        uint32 // both sides use the same number
	receiver      bool   // the client is the receiver of the link
	request       *frame.Attach
	requestMemory memoryReservation // the memory that was taken for the attach request
	life          context.Context   // ends when the link is stopped
	whole         context.Context   // like life, but never canceled
	end           context.CancelFunc
	workers       sync.WaitGroup

	answered bool         // attach is sent
	closing  bool         // detach has been sent, or the link has been stopped
	refusal  *frame.Error // the error of the server's detach; nil: none was sent
	sink     MessageSink
	source   MessageSource
	maxSize  uint64
	tooLarge func() *frame.Error
	noRoom   func() *frame.Error
	// discharges is AcceptedLink.Discharges: it decodes a message that ends a transaction. Nil: the link
	// does not lead to a transaction coordinator.
	discharges func(payload []byte) (txn []byte, fail, ok bool)
	batch      uint32 // the credit that a sink grants
	credit     uint32 // the sender's remaining credit
	delivered  uint32 // the sender's delivery-count

	// The fields up to sinking are used only by a link on which the client sends. partial is the message
	// that has not arrived completely; nil: none.
	partial  *partialMessage
	room     memoryReservation // memory taken for the current message
	since    time.Time         // when the current message began; zero: there is none
	noMemory *frame.Error      // why no memory is available for the current transfer; nil: there is memory
	arrived  []arrivedMessage
	sinking  bool
	// The fields from here on are used only by a link on which the client receives. settling is set while a
	// goroutine passes settles, the client's settlements, to the source.
	settling bool
	settles  []pendingClientSettlement
	// drain is set if the client has requested that all its credit be used up at once.
	drain   bool
	behind  []*dischargeRequest // discharges that arrived before the last flow
	pumping bool
	cancel  context.CancelFunc // cancels the current Receive
}

// Name returns the client's name of the link.
func (l *Link) Name() string { return l.name }

// Session returns the link's session.
func (l *Link) Session() *SessionWithHandlerData { return &l.s.SessionWithHandlerData }

// IsOpen reports whether neither side has ended the link.
func (l *Link) IsOpen() bool {
	l.s.c.mu.Lock()
	defer l.s.c.mu.Unlock()
	return !l.closing
}

// Detach detaches the link with an error. It is safe for concurrent use.
func (l *Link) Detach(e *frame.Error) {
	l.s.c.mu.Lock()
	defer l.s.c.mu.Unlock()
	l.fail(e)
}

// Break closes the network connection of the link without any notification of the client. It is safe for
// concurrent use.
func (l *Link) Break() { _ = l.s.c.raw.Close() }

// fail detaches the link with an error, for a caller that holds the lock. The link is removed when the client
// responds.
func (l *Link) fail(e *frame.Error) {
	if l.closing || l.s.ended {
		return
	}
	if l.answered {
		l.debug("a link is detached by the server", e)
	} else { // the response to a refused attach has no termini
		l.debug("a link is refused", e)
		l.answered = true
		l.s.c.write(l.s.channel, l.reply(AcceptedLink{}, nil, nil))
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
		l.s.c.finish(&list[i].transactionOrderingConstraints, false)
	}
	l.stop()
}

// stop ends everything that waits for the link. Messages and settlements that have arrived are still
// processed, because the client may have detached without waiting for the results. The caller holds the
// lock.
func (l *Link) stop() {
	l.closing = true
	l.end()
	l.freeMemory()
	if l.partial != nil {
		l.s.c.failTransaction(l.partial.State)
	}
	l.partial = nil
	if l.refusal == nil {
		l.forgetDeliveries()
	}
	l.s.c.signal()
}

// forgetDeliveries removes the link's unsettled deliveries, because the client cannot settle them any more.
func (l *Link) forgetDeliveries() {
	for _, d := range l.s.unsettled {
		if d.link == l {
			d.forget()
		}
	}
}

// acceptsFrames reports whether the client still accepts frames about the link's deliveries. It does until
// it has detached the link or has responded to the server's detach.
func (l *Link) acceptsFrames() bool {
	return !l.s.ended && (!l.closing || l.refusal != nil && l.s.links[l.handle] == l)
}

// leave waits until the link's work is done and notifies the node. The link must be stopped.
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

// run runs fn in another goroutine. If fn panics, only the link is detached (see guard). The caller holds
// the lock.
func (l *Link) run(fn func()) {
	l.workers.Add(1)
	l.s.c.goWork(func() { l.guard(fn) }, l.workers.Done)
}

// guard runs fn. If fn panics, the link is detached; other links are not affected.
func (l *Link) guard(fn func()) {
	defer func() {
		if cause := recover(); cause != nil {
			l.s.c.o.Logger.Error("an AMQP node panicked", "link", l.name, "cause", cause,
				"stack", string(debug.Stack()))
			l.Detach(&frame.Error{Condition: frame.CondInternal, Description: "The server has a defect."})
		}
	}()
	fn()
}

// asError converts an error of a node to the error that is sent to the client.
func (l *Link) asError(err error) *frame.Error {
	var e *frame.Error
	if errors.As(err, &e) {
		return e
	}
	l.s.c.o.Logger.Error("an AMQP node failed", "link", l.name, "error", err)
	return &frame.Error{Condition: frame.CondInternal,
		Description: "The server was unable to process the request."}
}

// flow processes a client's flow: new credit, or a request for the link's state.
func (l *Link) flow(f *frame.Flow) {
	if l.closing {
		return
	}
	if l.receiver && f.LinkCredit.Set {
		l.credit = remaining(f.LinkCredit.Value, f.DeliveryCount.Or(0), l.delivered)
		l.drain = f.Drain
		l.behind = l.s.barriers()
		if l.cancel != nil {
			l.cancel() // it is waiting, or was asked for a number of messages that is no longer right
		}
		l.pump()
	}
	if f.Echo && l.answered {
		l.sendFlow()
	}
}

// sendFlow sends a flow frame with the states of the session and the link.
func (l *Link) sendFlow() {
	f := l.s.state()
	f.Handle, f.DeliveryCount, f.LinkCredit = frame.Some(l.handle), frame.Some(l.delivered), frame.Some(
		l.credit)
	f.Drain = l.receiver && l.drain
	l.s.c.write(l.s.channel, f)
}
