package store

import (
	"bytes"
	"context"
	"slices"
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
	next   int64 // of one that is alive: when it will have expired; 0: never
}

// sweeper shows the store to the reaper.
type sweeper struct{ db *DB }

// Ranges are the slots in which something can expire. To list them begins a round, which is when idle containers are deleted.
func (w sweeper) Ranges(ctx context.Context) ([]ttl.Range, error) {
	if err := w.db.tendIdle(ctx); err != nil {
		return nil, err
	}
	w.db.mu.RLock()
	containers := w.db.cat.containers
	w.db.mu.RUnlock()
	var out []ttl.Range
	for _, c := range containers {
		st := c.state.Load()
		if st.dropped || !st.policy().Active() && len(st.fences) == 0 && st.retention() == 0 && st.rec.Log == nil {
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

// pass is where the passes over the families w and x have come to.
type pass struct{ written, deadline cursor }

func (p *pass) restart() {
	p.written.restart(0)
	p.deadline.restart(0)
}

// isPast tells whether a pass of the reaper is behind a second of a family already.
func (s *slot) isPast(family byte, second int64) bool {
	if family == famWritten {
		return second < s.written.second.Load() || second < s.announcing.written.second.Load()
	}
	return second < s.deadline.second.Load() || second < s.announcing.deadline.second.Load()
}

// cursor is where a pass over one family stands. A pass goes from the lowest entry that can matter to the cutoff, over
// as many steps as it takes, and leaves what survives behind; the next pass begins at the lowest survivor. So a
// crowd of leased items never keeps the reaper from what lies behind them.
type cursor struct {
	second atomic.Int64 // writers compare with it
	rid    uint64
	low    int64 // lowest survivor of the pass; 0: none
	again  int64 // the second from which on one that the pass left behind may be purged; 0: none was
}

func (c *cursor) restart(second int64) {
	c.second.Store(second)
	c.rid, c.low, c.again = 0, 0, 0
}

// holdBack notes an entry that the pass leaves behind because it may not be purged before a second.
func (c *cursor) holdBack(second, until int64) {
	c.survived(second)
	if c.again == 0 || until < c.again {
		c.again = until
	}
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
	return c.sweep(ctx, s, limit, false)
}

// sweep is Sweep; force overrides what holds the reaper back.
func (c *Container) sweep(ctx context.Context, s *slot, limit int, force bool) (ttl.Swept, error) {
	if s.rescan.Swap(false) {
		s.restart()
		s.announcing.restart()
	}
	st, now, err := c.enter()
	if err != nil {
		return ttl.Swept{Next: never}, nil // dropped meanwhile
	}
	c.gate.RUnlock()
	h := c.holdFor(st, now, limit, force)
	out, err := c.sweepExpired(ctx, st, s, now, h)
	if err == nil && !out.More && h.room > out.Purged && len(st.fences) > 0 {
		var n int
		n, out.More, err = c.sweepFences(ctx, st, s, h.room-out.Purged)
		out.Purged += n
	}
	if c.reaping.used += out.Purged; h.room < limit && out.Purged == h.room { // no more in this second, or for now
		out.More, out.Next = false, min(out.Next, h.again)
	}
	if err == nil && h.any && st.rec.Log != nil {
		var more bool
		var next int64
		more, next, err = c.announceExpired(ctx, st, s, now, limit)
		out.More, out.Next = out.More || more, min(out.Next, next)
	}
	if err == nil && !out.More && st.eventRetention() > 0 {
		var next int64
		out.More, next, err = c.trimExpiries(ctx, st, s, now)
		out.Next = min(out.Next, next)
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

// sweepExpired purges what has expired, as far as a hold has room for it.
func (c *Container) sweepExpired(ctx context.Context, st *containerState, s *slot, now int64, h hold) (ttl.Swept, error) {
	l := newLook(st.policy(), s, &s.pass, now, h.room)
	l.delay = h.delay
	if err := l.take(ctx, c.db.eng); err != nil {
		return ttl.Swept{}, err
	}
	purged, survivors, err := c.purge(ctx, s, l.items)
	more := l.finish(survivors)
	return ttl.Swept{Purged: purged, More: more, Next: l.next}, err
}

// look is one step's view of the two families: the candidates that the policy's cutoffs admit.
type look struct {
	p     *ttl.Policy
	s     *slot
	now   int64
	delay *PurgeDelay // nil: what has expired is a candidate at once
	limit int         // candidates
	legs  [2]leg
	items []candidate
	next  int64 // the second at which there will be more
}

// leg is the look at one family.
type leg struct {
	family byte
	at     *cursor
	cutoff int64
	upto   int64 // how far it came, where it was not stopped by a limit: the cutoff, or what is held back with all behind it
	walked bool
	more   bool // the limit came before the cutoff
}

// maxHeldBack is how many entries that are held back one step passes over in each family.
const maxHeldBack = 4096

func newLook(p *ttl.Policy, s *slot, at *pass, now int64, limit int) look {
	inherit, due := p.Cutoffs(now)
	return look{p: p, s: s, now: now, limit: limit, next: never, legs: [2]leg{
		{family: famWritten, at: &at.written, cutoff: inherit, upto: inherit},
		{family: famDeadline, at: &at.deadline, cutoff: due, upto: due},
	}}
}

// take collects the candidates, and finds out when there will be more.
func (l *look) take(ctx context.Context, eng engine.Engine) error {
	return eng.View(ctx, func(r engine.Reader) (err error) {
		for i := range l.legs {
			if l.limit > 0 && err == nil {
				err = l.walk(r, &l.legs[i])
			}
		}
		if err == nil {
			err = l.nextExpiry(r)
		}
		return err
	})
}

// finish moves the cursors behind what has been looked at and tells whether a limit stopped the look.
func (l *look) finish(survivors []candidate) (more bool) {
	for i := range l.legs {
		g := &l.legs[i]
		for _, v := range survivors {
			if v.family == g.family {
				g.at.survived(v.second)
			}
			if v.next > l.now { // its lease ends then
				l.next = min(l.next, v.next)
			}
		}
		if g.walked && !g.more {
			if g.at.again > 0 {
				l.next = min(l.next, g.at.again)
			}
			g.at.end(g.upto)
		}
		more = more || g.more
	}
	return more
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
	least, _ := l.delay.bounds()
	held := 0
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
		var died int64
		if l.delay != nil {
			if died = diedAt(l.p, g.family, second); died+least > l.now {
				g.upto = second - 1
				g.at.holdBack(second, died+least)
				break
			}
		}
		if len(l.items) == l.limit || held == maxHeldBack {
			g.at.second.Store(second)
			g.at.rid, g.more = rid, true
			break
		}
		if l.delay != nil {
			if until := died + l.delay.of(rid); until > l.now {
				g.at.holdBack(second, until)
				held++
				continue
			}
		}
		l.items = append(l.items, candidate{rid: rid, second: second, family: g.family})
	}
	return it.Close()
}

// nextExpiry is the second at which the first item above the cutoffs may expire.
func (l *look) nextExpiry(r engine.Reader) error {
	p := l.p
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
			l.next = min(l.next, second)
		}
		if err := it.Close(); err != nil {
			return err
		}
	}
	return nil
}

// announceExpired puts the deaths of items into the log of expiries that the reaper may not purge yet.
func (c *Container) announceExpired(ctx context.Context, st *containerState, s *slot, now int64, limit int) (more bool, next int64, err error) {
	l := newLook(st.policy(), s, &s.announcing, now, limit)
	if err := l.take(ctx, c.db.eng); err != nil {
		return false, never, err
	}
	var survivors []candidate
	for items := l.items; len(items) > 0 && err == nil; {
		var judged int
		judged, survivors, err = c.announceBatch(ctx, s, items, survivors)
		items = items[judged:]
	}
	more = l.finish(survivors)
	return more, l.next, err
}

// announceBatch is announceExpired in one transaction. judged is how many candidates it came to; those that are alive are
// appended to survivors.
func (c *Container) announceBatch(ctx context.Context, s *slot, batch, survivors []candidate) (judged int, alive []candidate, err error) {
	st, _, err := c.enter()
	if err != nil {
		return 0, nil, err
	}
	defer c.gate.RUnlock()
	var t tx
	_, err = c.db.eng.Update(ctx, [][]byte{s.scope}, func(txn engine.Txn) error {
		t.begin(txn, c, st, s)
		alive = survivors
		var ghosts []*stored
		var err error
		if judged, ghosts, err = t.judge(batch, &alive); err != nil {
			return err
		}
		for _, g := range ghosts {
			if st.mourned(g.head) && !st.fenced(g.head, func() []byte { return g.pk }) {
				t.announce(g)
			}
		}
		if len(t.expiries) > 0 {
			t.setSwept()
		}
		t.finish()
		t.Relax()
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	t.committed()
	return judged, alive, nil
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

// purgeBatch is purge in one transaction. judged is how many candidates it came to: a few large ones fill a transaction. What no
// transaction can move to the archive stays among the survivors.
func (c *Container) purgeBatch(ctx context.Context, s *slot, batch []candidate) (judged, purged int, alive []candidate, err error) {
	for {
		var blocked *blocker
		judged, purged, alive, blocked, err = c.tryPurge(ctx, s, batch)
		if blocked != nil {
			if err = blocked.clear(ctx); err == nil {
				continue
			}
		}
		switch {
		case ErrorCode(wrap(err)) != CodeTooLarge:
			return judged, purged, alive, err
		case len(batch) > 1:
			batch = batch[:len(batch)/2]
		default:
			c.db.opts.Logger.Warn("an expired document is too large to be moved to the archive", "container", c.name, "error", err)
			return 1, 0, batch, nil
		}
	}
}

// tryPurge is purgeBatch as far as one transaction goes.
func (c *Container) tryPurge(ctx context.Context, s *slot, batch []candidate) (judged, purged int, alive []candidate, blocked *blocker, err error) {
	b, leave, err := c.enterBoth()
	if err != nil {
		return 0, 0, nil, nil, err
	}
	defer leave()
	ranges, scopes, err := b.scopes(ctx, c, s, batch)
	if err != nil {
		return 0, 0, nil, nil, err
	}
	var t tx
	a := archiver{both: b, t: &t}
	_, err = c.db.eng.Update(ctx, scopes, func(txn engine.Txn) error {
		t.begin(txn, c, b.st, s)
		a.begin(ranges)
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
			taken, err := a.take(g)
			if err != nil {
				return err
			}
			if !taken { // the rest of the batch is for the next transaction
				judged, alive = before(batch, g.rid, alive)
				break
			}
			t.bury(g, keys[from:ends[i]])
			from = ends[i]
		}
		if t.purged > 0 {
			t.setSwept()
		}
		t.finish()
		a.finish()
		t.Relax()
		return nil
	})
	if err != nil {
		return 0, 0, nil, t.blocked, err
	}
	t.committed()
	a.committed()
	return judged, t.purged, alive, nil, nil
}

// before cuts a batch off before the candidate of a rid: how many those are, and which of them are alive.
func before(batch []candidate, rid uint64, alive []candidate) (n int, left []candidate) {
	n = slices.IndexFunc(batch, func(cand candidate) bool { return cand.rid == rid })
	left = slices.DeleteFunc(alive, func(cand candidate) bool {
		return slices.ContainsFunc(batch[n:], func(late candidate) bool { return late.rid == cand.rid })
	})
	return n, left
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
			cand.next, _ = t.st.policy().ExpiresAt(item.head.life)
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
