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

// clockMoveParticipant gives the host, which owns the clocks, access to the data with times from these
// clocks: the catalog's records have times from the server's clock, the contents of containers from the clock
// of their database.
type clockMoveParticipant struct{ ds *openDataset }

// Clocks returns the clocks of the databases, which determine the times that are stored in their containers.
func (w clockMoveParticipant) Clocks() (list []*host.NonDecreasingClock) {
	for _, d := range w.ds.databases() {
		list = append(list, d.clock)
	}
	return list
}

// containers returns the containers that use one of the clocks.
func (w clockMoveParticipant) containers(clocks []*host.NonDecreasingClock) (list []*Container) {
	w.ds.mu.RLock()
	defer w.ds.mu.RUnlock()
	for _, c := range w.ds.cat.containers {
		if slices.Contains(clocks, c.d.clock) {
			list = append(list, c)
		}
	}
	return list
}

// Hold takes the gates (locks) of all containers that use one of the clocks, so that none of them is written
// until release. It takes the gates in the order in which the containers were created, as does every
// operation that takes several.
func (w clockMoveParticipant) Hold(ctx context.Context, clocks []*host.NonDecreasingClock) (release func(),
	err error) {
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

// loadLast reads from a shared engine when other servers have last stored something in the container, and
// keeps these times in memory. A clock cannot be set back behind them.
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

// Latest returns the latest time, by one of the clocks, that is stored with an item or a catalog record. The
// clocks must not be set back behind it.
func (w clockMoveParticipant) Latest(clocks []*host.NonDecreasingClock) (last host.StoredEventTime) {
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

// Expired returns the moment at which an item expired, by one of the clocks, that was live at the time to and
// has not been purged yet. It returns the zero StoredMoment if there is no such item. The clocks must not be
// set back before that moment, or the item would be live again. It implements host.ClockMoveParticipant.
func (w clockMoveParticipant) Expired(ctx context.Context, clocks []*host.NonDecreasingClock,
	to time.Time) (host.StoredEventTime, error) {
	for _, c := range w.containers(clocks) {
		died, err := c.diedSince(ctx, to.Unix())
		if err != nil {
			return host.StoredEventTime{}, err
		}
		if died > to.Unix() {
			what := "an item expired in " + c.d.ID() + "/" + c.name
			return host.StoredEventTime{At: time.Unix(died, 0), What: what}, nil
		}
	}
	return host.StoredEventTime{}, nil
}

// Moved wakes everything that waits for a time of one of the clocks.
func (w clockMoveParticipant) Moved(clocks []*host.NonDecreasingClock) {
	for _, c := range w.containers(clocks) {
		for _, s := range c.state.Load().Ranges {
			s.Rescan.Store(true)
		}
		c.notifier.Notify()
	}
}

// diedSince returns the latest second after to in which an item expired that is not purged yet; 0 if there
// is none. A clock that is set back behind that second would revive the item. It does not find purged
// items, for which the second of the purge is recorded (recordTime). So a clock cannot be set back behind
// the last expiry, whether the item is purged or not, and this does not depend on the speed of the reaper.
// The caller holds the container's gate (its lock).
func (c *Container) diedSince(ctx context.Context, to int64) (died int64, err error) {
	state := c.viewState(c.state.Load(), c.moment())
	err = c.ds.view(ctx, func(r engine.Reader) (err error) {
		died, err = sweep.ExpiredSince(ctx, r, state, to)
		return err
	})
	return died, classify.ToFault(err)
}
