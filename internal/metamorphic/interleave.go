package metamorphic

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// interleavingEngine is an engine that interrupts an operation to run concurrent operations (acts) between
// its engine calls. The places where it interrupts are called gaps and are counted: before a Get, a View and
// a Settle; for an Update before it, before and after its closure, and after the commit but before the result
// is returned. Each act runs in its own goroutine, in the gap that the history names. The interrupted
// operation continues when the act has ended or would have to wait. So only one goroutine runs at a time, and
// a history is deterministic.
//
// The background loops of the store wait before their next engine call until the interrupted operation has
// ended.
type interleavingEngine struct {
	engine.Engine
	engine.Getter

	gap  func()   // runs the acts of the next gap; nil while no operation is interrupted
	held [][]byte // the scopes of the operation's running Update

	mu   sync.Mutex
	idle chan struct{} // closed while no operation is interrupted; guarded by mu

	turned chan struct{} // closed while alone runs; guarded by mu
	alones int           // calls of alone that run; guarded by mu
}

func newInterleaver(e engine.Engine, g engine.Getter) *interleavingEngine {
	b := &interleavingEngine{Engine: e, Getter: g, idle: make(chan struct{}), turned: make(chan struct{})}
	close(b.idle)
	return b
}

// callerRoleContextKey is the key of the context value that identifies the caller of the engine: an
// engineCallerRole, or the *runningOperation of a concurrent operation.
type callerRoleContextKey struct{}

// engineCallerRole identifies a caller of the engine in its context. A call whose context has no role comes
// from a background loop.
type engineCallerRole int

const (
	checking  engineCallerRole = iota // the test's own checks, which are never interrupted
	operating                         // the interrupted operation
)

func as(ctx context.Context, who any) context.Context {
	return context.WithValue(ctx, callerRoleContextKey{}, who)
}

// during runs an operation and calls gap before and after each of the operation's engine calls, so that
// gap can run other operations there: see interleavingEngine for the exact points.
func (b *interleavingEngine) during(gap func(), operation func() (string, error)) (string, error) {
	b.mu.Lock()
	b.idle = make(chan struct{})
	b.mu.Unlock()
	b.gap = gap
	defer func() {
		b.gap = nil
		b.mu.Lock()
		close(b.idle)
		b.mu.Unlock()
	}()
	return operation()
}

