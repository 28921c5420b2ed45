package store

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
)

// Whoever tests what depends on purges wants to hold them back: altogether (pause), one by one (Reap with a
// limit), some time behind the expiry (PurgeDelay), or far behind (Starvation). Delay and starvation are
// settings and stay over a restart; a pause does not. What has expired is gone for every reader all the same,
// and its expiry is in the log of expiries as if nothing were held back.

// reaping is what a container's reaper remembers. It belongs to whoever has the reaper's turn, but for
// paused.
type reaping struct {
	paused atomic.Bool
	second int64 // in which used have been purged, where the reaper is starved
	used   int
}

// PauseReaper stops purges of the container, or lets them go on. When it returns with true none is running. A
// pause ends with Close.
func (c *Container) PauseReaper(ctx context.Context, paused bool) error {
	c.reaping.paused.Store(paused)
	return classify.ToFault(c.ds.in.SettleReaper(ctx))
}

// PauseReaper stops purges of all containers, or lets those go on that are not paused themselves.
func (db *DB) PauseReaper(ctx context.Context, paused bool) error {
	return classify.ToFault(db.live().in.PauseReaper(ctx, paused))
}

// ReaperPaused reports whether purges of all containers are stopped.
func (db *DB) ReaperPaused() bool { return db.live().in.ReaperPaused() }

// SweepNow purges everything that has expired by now, in every database by its own clock, but for what
// somebody holds the reaper back from (see Reap), and reports how many items that were. What a moved clock
// has brought about has then happened, and is in the logs of expiries. Else nothing that a caller can see
// depends on it but space and Metrics. Times to live that are beginning to count from another property do so
// first.
func (db *DB) SweepNow(ctx context.Context) (purged int, err error) {
	if err := db.live().settleLives(ctx); err != nil {
		return 0, err
	}
	n, err := db.live().in.SweepNow(ctx)
	return n, classify.ToFault(err)
}

// settleLives finishes all changes of what times to live count from: the index of expiry has all who are dead
// then. Where they count from a property, another store over the same engine may have written items that are
// dead by it far behind where the passes of this one stand, so they begin again.
func (ds *dataset) settleLives(ctx context.Context) error {
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	for _, c := range containers {
		if st := c.state.Load(); st.lives.Basis.IsSet() {
			for _, s := range st.ranges {
				s.rescan.Store(true)
			}
		}
	}
	if !slices.ContainsFunc(containers, func(c *Container) bool { return !c.state.Load().lives.Settled() }) {
		return nil
	}
	return ds.indexNow(ctx)
}

// Reap purges up to limit items of the container that have expired, or all of them where limit is 0, whatever
// holds its reaper back. CodeOwnerNotFound: the container has been dropped.
func (c *Container) Reap(ctx context.Context, limit int) (purged int, err error) {
	if limit <= 0 {
		limit = math.MaxInt
	}
	if err := c.ds.settleLives(ctx); err != nil {
		return 0, err
	}
	st, _, _, err := c.look(ctx)
	if err != nil {
		return 0, err
	}
	for _, s := range st.ranges {
		s.rescan.Store(true) // the pass may have left behind what was held back
		for more := true; more && purged < limit; {
			err := c.ds.in.HoldReaper(ctx, func(ctx context.Context) error {
				sw, err := c.sweep(ctx, s, min(purgeBatch, limit-purged), true)
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

// Reap purges everything that has expired, in all containers, whatever holds their reapers back, and expires
// the messages that are due.
func (db *DB) Reap(ctx context.Context) (purged int, err error) { return db.live().reap(ctx) }

func (ds *dataset) reap(ctx context.Context) (purged int, err error) {
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
	others, err := ds.in.SweepAll(ctx) // messages, where the same engine holds some
	return purged + others, classify.ToFault(err)
}

// purgeBlock is what keeps one step of the reaper from purging.
type purgeBlock struct {
	any  bool // something does, or may: deaths are announced ahead of purges
	room int  // how many items may be purged
	// without room: the second at which there may be some; never: somebody will wake the reaper
	again int64
	delay *definition.PurgeDelay // nil: none
}

// purgeBlockFor decides what one step may do. force overrides what holds the reaper back.
func (c *Container) purgeBlockFor(st *containerState, now int64, limit int, force bool) purgeBlock {
	h := purgeBlock{room: limit, again: never}
	if force {
		return h
	}
	r := st.rec.Settings.Reaper
	paused := c.reaping.paused.Load() || c.ds.in.ReaperPaused()
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

// starve is how many items a starved reaper may purge in a second.
func (c *Container) starve(s *definition.Starvation, now int64, limit int) int {
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
