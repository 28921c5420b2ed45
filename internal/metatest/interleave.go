package metatest

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// between is an engine that lets something happen between any two steps of an operation: before it reads, when its transaction
// has written all and is not committed, and when it is committed and nobody has been told. What happens then runs beside the
// operation, as far as it comes, and is over when the operation's step is.
type between struct {
	engine.Engine
	engine.Getter
	happen func(context.Context) error // nil: nothing happens now

	running sync.WaitGroup
	mu      sync.Mutex
	failed  error
	left    int // how often more something may happen in this step
}

// beside marks the context of what the engine lets happen, in which nothing more does.
type beside struct{}

// enough is how often the operation steps aside for what happens: it comes to where it has to wait in that time, or to its end.
const enough = 20

// most is how often something happens in one step: a reader begins anew where the container changes before its snapshot exists.
const most = 6

func (b *between) step(ctx context.Context) {
	b.mu.Lock()
	happen := b.happen
	mine := happen != nil && b.left > 0 && ctx.Value(beside{}) == nil
	if mine {
		b.left--
	}
	b.mu.Unlock()
	if !mine {
		return
	}
	b.running.Go(func() {
		if err := happen(context.WithValue(context.WithoutCancel(ctx), beside{}, true)); err != nil {
			b.mu.Lock()
			b.failed = errors.Join(b.failed, err)
			b.mu.Unlock()
		}
	})
	for range enough {
		runtime.Gosched()
	}
}

// during runs a step while happen happens between its steps.
func (b *between) during(happen func(context.Context) error, step func() (string, error)) (string, error) {
	b.mu.Lock()
	b.happen, b.left = happen, most
	b.mu.Unlock()
	got, err := step()
	b.mu.Lock()
	b.happen = nil
	b.mu.Unlock()
	b.running.Wait()
	err = errors.Join(err, b.failed)
	b.failed = nil
	return got, err
}

// Get implements engine.Getter.
func (b *between) Get(ctx context.Context, scope, key []byte) ([]byte, engine.Position, error) {
	b.step(ctx)
	return b.Getter.Get(ctx, scope, key)
}

// View implements engine.Engine.
func (b *between) View(ctx context.Context, fn func(engine.Reader) error) error {
	b.step(ctx)
	return b.Engine.View(ctx, fn)
}

// Update implements engine.Engine.
func (b *between) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.Position, error) {
	at, err := b.Engine.Update(ctx, scopes, func(t engine.Txn) error {
		err := fn(t)
		if err == nil {
			b.step(ctx)
		}
		return err
	}, ahead...)
	b.step(ctx)
	return at, err
}
