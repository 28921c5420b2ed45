package engine

import "sync"

// RunningCallTracker counts the running calls of an engine, so that its Close can wait for them. The zero
// value is ready for use.
type RunningCallTracker struct {
	mu      sync.Mutex
	running int
	closed  bool
	ended   chan struct{} // closed when the last running call ends after Close
}

// Begin registers a call, which must be ended by End. It returns ErrClosed, and the call must not run, after
// Close.
func (c *RunningCallTracker) Begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.running++
	return nil
}

// End reports that a call has ended.
func (c *RunningCallTracker) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.ended != nil {
		close(c.ended)
		c.ended = nil
	}
}

// Close lets no more calls begin, and waits until the running ones have ended. It returns ErrClosed, without
// waiting, if it was called before.
func (c *RunningCallTracker) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	c.closed = true
	var ended chan struct{}
	if c.running > 0 {
		ended = make(chan struct{})
		c.ended = ended
	}
	c.mu.Unlock()
	if ended != nil {
		<-ended
	}
	return nil
}
