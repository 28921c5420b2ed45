package inspect

import (
	"bytes"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// PurgeBacklog describes the items that have expired and are not purged yet.
type PurgeBacklog struct {
	Items int64 // see Ghosts: at most 100,000 are counted in each partition range
	// Oldest is how many seconds ago the first of the expired items that are not purged yet expired, by the
	// current policy. It is 0 if there is no such item.
	Oldest int64
}

// Ghosts counts the ghosts of a partition range, up to a limit: the items that have expired and are not
// purged. It finds them by their keys in the index of expiry. An item that has expired by its key may be
// alive, because a client has suspended its expiry (a lease) or by a newer policy. So Ghosts reads the
// first view.MaxGhosts of these items, and counts the others as expired without reading them. During a
// change of ttlPropertyPath, items that the reindexer has not reached yet may be missing.
func Ghosts(state *view.ContainerAtTime, s *view.PartitionRange, r engine.Reader,
	limit int64) (b PurgeBacklog, err error) {
	items := r.Scan(layout.ScopeFamily(s.Scope, layout.FamilyItem), false)
	g := unpurgedItemCounter{state: state, s: s, limit: limit, items: items}
	inherit, due := state.Policy.Cutoffs(state.Now)
	if err = g.walk(r, layout.FamilyWritten, inherit); err == nil {
		err = g.walk(r, layout.FamilyDeadline, due)
	}
	if cerr := g.items.Close(); err == nil {
		err = cerr
	}
	return g.out, err
}

// unpurgedItemCounter is a running count of the ghosts (expired items that are not purged yet) in one
// partition range.
type unpurgedItemCounter struct {
	state *view.ContainerAtTime
	s     *view.PartitionRange
	limit int64
	items engine.Iterator // of the range, to look at them
	looks int
	out   PurgeBacklog
}

// walk counts the expired items in one family of the index of expiry: those with a key whose second is at
// most cutoff.
func (g *unpurgedItemCounter) walk(r engine.Reader, family byte, cutoff int64) error {
	if g.out.Items >= g.limit {
		return nil
	}
	prefix := layout.TimePrefix(g.s.Scope, family)
	return host.EachDue(r, prefix, cutoff, func(e host.DeadlineIndexEntry) (more bool, err error) {
		if g.looks++; g.looks > view.MaxGhosts {
			g.out.Items++
		} else {
			err = g.judge(e.ID)
		}
		return g.out.Items < g.limit, err
	})
}

func (g *unpurgedItemCounter) judge(rid uint64) error {
	key := layout.AppendScopeKey(nil, g.s.Scope, layout.FamilyItem, rid)
	if !g.items.SeekGE(key) || !bytes.Equal(g.items.Key(), key) {
		return engine.ErrCorrupt
	}
	h, body, err := layout.DecodeItem(g.items.Value())
	if err != nil {
		return err
	}
	l := g.state.Lives.Of(&h, body)
	if !g.state.Policy.Expired(l, g.state.Now) {
		return nil
	}
	g.out.Items++
	if at, ok := g.state.Policy.ExpiresAt(l); ok {
		g.out.Oldest = max(g.out.Oldest, g.state.Now-at)
	}
	return nil
}
