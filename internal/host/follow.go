package host

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

// A server that shares its data follows the changes of the others: it reads a changed catalog again, and
// wakes the requests that wait for a change. Both happen when the engine reports a commit
// (engine.CommitNotifier), and once a second in any case, since a report may be lost and not every engine
// sends them.

const (
	// followEvery is the time between two checks for changes by other servers.
	followEvery = time.Second
	// awaitAgain is the time after which the follower calls engine.CommitNotifier.Await again for the same
	// scope.
	awaitAgain = engine.AwaitTime / 3
)

// remoteChangeWatcher is the state of the goroutine that loads the other servers' changes of the catalog and
// asks the engine to report when they commit. It exists only if the engine is shared.
type remoteChangeWatcher struct {
	in    *EngineInstance
	nudge chan struct{} // signal: a caller begins to wait, or the catalog may have changed; capacity 1

	mu sync.Mutex // guards awaited
	// awaited maps each scope for which the watcher has asked the engine to be notified of commits by other
	// servers to the time at which it asked, by Options.Wall.
	awaited map[string]time.Time
}

// Awaiting must be called by a caller that begins to wait for a change in one of the engine scopes (ranges
// or queues), so that this server requests reports of the commits of other servers there. Its tenant must
// return the scopes from OpenedTenant.Awaited. Awaiting does not block.
func (in *EngineInstance) Awaiting(scopes [][]byte) {
	f := in.follower
	if f == nil {
		return
	}
	now := in.opts.Wall.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, scope := range scopes {
		if asked, known := f.awaited[string(scope)]; !known || now.Sub(asked) >= awaitAgain {
			f.wake()
			return
		}
	}
}

func (f *remoteChangeWatcher) wake() {
	select {
	case f.nudge <- struct{}{}:
	default:
	}
}

// startFollowing starts the goroutines that load the other servers' changes of the catalog and wake those who
// wait for their commits. The goroutines end with the membership.
func (in *EngineInstance) startFollowing() {
	m := in.membership
	if m == nil {
		return
	}
	m.running.Go(func() { in.follower.run(m.life) })
	if n, ok := in.eng.(engine.CommitNotifier); ok {
		m.running.Go(func() { n.Listen(m.life, in.follower.report) })
	}
}

// report reacts to a commit of another server: it wakes those who wait for a change in the scope. After a
// change of the catalog it makes the follower read the catalog again. scope is nil if reports of commits may
// have been lost; then anything may have changed.
func (f *remoteChangeWatcher) report(scope []byte) {
	if scope == nil || string(scope) == string(CatalogScope()) {
		f.wake()
	}
	f.in.wakeWaiting(scope)
}

// wakeWaiting wakes all callers that wait for a change in an engine scope (the keys of one range or
// queue), after another server has committed there; nil stands for all scopes.
func (in *EngineInstance) wakeWaiting(scope []byte) {
	for _, r := range in.tenants {
		if r.Changed != nil {
			r.Changed(scope)
		}
	}
}

func (f *remoteChangeWatcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		f.look(ctx)
		alarm, stop := f.in.opts.Wall.After(followEvery)
		select {
		case <-alarm:
			f.in.wakeWaiting(nil)
		case <-f.nudge:
		case <-ctx.Done():
		}
		stop()
	}
}

// look reads the catalog again if another server has changed it, and requests reports of commits in the
// engine scopes (ranges or queues) for whose changes callers wait.
func (f *remoteChangeWatcher) look(ctx context.Context) {
	if err := f.in.catalog.CatchUp(ctx); err != nil && ctx.Err() == nil && !Classify(err).Gone() {
		f.in.opts.Logger.Error("the catalog could not be reloaded", "error", err)
	}
	n, ok := f.in.eng.(engine.CommitNotifier)
	if !ok {
		return
	}
	now := f.in.opts.Wall.Now()
	fresh := f.fresh(now)
	if len(fresh) == 0 {
		return
	}
	if err := n.Await(ctx, fresh); err != nil {
		return // the next call asks again; until then waiting callers are woken each second
	}
	f.mu.Lock()
	for _, scope := range fresh {
		f.awaited[string(scope)] = now
	}
	f.mu.Unlock()
	for _, scope := range fresh { // something may have changed before Await
		f.in.wakeWaiting(scope)
	}
}

// fresh returns the engine scopes for which this server must now ask the engine to report commits of other
// servers: those in which callers wait for a change, except those for which it has asked within the time
// awaitAgain.
func (f *remoteChangeWatcher) fresh(now time.Time) (list [][]byte) {
	scopes := [][]byte{CatalogScope()}
	for _, r := range f.in.tenants {
		if r.Awaited != nil {
			scopes = append(scopes, r.Awaited()...)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.awaited, func(_ string, asked time.Time) bool { return now.Sub(asked) >= awaitAgain })
	for _, scope := range scopes {
		if _, known := f.awaited[string(scope)]; !known {
			list = append(list, scope)
		}
	}
	return list
}
