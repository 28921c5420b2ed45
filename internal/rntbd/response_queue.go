package rntbd

import (
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

const (
	writeTime = 10 * time.Second // for a client to accept one piece of a response
	piece     = 64 << 10         // maximum size of such a piece in bytes
	// maxGathered is the maximum number of bytes that wait for the connection. If there are more, responses
	// wait until they can be written.
	maxGathered = 32 << 10
)

// responseQueue sends the responses of a connection. Responses that become ready while another one is being
// written are gathered and written together.
type responseQueue struct {
	conn    net.Conn
	mu      sync.Mutex
	turn    sync.Cond // signals that writing or gathered has changed
	writing bool      // a goroutine writes to the connection
	ready   []byte    // gathered answers
	spare   []byte    // the buffer that was written last
	until   time.Time // deadline of writes; used only by the goroutine that writes
	err     error     // the first error of the connection
}

func (o *responseQueue) init(conn net.Conn) { o.conn, o.turn.L = conn, &o.mu }

// add appends the bytes of a complete response to those that wait to be sent. If now is set, they are sent
// before add returns or, if another goroutine is writing, by that one. Otherwise the next flush sends them.
func (o *responseQueue) add(b []byte, now bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && len(o.ready) > 0 && len(o.ready)+len(b) > maxGathered {
		if !o.writing {
			o.writeReady()
			continue
		}
		o.turn.Wait()
	}
	o.ready = append(o.ready, b...)
	if now && !o.writing {
		o.writeReady()
	}
	return o.err
}

// flush sends the gathered responses, unless another goroutine is writing, which then sends them.
func (o *responseQueue) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.writing {
		o.writeReady()
	}
	return o.err
}

// begin waits until no other goroutine writes, and sends the gathered responses. The caller then writes a
// response that is too large to be gathered directly to the connection, and calls end.
func (o *responseQueue) begin() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.turn.Wait()
	}
	o.writeReady()
	o.writing = true
	return o.err
}

// end must be called after begin and the caller's own write; err is the error of that write. It sends the
// responses that have been gathered since begin.
func (o *responseQueue) end(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.writing = false
	o.writeReady()
	o.turn.Broadcast()
	return o.err
}

// writeReady writes the gathered responses, including those that are added while it writes. The caller holds
// o.mu, which is released during a write, and no other goroutine is writing.
func (o *responseQueue) writeReady() {
	if len(o.ready) == 0 || o.err != nil {
		return
	}
	o.writing = true
	for len(o.ready) > 0 && o.err == nil {
		b := o.ready
		o.ready, o.spare = o.spare[:0], nil
		o.mu.Unlock()
		err := o.write(b)
		o.mu.Lock()
		if cap(b) <= 2*maxGathered {
			o.spare = b
		}
		o.err = err
		o.turn.Broadcast()
	}
	o.writing = false
}

// write writes bytes, with a time limit for each piece. Only the goroutine that has set writing calls it.
func (o *responseQueue) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), piece)
		// A deadline that was set less than a second ago is kept, because setting it is expensive.
		if want := (ttl.SystemClock{}).Now().Add(writeTime); want.Sub(o.until) > time.Second {
			if err := o.conn.SetWriteDeadline(want); err != nil {
				return err
			}
			o.until = want
		}
		if _, err := o.conn.Write(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) > 0 {
			runtime.Gosched() // short requests go first
		}
	}
	return nil
}
