package amqp

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/ttl"
)

// Room is the memory that all clients of a server share, in bytes. It is used concurrently.
type Room interface {
	// Take waits for n bytes until ctx ends, whose error it returns.
	Take(ctx context.Context, n int64) error
	// TryTake takes n bytes if they are there.
	TryTake(n int64) bool
	// Give gives n bytes back.
	Give(n int64)
	// TakeLarge is Take for a large message: it waits for others of its kind first, so that those who take
	// little need not wait behind it.
	TakeLarge(ctx context.Context, n int64) error
	// GiveLarge gives back what TakeLarge took.
	GiveLarge(n int64)
}

// The room of a message that comes in several frames grows in steps: who waits for the next step holds no
// more than the one before. From the last one on a message waits for nothing.
const (
	firstStep  = 256 << 10
	secondStep = 1 << 20
	// maxPartials is how many bytes the unfinished messages of a connection may have, those beyond the second
	// step left aside: the room for these is one of the server's.
	maxPartials = 32 << 20
	// roomTime is how long a client waits for room.
	roomTime = 30 * time.Second
	// partialTime is how long a message may take from its first frame to its last.
	partialTime = 5 * time.Minute
	// sweepTime is how often unfinished messages are looked through for those that take too long.
	sweepTime = 10 * time.Second
)

// Bounds of a connection until its client has shown who it is.
const (
	earlyBytes    = 32 << 10 // of a frame, of the links together with unfinished messages, and of output
	earlyLinks    = 16
	earlySessions = 16
	// defaultTokenTime is how long it may take.
	defaultTokenTime = time.Minute
)

// maxLinkName is how many bytes the name of a link may have.
const maxLinkName = 512

// hold is what a message, or a link, has of the room.
type hold struct {
	n     int64
	large bool
}

// give gives a hold back.
func (c *conn) give(h hold) {
	c.held -= h.n
	switch {
	case c.o.Room == nil:
	case h.large:
		c.o.Room.GiveLarge(h.n)
	default:
		c.o.Room.Give(h.n)
	}
}

// take takes n bytes of the room, and waits for them where there are none. It is false where the client has
// waited for long, the connection ends, or has too much already without having shown who it is: it is closed
// then. The lock is held, but not while it waits.
func (c *conn) take(h hold) bool {
	if c.early() && c.held+h.n > earlyBytes {
		c.failLocked(tooMuchEarly())
		return false
	}
	if room := c.o.Room; room != nil && (h.large || !room.TryTake(h.n)) {
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

// early reports whether the client has not shown who it is. The lock is held.
func (c *conn) early() bool { return c.nodes != nil && !c.nodes.Authorized() }

func tooMuchEarly() *frame.Error {
	return &frame.Error{Condition: frame.CondResourceLimit,
		Description: "A client that has shown no token has a few links and 32 KB."}
}

// admit takes the room for a transfer. Where there is none the link refuses the message. The lock is held,
// but not while it waits.
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
	next := l.step(int64(have+n), t.More)
	if next.n <= l.room.n {
		return
	}
	if !next.large && c.partials+next.n-l.room.n > maxPartials && t.More || !c.takeMore(l, next) {
		l.denied = l.noRoom()
	}
}

// takeMore makes the room of the message under way what next says.
func (c *conn) takeMore(l *Link, next hold) bool {
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
		l.room = hold{}
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

// step is the room that a message of n bytes needs, of which more is to come or not.
func (l *Link) step(n int64, more bool) hold {
	most := int64(min(l.maxSize, 1<<40))
	switch {
	case n > most: // it is refused
		return hold{}
	case n > secondStep:
		return hold{n: most, large: true}
	case !more:
		return hold{n: n}
	case n > firstStep:
		return hold{n: min(secondStep, most)}
	}
	return hold{n: min(firstStep, most)}
}

// pass gives the room of the message under way to the message, which is whole: what it does not need is given
// back.
func (l *Link) pass(size int) hold {
	c, h := l.s.c, l.room
	l.room, l.since = hold{}, time.Time{}
	if !h.large {
		c.partials -= h.n
		if rest := h.n - int64(size); rest > 0 {
			c.give(hold{n: rest})
			h.n -= rest
		}
	}
	return h
}

// free gives the room of the message under way back.
func (l *Link) free() {
	if !l.room.large {
		l.s.c.partials -= l.room.n
	}
	l.s.c.give(l.room)
	l.room, l.since = hold{}, time.Time{}
}

// dropSlow ends the links whose messages have been unfinished for too long. The lock is held.
func (c *conn) dropSlow() {
	now := c.o.Wall.Now()
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

// awaitRoom keeps the reader from taking more in than is worked off: the messages that wait are whole, so
// that none of them waits for the reader.
func (c *conn) awaitRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.await(c.life, func() bool {
		most := crowded
		if c.early() {
			most = earlyBytes
		}
		return c.out.dead || c.closing || c.pending < MaxPending && c.outputFits(most)
	})
	c.dropSlow()
	c.limitFrames()
}

// limitFrames sets how large the next frame may be.
func (c *conn) limitFrames() {
	most := c.o.MaxFrameSize
	if c.early() {
		most = min(most, earlyBytes)
	}
	c.r.SetMax(most)
}

// outputFits reports whether there is less output than most bytes, of which those above freeOutput are of the
// room. The lock is held.
func (c *conn) outputFits(most int) bool {
	n := len(c.out.buf)
	if n >= most || c.o.Room == nil || c.out.dead {
		return n < most
	}
	if more := int64(n-freeOutput) - c.out.held; more > 0 {
		if !c.o.Room.TryTake(more) {
			return false
		}
		c.out.held += more
	}
	return true
}

// watchIdle reports who has given the connection its place whether another one may have it: its client has
// shown no token, or has no link. The lock is held.
func (c *conn) watchIdle() {
	if c.o.Idle == nil {
		return
	}
	if idle := c.early() || c.links() == 0; idle != c.idle {
		c.idle = idle
		c.o.Idle(idle)
	}
}

// admitFrame reports whether a connection whose client has shown no token may have one more session or link.
// It is closed where it may not. The lock is held.
func (c *conn) admitFrame(b frame.Body) bool {
	if !c.early() {
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
		c.failLocked(tooMuchEarly())
	}
	return !over
}

// watchToken closes the connection where its client shows no token in time, until stop.
func (c *conn) watchToken() (stop func()) {
	return ttl.AfterFunc(c.o.Wall, c.o.TokenTime-c.o.Wall.Now().Sub(c.since), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.early() {
			c.failLocked(&frame.Error{Condition: frame.CondForced,
				Description: "The connection has shown no token in the time that it has for one."})
		}
	})
}
