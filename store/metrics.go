package store

import (
	"bytes"
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// Metrics is a snapshot of the store's counters and of what waits to be purged. It tells of this moment,
// durable or not, so that it can be had while the disk makes everybody wait.
type Metrics struct {
	Databases  int
	Containers []ContainerMetrics // in order of creation
	Purged     uint64             // items purged since Open, by the reaper or by a write that met a ghost; of dropped containers, too
	Backlog    Backlog            // of all containers
	Reaper     ttl.ReaperMetrics
	Engine     engine.Metrics

	StuckScripts int // that were stopped and left behind, and have not ended yet
}

// ContainerMetrics is the part of one container.
type ContainerMetrics struct {
	Database, Container string
	Purged              uint64 // items purged since Open
	Backlog             Backlog
	Now                 int64 // the moment of its clock, in seconds since 1970
	NextExpiry          int64 // when the first item that is alive may expire, in seconds since 1970; 0: none will
}

// Backlog is what has expired and is not purged yet.
type Backlog struct {
	Items  int64 // counted up to 100,000 a partition range; leased ones are told from others up to 10,000
	Oldest int64 // seconds since the oldest of them expired, as far as the present policy tells; 0 where there is none
}

const backlogLimit = 100_000

// Metrics measures the store. It reads the heads of the expiry indexes, so it costs more with a larger
// backlog.
func (db *DB) Metrics(ctx context.Context) (Metrics, error) { return db.live().metrics(ctx) }

func (db *resident) metrics(ctx context.Context) (Metrics, error) {
	db.mu.RLock()
	m := Metrics{Databases: len(db.cat.databases)}
	containers := db.cat.containers
	db.mu.RUnlock()
	m.Purged = db.purged.Load()
	m.Reaper = db.in.ReaperMetrics()
	m.Engine = db.eng.Metrics()
	m.StuckScripts = db.programs.Stuck()
	for _, c := range containers {
		one, err := c.metrics(ctx)
		if fault.ErrorCode(err) == fault.CodeOwnerNotFound {
			continue // dropped meanwhile
		}
		if err != nil {
			return m, err
		}
		m.Containers = append(m.Containers, one)
		m.Backlog.Items += one.Backlog.Items
		m.Backlog.Oldest = max(m.Backlog.Oldest, one.Backlog.Oldest)
	}
	return m, nil
}

func (c *Container) metrics(ctx context.Context) (ContainerMetrics, error) {
	m := ContainerMetrics{Database: c.d.ID(), Container: c.name, Purged: c.purged.Load()}
	err := c.view(ctx, func(st *containerState, now int64, r engine.Reader) error {
		m.Now = now
		p := st.policy()
		for _, s := range st.ranges {
			b, err := st.ghosts(r, s, now, backlogLimit)
			if err != nil {
				return err
			}
			m.Backlog.Items += b.Items
			m.Backlog.Oldest = max(m.Backlog.Oldest, b.Oldest)
			l := newLook(p, s, &s.passes, now, 0)
			if err := l.nextExpiry(r); err != nil {
				return err
			}
			if l.next != never && (m.NextExpiry == 0 || l.next < m.NextExpiry) {
				m.NextExpiry = l.next
			}
		}
		return nil
	})
	return m, wrap(err)
}

// ghosts counts what has expired in a slot and is not purged, up to a limit. It looks at the first of what
// lies below the cutoffs, since some of it may be alive by a lease or a younger policy, and takes the rest
// for dead.
func (st *containerState) ghosts(r engine.Reader, s *slot, now, limit int64) (b Backlog, err error) {
	g := ghostCount{st: st, s: s, now: now, limit: limit, items: r.Scan(layout.SlotFamily(s.scope, layout.FamilyItem), false)}
	inherit, due := st.policy().Cutoffs(now)
	if err = g.walk(r, layout.FamilyWritten, inherit); err == nil {
		err = g.walk(r, layout.FamilyDeadline, due)
	}
	if cerr := g.items.Close(); err == nil {
		err = cerr
	}
	return g.out, err
}

type ghostCount struct {
	st         *containerState
	s          *slot
	now, limit int64
	items      engine.Iterator // of the slot, to look at them
	looks      int
	out        Backlog
}

// walk counts those of one family that lie at or below the cutoff.
func (g *ghostCount) walk(r engine.Reader, family byte, cutoff int64) error {
	if g.out.Items >= g.limit {
		return nil
	}
	prefix := layout.TimePrefix(g.s.scope, family)
	return host.EachDue(r, prefix, cutoff, func(e host.Entry) (more bool, err error) {
		if g.looks++; g.looks > maxGhosts {
			g.out.Items++
		} else {
			err = g.judge(e.ID)
		}
		return g.out.Items < g.limit, err
	})
}

func (g *ghostCount) judge(rid uint64) error {
	key := layout.AppendSlotKey(nil, g.s.scope, layout.FamilyItem, rid)
	if !g.items.SeekGE(key) || !bytes.Equal(g.items.Key(), key) {
		return engine.ErrCorrupt
	}
	h, _, err := layout.DecodeItem(g.items.Value())
	if err != nil || !g.st.policy().Expired(h.Life, g.now) {
		return err
	}
	g.out.Items++
	if at, ok := g.st.policy().ExpiresAt(h.Life); ok {
		g.out.Oldest = max(g.out.Oldest, g.now-at)
	}
	return nil
}
