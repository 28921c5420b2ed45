package cosmos

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/store"
)

const (
	smallAnswer = 16 << 10 // bytes; smaller responses and request bodies are not counted
	largestItem = 2 << 20  // approximate maximum size of an item in bytes
	answerWait  = 5 * time.Second
	// scarceReads is the maximum number of concurrent item reads while memory is scarce.
	scarceReads = 8

	// MemoryRetry is the retry delay for clients that were refused for lack of memory.
	MemoryRetry = time.Second
)

// Responses and request bodies count against the store's memory limit. A page reserves at most a tenth of
// that limit while it is made. Afterwards it holds the actual size of its buffer until it is released. The
// data from which it was made has been dropped by then.

// reserve reserves memory for a response before it is made. A read of a single item does not need it,
// since readOnce reserves the memory after the read.
func (c *requestInProgress) reserve() error {
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

// holdPage reserves the memory that may be needed to make a page, but at most the share of one request.
func (c *requestInProgress) holdPage() error {
	return c.hold(min(2*store.MaxPageBytes, c.srv.memory.Share()))
}

// hold changes the memory reserved for the response to n bytes. If there is not enough, it waits. It fails
// with 429 when the call's context ends or answerWait has passed.
func (c *requestInProgress) hold(n int64) error {
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

// tryHold changes the memory reserved for the response to n bytes. If there is not enough memory, it returns
// false at once; hold would wait.
func (c *requestInProgress) tryHold(n int64) bool {
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

func (c *requestInProgress) shrink(n int64) error {
	c.srv.memory.Give(c.out.reserved - n)
	c.out.reserved = n
	return nil
}

// counted returns how many bytes a response of n bytes counts against the memory limit: none for a small
// response, and never more than the limit.
func (c *requestInProgress) counted(n int64) int64 {
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

// size returns the number of bytes of memory that the response uses.
func (c *requestInProgress) size() int64 { return int64(cap(c.out.Body) + c.sourceBytes) }

// readOnce runs a read and reserves the memory of its response. If there is not enough memory, readOnce
// drops the response, waits until the memory is reserved, and runs the read again. While memory is scarce
// only a few reads run at the same time, which limits the number of responses without a reservation.
func (c *requestInProgress) readOnce(run func() error) error {
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

// enterScarce waits for permission to run a read while memory is scarce, since only a few reads may then run
// at a time. The caller must call leave after the read. leave is nil if the request ends first.
func (c *requestInProgress) enterScarce() (leave func()) {
	select {
	case c.srv.scarce <- struct{}{}:
		return func() { <-c.srv.scarce }
	case <-c.ctx.Done():
		return nil
	}
}

// holdAnswer reserves memory for the finished response, which counts against the budget of all requests. If
// there is not enough memory, a read fails; a write has already happened, so its response is sent anyway.
func (c *requestInProgress) holdAnswer() error {
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

// HoldBody reserves n bytes for the body of a request before it is read. It waits for the memory, and fails
// with 429 after answerWait. The caller gives held back with ReleaseBody after the response has been sent,
// since the response to a write is about as large as the body and may have no reservation of its own.
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

// ReleaseBody gives back the memory that HoldBody has reserved.
func (s *Service) ReleaseBody(held int64) { s.memory.Give(held) }
