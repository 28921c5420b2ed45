package host

import "context"

// Turn is a lock with one holder, whose waiters give up when their context ends.
type Turn chan struct{}

// NewTurn returns a turn that nobody has.
func NewTurn() Turn { return make(Turn, 1) }

// Take waits for the turn. Its error is that of ctx, where that ends before.
func (t Turn) Take(ctx context.Context) error {
	if t.TryTake() {
		return nil
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TryTake takes the turn if nobody has it.
func (t Turn) TryTake() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

// Release ends Take.
func (t Turn) Release() { <-t }
