package database

import (
	"bytes"
	"context"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// notificationInbox holds the notifications that have been sent to a server and not yet received.
type notificationInbox struct {
	mu     sync.Mutex
	scopes [][]byte
	wake   chan struct{} // capacity 1
}

func newInbox() notificationInbox { return notificationInbox{wake: make(chan struct{}, 1)} }

func (b *notificationInbox) add(scope []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.scopes = append(b.scopes, bytes.Clone(scope))
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *notificationInbox) take() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.scopes
	b.scopes = nil
	return list
}

// Await requests notifications of the commits in scopes that other servers make within engine.AwaitTime from
// now. Listen receives them. It implements engine.CommitNotifier.
func (e *Engine) Await(ctx context.Context, scopes [][]byte) error {
	if err := e.calls.Begin(); err != nil {
		return err
	}
	defer e.calls.End()
	return e.ask(ctx, NetworkExchange{Operation: ExchangeAwait, Keys: scopes}, func() error {
		e.d.mu.Lock()
		defer e.d.mu.Unlock()
		for _, scope := range scopes {
			e.d.awaited[string(scope)] = e.d.clock.Now().Add(engine.AwaitTime)
		}
		return nil
	})
}

// Listen calls fn for each report of a commit until ctx ends: see engine.CommitNotifier.
func (e *Engine) Listen(ctx context.Context, fn func(scope []byte)) {
	fn(nil)
	for {
		select {
		case <-e.inbox.wake:
		case <-e.dead:
			<-ctx.Done()
			return
		case <-ctx.Done():
			return
		}
		e.delay(e.draws(ExchangeNotify, nil))
		e.Running(ctx.Done())
		for _, scope := range e.inbox.take() {
			if ctx.Err() == nil {
				e.exchanged(NetworkExchange{Operation: ExchangeNotify, Keys: [][]byte{scope}})
				fn(scope)
			}
		}
	}
}
