package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/classify"
)

// What a store does because others may be open over its engine, in other processes.

// leader returns a function that runs background work while it is this server's task.
func (ds *dataset) leader(work string) func(context.Context, func(context.Context)) {
	return func(ctx context.Context, fn func(context.Context)) { ds.in.WhileLeased(ctx, work, fn) }
}

// Server is a running server of those that share the data.
type Server = host.Server

// Servers returns the running servers that share the data, the oldest first; none if the engine cannot be shared.
func (db *DB) Servers(ctx context.Context) ([]Server, error) {
	list, err := db.live().in.Servers(ctx)
	return list, classify.ToFault(err)
}

// await returns a channel that the next change closes, also one by another server.
func (c *Container) await(n *host.Notifier) <-chan struct{} {
	change := n.Changed()
	if c.ds.in.Shared() {
		c.ds.in.Awaiting(c.state.Load().scopes())
	}
	return change
}

// awaited implements host.OpenTenant.Awaited.
func (ds *dataset) awaited() (scopes [][]byte) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, c := range ds.cat.containers {
		if c.watch.Awaited() || c.expirySubscribers.Awaited() {
			scopes = append(scopes, c.state.Load().scopes()...)
		}
	}
	return scopes
}

// changedElsewhere implements host.OpenTenant.Changed. It also lets the splitter look after the splits of
// servers that may have ended.
func (ds *dataset) changedElsewhere(scope []byte) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, c := range ds.cat.containers {
		st := c.state.Load()
		if scope != nil && !st.hasScope(scope) {
			continue
		}
		c.watch.Notify()
		c.expirySubscribers.Notify()
		if scope == nil && st.elsewhere {
			ds.splitter.Wake()
		}
	}
}

func (st *containerState) hasScope(scope []byte) bool {
	for _, s := range st.ranges {
		if string(s.scope) == string(scope) {
			return true
		}
	}
	return false
}

// followStates reads the states of the containers again that another store has changed, so that background work
// finds what those changes have left to do.
func (ds *dataset) followStates(ctx context.Context) error {
	if !ds.in.Shared() {
		return nil
	}
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	var scopes [][]byte
	states := make([]*containerState, len(containers))
	for i, c := range containers {
		states[i] = c.state.Load()
		scopes = append(scopes, states[i].ranges[0].scope)
	}
	if len(scopes) == 0 {
		return nil
	}
	var at []engine.Position
	err := ds.view(ctx, func(r engine.Reader) (err error) {
		at, err = r.Positions(scopes)
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range containers {
		if states[i].dropped || states[i].current(at[i].Mark) == nil {
			continue
		}
		if err := c.refresh(ctx, states[i]); ctx.Err() != nil {
			return err // any other: it was dropped, or the next look tries again
		}
	}
	return nil
}
