package roundtrips

import (
	"context"
	"sync"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/sharedengine"
)

// countedOperationContextKey is the key of a context value that marks the calls of an operation whose round
// trips are counted.
type countedOperationContextKey struct{}

// Counted returns a context for the calls of an operation whose round trips to the engine are counted. While
// such an operation runs, calls with any other context, which are those of background work, wait.
func Counted(ctx context.Context) context.Context {
	return context.WithValue(ctx, countedOperationContextKey{}, true)
}

// BackgroundWorkExclusionLock is a lock between an operation whose round trips are being counted and the
// calls of background work: they never run at the same time. It is safe for concurrent use.
type BackgroundWorkExclusionLock struct {
	mu      sync.Mutex
	changed *sync.Cond
	running int  // calls of background work
	taken   bool // an operation is being counted
}

// NewCountingLock returns a BackgroundWorkExclusionLock that no operation has taken.
func NewCountingLock() *BackgroundWorkExclusionLock {
	u := &BackgroundWorkExclusionLock{}
	u.changed = sync.NewCond(&u.mu)
	return u
}

// Take begins a counted operation: it waits until the running calls of background work have ended, and
// makes new ones wait until Give.
func (u *BackgroundWorkExclusionLock) Take() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.running > 0 {
		u.changed.Wait()
	}
	u.taken = true
}

// Give ends the counted operation that began with Take: calls of background work continue.
func (u *BackgroundWorkExclusionLock) Give() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.taken = false
	u.changed.Broadcast()
}

// call runs fn. Unless ctx belongs to a counted operation (see Counted), it first waits until no operation is
// being counted.
func (u *BackgroundWorkExclusionLock) call(ctx context.Context, fn func() error) error {
	if ctx.Value(countedOperationContextKey{}) == nil {
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

// BackgroundPausingEngine is a shared engine for tests that count the round trips of an operation: while an
// operation is being counted, the calls of background work wait.
type BackgroundPausingEngine struct {
	engine.Engine
	getter engine.Getter
	turn   *BackgroundWorkExclusionLock
}

// Quiet returns an engine whose background calls wait while an operation holds turn.
func Quiet(e sharedengine.EngineWithGetter, turn *BackgroundWorkExclusionLock) *BackgroundPausingEngine {
	return &BackgroundPausingEngine{e, e, turn}
}

// Shared reports true: other servers may have the data open.
func (e *BackgroundPausingEngine) Shared() bool { return true }

// Advice returns what the underlying engine recommends: see engine.TxnSizeAdvice.
func (e *BackgroundPausingEngine) Advice() engine.TxnSizeAdvice { return engine.SizeAdviceOf(e.Engine) }

// View passes the call on to the wrapped engine. If it comes from background work, it is held back until the
// operation whose round trips are being counted has ended.
func (e *BackgroundPausingEngine) View(ctx context.Context, fn func(engine.Reader) error) error {
	return e.turn.call(ctx, func() error { return e.Engine.View(ctx, fn) })
}

// Update calls Update of the engine. A call of background work first waits for the end of an operation that
// is being counted.
func (e *BackgroundPausingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) (at []engine.LSNScopeStatus, err error) {
	err = e.turn.call(ctx, func() error {
		at, err = e.Engine.Update(ctx, scopes, fn, ahead...)
		return err
	})
	return at, err
}

// Get passes the call on to the wrapped engine. If it comes from background work, it is held back until the
// operation whose round trips are being counted has ended.
func (e *BackgroundPausingEngine) Get(ctx context.Context, scope, key []byte) (v []byte,
	at engine.LSNScopeStatus,
	err error) {
	err = e.turn.call(ctx, func() error {
		v, at, err = e.getter.Get(ctx, scope, key)
		return err
	})
	return v, at, err
}

// BackgroundPausingDatabaseEngine is a BackgroundPausingEngine, in which background work waits while a test
// counts the round trips of an operation, over a database with a clock and notifications.
type BackgroundPausingDatabaseEngine struct {
	BackgroundPausingEngine
	engine.DatabaseTimeReporter
	notifier engine.CommitNotifier
}

// Await passes the call on to the wrapped engine, which then reports commits of other servers in scopes. If
// the call comes from background work, it is held back until the operation whose round trips are being
// counted has ended.
func (e *BackgroundPausingDatabaseEngine) Await(ctx context.Context, scopes [][]byte) error {
	return e.turn.call(ctx, func() error { return e.notifier.Await(ctx, scopes) })
}

// Listen calls fn for commits that other servers report, until ctx ends: see engine.CommitNotifier. It passes
// the call on to the wrapped engine without pausing it.
func (e *BackgroundPausingDatabaseEngine) Listen(ctx context.Context, fn func([]byte)) {
	e.notifier.Listen(ctx, fn)
}

// EngineWithClockAndNotifier is an engine over a database with a clock and notifications.
type EngineWithClockAndNotifier interface {
	sharedengine.EngineWithGetter
	engine.DatabaseTimeReporter
	engine.CommitNotifier
}

// QuietOf returns a database that behaves like e, except that calls of background work wait while an
// operation whose round trips are counted is running: the operation holds turn.
func QuietOf(e EngineWithClockAndNotifier,
	turn *BackgroundWorkExclusionLock) *BackgroundPausingDatabaseEngine {
	return &BackgroundPausingDatabaseEngine{BackgroundPausingEngine{e, e, turn}, e, e}
}
