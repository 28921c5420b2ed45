package store_test

import (
	"context"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// operation is the key of a context whose calls belong to an operation that is counted.
type operation struct{}

// counted returns a context for operations that are counted.
func counted(ctx context.Context) context.Context { return context.WithValue(ctx, operation{}, true) }

// turn separates the calls of counted operations from those of background work.
type turn struct {
	mu      sync.Mutex
	changed *sync.Cond
	running int  // calls of background work
	taken   bool // an operation is being counted
}

func newTurn() *turn {
	u := &turn{}
	u.changed = sync.NewCond(&u.mu)
	return u
}

// take waits for the calls of background work and keeps others from beginning until give.
func (u *turn) take() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.running > 0 {
		u.changed.Wait()
	}
	u.taken = true
}

func (u *turn) give() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.taken = false
	u.changed.Broadcast()
}

// call makes a call when its turn has come.
func (u *turn) call(ctx context.Context, fn func() error) error {
	if ctx.Value(operation{}) == nil {
		u.mu.Lock()
		for u.taken {
			u.changed.Wait()
		}
		u.running++
		u.mu.Unlock()
		defer func() {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.running--
			u.changed.Broadcast()
		}()
	}
	return fn()
}

// quietEngine is a shared engine that keeps background work away while an operation is counted.
type quietEngine struct {
	engine.Engine
	getter engine.Getter
	turn   *turn
}

func (e *quietEngine) Shared() bool { return true }

func (e *quietEngine) Advice() engine.Advice { return engine.AdviceOf(e.Engine) }

func (e *quietEngine) View(ctx context.Context, fn func(engine.Reader) error) error {
	return e.turn.call(ctx, func() error { return e.Engine.View(ctx, fn) })
}

func (e *quietEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) (at []engine.Position, err error) {
	err = e.turn.call(ctx, func() error {
		at, err = e.Engine.Update(ctx, scopes, fn, ahead...)
		return err
	})
	return at, err
}

func (e *quietEngine) Get(ctx context.Context, scope, key []byte) (v []byte, at engine.Position, err error) {
	err = e.turn.call(ctx, func() error {
		v, at, err = e.getter.Get(ctx, scope, key)
		return err
	})
	return v, at, err
}

// quietDatabase is a quietEngine over a database with a clock and notifications.
type quietDatabase struct {
	quietEngine
	engine.ClockReporter
	notifier engine.Notifier
}

func (e *quietDatabase) Await(ctx context.Context, scopes [][]byte) error {
	return e.turn.call(ctx, func() error { return e.notifier.Await(ctx, scopes) })
}

func (e *quietDatabase) Listen(ctx context.Context, fn func([]byte)) { e.notifier.Listen(ctx, fn) }
