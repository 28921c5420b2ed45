package sharedengine

import (
	"context"
	"fmt"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// SharedEngine is one engine that several stores use, each through its own handle.
type SharedEngine struct {
	engine engine.Engine
	getter engine.Getter

	mu      sync.Mutex
	open    int             // guarded by mu
	awaited map[string]bool // scopes whose changes servers wait for; guarded by mu
	listen  map[*serverEngineHandle]func(scope []byte)
}

// Share returns a SharedEngine for an engine, which must implement engine.Getter.
func Share(e engine.Engine) (*SharedEngine, error) {
	g, ok := e.(engine.Getter)
	if !ok {
		return nil, fmt.Errorf("sharedengine: %T reads no single keys", e)
	}
	return &SharedEngine{engine: e, getter: g}, nil
}

// Handle returns a new handle: an engine.Engine whose Close does not affect the other handles. A handle does
// not support snapshots, because a restore would replace the engine of the other handles.
func (s *SharedEngine) Handle() engine.Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return &engineHandle{Engine: s.engine, Getter: s.getter, shared: s}
}

// leave is called when one of the stores that share the engine closes its handle of the engine. The last call
// closes the engine.
func (s *SharedEngine) leave() error {
	s.mu.Lock()
	s.open--
	last := s.open == 0
	s.mu.Unlock()
	if !last {
		return nil
	}
	return s.engine.Close()
}

// engineHandle is the Engine of one user of a shared engine. After its Close, calls fail with
// engine.ErrClosed.
type engineHandle struct {
	engine.Engine
	engine.Getter
	shared *SharedEngine

	mu     sync.RWMutex
	closed bool // guarded by mu
}

// call runs a call to the shared engine, or returns engine.ErrClosed if this handle has been closed.
func (d *engineHandle) call(call func() error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return engine.ErrClosed
	}
	return call()
}

func (d *engineHandle) View(ctx context.Context, fn func(engine.Reader) error) error {
	return d.call(func() error { return d.Engine.View(ctx, fn) })
}

func (d *engineHandle) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) (at []engine.LSNScopeStatus, err error) {
	err = d.call(func() error {
		at, err = d.Engine.Update(ctx, scopes, fn, ahead...)
		return err
	})
	return at, err
}

func (d *engineHandle) Get(ctx context.Context, scope, key []byte) (v []byte, at engine.LSNScopeStatus,
	err error) {
	err = d.call(func() error {
		v, at, err = d.Getter.Get(ctx, scope, key)
		return err
	})
	return v, at, err
}

func (d *engineHandle) Close() error {
	d.mu.Lock()
	was := d.closed
	d.closed = true
	d.mu.Unlock()
	if was {
		return nil
	}
	return d.shared.leave()
}
