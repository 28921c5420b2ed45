package amqp

import "time"

// The goroutine that reads a connection passes an arrival to its sink, or a settlement to its source, itself
// if no other work waits: the client has sent nothing more, and no other link is at work. This saves a change
// of goroutines, which costs more than most messages do. While it does so, nothing is read. So it does this
// only if the sinks and sources of the connection have been prompt: those that wait for a disk get a
// goroutine, as does everything that may wait on purpose (ConnectionHandler.MayWait).

const (
	// promptTime is the longest time that a call of a sink or source may take to count as prompt. While
	// calls are prompt, they are made on the goroutine that reads the connection.
	promptTime = 250 * time.Microsecond
	// minPrompt is the number of consecutive calls of message sinks and sources that must have taken at most
	// promptTime each. Then the next call is made on the goroutine that reads the connection.
	minPrompt = 8
)

// pass arranges that fn, which processes arrivals or settlements of a link, is run. If fn is expected to be
// prompt and nothing else is at work, the goroutine that reads the connection runs it later, in runInline.
// Otherwise pass starts it in another goroutine. ready says that fn need not wait for other work. Only the
// goroutine that reads calls pass, and holds the lock.
func (l *Link) pass(fn func(), ready bool) {
	c := l.s.c
	c.busy++
	if !ready || c.busy > 1 || c.prompt < minPrompt || c.inline != nil || c.r.HasNext() || c.nodes.MayWait() {
		l.run(fn)
		return
	}
	l.workers.Add(1)
	c.inline = func() {
		defer l.workers.Done()
		l.guard(fn)
	}
}

// runInline runs c.inline, if it is set, in the goroutine that reads the connection. c.inline is a function
// that processes messages or settlements and is expected to be fast; Link.pass sets it.
func (c *conn) runInline() {
	if fn := c.inline; fn != nil {
		c.inline = nil
		fn()
	}
}

// process calls fn, a call of a sink or source, without the lock, and records whether it took at most
// promptTime. The caller holds the lock before and after.
func (c *conn) process(fn func()) {
	var took time.Duration
	c.unlocked(func() {
		began := c.o.Wall.Now()
		fn()
		took = c.o.Wall.Now().Sub(began)
	})
	if c.prompt++; took > promptTime {
		c.prompt = 0
	}
}
