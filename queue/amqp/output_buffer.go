package amqp

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
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
	// directTime is the time limit for a write of output by another goroutine than the writing goroutine of
	// the connection, which then writes the rest.
	directTime = 100 * time.Millisecond
	// spareSize is the maximal size in bytes of the buffer that an idle connection keeps.
	spareSize = 16 << 10
)

// outputBuffer is the data that waits to be written. The connection's lock guards it, except the channel.
type outputBuffer struct {
	buf     []byte
	held    int64 // bytes taken from Options.Memory
	spare   []byte
	wake    chan struct{} // one slot
	corked  bool          // see cork
	writing bool          // a goroutine writes to the connection
	until   time.Time     // the time limit of the current write; zero: there is none
	last    bool          // the writing goroutine ends after the current data
	dead    bool          // the writing goroutine has ended
}

// write appends a frame to the output. The caller holds the lock.
func (c *conn) write(channel uint16, b frame.Body) { c.writeTransfer(channel, b, nil) }

func (c *conn) writeTransfer(channel uint16, b frame.Body, payload []byte) {
	if c.closing || c.out.dead {
		return
	}
	c.out.buf = frame.Append(c.out.buf, channel, b, payload)
	if !c.out.corked {
		c.wakeWriter()
	}
}

func (c *conn) wakeWriter() {
	select {
	case c.out.wake <- struct{}{}:
	default:
	}
}

// resumableWriteReporter is an optional interface of a connection. Resumes reports whether a Write that
// has timed out can be continued with the rest of its bytes. Within TLS it cannot.
type resumableWriteReporter interface{ Resumes() bool }

// resumes reports whether a Write that has timed out can be continued.
func resumes(raw net.Conn) bool {
	if r, ok := raw.(resumableWriteReporter); ok {
		return r.Resumes()
	}
	_, tcp := raw.(*net.TCPConn)
	return tcp
}

// cork makes conn keep further output in its buffer until uncork is called, or until await, which releases
// the lock, waits. The caller holds the lock. Before it releases the lock by other means than await, it must
// call uncork.
func (c *conn) cork() { c.out.corked = true }

// uncork allows the output that cork has delayed to be sent. A small output is written by the calling
// goroutine itself, for up to directTime, if no other goroutine of the connection is at work. Otherwise, and
// for the rest, uncork wakes the writing goroutine. The caller holds the lock; uncork may release it.
func (c *conn) uncork() {
	c.out.corked = false
	if len(c.out.buf) == 0 {
		return
	}
	if c.resumes && c.busy == 0 && !c.out.writing && !c.out.dead && len(c.out.buf) <= spareSize {
		if !c.flush(directTime) {
			c.out.last = true // so that the writing goroutine ends, too
		}
	}
	if len(c.out.buf) > 0 || c.out.last {
		c.wakeWriter()
	}
}

// uncorkBusy calls uncork, which sends the output collected since cork, in a goroutine of a sink or source
// that is counted in busy. It leaves this goroutine out of the count meanwhile, so that uncork does not take
// it for another link at work and can write the output at once. The caller holds the lock.
func (c *conn) uncorkBusy() {
	c.busy--
	c.uncork()
	c.busy++
}

// endBusy decrements the number of goroutines at work (busy) when one of them ends, also if it panics. The
// caller holds the lock.
func (c *conn) endBusy() {
	c.busy--
	c.out.corked = false
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
		c.mu.Lock()
		if c.out.writing { // the goroutine that writes now wakes this one if it leaves output
			c.mu.Unlock()
			continue
		}
		last := c.out.last
		ok := c.flush(c.o.IdleTimeout)
		c.mu.Unlock()
		if !ok || last {
			return
		}
	}
}

// flush writes the buffered output to the client, with patience as the time limit. It returns false if the
// connection is broken. If patience is directTime, the time limit is not an error: what the client has not
// taken stays in the buffer. Only one goroutine at a time may call flush. The caller holds the lock, which
// flush releases while it writes.
func (c *conn) flush(patience time.Duration) (ok bool) {
	b := c.out.buf
	c.out.buf, c.out.spare = c.out.spare[:0], nil
	c.out.writing = true
	c.signal()
	if c.closing {
		patience = closeTime
	}
	c.setWriteDeadline(patience)
	n, err := 0, error(nil)
	if len(b) > 0 {
		c.unlocked(func() { n, err = c.raw.Write(b) })
	}
	c.out.writing = false
	if patience == directTime && errors.Is(err, os.ErrDeadlineExceeded) {
		c.out.buf = slices.Concat(b[n:], c.out.buf)
		err = nil
	}
	if err != nil {
		_ = c.raw.Close() // so that the reader ends, too
	}
	if c.out.held > 0 && len(c.out.buf) <= freeOutput {
		c.o.Memory.Give(c.out.held)
		c.out.held = 0
	}
	if cap(b) <= spareSize {
		c.out.spare = b[:0]
	}
	return err == nil
}

// setWriteDeadline sets the deadline of the next write to patience from now, unless that would change it only
// a little. The caller holds the lock.
func (c *conn) setWriteDeadline(patience time.Duration) {
	now := c.o.Wall.Now()
	if left := c.out.until.Sub(now); c.closing || left > patience || left < patience-patience/16 {
		c.out.until = now.Add(patience)
		_ = c.raw.SetWriteDeadline(c.out.until)
	}
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
		if c.out.corked {
			c.out.corked = false
			c.wakeWriter()
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
