package amqp

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/ttl"
)

// MemoryLimiter is a memory limit in bytes, shared by all clients of a server. It is safe for concurrent use.
type MemoryLimiter interface {
	// Take takes n bytes. It waits until they are available. If ctx ends first, it returns the error of ctx.
	Take(ctx context.Context, n int64) error
	// TryTake takes n bytes and reports whether they were available.
	TryTake(n int64) bool
	// Give gives back n bytes that Take or TryTake took.
	Give(n int64)
	// TakeLarge takes n bytes for a large message, and waits until they are available. Large messages get
	// their memory one after the other, so that small messages need not wait for several large ones.
	TakeLarge(ctx context.Context, n int64) error
	// GiveLarge gives back n bytes that TakeLarge took.
	GiveLarge(n int64)
}

// The memory for a message of several frames grows in steps. A message that waits for the memory of the next
// step holds only that of the previous one. After the last step it never waits for memory again.
const (
	firstStep  = 256 << 10
	secondStep = 1 << 20
	// maxPartials is the maximal total size, in bytes, of the messages of a connection that have not arrived
	// completely. Messages larger than secondStep do not count, since TakeLarge limits them for the whole
	// server.
	maxPartials = 32 << 20
	// roomTime is the time limit of a wait for memory.
	roomTime = 30 * time.Second
	// partialTime is the time limit of a message, from its first frame to its last.
	partialTime = 5 * time.Minute
	// sweepTime is the interval of the checks for messages that have not arrived completely within
	// partialTime.
	sweepTime = 10 * time.Second
)

// Limits of a connection until its client is authorized.
const (
	// earlyBytes is a limit in bytes for a connection whose client is not authorized yet. It limits the size
	// of a frame, the size of all links and unfinished messages together, and the waiting output.
	earlyBytes    = 32 << 10
	earlyLinks    = 16
	earlySessions = 16
	// defaultTokenTime is the default time limit from a client's connecting to its authorization.
	defaultTokenTime = time.Minute
)

// maxLinkName is the maximal length of a link's name in bytes.
const maxLinkName = 512

// memoryReservation is memory taken from Options.Memory for a message or a link.
type memoryReservation struct {
	n     int64
	large bool
}

// give gives the memory h, which a message or a link held, back to Options.Memory.
func (c *conn) give(h memoryReservation) {
	c.held -= h.n
	switch {
	case c.o.Memory == nil:
	case h.large:
		c.o.Memory.GiveLarge(h.n)
	default:
		c.o.Memory.Give(h.n)
	}
}

// take takes memory and waits until it is available. It returns false after it has waited for roomTime, or
// if the connection ends. If the client is not authorized and would exceed earlyBytes, it closes the
// connection and returns false. The caller holds the lock; take releases it while it waits.
func (c *conn) take(h memoryReservation) bool {
	if c.isUnauthorized() && c.held+h.n > earlyBytes {
		c.failLocked(earlyLimitError())
		return false
	}
	if room := c.o.Memory; room != nil && (h.large || !room.TryTake(h.n)) {
		take, err := room.Take, error(nil)
		if h.large {
			take = room.TakeLarge
		}
		c.unlocked(func() {
			wait, cancel := context.WithTimeout(c.reading, roomTime)
			defer cancel()
			err = take(wait, h.n)
		})
		if err != nil {
			return false
		}
	}
	c.held += h.n
	return true
}

// isUnauthorized reports whether the client is not authorized yet. The caller holds the lock.
func (c *conn) isUnauthorized() bool { return c.nodes != nil && !c.nodes.Authorized() }

func earlyLimitError() *frame.Error {
	return &frame.Error{Condition: frame.CondResourceLimit,
		Description: "A client that has shown no token has a few links and 32 KB."}
}

// admit takes the memory for a transfer. If there is none, the link refuses the message. The caller holds
// the lock; admit releases it while it waits.
func (c *conn) admit(s *session, t *frame.Transfer, n int) {
	l := s.links[t.Handle]
	if l == nil || l.closing || l.receiver || !l.answered || t.Aborted {
		return
	}
	have := 0
	if p := l.partial; p != nil {
		if p.refusal != nil {
			return
		}
		have = len(p.Payload)
	}
	next := l.memoryFor(int64(have+n), t.More)
	if next.n <= l.room.n {
		return
	}
	if !next.large && c.partials+next.n-l.room.n > maxPartials && t.More || !c.takeMore(l, next) {
		l.noMemory = l.noRoom()
	}
}

// takeMore increases the memory of the link's current message to next. It returns false if the memory is not
// available or the link has ended.
func (c *conn) takeMore(l *Link, next memoryReservation) bool {
	more := next
	if !next.large {
		more.n -= l.room.n
	}
	if !c.take(more) {
		return false
	}
	if next.large {
		c.give(l.room)
		c.partials -= l.room.n
		l.room = memoryReservation{}
	} else {
		c.partials += more.n
	}
	if l.closing { // meanwhile
		c.give(more)
		if !next.large {
			c.partials -= more.n
		}
		return false
	}
	l.room = next
	if l.since.IsZero() {
		l.since = c.o.Wall.Now()
	}
	return true
}

