package cosmos

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/store"
)

const (
	smallAnswer = 16 << 10 // bytes up to which an answer, or the body of a request, is not counted
	largestItem = 2 << 20  // bytes of an item, more or less
	answerWait  = 5 * time.Second
	// scarceReads is how many items are read at once where memory is scarce.
	scarceReads = 8

	// MemoryRetry is when a client that was refused for want of memory is to come back.
	MemoryRetry = time.Second
)

// Answers are of the store's memory, and so are the bodies of requests. Who makes a page has a tenth of it at
// most while it is made, and what the page really takes until it is released: the whole of its buffer, and
// nothing else, since what it was made of is let go before.

// reserve waits for the memory of an answer, before there is one. What reads a single item needs none: see
// readOnce.
func (c *call) reserve() error {
	switch c.req.Operation {
	case OpQuery, OpChangeFeed, OpQueryChanges, OpBatch:
	case OpPatch:
		return c.hold(min(largestItem, c.srv.memory.Share()))
	case OpRead:
		if !c.req.Feed || c.req.Kind != KindItem {
			return nil
		}
	default:
		return nil
	}
	return c.holdPage()
}

// holdPage is hold for the page that there may be.
func (c *call) holdPage() error { return c.hold(min(2*store.MaxPageBytes, c.srv.memory.Share())) }

// hold makes what the answer has of the memory n bytes. Where there is not enough it waits with the call's
// context, and is refused with 429 after a while.
func (c *call) hold(n int64) error {
	n = c.counted(n)
	if n <= c.out.held {
		return c.shrink(n)
	}
	wait, cancel := context.WithTimeout(c.ctx, answerWait)
	defer cancel()
	if err := c.srv.memory.Take(wait, n-c.out.held); err != nil {
		c.out.RetryAfter = MemoryRetry
		return noMemory()
	}
	c.out.held, c.out.memory = n, c.srv.memory
	return nil
}

// tryHold is hold that does not wait; false where there is not enough.
func (c *call) tryHold(n int64) bool {
	n = c.counted(n)
	if n <= c.out.held {
		return c.shrink(n) == nil
	}
	if !c.srv.memory.TryTake(n - c.out.held) {
		return false
	}
	c.out.held, c.out.memory = n, c.srv.memory
	return true
}

func (c *call) shrink(n int64) error {
	c.srv.memory.Give(c.out.held - n)
	c.out.held = n
	return nil
}

// counted is how many of n bytes are counted.
func (c *call) counted(n int64) int64 {
	if n = min(n, c.srv.memory.Size()); n <= smallAnswer {
		return 0
	}
	return n
}

func noMemory() error {
	return Failure(StatusTooManyRequests, SubstatusThrottled,
		"The answers of other requests take all the memory that there is for them. "+
			"Please retry after some time.")
}

// size is how many bytes the answer takes.
func (c *call) size() int64 { return int64(cap(c.out.Body) + c.beside) }

// readOnce runs what reads, and holds the memory of its answer. Where there is none the answer is let go:
// the call waits for as much with nothing in hand, and reads again. Where memory is scarce few read at
// once, so that there are not many answers at once that are let go.
func (c *call) readOnce(run func() error) error {
	leave := func() {}
	if m := c.srv.memory; m.TryTake(min(largestItem, m.Size())) {
		m.Give(min(largestItem, m.Size()))
	} else if leave = c.enterScarce(); leave == nil {
		return c.ctx.Err()
	}
	for {
		err := run()
		n := c.size()
		fits := err != nil || c.tryHold(n)
		if !fits {
			c.out.dropBody()
		}
		leave()
		if fits {
			return err
		}
		if err := c.hold(n); err != nil {
			return err
		}
		if leave = c.enterScarce(); leave == nil {
			return c.ctx.Err()
		}
	}
}

// enterScarce waits for the turn of one who reads where memory is scarce; nil where the call ends before.
func (c *call) enterScarce() (leave func()) {
	select {
	case c.srv.scarce <- struct{}{}:
		return func() { <-c.srv.scarce }
	case <-c.ctx.Done():
		return nil
	}
}

// holdAnswer is hold for the answer as it is now. What has been written must be told of, room or not: only
// what reads is refused.
func (c *call) holdAnswer() error {
	if len(c.out.Body) <= smallAnswer && c.out.held == 0 {
		return nil
	}
	c.req.Body = nil // it has done its part
	switch c.req.Operation {
	case OpRead, OpQuery, OpChangeFeed, OpQueryChanges:
		return c.hold(c.size())
	}
	c.tryHold(c.size())
	return nil
}

// HoldBody waits for n bytes of memory for the body of a request, before it is read, and is refused with
// 429 after a while. The caller gives back what is held. The memory of a body that is written goes over to
// the answer, which is about as large: neither is there without it.
func (s *Service) HoldBody(ctx context.Context, n int64) (held int64, err error) {
	if n = min(n, s.memory.Size()); n <= smallAnswer {
		return 0, nil
	}
	wait, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	if err := s.memory.Take(wait, n); err != nil {
		return 0, noMemory()
	}
	return n, nil
}

// GiveBody gives back what HoldBody has held.
func (s *Service) GiveBody(held int64) { s.memory.Give(held) }
