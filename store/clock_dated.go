package store

import (
	"context"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/sweep"
)

// clockObserver tells the host what its clocks date: the server's clock dates the catalog's records, a
// database's clock dates the contents of its containers.
type clockObserver struct{ ds *dataset }

// Clocks implements host.ClockObserver.
func (w clockObserver) Clocks() (list []*host.Clock) {
	for _, d := range w.ds.databases() {
		list = append(list, d.clock)
	}
	return list
}

// containers returns the containers that use one of the clocks.
func (w clockObserver) containers(clocks []*host.Clock) (list []*Container) {
	w.ds.mu.RLock()
	defer w.ds.mu.RUnlock()
	for _, c := range w.ds.cat.containers {
		if slices.Contains(clocks, c.d.clock) {
			list = append(list, c)
		}
	}
	return list
}

// Hold implements host.ClockObserver. It takes the gates in the order of the containers' creation, as does
// every operation that takes several.
func (w clockObserver) Hold(ctx context.Context, clocks []*host.Clock) (release func(), err error) {
	held := w.containers(clocks)
	taken := 0
	release = func() {
		for _, c := range held[:taken] {
			c.gate.Open()
		}
	}
	for _, c := range held {
		if err := c.gate.Shut(ctx); err != nil {
			release()
			return nil, err
		}
		taken++
		if err := c.loadLast(ctx); err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}

// loadLast reads when other stores over the engine have stored something in the container.
func (c *Container) loadLast(ctx context.Context) error {
	if !c.ds.in.Shared() {
		return nil
	}
	return c.ds.view(ctx, func(r engine.Reader) error {
		for _, s := range c.state.Load().Ranges {
			if _, err := c.loadMoments(r, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// Latest implements host.ClockObserver.
func (w clockObserver) Latest(clocks []*host.Clock) (last host.Moment) {
	if slices.Contains(clocks, w.ds.in.Clock()) {
		last = w.ds.marks.Latest("")
	}
	for _, c := range w.containers(clocks) {
		if m := c.marks.Latest(" in " + c.d.ID() + "/" + c.name); m.At.After(last.At) {
			last = m
		}
	}
	return last
}

// Expired implements host.ClockObserver.
func (w clockObserver) Expired(ctx context.Context, clocks []*host.Clock, to time.Time) (host.Moment, error) {
	for _, c := range w.containers(clocks) {
		died, err := c.diedSince(ctx, to.Unix())
		if err != nil {
			return host.Moment{}, err
		}
		if died > to.Unix() {
			what := "an item expired in " + c.d.ID() + "/" + c.name
			return host.Moment{At: time.Unix(died, 0), What: what}, nil
		}
	}
	return host.Moment{}, nil
}

// Moved implements host.ClockObserver.
func (w clockObserver) Moved(clocks []*host.Clock) {
	for _, c := range w.containers(clocks) {
		for _, s := range c.state.Load().Ranges {
			s.Rescan.Store(true)
		}
		c.notifier.Notify()
	}
}

// diedSince returns the latest second after to in which an item expired that is not purged yet; 0 if there
// is none. Setting a clock back would revive the items that have expired since and are not purged. So a
// clock goes back no further than the last expiry, purged (see marks) or not, and the answer does not
// depend on the reaper's pace. The caller holds the container's gate.
func (c *Container) diedSince(ctx context.Context, to int64) (died int64, err error) {
	state := c.viewState(c.state.Load(), c.moment())
	err = c.ds.view(ctx, func(r engine.Reader) (err error) {
		died, err = sweep.ExpiredSince(ctx, r, state, to)
		return err
	})
	return died, classify.ToFault(err)
}