// memoryFor returns the memory that a message needs of which n bytes have arrived. more means that it is not
// complete yet.
func (l *Link) memoryFor(n int64, more bool) memoryReservation {
	most := int64(min(l.maxSize, 1<<40))
	switch {
	case n > most: // the message is refused
		return memoryReservation{}
	case n > secondStep:
		return memoryReservation{n: most, large: true}
	case !more:
		return memoryReservation{n: n}
	case n > firstStep:
		return memoryReservation{n: min(secondStep, most)}
	}
	return memoryReservation{n: min(firstStep, most)}
}

// passMemory is called when the last frame of a message has arrived. It reduces the memory that was taken
// for the message to size, the message's size in bytes, and returns it to the caller, who must give it
// back.
func (l *Link) passMemory(size int) memoryReservation {
	c, h := l.s.c, l.room
	l.room, l.since = memoryReservation{}, time.Time{}
	if !h.large {
		c.partials -= h.n
		if rest := h.n - int64(size); rest > 0 {
			c.give(memoryReservation{n: rest})
			h.n -= rest
		}
	}
	return h
}

// freeMemory gives back the memory that was taken for the message that is arriving on the link.
func (l *Link) freeMemory() {
	if !l.room.large {
		l.s.c.partials -= l.room.n
	}
	l.s.c.give(l.room)
	l.room, l.since = memoryReservation{}, time.Time{}
}

// dropSlow detaches the links whose current message is older than partialTime. The caller holds the lock.
func (c *conn) dropSlow(now time.Time) {
	if c.held == 0 || now.Sub(c.swept) < sweepTime {
		return
	}
	c.swept = now
	for _, s := range c.sessions {
		for _, l := range s.links {
			if !l.since.IsZero() && now.Sub(l.since) > partialTime {
				l.fail(&frame.Error{Condition: frame.CondResourceLimit,
					Description: "A message must be whole in five minutes."})
			}
		}
	}
}

// awaitRoom is called before each read of a frame. It blocks the reader while too much input or output of the
// connection is waiting to be processed. Of the input only complete messages count, since they need nothing
// from the reader. Then it sets the time limits and the maximum size of the next frame.
func (c *conn) awaitRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fits := func() bool {
		most := maxPendingOutput
		if c.isUnauthorized() {
			most = earlyBytes
		}
		return c.out.dead || c.closing || c.pending < MaxPending && c.outputFits(most)
	}
	if !fits() {
		c.input.Leave()
		c.await(c.life, fits)
	}
	if !c.r.HasNext() {
		now := c.o.Wall.Now()
		c.dropSlow(now)
		c.setPatience(now)
	}
	c.limitFrames()
}

// limitFrames sets the maximal size of the next frame. It is smaller while the client is not authorized.
func (c *conn) limitFrames() {
	most := c.o.MaxFrameSize
	if c.isUnauthorized() {
		most = min(most, earlyBytes)
	}
	c.r.SetMax(most)
}

// outputFits reports whether fewer bytes of output are waiting than the limit most. It takes memory for the
// bytes above freeOutput, and returns false if there is none. The caller holds the lock.
func (c *conn) outputFits(most int) bool {
	n := len(c.out.buf)
	if n >= most || c.o.Memory == nil || c.out.dead {
		return n < most
	}
	if more := int64(n-freeOutput) - c.out.held; more > 0 {
		if !c.o.Memory.TryTake(more) {
			return false
		}
		c.out.held += more
	}
	return true
}

// watchIdle calls Options.Idle if the connection has become idle or busy. It is idle while its client is
// not authorized or has no link. The caller holds the lock.
func (c *conn) watchIdle() {
	if c.o.Idle == nil {
		return
	}
	if idle := c.isUnauthorized() || c.links() == 0; idle != c.idle {
		c.idle = idle
		c.o.Idle(idle)
	}
}

// admitFrame reports whether an unauthorized client may open one more session or link. If not, it closes
// the connection. The caller holds the lock.
func (c *conn) admitFrame(b frame.Body) bool {
	if !c.isUnauthorized() {
		return true
	}
	over := false
	switch b.(type) {
	case *frame.Begin:
		over = len(c.sessions) >= earlySessions
	case *frame.Attach:
		over = c.links() >= earlyLinks
	}
	if over {
		c.failLocked(earlyLimitError())
	}
	return !over
}

// watchToken starts a timer that closes the connection if the client is not authorized in time. stop ends the
// timer.
func (c *conn) watchToken() (stop func()) {
	return ttl.AfterFunc(c.o.Wall, c.o.TokenTime-c.o.Wall.Now().Sub(c.since), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.isUnauthorized() {
			c.failLocked(&frame.Error{Condition: frame.CondForced,
				Description: "The connection has shown no token in the time that it has for one."})
		}
	})
}
