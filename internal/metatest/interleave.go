package metatest

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// between is an engine that lets something happen between any two steps of an operation. It counts the gaps
// of the operation that it interrupts: before a Get, a View and a Settle; before an Update, in it before and
// after its closure, and when it is committed and nobody has been told. In a gap the acts of the plan take
// place, each in a goroutine of its own, and the operation goes on when the act is over or has come to where
// it must wait. So one goroutine runs at a time, and a history goes the same way each time.
//
// The background loops of the store wait with their next call until the interrupted operation is over.
type between struct {
	engine.Engine
	engine.Getter

	gap  func()   // what happens in the next gap; nil while nothing is interrupted
	held [][]byte // the scopes of the operation's Update that is under way

	mu   sync.Mutex
	idle chan struct{} // closed while nothing is interrupted; guarded by mu
}

func newBetween(e engine.Engine, g engine.Getter) *between {
	b := &between{Engine: e, Getter: g, idle: make(chan struct{})}
	close(b.idle)
	return b
}

// roleKey is the key of the context's value that reports who calls the engine: a role, or the *visit of an
// act.
type roleKey struct{}

// A role is who calls the engine. A context without one is that of a background loop.
type role int

const (
	checking  role = iota // the test itself, which nothing interrupts
	operating             // the operation that is interrupted
)

func as(ctx context.Context, who any) context.Context { return context.WithValue(ctx, roleKey{}, who) }

// during runs an operation, with gap in each of its gaps.
func (b *between) during(gap func(), operation func() (string, error)) (string, error) {
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

// arrive is called before a step of whoever has this context. Its error is that a background loop has been
// ended.
func (b *between) arrive(ctx context.Context) error {
	switch ctx.Value(roleKey{}) {
	case operating:
		b.pause()
	case nil:
		b.mu.Lock()
		idle := b.idle
		b.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (b *between) pause() {
	if b.gap != nil {
		b.gap()
	}
}

// inner is the context for the engine below: of an act nobody waits there.
func inner(ctx context.Context) context.Context {
	if ctx.Value(roleKey{}) == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// Get implements engine.Getter.
func (b *between) Get(ctx context.Context, scope, key []byte) ([]byte, engine.Position, error) {
	if err := b.arrive(ctx); err != nil {
		return nil, engine.Position{}, err
	}
	return b.Getter.Get(inner(ctx), scope, key)
}

// View implements engine.Engine.
func (b *between) View(ctx context.Context, fn func(engine.Reader) error) error {
	if err := b.arrive(ctx); err != nil {
		return err
	}
	return b.Engine.View(inner(ctx), fn)
}

// Settle implements engine.Durability.
func (b *between) Settle(ctx context.Context, scope []byte, seen uint64) error {
	if err := b.arrive(ctx); err != nil {
		return err
	}
	return b.Engine.Settle(inner(ctx), scope, seen)
}

// Update implements engine.Engine.
func (b *between) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.Position, error) {
	if v, ok := ctx.Value(roleKey{}).(*visit); ok {
		for b.holds(scopes) {
			if err := v.wait(ctx); err != nil {
				return nil, err
			}
		}
	}
	if err := b.arrive(ctx); err != nil {
		return nil, err
	}
	if ctx.Value(roleKey{}) != operating {
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
func (b *between) holds(scopes [][]byte) bool {
	return slices.ContainsFunc(scopes, func(s []byte) bool {
		return slices.ContainsFunc(b.held, func(h []byte) bool { return bytes.Equal(h, s) })
	})
}

// A visit is one act on its way. It runs while its caller is in begin or resume, and nobody else does.
type visit struct {
	patient bool // it waits for scopes that are held; else its context ends there
	on      chan struct{}
	off     chan bool // true: it waits; false: it is over
	err     error
}

// begin runs fn until it is over or waits.
func begin(ctx context.Context, patient bool, fn func(context.Context) error) (v *visit, waits bool) {
	v = &visit{patient: patient, on: make(chan struct{}), off: make(chan bool)}
	ctx = as(ctx, v)
	if !patient {
		ctx = &unwilling{Context: ctx, done: make(chan struct{})}
	}
	go func() {
		<-v.on
		v.err = fn(ctx)
		v.off <- false
	}()
	return v, v.resume()
}

// resume lets it go on, and reports whether it waits again.
func (v *visit) resume() (waits bool) {
	v.on <- struct{}{}
	return <-v.off
}

// wait steps aside until the visit is resumed.
func (v *visit) wait(ctx context.Context) error {
	if !v.patient {
		<-ctx.Done()
		return ctx.Err()
	}
	v.off <- true
	<-v.on
	return nil
}

// unwilling is a context that ends as soon as somebody begins to wait under it, since only who has to wait
// asks for Done. The store asks for a turn and for its gates in this way: whether an act comes through
// depends on their state and not on time.
type unwilling struct {
	context.Context
	done chan struct{}
	over bool
}

// Done implements context.Context.
func (u *unwilling) Done() <-chan struct{} {
	if !u.over {
		u.over = true
		close(u.done)
	}
	return u.done
}

// Err implements context.Context.
func (u *unwilling) Err() error {
	if u.over {
		return context.Canceled
	}
	return nil
}
