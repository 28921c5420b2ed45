package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

const (
	smallAnswer  = 64 << 10 // bytes up to which an answer is not counted
	answerWait   = 5 * time.Second
	answerRetry  = time.Second      // when a client that was refused is to come back
	writeChunk   = 64 << 10         // bytes of a large answer that a client has to take
	stallTimeout = 10 * time.Second // in this time
)

// Answers are of the store's memory. Who makes a page has a tenth of it at most while it is made, and what
// the page really takes until it is written: the whole of its buffer, and nothing else, since what it was
// made of is let go before.

// reserve waits for the memory of a page, before there is one. Requests that answer with a single item need
// none.
func (c *call) reserve() error {
	switch op := c.operation(); {
	case op == opQuery, op == opChangeFeed, op == opBatch, op == opRead && c.target.feed && c.target.kind == kindItem:
		return c.hold(min(2*maxPageSize, c.srv.memory.Share()))
	}
	return nil
}

// hold makes what the request has of the memory n bytes. Where there is not enough it waits with its context,
// and is refused with 429 after a while.
func (c *call) hold(n int64) error {
	m := c.srv.memory
	n = min(n, m.Size())
	if n <= smallAnswer {
		n = 0
	}
	if n <= c.held {
		m.Give(c.held - n)
		c.held = n
		return nil
	}
	wait, cancel := context.WithTimeout(c.ctx(), answerWait)
	defer cancel()
	if err := m.Take(wait, n-c.held); err != nil {
		c.set("x-ms-retry-after-ms", strconv.FormatInt(int64(answerRetry/time.Millisecond), 10))
		return wireErr(http.StatusTooManyRequests, substatusThrottled,
			"The answers of other requests take all the memory that there is for them. Please retry after some time.")
	}
	c.held = n
	return nil
}

// holdAnswer is hold for an answer that there is. What has been written must be told of, room or not: only
// what reads is refused.
func (c *call) holdAnswer(n int64) error {
	switch c.operation() {
	case opRead, opQuery, opChangeFeed:
		return c.hold(n)
	}
	if n <= c.held {
		return c.hold(n)
	}
	if c.srv.memory.TryTake(n - c.held) {
		c.held = n
	}
	return nil
}

// letGo gives the memory of the answer back.
func (c *call) letGo() {
	c.srv.memory.Give(c.held)
	c.held = 0
}

// write writes a body. A client has time for each piece of a large one, so that one that does not read is
// given up soon, and one that reads slowly is not.
func (c *call) write(body []byte) {
	w := c.Response()
	if len(body) <= smallAnswer {
		_, _ = w.Write(body) // a failure means that the client is gone: there is nobody left to tell
		return
	}
	control := http.NewResponseController(w.Writer)
	for len(body) > 0 {
		n := min(len(body), writeChunk)
		_ = control.SetWriteDeadline(ttl.Real{}.Now().Add(stallTimeout)) // without a connection there is none
		if _, err := w.Write(body[:n]); err != nil {
			return
		}
		body = body[n:]
	}
}
