package store

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
)

// Tests of behaviour that depends on purges can delay the purges: stop them (PauseReaper), run them a few
// at a time (Reap with a limit), start them some time after the expiry (PurgeDelay), or limit their rate
// (PurgeRateLimit). PurgeDelay and PurgeRateLimit are settings and survive a restart; a pause does not.
// None of this changes what readers see: an expired item is invisible at once, and its expiry is in the log
// of expiries at once.

// containerReaperState is the reaper's state of one container. Except for paused, only the goroutine that
// purges for the reaper uses it; there is one at a time.
type containerReaperState struct {
	paused atomic.Bool
	second int64 // the second in which used items were purged, for PurgeRateLimit
	used   int
}

// PauseReaper stops purges of the container, or resumes them. After a call with paused = true has returned,
// no purge is running until a call with false. A pause ends with Close.
func (c *Container) PauseReaper(ctx context.Context, paused bool) error {
	if err := c.ds.in.SharePause(ctx, c.cid, paused); err != nil {
		return classify.ToFault(err)
	}
	c.reaping.paused.Store(paused && !c.ds.in.Shared())
	return classify.ToFault(c.ds.in.SettleReaper(ctx))
}

// paused reports whether purges of the container are stopped.
func (c *Container) paused() bool { return c.reaping.paused.Load() || c.ds.in.Paused(c.cid) }

// PauseReaper stops purges of all containers, or resumes them in containers that are not paused themselves.
func (db *DB) PauseReaper(ctx context.Context, paused bool) error {
	return classify.ToFault(db.live().in.PauseReaper(ctx, paused))
}

// ReaperPaused reports whether purges of all containers are stopped.
func (db *DB) ReaperPaused() bool { return db.live().in.ReaperPaused() }

// SweepNow purges everything that has expired by now, in every database by its own clock, and returns the
// number of purged items. Items whose purge a test has delayed (PauseReaper, PurgeDelay,
// PurgeRateLimit) stay; Reap purges those too. Call SweepNow after moving a clock, to complete the
// consequences, including the entries in the logs of expiries. Otherwise it only frees space and changes
// Metrics. If times to live are changing to another property, SweepNow first completes that change.
func (db *DB) SweepNow(ctx context.Context) (purged int, err error) {
	if err := db.live().settleLives(ctx); err != nil {
		return 0, err
	}
	n, err := db.live().in.SweepNow(ctx)
	return n, classify.ToFault(err)
}

// settleLives completes all changes of a ttlPropertyPath, so that the index of expiry contains every
// expired item. In containers with a ttlPropertyPath it also makes the reaper read that index from the
// beginning again, since another server may have added items that expired long ago.
func (ds *openDataset) settleLives(ctx context.Context) error {
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	for _, c := range containers {
		if st := c.state.Load(); st.LifeRules.Basis.IsSet() {
			for _, s := range st.Ranges {
				s.Rescan.Store(true)
			}
		}
	}
	if !slices.ContainsFunc(containers,
		func(c *Container) bool { return !c.state.Load().LifeRules.Settled() }) {
		return nil
	}
	return ds.indexNow(ctx)
}

// Reap purges up to limit expired items of the container, or all of them if limit is 0, even if its reaper
// is held back. CodeOwnerNotFound: the container has been dropped.
func (c *Container) Reap(ctx context.Context, limit int) (purged int, err error) {
	if limit <= 0 {
		limit = math.MaxInt
	}
	if err := c.ds.followStates(ctx, c); err != nil {
		return 0, classify.ToFault(err)
	}
	if err := c.ds.settleLives(ctx); err != nil {
		return 0, err
	}
	st, _, _, err := c.stateAndTime(ctx)
	if err != nil {
		return 0, err
	}
	for _, s := range st.Ranges {
		s.Rescan.Store(true) // the pass may have gone past items whose purge was delayed
		for more := true; more && purged < limit; {
			err := c.ds.in.HoldReaper(ctx, func(ctx context.Context) error {
				sw, err := c.sweep(ctx, s, min(c.ds.sweepSizes.step, limit-purged), true)
				purged, more = purged+sw.Purged, sw.More
				return err
			})
			if err != nil {
				return purged, classify.ToFault(err)
			}
		}
	}
	return purged, nil
}

// Reap purges everything that has expired, in all containers, even if their reapers are held back, and
// expires the messages that are due.
func (db *DB) Reap(ctx context.Context) (purged int, err error) { return db.live().reap(ctx) }

func (ds *openDataset) reap(ctx context.Context) (purged int, err error) {
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	for _, c := range containers {
		n, err := c.Reap(ctx, 0)
		purged += n
		if err != nil && fault.ErrorCode(err) != fault.CodeOwnerNotFound {
			return purged, err
		}
	}
	others, err := ds.in.SweepAll(ctx) // messages, if the engine holds any
	return purged + others, classify.ToFault(err)
}

// purgeLimits has the limits of one step of the reaper in a container.
type purgeLimits struct {
	any  bool // purges are or may be delayed: expiries are announced before the items are purged
	room int  // how many items may be purged
	// again is the second at which purges may be allowed again, if none is allowed now (room is 0). If it is
	// never, no such second is known, and the reaper is woken when purges are allowed.
	again int64
	delay *definition.PurgeDelay // nil if there is none
}

// purgeLimitsFor returns the limits of one step of the reaper in this container: how many items it may purge
// at the second now, at most limit, and when it may continue. If force is set, it ignores the pause, the
// delay and the rate limit of purges.
func (c *Container) purgeLimitsFor(st *container.State, now int64, limit int, force bool) purgeLimits {
	h := purgeLimits{room: limit, again: never}
	if force {
		return h
	}
	r := st.Rec.Settings.Reaper
	paused := c.paused() || c.ds.in.ReaperPaused()
	h.any = paused || r != nil
	if r != nil {
		h.delay = r.Delay
		if r.Starved != nil {
			h.again = now + 1
			h.room = c.starve(r.Starved, now, limit)
		}
	}
	if paused {
		h.room, h.again = 0, never
	}
	return h
}

// starve returns how many more items, at most limit, the reaper may purge in the second now. The setting s
// slows the reaper down for tests: to a number of items per second, or to times without requests.
func (c *Container) starve(s *definition.PurgeRateLimit, now int64, limit int) int {
	if s.PerSecond == 0 {
		if c.ds.in.Working() > 0 {
			return 0
		}
		return limit
	}
	if c.reaping.second != now {
		c.reaping.second, c.reaping.used = now, 0
	}
	return min(limit, max(0, s.PerSecond-c.reaping.used))
}