// arrive is called before each call of the engine. If the call belongs to the operation that the test
// interrupts, arrive runs the concurrent operations that are due. If it belongs to a background loop of the
// store, arrive waits until the interrupted operation has ended; it returns engine.ErrRead if the loop must
// release its lock before that.
func (b *interleavingEngine) arrive(ctx context.Context) error {
	switch ctx.Value(callerRoleContextKey{}) {
	case operating:
		b.pause()
	case nil:
		b.mu.Lock()
		idle, turned := b.idle, b.turned
		b.mu.Unlock()
		select {
		case <-idle:
			return nil
		default:
		}
		select {
		case <-idle:
		case <-turned:
			return engine.ErrRead // the loop tries again later
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// exclusive runs fn, which needs a lock that a background loop may hold. The engine calls of background
// loops, which otherwise wait for the end of the interrupted operation, fail with engine.ErrRead while fn
// runs, so that the loops release the lock.
func (b *interleavingEngine) exclusive(fn func() error) error {
	b.mu.Lock()
	if b.alones++; b.alones == 1 {
		close(b.turned)
	}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.alones--; b.alones == 0 {
			b.turned = make(chan struct{})
		}
	}()
	return fn()
}

func (b *interleavingEngine) pause() {
	if b.gap != nil {
		b.gap()
	}
}

// inner returns the context that an interleavingEngine passes to the engine below it. The context of an
// operation under test may be a cancelOnWaitContext, which ends when the operation has to wait for a lock. A
// wait inside the engine must not end it, so the engine gets a context that never ends.
func inner(ctx context.Context) context.Context {
	if ctx.Value(callerRoleContextKey{}) == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// Get returns the newest committed value of a key, outside any snapshot: see engine.Getter.
func (b *interleavingEngine) Get(ctx context.Context,
	scope, key []byte) ([]byte, engine.LSNScopeStatus, error) {
	if err := b.arrive(ctx); err != nil {
		return nil, engine.LSNScopeStatus{}, err
	}
	return b.Getter.Get(inner(ctx), scope, key)
}

// View runs fn over one snapshot: see engine.Engine.
func (b *interleavingEngine) View(ctx context.Context, fn func(engine.Reader) error) error {
	if err := b.arrive(ctx); err != nil {
		return err
	}
	return b.Engine.View(inner(ctx), fn)
}

// Settle waits until everything that was read of a scope is durable: see engine.DurabilityReporter.
func (b *interleavingEngine) Settle(ctx context.Context, scope []byte, seen uint64) error {
	if err := b.arrive(ctx); err != nil {
		return err
	}
	return b.Engine.Settle(inner(ctx), scope, seen)
}

// Update runs fn as one transaction in scopes. If the caller is the interrupted operation, other operations
// can run before the transaction, before and after fn, and after the commit. A concurrent operation first
// waits until the scopes are free.
func (b *interleavingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	if v, ok := ctx.Value(callerRoleContextKey{}).(*runningOperation); ok {
		for b.holds(scopes) {
			if err := v.wait(ctx); err != nil {
				return nil, err
			}
		}
	}
	if err := b.arrive(ctx); err != nil {
		return nil, err
	}
	if ctx.Value(callerRoleContextKey{}) != operating {
		return b.Engine.Update(inner(ctx), scopes, fn, ahead...)
	}
	b.held = scopes
	at, err := b.Engine.Update(inner(ctx), scopes, func(t engine.Txn) error {
		b.pause()
		err := fn(t)
		b.pause()
		return err
	}, ahead...)
	b.held = nil
	b.pause()
	return at, err
}

// holds reports whether one of the scopes is a scope of the Update that the interrupted operation is
// executing.
func (b *interleavingEngine) holds(scopes [][]byte) bool {
	return slices.ContainsFunc(scopes, func(s []byte) bool {
		return slices.ContainsFunc(b.held, func(h []byte) bool { return bytes.Equal(h, s) })
	})
}

// runningOperation is one concurrent operation (act) that has begun. Its goroutine runs only while its caller
// waits in begin or resume, so that no other goroutine runs at the same time.
type runningOperation struct {
	mayWait bool // it waits for held scopes; otherwise its context ends instead
	on      chan struct{}
	off     chan bool // receives true if it waits, false if it is over
	err     error
}

// begin starts fn, a concurrent operation, in a goroutine of its own. It returns when fn has ended, or waits
// for a lock (waits is true). If patient is false, the context of fn ends when fn would have to wait.
func begin(ctx context.Context, patient bool,
	fn func(context.Context) error) (v *runningOperation, waits bool) {
	v = &runningOperation{mayWait: patient, on: make(chan struct{}), off: make(chan bool)}
	ctx = as(ctx, v)
	if !patient {
		ctx = &cancelOnWaitContext{Context: ctx, done: make(chan struct{})}
	}
	go func() {
		<-v.on
		v.err = fn(ctx)
		v.off <- false
	}()
	return v, v.resume()
}

// resume lets the suspended operation continue, and returns when it has ended (waits is false) or waits
// again.
func (v *runningOperation) resume() (waits bool) {
	v.on <- struct{}{}
	return <-v.off
}

// wait suspends the operation until resume is called.
func (v *runningOperation) wait(ctx context.Context) error {
	if !v.mayWait {
		<-ctx.Done()
		return ctx.Err()
	}
	v.off <- true
	<-v.on
	return nil
}

// cancelOnWaitContext is a context that ends as soon as anybody waits with it, which is when Done is called.
// The store calls Done only if a lock is not free. So whether a concurrent operation succeeds depends on the
// state of the locks and not on time.
type cancelOnWaitContext struct {
	context.Context
	done chan struct{}
	over bool
}

// Done ends the context and returns a closed channel. A call of Done means that the caller would have to
// wait.
func (u *cancelOnWaitContext) Done() <-chan struct{} {
	if !u.over {
		u.over = true
		close(u.done)
	}
	return u.done
}

// Err returns context.Canceled once Done has been called.
func (u *cancelOnWaitContext) Err() error {
	if u.over {
		return context.Canceled
	}
	return nil
}
