package store

import (
	"bytes"
	"context"
	"math"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// The reaper frees the space of items that have expired (and of those below a fence, and of versions that no feed shows any
// more). Its loop and its pace are ttl.Reaper's; here is what one step does: find candidates in the families w and x in a
// short view, then delete at most purgeBatch of them in a transaction that re-reads each and judges it again.

// purgeBatch is how many items one purging transaction deletes: few, so that a foreground write in the same
// slot never waits for long.
const purgeBatch = 32

// candidate is an item that may have expired.
type candidate struct {
	rid    uint64
	second int64 // of its key in w or x; 0 for one below a fence
	family byte  // w, x, or 0 below a fence
}

// sweeper shows the store to the reaper.
type sweeper struct{ db *DB }

// Ranges are the slots in which something can expire.
func (w sweeper) Ranges(context.Context) ([]ttl.Range, error) {
	w.db.mu.RLock()
	containers := w.db.cat.containers
	w.db.mu.RUnlock()
	var out []ttl.Range
	for _, c := range containers {
		st := c.state.Load()
		if st.dropped || !st.policy().Active() && len(st.fences) == 0 && st.retention() == 0 {
			continue
		}
		for _, s := range st.ranges {
			out = append(out, ttl.Range{Container: c.cid, Slot: s.number})
		}
	}
	return out, nil
}

func (w sweeper) find(r ttl.Range) (*Container, *slot) {
	w.db.mu.RLock()
	c := w.db.cat.cids[r.Container]
	w.db.mu.RUnlock()
	if c != nil {
		for _, s := range c.state.Load().ranges {
			if s.number == r.Slot {
				return c, s
			}
		}
	}
	return nil, nil
}

// cursor is where a pass over one family stands. A pass goes from the lowest entry that can matter to the cutoff, over
// as many steps as it takes, and leaves what survives behind; the next pass begins at the lowest survivor. So a
// crowd of leased items never keeps the reaper from what lies behind them.
type cursor struct {
	second atomic.Int64 // writers compare with it
	rid    uint64
	low    int64 // lowest survivor of the pass; 0: none
}

func (c *cursor) restart(second int64) {
	c.second.Store(second)
	c.rid, c.low = 0, 0
}

// survived notes an entry that the pass leaves behind.
func (c *cursor) survived(second int64) {
	if c.low == 0 || second < c.low {
		c.low = second
	}
}

// end finishes a pass that has reached the cutoff.
func (c *cursor) end(cutoff int64) {
	if c.low > 0 {
		cutoff = min(cutoff, c.low-1)
	}
	c.restart(cutoff + 1)
}

// Sweep purges at most limit items of one slot.
func (w sweeper) Sweep(ctx context.Context, r ttl.Range, limit int) (ttl.Swept, error) {
	c, s := w.find(r)
	if c == nil {
		return ttl.Swept{Next: never}, nil
	}
	if s.rescan.Swap(false) {
		s.written.restart(0)
		s.deadline.restart(0)
	}
	st, now, err := c.enter()
	if err != nil {
		return ttl.Swept{Next: never}, nil // dropped meanwhile
	}
	c.gate.RUnlock()
	out, err := c.sweepExpired(ctx, st, s, now, limit)
	if err == nil && !out.More && len(st.fences) > 0 {
		var n int
		n, out.More, err = c.sweepFences(ctx, st, s, limit)
		out.Purged += n
	}
	if err == nil && !out.More && st.retention() > 0 {
		var next int64
		out.More, next, err = c.trimVersions(ctx, st, s, now)
		out.Next = min(out.Next, next)
	}
	if err != nil {
		s.rescan.Store(true)
		if ErrorCode(wrap(err)) == CodeOwnerNotFound {
			return ttl.Swept{Next: never}, nil
		}
	}
	return out, wrap(err)
}

func (c *Container) sweepExpired(ctx context.Context, st *containerState, s *slot, now int64, limit int) (ttl.Swept, error) {
	p := st.policy()
	inherit, due := p.Cutoffs(now)
	l := look{s: s, limit: limit, legs: [2]leg{
		{family: famWritten, at: &s.written, cutoff: inherit},
		{family: famDeadline, at: &s.deadline, cutoff: due},
	}}
	next := int64(never)
	err := c.db.eng.View(ctx, func(r engine.Reader) error {
		for i := range l.legs {
			if err := l.walk(r, &l.legs[i]); err != nil {
				return err
			}
		}
		var err error
		next, err = l.nextExpiry(r, p)
		return err
	})
	if err != nil {
		return ttl.Swept{}, err
	}
	purged, survivors, err := c.purge(ctx, s, l.items)
	more := false
	for _, g := range l.legs {
		for _, v := range survivors {
			if v.family == g.family {
				g.at.survived(v.second)
			}
		}
		if g.walked && !g.more {
			g.at.end(g.cutoff)
		}
		more = more || g.more
	}
	return ttl.Swept{Purged: purged, More: more, Next: next}, err
}

// look is one step's view of the two families: the candidates that the policy's cutoffs admit.
type look struct {
	s     *slot
	limit int
	legs  [2]leg
	items []candidate
}

// leg is the look at one family.
type leg struct {
	family byte
	at     *cursor
	cutoff int64
	walked bool
	more   bool // the limit came before the cutoff
}

// walk collects candidates of one family from the pass's cursor up to the cutoff.
func (l *look) walk(r engine.Reader, g *leg) error {
	from := g.at.second.Load()
	if g.cutoff < from {
		return nil
	}
	g.walked = true
	rg := slotFamily(l.s.scope, g.family)
	rg.Start = appendTimeKey(nil, l.s.scope, g.family, from, g.at.rid)
	it := r.Scan(rg, false)
	for it.Next() {
		second, rid, ok := timeKeyParts(it.Key())
		if !ok {
			it.Close()
			return engine.ErrCorrupt
		}
		if second > g.cutoff {
			break
		}
		if len(l.items) == l.limit {
			g.at.second.Store(second)
			g.at.rid, g.more = rid, true
			break
		}
		l.items = append(l.items, candidate{rid, second, g.family})
	}
	return it.Close()
}

// nextExpiry is the second at which the first item above the cutoffs may expire.
func (l *look) nextExpiry(r engine.Reader, p *ttl.Policy) (next int64, err error) {
	next = never
	for _, g := range l.legs {
		if p.Default == ttl.Absent || p.Default == ttl.Never && g.family == famWritten {
			continue
		}
		rg := slotFamily(l.s.scope, g.family)
		rg.Start = appendTimeKey(nil, l.s.scope, g.family, max(g.cutoff, -1)+1, 0)
		it := r.Scan(rg, false)
		if it.Next() {
			second, _, _ := timeKeyParts(it.Key())
			if g.family == famWritten {
				second += int64(p.Default)
			}
			next = min(next, second)
		}
		if err := it.Close(); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// purge deletes those of the candidates that are dead, by the policy and at the moment of each transaction. It does not
// wait for the disk: a purge that a crash takes back is only late. Survivors are candidates whose entry is
// still theirs and that are alive, by a lease or a younger policy.
func (c *Container) purge(ctx context.Context, s *slot, items []candidate) (purged int, survivors []candidate, err error) {
	for len(items) > 0 && err == nil {
		var judged, n int
		var alive []candidate
		judged, n, alive, err = c.purgeBatch(ctx, s, items[:min(len(items), purgeBatch)])
		items = items[judged:]
		purged += n
		survivors = append(survivors, alive...)
	}
	return purged, survivors, err
}

// purgeBatch is purge in one transaction. judged is how many candidates it came to: where the last versions are kept, a few
// large ones fill a transaction.
func (c *Container) purgeBatch(ctx context.Context, s *slot, batch []candidate) (judged, purged int, alive []candidate, err error) {
	st, _, err := c.enter()
	if err != nil {
		return 0, 0, nil, err
	}
	defer c.gate.RUnlock()
	var t tx
	_, err = c.db.eng.Update(ctx, [][]byte{s.scope}, func(txn engine.Txn) error {
		t.begin(txn, c, st, s)
		alive = alive[:0]
		var ghosts []*stored
		var err error
		if judged, ghosts, err = t.judge(batch, &alive); err != nil {
			return err
		}
		var keys []entry
		ends := make([]int, len(ghosts))
		for i, g := range ghosts {
			if keys, err = t.owned(keys, g); err != nil {
				return err
			}
			ends[i] = len(keys)
		}
		from := 0
		for i, g := range ghosts {
			t.bury(g, keys[from:ends[i]])
			from = ends[i]
		}
		if t.purged > 0 {
			t.setSwept()
		}
		t.finish()
		t.Relax()
		return nil
	})
	if err != nil {
		return 0, 0, nil, err
	}
	t.committed()
	return judged, t.purged, alive, nil
}

// purgeBytes is how much of ghosts' bodies one purging transaction reads before it is enough.
const purgeBytes = 4 << 20

// judge reads the candidates, as many as fit, and returns those that are dead; those whose entry is still theirs and that are
// alive are appended to alive. The rids of a batch mostly rise, so one iterator that moves forward finds them sooner than as
// many gets.
func (t *tx) judge(batch []candidate, alive *[]candidate) (judged int, ghosts []*stored, err error) {
	it := t.Scan(slotFamily(t.s.scope, famItem), false)
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
	}()
	var key []byte
	bytesRead := 0
	for _, cand := range batch {
		if bytesRead > purgeBytes {
			break
		}
		judged++
		key = appendSlotKey(key[:0], t.s.scope, famItem, cand.rid)
		if !it.SeekGE(key) || !bytes.Equal(it.Key(), key) {
			continue
		}
		item, err := t.c.decode(cand.rid, bytes.Clone(it.Value()))
		switch {
		case err != nil:
			return judged, nil, err
		case !cand.names(item):
		case t.live(item):
			*alive = append(*alive, cand)
		default:
			ghosts = append(ghosts, item)
			bytesRead += len(item.body)
		}
	}
	return judged, ghosts, nil
}

// names tells whether the candidate's entry is still the item's: it has not been written since.
func (cand candidate) names(item *stored) bool {
	switch l := item.head.life; cand.family {
	case famWritten:
		return l.Own == ttl.Absent && l.TS == cand.second
	case famDeadline:
		return l.Own > 0 && l.TS+int64(l.Own) == cand.second
	default:
		return true
	}
}

// Backlog is what has expired and is not purged yet.
type Backlog struct {
	Items  int64 // counted up to 100,000 a partition range
	Oldest int64 // seconds since the oldest of them expired, as far as the present policy tells; 0 where there is none
}

const backlogLimit = 100_000

// backlog counts the ghosts of one slot.
func backlog(r engine.Reader, p *ttl.Policy, s *slot, now int64) (b Backlog, err error) {
	inherit, due := p.Cutoffs(now)
	for _, f := range []struct {
		family byte
		cutoff int64
		life   ttl.Seconds
	}{{famWritten, inherit, p.Default}, {famDeadline, due, 0}} {
		if f.cutoff == math.MinInt64 {
			continue
		}
		rg := slotFamily(s.scope, f.family)
		rg.End = appendTimeKey(nil, s.scope, f.family, f.cutoff+1, 0)
		n, err := countKeys(r, rg, backlogLimit)
		if err != nil {
			return b, err
		}
		b.Items += n
		it := r.Scan(rg, false)
		if it.Next() {
			second, _, _ := timeKeyParts(it.Key())
			b.Oldest = max(b.Oldest, now-second-int64(max(f.life, 0)))
		}
		if err := it.Close(); err != nil {
			return b, err
		}
	}
	return b, nil
}
