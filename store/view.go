package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// inspect runs fn over one snapshot of the container, with the state that it was made under as those know it
// who only look. See view.
func (c *Container) inspect(ctx context.Context,
	fn func(state *view.State, st *containerState, r engine.Reader) error) error {
	return c.view(ctx, func(st *containerState, now int64, r engine.Reader) error {
		return fn(c.viewState(st, now), st, r)
	})
}

// viewState is a state of the container as plain values.
func (c *Container) viewState(st *containerState, now int64) *view.State {
	s := &view.State{
		Database: c.d.ID(), Name: c.name, Keys: c.keys, Spec: &st.spec, Policy: st.policy(), Now: now,
		Lives: st.lives,
		Terms: st.terms, Olders: st.olders, Tombstones: st.tombstones,
		Versions: st.retention(), Expiries: st.eventRetention(), Logs: st.rec.Log != nil,
		Ranges: make([]view.Range, len(st.ranges)),
	}
	for i, r := range st.ranges {
		s.Ranges[i] = view.Range{ID: r.id, Number: r.number, Scope: r.scope, Min: r.min, Max: r.max}
	}
	if split := st.rec.Split; split != nil {
		s.Copies = []uint16{split.Lower, split.To}
	}
	return s
}

// inspectDurable is inspect for what must be durable when it is told: all that the snapshot can have shown is
// so when it returns.
func (c *Container) inspectDurable(ctx context.Context,
	fn func(state *view.State, r engine.Reader) error) error {
	var seen *view.State
	err := c.inspect(ctx, func(state *view.State, _ *containerState, r engine.Reader) error {
		seen = state
		return fn(state, r)
	})
	if err != nil {
		return err
	}
	for i := range seen.Ranges {
		if err := c.ds.settle(ctx, seen.Ranges[i].Scope, 0); err != nil {
			return err
		}
	}
	return ctx.Err()
}
