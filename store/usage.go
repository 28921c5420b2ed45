package store

import (
	"context"
	"math"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// Usage tells how much a container holds, items that have expired and are not purged yet included.
type Usage struct {
	Documents int64
	Bytes     int64 // of their JSON; beyond 1,000 documents a range an estimate
}

// itemCount remembers the last count: it holds until the next write.
type itemCount struct {
	sync.Mutex
	at    uint64 // sum of positions and purges when counted
	valid bool
	usage Usage
}

// Usage counts the container's documents. The first call after a write reads the container's feed keys.
func (c *Container) Usage(ctx context.Context) (Usage, error) {
	c.count.Lock()
	defer c.count.Unlock()
	at := c.db.purged.Load()
	for _, s := range c.state.Load().ranges {
		at += c.db.eng.Horizon(s.scope)
	}
	if c.count.valid && c.count.at == at {
		return c.count.usage, nil
	}
	var u Usage
	err := c.view(ctx, func(st *containerState, _ int64, r engine.Reader) error {
		for _, s := range st.ranges {
			part, err := slotUsage(r, s.scope)
			if err != nil {
				return err
			}
			u.Documents += part.Documents
			u.Bytes += part.Bytes
		}
		return nil
	})
	c.count.at, c.count.valid, c.count.usage = at, err == nil, u
	return u, wrap(err)
}

// usageSample is how many documents of a slot are measured; the rest are taken to be as large on average.
const usageSample = 1000

func slotUsage(r engine.Reader, scope []byte) (u Usage, err error) {
	if u.Documents, err = countKeys(r, slotFamily(scope, famFeed), math.MaxInt64); err != nil || u.Documents == 0 {
		return u, err
	}
	var seen int64
	it := r.Scan(slotFamily(scope, famItem), false)
	for seen < usageSample && it.Next() {
		_, body, err := decodeItem(it.Value())
		if err != nil {
			break
		}
		seen++
		u.Bytes += int64(len(body))
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
