package host

import "context"

// CancelableMutex is a mutual exclusion lock whose Lock returns early if a context ends.
type CancelableMutex chan struct{}

// NewCancelableMutex returns an unlocked Mutex.
func NewCancelableMutex() CancelableMutex { return make(CancelableMutex, 1) }

// Lock locks the mutex. It returns the error of ctx if ctx ends first.
func (m CancelableMutex) Lock(ctx context.Context) error {
	if m.TryLock() {
		return nil
	}
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TryLock locks the mutex if it is free, and reports whether it did.
func (m CancelableMutex) TryLock() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock unlocks the mutex.
func (m CancelableMutex) Unlock() { <-m }
