package cosmos

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/store"
)

const (
	smallAnswer = 16 << 10 // bytes; smaller answers and request bodies are not counted
	largestItem = 2 << 20  // approximate maximum size of an item in bytes
	answerWait  = 5 * time.Second
	// scarceReads is the number of concurrent item reads when memory is scarce.
	scarceReads = 8

	// MemoryRetry is the retry delay for clients that were refused for lack of memory.
	MemoryRetry = time.Second
)

// Answers and request bodies are charged to the store's memory. A page reserves at most a tenth of it while
// it is made, and afterwards the actual size of its buffer until it is released. The data that it was made
// of is dropped before.

// reserve reserves memory for an answer before it is made. Reads of a single item do not need it: see
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

// holdPage reserves the memory that making a page may need: at most the share of one request.
func (c *call) holdPage() error { return c.hold(min(2*store.MaxPageBytes, c.srv.memory.Share())) }

// hold changes the memory reserved for the answer to n bytes. If there is not enough, it waits until the
// call's context ends or answerWait has passed, then fails with 429.
func (c *call) hold(n int64) error {
	n = c.counted(n)
	if n <= c.out.reserved {
		return c.shrink(n)
	}
	wait, cancel := context.WithTimeout(c.ctx, answerWait)
	defer cancel()
	if err := c.srv.memory.Take(wait, n-c.out.reserved); err != nil {
		c.out.RetryAfter = MemoryRetry
		return noMemory()
	}
	c.out.reserved, c.out.memory = n, c.srv.memory
	return nil
}

// tryHold is hold without waiting; it returns false if there is not enough memory.
func (c *call) tryHold(n int64) bool {
	n = c.counted(n)
	if n <= c.out.reserved {
		return c.shrink(n) == nil
	}
	if !c.srv.memory.TryTake(n - c.out.reserved) {
		return false
	}
	c.out.reserved, c.out.memory = n, c.srv.memory
	return true
}

func (c *call) shrink(n int64) error {
	c.srv.memory.Give(c.out.reserved - n)
	c.out.reserved = n
	return nil
}

// counted returns how many of n bytes are charged.
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

// size returns the number of bytes that the answer occupies.
func (c *call) size() int64 { return int64(cap(c.out.Body) + c.sourceBytes) }

// readOnce runs a read and reserves the memory of its answer. If the memory is not available, readOnce drops
// the answer, waits until the memory is reserved, and runs the read again. While memory is scarce only a few
// reads run at once, to limit the number of answers that exist without a reservation.
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

// enterScarce waits for one of the places for reads while memory is scarce. It returns nil if the call ends
// first.
func (c *call) enterScarce() (leave func()) {
	select {
	case c.srv.scarce <- struct{}{}:
		return func() { <-c.srv.scarce }
	case <-c.ctx.Done():
		return nil
	}
}

// holdAnswer reserves the memory of the finished answer. A write has already happened and must be answered,
// with or without a reservation: only reads are refused.
func (c *call) holdAnswer() error {
	if len(c.out.Body) <= smallAnswer && c.out.reserved == 0 {
		return nil
	}
	c.req.Body = nil // no longer needed
	switch c.req.Operation {
	case OpRead, OpQuery, OpChangeFeed, OpQueryChanges:
		return c.hold(c.size())
	}
	c.tryHold(c.size())
	return nil
}

// HoldBody reserves n bytes for the body of a request before it is read. It waits for them, and fails with
// 429 after answerWait. The caller returns held with ReleaseBody after the answer has been sent: the answer
// to a write is about as large as the body, and may have no reservation of its own.
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

// ReleaseBody returns the memory reserved by HoldBody.
func (s *Service) ReleaseBody(held int64) { s.memory.Give(held) }
