package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// snapshot runs fn over one snapshot of the container, with the matching state and second of its clock, and
// with the positions (LSN and mark) of the ranges that pick returns. If the state changes before the snapshot
// exists, snapshot starts again: otherwise a query could rely on an index that is not in the snapshot yet, or
// not any more. w limits its time.
func (c *Container) snapshot(w *work.ScanTimeLimiter,
	pick func(*container.State) ([]*container.Partition, error),
	fn func(st *container.State, now int64, r engine.Reader, at []engine.LSNScopeStatus) error) error {
	ctx := w.Ctx
	for {
		st, now, at, err := c.stateAndTime(ctx)
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
			scopes[i] = s.Scope
		}
		same := true
		err = work.ViewUnder(w, c.ds.eng, func(r engine.Reader) error {
			positions, err := r.Positions(scopes) // this call creates the snapshot
			if err != nil {
				return err
			}
			if same = c.gate.Unchanged(at); !same {
				return nil
			}
			moment := now // there may be no ranges
			for _, p := range positions {
				if err := st.Current(p.Mark); err != nil {
					return err
				}
				moment = c.momentOf(now, p)
			}
			return fn(st, moment, r, positions)
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

// inspect runs fn over a snapshot of all ranges, and gives it the state as a plain value
// (view.ContainerAtTime) as well. Only the end of ctx limits its time.
func (c *Container) inspect(ctx context.Context,
	fn func(state *view.ContainerAtTime, st *container.State, r engine.Reader) error) error {
	first := func(st *container.State) ([]*container.Partition, error) { return st.Ranges[:1], nil }
	return c.snapshot(&work.ScanTimeLimiter{Ctx: ctx}, first,
		func(st *container.State, now int64, r engine.Reader, _ []engine.LSNScopeStatus) error {
			return fn(c.viewState(st, now), st, r)
		})
}

// viewState returns a state of the container as a view.ContainerAtTime, a plain value without locks, for
// functions that only read.
func (c *Container) viewState(st *container.State, now int64) *view.ContainerAtTime {
	s := &view.ContainerAtTime{
		Database: c.d.ID(), Name: c.name, Identity: c.items.Identity, Keys: c.items.Keys, Spec: &st.Spec,
		Policy: st.Policy(), Now: now,
		Lives: st.LifeRules,
		Terms: st.Terms, Olders: st.OlderIndexers, Tombstones: st.Tombstones,
		Versions: st.Retention(), Expiries: st.EventRetention(), Logs: st.Rec.Log != nil,
		Ranges: make([]view.PartitionRange, len(st.Ranges)),
	}
	for i, r := range st.Ranges {
		s.Ranges[i] = r.Plain()
	}
	if split := st.Rec.Split; split != nil {
		s.Copies = []uint16{split.Lower, split.To}
	}
	return s
}

// inspectDurable runs fn over a snapshot of all ranges, with the matching state. When it returns, everything
// that fn can have read is on disk, so that the result may be sent to a client.
func (c *Container) inspectDurable(ctx context.Context,
	fn func(state *view.ContainerAtTime, r engine.Reader) error) error {
	var seen *view.ContainerAtTime
	err := c.inspect(ctx, func(state *view.ContainerAtTime, _ *container.State, r engine.Reader) error {
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
