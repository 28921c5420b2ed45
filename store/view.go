package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// view runs fn over one snapshot of the container, with the matching state and moment. If the state changes
// before the snapshot exists, view starts again: otherwise a query could rely on an index that is not in
// the snapshot yet, or not any more. Only the end of ctx limits its time.
func (c *Container) view(ctx context.Context,
	fn func(st *containerState, now int64, r engine.Reader) error) error {
	return c.viewFor(&work.Stopwatch{Ctx: ctx}, fn)
}

// viewFor is view with the time limit of a stopwatch.
func (c *Container) viewFor(w *work.Stopwatch,
	fn func(st *containerState, now int64, r engine.Reader) error) error {
	first := func(st *containerState) ([]*partition, error) { return st.ranges[:1], nil }
	return c.viewOf(w, first, func(st *containerState, now int64, r engine.Reader,
		_ []engine.Position) error {
		return fn(st, now, r)
	})
}

// viewOf is viewFor for the ranges that pick returns. fn also receives the position of each of them.
func (c *Container) viewOf(w *work.Stopwatch, pick func(*containerState) ([]*partition, error),
	fn func(st *containerState, now int64, r engine.Reader, at []engine.Position) error) error {
	ctx := w.Ctx
	for {
		st, now, at, err := c.look(ctx)
		if err != nil {
			return err
		}
		ranges, err := pick(st)
		if err != nil && c.outdated(ctx, st) {
			continue
		}
		if err != nil {
			return err
		}
		scopes := make([][]byte, len(ranges))
		for i, s := range ranges {
			scopes[i] = s.scope
		}
		same := true
		err = work.ViewUnder(w, c.ds.eng, func(r engine.Reader) error {
			positions, err := r.Positions(scopes) // this creates the snapshot
			if err != nil {
				return err
			}
			if same = c.gate.Still(at); !same {
				return nil
			}
			for _, p := range positions {
				if err := st.current(p.Mark); err != nil {
					return err
				}
			}
			return fn(st, c.momentOf(now, positions[0]), r, positions)
		})
		again := false
		if same {
			again, err = c.refreshed(ctx, err)
		}
		if same && !again {
			return err
		}
	}
}

// inspect is view with the state as a plain value.
func (c *Container) inspect(ctx context.Context,
	fn func(state *view.State, st *containerState, r engine.Reader) error) error {
	return c.view(ctx, func(st *containerState, now int64, r engine.Reader) error {
		return fn(c.viewState(st, now), st, r)
	})
}

// viewState returns a state of the container as a plain value.
func (c *Container) viewState(st *containerState, now int64) *view.State {
	s := &view.State{
		Database: c.d.ID(), Name: c.name, Identity: c.identity, Keys: c.keys, Spec: &st.spec,
		Policy: st.policy(), Now: now,
		Lives: st.lives,
		Terms: st.terms, Olders: st.olders, Tombstones: st.tombstones,
		Versions: st.retention(), Expiries: st.eventRetention(), Logs: st.rec.Log != nil,
		Ranges: make([]view.Range, len(st.ranges)),
	}
	for i, r := range st.ranges {
		s.Ranges[i] = r.plain()
	}
	if split := st.rec.Split; split != nil {
		s.Copies = []uint16{split.Lower, split.To}
	}
	return s
}

// inspectDurable is inspect for results that must be durable: when it returns, everything that the snapshot
// can have shown is on disk.
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
