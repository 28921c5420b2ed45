package cosmos

import (
	"context"
	"time"
)

const (
	smallAnswer = 64 << 10 // bytes up to which an answer is not counted
	answerWait  = 5 * time.Second
	answerRetry = time.Second // when a client that was refused is to come back
)

// Answers are of the store's memory. Who makes a page has a tenth of it at most while it is made, and what
// the page really takes until it is released: the whole of its buffer, and nothing else, since what it was
// made of is let go before.

// reserve waits for the memory of a page, before there is one. Requests that answer with a single item need
// none.
func (c *call) reserve() error {
	switch c.req.Operation {
	case OpQuery, OpChangeFeed, OpQueryChanges, OpBatch:
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
func (c *call) holdPage() error { return c.hold(min(2*maxPageSize, c.srv.memory.Share())) }

// hold makes what the answer has of the memory n bytes. Where there is not enough it waits with the call's
// context, and is refused with 429 after a while.
func (c *call) hold(n int64) error {
	m := c.srv.memory
	n = min(n, m.Size())
	if n <= smallAnswer {
		n = 0
	}
	if n <= c.out.held {
		m.Give(c.out.held - n)
		c.out.held = n
		return nil
	}
	wait, cancel := context.WithTimeout(c.ctx, answerWait)
	defer cancel()
	if err := m.Take(wait, n-c.out.held); err != nil {
		c.out.RetryAfter = answerRetry
		return Failure(StatusTooManyRequests, SubstatusThrottled,
			"The answers of other requests take all the memory that there is for them. Please retry after some time.")
	}
	c.out.held, c.out.memory = n, m
	return nil
}

// holdAnswer is hold for the answer as it is now. What has been written must be told of, room or not: only
// what reads is refused.
func (c *call) holdAnswer() error {
	if len(c.out.Body) <= smallAnswer && c.out.held == 0 {
		return nil
	}
	c.req.Body = nil // it has done its part
	n := int64(cap(c.out.Body) + c.beside)
	switch c.req.Operation {
	case OpRead, OpQuery, OpChangeFeed, OpQueryChanges:
		return c.hold(n)
	}
	if n <= c.out.held {
		return c.hold(n)
	}
	if c.srv.memory.TryTake(n - c.out.held) {
		c.out.held, c.out.memory = n, c.srv.memory
	}
	return nil
}
