package store

import (
	"cmp"
	"context"
	"github.com/mayflydb/mayfly/host"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Usage tells how much a container holds, items that have expired and are not purged yet included.
type Usage struct {
	Documents int64
	Bytes     int64 // of their JSON; beyond 1,000 documents a range an estimate
}

// itemCount remembers the last count: it holds until the next write.
type itemCount struct {
	host.Turn        // who counts, or looks at the last count
	at        uint64 // sum of positions and purges when counted
	valid     bool
	usage     Usage
}

// Usage counts the container's documents. The first call after a write reads the container's feed keys. What
// it tells of is durable.
func (c *Container) Usage(ctx context.Context) (Usage, error) {
	if err := c.count.Take(ctx); err != nil {
		return Usage{}, wrap(err)
	}
	defer c.count.Release()
	at := c.db.purged.Load()
	for _, s := range c.state.Load().ranges {
		at += c.db.eng.Horizon(s.scope)
	}
	if c.count.valid && c.count.at == at {
		return c.count.usage, nil
	}
	var u Usage
	var seen *containerState
	err := c.view(ctx, func(st *containerState, _ int64, r engine.Reader) error {
		seen, u = st, Usage{}
		for _, s := range st.ranges {
			part, err := slotUsage(r, s.scope, nil)
			if err != nil {
				return err
			}
			u.Documents += part.Documents
			u.Bytes += part.Bytes
		}
		return nil
	})
	if err == nil {
		err = c.settleAll(ctx, seen)
	}
	c.count.at, c.count.valid, c.count.usage = at, err == nil, u
	return u, wrap(err)
}

// RangeStatistics tells how much a partition range holds, as Usage does, and which partition keys are the
// largest in it.
type RangeStatistics struct {
	Range string // its id
	Usage
	Keys int // different partition keys among the documents that were measured
	// Largest are the partition keys of at least a hundredth of the bytes that were measured, the largest
	// first.
	Largest []KeyStatistics
}

// KeyStatistics is the share of one partition key in its range.
type KeyStatistics struct {
	Key   string // in JSON, as PartitionKey.String writes it
	Bytes int64  // an estimate, as Usage has it
}

// settleAll waits until all that a snapshot of the container can have shown is durable.
func (c *Container) settleAll(ctx context.Context, st *containerState) error {
	for _, s := range st.ranges {
		if err := c.db.settle(ctx, s.scope, 0); err != nil {
			return err
		}
	}
	return nil
}

// Statistics measures the partition ranges one by one. What it tells of is durable.
func (c *Container) Statistics(ctx context.Context) (list []RangeStatistics, err error) {
	var seen *containerState
	err = c.view(ctx, func(st *containerState, _ int64, r engine.Reader) error {
		seen = st
		list = make([]RangeStatistics, 0, len(st.ranges))
		for _, s := range st.ranges {
			keys := map[string]int64{}
			u, err := slotUsage(r, s.scope, func(body []byte) { keys[c.def.Extract(body).String()] += int64(len(body)) })
			if err != nil {
				return err
			}
			list = append(list, RangeStatistics{Range: s.id, Usage: u, Keys: len(keys), Largest: largest(keys, u)})
		}
		return nil
	})
	if err == nil {
		err = c.settleAll(ctx, seen)
	}
	return list, wrap(err)
}

// largest lists the keys of a sample, with their bytes, that are worth naming, as large as they are in the
// whole.
func largest(sample map[string]int64, whole Usage) (list []KeyStatistics) {
	var measured int64
	for _, n := range sample {
		measured += n
	}
	for key, n := range sample {
		if 100*n >= measured {
			list = append(list, KeyStatistics{key, int64(float64(n) / float64(max(measured, 1)) * float64(whole.Bytes))})
		}
	}
	slices.SortFunc(list, func(a, b KeyStatistics) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Key, b.Key))
	})
	return list
}

// usageSample is how many documents of a slot are measured; the rest are taken to be as large on average.
const usageSample = 1000

// slotUsage measures a slot; each, which may be nil, gets the text of every document that is measured.
func slotUsage(r engine.Reader, scope []byte, each func(body []byte)) (u Usage, err error) {
	if u.Documents, err = countKeys(r, layout.SlotFamily(scope, layout.FamilyFeed), math.MaxInt64); err != nil || u.Documents == 0 {
		return u, err
	}
	var seen int64
	it := r.Scan(layout.SlotFamily(scope, layout.FamilyItem), false)
	for seen < usageSample && it.Next() {
		_, body, err := layout.DecodeItem(it.Value())
		if err != nil {
			it.Close()
			return u, err
		}
		seen++
		u.Bytes += int64(len(body))
		if each != nil {
			each(body)
		}
	}
	u.Bytes = u.Bytes * u.Documents / max(seen, 1)
	return u, it.Close()
}

// countKeys counts the keys of a range, up to a limit.
func countKeys(r engine.Reader, rg engine.Range, limit int64) (n int64, err error) {
	it := r.Scan(rg, false)
	for n < limit && it.Next() {
		n++
	}
	return n, it.Close()
}
