package trips

import (
	"context"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// operationContextKey is the key of a context whose calls belong to an operation that is counted.
type operationContextKey struct{}

// Counted returns a context for operations that are counted.
func Counted(ctx context.Context) context.Context {
	return context.WithValue(ctx, operationContextKey{}, true)
}

// CountedTurn separates the calls of counted operations from those of background work. It is safe for
// concurrent use.
type CountedTurn struct {
	mu      sync.Mutex
	changed *sync.Cond
	running int  // calls of background work
	taken   bool // an operation is being counted
}

// NewCountedTurn returns a CountedTurn that no operation has taken.
func NewCountedTurn() *CountedTurn {
	u := &CountedTurn{}
	u.changed = sync.NewCond(&u.mu)
	return u
}

// Take waits for the calls of background work and keeps others from beginning until Give.
func (u *CountedTurn) Take() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.running > 0 {
		u.changed.Wait()
	}
	u.taken = true
}

// Give lets background work go on.
func (u *CountedTurn) Give() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.taken = false
	u.changed.Broadcast()
}

// call makes a call when its turn has come.
func (u *CountedTurn) call(ctx context.Context, fn func() error) error {
	if ctx.Value(operationContextKey{}) == nil {
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

// QuietEngine is a shared engine that keeps background work away while an operation is counted.
type QuietEngine struct {
	engine.Engine
	getter engine.Getter
	turn   *CountedTurn
}

// RemoteEngine is an engine with the fast path of a remote one.
type RemoteEngine interface {
	engine.Engine
	engine.Getter
}

// Quiet returns the engine with the turns of a test.
func Quiet(e RemoteEngine, turn *CountedTurn) *QuietEngine { return &QuietEngine{e, e, turn} }

// Shared reports true: other servers may have the data open.
func (e *QuietEngine) Shared() bool { return true }

// Advice returns the advice of the engine.
func (e *QuietEngine) Advice() engine.SizeAdvice { return engine.SizeAdviceOf(e.Engine) }

// View is that of the engine, when its turn has come.
func (e *QuietEngine) View(ctx context.Context, fn func(engine.Reader) error) error {
	return e.turn.call(ctx, func() error { return e.Engine.View(ctx, fn) })
}

// Update is that of the engine, when its turn has come.
func (e *QuietEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) (at []engine.ScopePosition, err error) {
	err = e.turn.call(ctx, func() error {
		at, err = e.Engine.Update(ctx, scopes, fn, ahead...)
		return err
	})
	return at, err
}

// Get is that of the engine, when its turn has come.
func (e *QuietEngine) Get(ctx context.Context, scope, key []byte) (v []byte, at engine.ScopePosition,
	err error) {
	err = e.turn.call(ctx, func() error {
		v, at, err = e.getter.Get(ctx, scope, key)
		return err
	})
	return v, at, err
}

// QuietDatabase is a QuietEngine over a database with a clock and notifications.
type QuietDatabase struct {
	QuietEngine
	engine.ClockReporter
	notifier engine.CommitNotifier
}

// Await is that of the database, when its turn has come.
func (e *QuietDatabase) Await(ctx context.Context, scopes [][]byte) error {
	return e.turn.call(ctx, func() error { return e.notifier.Await(ctx, scopes) })
}

// Listen is that of the database.
func (e *QuietDatabase) Listen(ctx context.Context, fn func([]byte)) { e.notifier.Listen(ctx, fn) }

// RemoteDatabase is an engine over a database with a clock and notifications.
type RemoteDatabase interface {
	RemoteEngine
	engine.ClockReporter
	engine.CommitNotifier
}

// QuietOf returns the database with the turns of a test.
func QuietOf(e RemoteDatabase, turn *CountedTurn) *QuietDatabase {
	return &QuietDatabase{QuietEngine{e, e, turn}, e, e}
}
