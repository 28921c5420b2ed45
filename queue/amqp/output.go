package amqp

import (
	"context"
	"runtime"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

const (
	// freeOutput is the number of bytes of waiting output that do not count against Options.Memory.
	freeOutput = 64 << 10
	// lowPendingOutput is the number of waiting bytes of output from which on sources add no more messages.
	lowPendingOutput = 256 << 10
	// maxPendingOutput is the number of waiting bytes of output from which on nothing is read from the
	// client.
	maxPendingOutput = 4 << 20
	// spareSize is the maximal size in bytes of the buffer that an idle connection keeps.
	spareSize = 16 << 10
)

// output is the data that waits to be written. The connection's lock guards it, except the channel.
type output struct {
	buf   []byte
	held  int64 // bytes taken from Options.Memory
	spare []byte
	wake  chan struct{} // one slot
	last  bool          // the writing goroutine ends after the current data
	dead  bool          // the writing goroutine has ended
}

// write appends a frame to the output. The caller holds the lock.
func (c *conn) write(channel uint16, b frame.Body) { c.writeTransfer(channel, b, nil) }

func (c *conn) writeTransfer(channel uint16, b frame.Body, payload []byte) {
	if c.closing || c.out.dead {
		return
	}
	c.out.buf = frame.Append(c.out.buf, channel, b, payload)
	c.wakeWriter()
}

func (c *conn) wakeWriter() {
	select {
	case c.out.wake <- struct{}{}:
	default:
	}
}

// writeOut writes the output until the connection ends. peerIdle is the client's idle timeout; 0 means that
// there is none. writeOut writes a heartbeat if there was no output for half of that time.
func (c *conn) writeOut(peerIdle time.Duration) {
	defer func() {
		c.mu.Lock()
		c.out.dead = true
		if c.o.Memory != nil {
			c.o.Memory.Give(c.out.held)
		}
		c.out.held = 0
		c.signal()
		c.mu.Unlock()
	}()
	for {
		var beat <-chan time.Time
		stop := func() {}
		if peerIdle > 0 {
			beat, stop = c.o.Wall.After(peerIdle / 2)
		}
		select {
		case <-c.out.wake:
		case <-beat:
			c.mu.Lock()
			c.out.buf = frame.AppendHeartbeat(c.out.buf)
			c.mu.Unlock()
		}
		stop()
		// let goroutines that are ready to add output run first, so that one write contains all of it
		runtime.Gosched()
		if last, err := c.flush(); err != nil || last {
			return
		}
	}
}

// flush writes the current output. last reports that no more output will come.
func (c *conn) flush() (last bool, err error) {
	c.mu.Lock()
	b := c.out.buf
	last = c.out.last
	c.out.buf, c.out.spare = c.out.spare[:0], nil
	c.signal()
	patience := c.o.IdleTimeout
	if c.closing { // the deadline of the previous write may have passed
		patience = closeTime
	}
	_ = c.raw.SetWriteDeadline(c.o.Wall.Now().Add(patience))
	c.mu.Unlock()
	if len(b) > 0 {
		if _, err = c.raw.Write(b); err != nil {
			_ = c.raw.Close() // so that the reader ends, too
		}
	}
	c.mu.Lock()
	if c.out.held > 0 && len(c.out.buf) <= freeOutput {
		c.o.Memory.Give(c.out.held)
		c.out.held = 0
	}
	if cap(b) <= spareSize {
		c.out.spare = b[:0]
	}
	c.mu.Unlock()
	return last, err
}

// signal wakes all goroutines that wait for a change of state. The caller holds the lock.
func (c *conn) signal() {
	if c.waiting > 0 {
		close(c.changed)
		c.changed, c.waiting = make(chan struct{}), 0
	}
}

// await waits until ready returns true. It returns false if ctx ends first. ready is called with the lock
// held. The lock is held before and after, but not during the wait.
func (c *conn) await(ctx context.Context, ready func() bool) bool {
	for !ready() {
		if ctx.Err() != nil {
			return false
		}
		changed := c.changed
		c.waiting++
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		c.mu.Lock()
	}
	return true
}

// unlocked runs fn without the lock. The caller holds the lock before and after.
func (c *conn) unlocked(fn func()) {
	c.mu.Unlock()
	defer c.mu.Lock()
	fn()
}
