package metatest

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// interleaver is an engine that runs acts between any two engine calls of an operation. It counts the gaps of
// the interrupted operation: before a Get, a View and a Settle; for an Update before it, before and after its
// closure, and after the commit but before the result is returned. In a gap the acts of the plan run, each in
// its own goroutine. The operation continues when the act is over or would have to wait. So only one
// goroutine runs at a time, and a history is deterministic.
//
// The background loops of the store wait with their next call until the interrupted operation is over.
type interleaver struct {
	engine.Engine
	engine.Getter

	gap  func()   // runs the acts of the next gap; nil while no operation is interrupted
	held [][]byte // the scopes of the operation's running Update

	mu   sync.Mutex
	idle chan struct{} // closed while no operation is interrupted; guarded by mu

	turned chan struct{} // closed while alone runs; guarded by mu
	alones int           // calls of alone that run; guarded by mu
}

func newInterleaver(e engine.Engine, g engine.Getter) *interleaver {
	b := &interleaver{Engine: e, Getter: g, idle: make(chan struct{}), turned: make(chan struct{})}
	close(b.idle)
	return b
}

// callerRoleContextKey is the key of a context value that identifies the caller of the engine: a role, or the
// *coroutine of an act.
type callerRoleContextKey struct{}

// engineCallerRole identifies a caller of the engine. A context without a role is that of a background loop.
type engineCallerRole int

const (
	checking  engineCallerRole = iota // the test's own checks, which are never interrupted
	operating                         // the interrupted operation
)

func as(ctx context.Context, who any) context.Context {
	return context.WithValue(ctx, callerRoleContextKey{}, who)
}

// during runs an operation and calls gap in each of its gaps.
func (b *interleaver) during(gap func(), operation func() (string, error)) (string, error) {
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

// arrive is called before each engine call. It returns an error if the caller is a background loop that has
// been ended.
func (b *interleaver) arrive(ctx context.Context) error {
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

// exclusive runs fn, which takes a lock that a background loop may hold. Such a loop must not wait for the
// end of the operation while it holds the lock, so its engine call fails instead.
func (b *interleaver) exclusive(fn func() error) error {
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

func (b *interleaver) pause() {
	if b.gap != nil {
		b.gap()
	}
}

// inner returns the context that an interleaver passes to the engine below it. For the operation and its acts
// this context never ends: a noWaitContext ends at the first wait, and waiting inside the engine must not end
// an act.
func inner(ctx context.Context) context.Context {
	if ctx.Value(callerRoleContextKey{}) == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// Get returns the newest committed value of a key, outside any snapshot: see engine.Getter.
func (b *interleaver) Get(ctx context.Context, scope, key []byte) ([]byte, engine.ScopePosition, error) {
	if err := b.arrive(ctx); err != nil {
		return nil, engine.ScopePosition{}, err
	}
	return b.Getter.Get(inner(ctx), scope, key)
}

// View runs fn over one snapshot: see engine.Engine.
func (b *interleaver) View(ctx context.Context, fn func(engine.Reader) error) error {
	if err := b.arrive(ctx); err != nil {
		return err
	}
	return b.Engine.View(inner(ctx), fn)
}

// Settle waits until everything that was read of a scope is durable: see engine.Durability.
func (b *interleaver) Settle(ctx context.Context, scope []byte, seen uint64) error {
	if err := b.arrive(ctx); err != nil {
		return err
	}
	return b.Engine.Settle(inner(ctx), scope, seen)
}

// Update runs fn as one transaction in scopes: see engine.Engine.
func (b *interleaver) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.ScopePosition, error) {
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

// holds reports whether the interrupted operation holds one of the scopes.
func (b *interleaver) holds(scopes [][]byte) bool {
	return slices.ContainsFunc(scopes, func(s []byte) bool {
		return slices.ContainsFunc(b.held, func(h []byte) bool { return bytes.Equal(h, s) })
	})
}

// runningOperation is one running act. It runs only while its caller waits in begin or resume, so that no
// other goroutine runs at the same time.
type runningOperation struct {
	mayWait bool // it waits for held scopes; otherwise its context ends instead
	on      chan struct{}
	off     chan bool // receives true if it waits, false if it is over
	err     error
}

// begin runs fn until it is over or waits. patient says that fn waits for locks that are not free; otherwise
// its context ends instead.
func begin(ctx context.Context, patient bool, fn func(context.Context) error) (v *runningOperation,
	waits bool) {
	v = &runningOperation{mayWait: patient, on: make(chan struct{}), off: make(chan bool)}
	ctx = as(ctx, v)
	if !patient {
		ctx = &noWaitContext{Context: ctx, done: make(chan struct{})}
	}
	go func() {
		<-v.on
		v.err = fn(ctx)
		v.off <- false
	}()
	return v, v.resume()
}

// resume continues the coroutine, and reports whether it waits again.
func (v *runningOperation) resume() (waits bool) {
	v.on <- struct{}{}
	return <-v.off
}

// wait suspends the coroutine until resume is called.
func (v *runningOperation) wait(ctx context.Context) error {
	if !v.mayWait {
		<-ctx.Done()
		return ctx.Err()
	}
	v.off <- true
	<-v.on
	return nil
}

// noWaitContext is a context that ends as soon as anybody waits with it, which is when Done is called. The
// store calls Done only if a lock or a gate is not free. So whether an act succeeds depends on the state of
// the locks and not on time.
type noWaitContext struct {
	context.Context
	done chan struct{}
	over bool
}

// Done returns a closed channel, and ends the context.
func (u *noWaitContext) Done() <-chan struct{} {
	if !u.over {
		u.over = true
		close(u.done)
	}
	return u.done
}

// Err returns context.Canceled once Done has been called.
func (u *noWaitContext) Err() error {
	if u.over {
		return context.Canceled
	}
	return nil
}
