package store

import (
	"context"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/ttl"
)

// The reaper frees the space of expired items, of items deleted by a partition tombstone, and of versions
// that no feed shows any more. Its loop and its pace are in ttl.Reaper. This file has one step: find
// candidates in the index of expiry (the key families w and x, see package store/internal/layout) in a short
// view, then delete at most a batch of them in a transaction, which reads and checks each candidate again.

// sweepLimits limits the steps and transactions of the reaper.
type sweepLimits struct {
	step  int // items that one step finds and purges, in several transactions
	items int // items that one transaction deletes
	bytes int // of the bodies of these items; a transaction deletes one item of any size
	// clear is the number of purged items after which the emptied parts of the key space are deleted as
	// key ranges, so that iterators need not step over single deleted keys; 0: never, for an engine in
	// which deleted keys cost nothing
	clear int
}

// sweepLimitsOf returns the limits of the reaper's steps and transactions for an engine. A remote engine
// recommends the size of a batch (PurgeBatch). On a local engine transactions are small, because they cost
// little and the writers of the partition range wait for them: sixteen documents of 1 KB take less than a
// millisecond. The limit in bytes is needed because larger documents have more index entries.
func sweepLimitsOf(e engine.Engine) sweepLimits {
	if n := engine.SizeAdviceOf(e).PurgeBatch; n > 0 {
		return sweepLimits{step: n, items: n, bytes: 4 << 20}
	}
	return sweepLimits{step: 32, items: 16, bytes: 32 << 10, clear: 1024}
}

// rescanEvery is the number of seconds of the container's clock after which the reaper's pass over a range
// starts again at the beginning of the index of expiry. So an entry that was skipped by mistake is found
// after this time. A pass that finds nothing to purge costs two seeks.
const rescanEvery = 60

// storeSweeper gives the reaper, the task that purges expired items, access to the store (ttl.Sweeper).
type storeSweeper struct{ ds *openDataset }

// Ranges returns the ranges in which something can expire. The reaper calls it at the start of a round, so it
// also deletes idle containers. If this deletion fails, the round continues: the reason may be a full disk,
// and the round frees space.
func (w storeSweeper) Ranges(ctx context.Context) ([]ttl.SweepRange, error) {
	if err := w.ds.tendIdle(ctx); ctx.Err() == nil && err != nil &&
		fault.ErrorCode(err) != fault.CodeUnavailable {
		w.ds.opts.Logger.Warn("checking for idle containers to delete failed", "error", err)
	}
	if !w.ds.in.Sweeps(ctx) {
		return nil, nil
	}
	w.ds.mu.RLock()
	containers := w.ds.cat.containers
	w.ds.mu.RUnlock()
	if err := w.ds.followStates(ctx, containers...); err != nil {
		return nil, classify.ToFault(err)
	}
	var out []ttl.SweepRange
	for _, c := range containers {
		st := c.state.Load()
		if st.Dropped || !st.Policy().Active() && len(st.Tombstones) == 0 && st.Retention() == 0 &&
			st.Rec.Log == nil {
			continue
		}
		for _, s := range st.Ranges {
			out = append(out, ttl.SweepRange{Owner: c.cid, Part: s.Number})
		}
	}
	return out, nil
}

func (w storeSweeper) find(r ttl.SweepRange) (*Container, *container.Partition) {
	w.ds.mu.RLock()
	c := w.ds.cat.cids[r.Owner]
	w.ds.mu.RUnlock()
	if c != nil {
		for _, s := range c.state.Load().Ranges {
			if s.Number == r.Part {
				return c, s
			}
		}
	}
	return nil, nil
}

// Sweep purges at most limit items of one range.
func (w storeSweeper) Sweep(ctx context.Context, r ttl.SweepRange, limit int) (ttl.SweepResult, error) {
	c, s := w.find(r)
	if c == nil {
		return ttl.SweepResult{Next: never}, nil
	}
	return c.sweep(ctx, s, limit, false)
}

// sweep purges at most limit items of one range. With force it ignores pauses and delays of purges.
func (c *Container) sweep(ctx context.Context, s *container.Partition, limit int,
	force bool) (ttl.SweepResult, error) {
	rescan := s.Rescan.Swap(false)
	st, now, _, err := c.stateAndTime(ctx)
	if ctx.Err() != nil {
		s.Rescan.Store(true)
		return ttl.SweepResult{}, classify.ToFault(ctx.Err())
	}
	if err != nil {
		return ttl.SweepResult{Next: never}, nil // dropped since
	}
	if rescan {
		s.Announcing.Restart(0)
	}
	if rescan || now-s.Begun >= rescanEvery || now < s.Begun {
		s.ExpiryPassPositions.Restart(0)
		s.Begun = now
	}
	h := c.purgeLimitsFor(st, now, limit, force)
	out, err := c.sweepExpired(ctx, st, s, now, h)
	if err == nil && !out.More && len(st.Tombstones) > 0 {
		// The expired items may have used up the limit of this step. Then the items that tombstones delete
		// are left to the next one.
		n, more := 0, true
		if h.room > out.Purged {
			n, more, err = c.sweepTombstones(ctx, st, s, h.room-out.Purged)
		}
		out.Purged, out.More = out.Purged+n, more
	}
	// A pause, a delay or PurgeRateLimit allows no more purges at the moment.
	if c.reaping.used += out.Purged; h.room < limit && out.Purged == h.room {
		out.More, out.Next = false, min(out.Next, h.again)
	}
	if err == nil && h.any && st.Rec.Log != nil {
		var more bool
		var next int64
		more, next, err = c.announceExpired(ctx, st, s, now, limit)
		out.More, out.Next = out.More || more, min(out.Next, next)
	}
	if err == nil && !out.More {
		err = c.trim(ctx, st, s, now, &out)
	}
	if err != nil {
		s.Rescan.Store(true)
		if again, failed := c.refreshed(ctx, err); again || failed == nil {
			return ttl.SweepResult{Purged: out.Purged, More: true, Next: now}, nil
		} else if err = failed; fault.ErrorCode(classify.ToFault(err)) == fault.CodeOwnerNotFound {
			return ttl.SweepResult{Next: never}, nil
		}
	}
	return out, classify.ToFault(err)
}

// trim deletes entries that are older than their retention from a partition range's log of expiries and from
// its feed of all versions.
func (c *Container) trim(ctx context.Context, st *container.State, s *container.Partition, now int64,
	out *ttl.SweepResult) (err error) {
	var next int64
	if st.EventRetention() > 0 {
		out.More, next, err = c.trimExpiries(ctx, st, s, now)
		out.Next = min(out.Next, next)
	}
	if err == nil && !out.More && st.Retention() > 0 {
		out.More, next, err = c.trimVersions(ctx, st, s, now)
		out.Next = min(out.Next, next)
	}
	return err
}

// sweepExpired purges expired items of the partition range s, at most h.room of them. The result says how
// many were purged, whether more are due, and when the next one expires.
func (c *Container) sweepExpired(ctx context.Context, st *container.State, s *container.Partition, now int64,
	h purgeLimits) (ttl.SweepResult, error) {
	l := sweep.NewStep(st.Policy(), s.Scope, &s.ExpiryPassPositions, now, h.room)
	l.Delay = h.delay
	if err := l.Take(ctx, c.ds.eng); err != nil {
		return ttl.SweepResult{}, err
	}
	purged, survivors, err := c.purge(ctx, s, l.Items)
	more := l.Finish(survivors)
	if err == nil && purged > 0 {
		err = c.clearPurged(ctx, s, l.Items[0], purged)
	}
	return ttl.SweepResult{Purged: purged, More: more, Next: l.Next}, err
}

// clearPurged deletes the emptied parts of the key space around purged items as key ranges
// (transaction.ClearAround), once enough items have been purged. It changes nothing but the speed of reads.
// So it does not wait for the disk, and nothing is lost if it is never called.
func (c *Container) clearPurged(ctx context.Context, s *container.Partition, first sweep.ExpiryCandidate,
	purged int) error {
	if s.Purged == 0 {
		s.FirstPurged = first
	}
	s.Purged += purged
	if limit := c.ds.sweepSizes.clear; limit == 0 || s.Purged < limit {
		return nil
	}
	s.Purged = 0
	st, _, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer c.leave()
	_, err = c.ds.eng.Update(ctx, [][]byte{s.Scope}, func(t engine.Txn) error {
		if err := c.writable(t, st, s); err != nil {
			return err
		}
		t.Relax()
		return transaction.ClearAround(t, s.Scope, s.FirstPurged)
	})
	return err
}

// purge deletes those candidates that have expired by the policy and the moment of the deleting
// transaction. It does not wait for the disk: a purge that a crash undoes is repeated later. survivors are
// the candidates that have not expired, because a client has suspended their expiry (a lease) or by a newer
// policy, and whose entry in the index of expiry is still correct.
func (c *Container) purge(ctx context.Context, s *container.Partition,
	items []sweep.ExpiryCandidate) (purged int,
	survivors []sweep.ExpiryCandidate,
	err error) {
	for len(items) > 0 && err == nil {
		var judged, n int
		var alive []sweep.ExpiryCandidate
		judged, n, alive, err = c.purgeBatch(ctx, s, items[:min(len(items), c.ds.sweepSizes.items)])
		items = items[judged:]
		purged += n
		survivors = append(survivors, alive...)
	}
	return purged, survivors, err
}

// purgeBatch deletes, in one transaction, those candidates of a batch that have expired. judged is the number
// of candidates that it has checked, which may be less than all: a few large items fill a transaction. An
// item that no transaction can move to the archive stays among the survivors.
func (c *Container) purgeBatch(ctx context.Context, s *container.Partition,
	batch []sweep.ExpiryCandidate) (judged,
	purged int,
	alive []sweep.ExpiryCandidate, err error) {
	for {
		var blocked *transaction.BlockingExpiredItem
		judged, purged, alive, blocked, err = c.tryPurge(ctx, s, batch)
		if blocked != nil {
			if err = blocked.Clear(ctx); err == nil {
				continue
			}
		}
		switch {
		case fault.ErrorCode(classify.ToFault(err)) != fault.CodeTooLarge:
			return judged, purged, alive, err
		case len(batch) > 1:
			batch = batch[:len(batch)/2]
		default:
			c.ds.opts.Logger.Warn("an expired document is too large to be moved to the archive", "container",
				c.name, "error", err)
			return 1, 0, batch, nil
		}
	}
}

// tryPurge deletes the expired items of a batch in one transaction, without retries. judged is the number of
// candidates that it has checked, and alive are those among them that have not expired. If blocked is not
// nil, nothing was deleted: blocked must be moved to the expiry sink first.
func (c *Container) tryPurge(ctx context.Context, s *container.Partition,
	batch []sweep.ExpiryCandidate) (judged,
	purged int,
	alive []sweep.ExpiryCandidate, blocked *transaction.BlockingExpiredItem, err error) {
	st, h, err := c.enterToPurge(ctx)
	if err != nil {
		return 0, 0, nil, nil, err
	}
	t := c.ds.txs.Get()
	committed := false
	defer func() {
		h.leave(committed)
		c.ds.txs.Put(t)
	}()
	scopes, err := h.scopes(ctx, s, batch)
	if err != nil {
		return 0, 0, nil, nil, err
	}
	_, err = c.ds.eng.Update(ctx, append([][]byte{s.Scope}, scopes...), func(txn engine.Txn) error {
		if err := c.begin(t, txn, st, s); err != nil {
			return err
		}
		if err := h.begin(t); err != nil {
			return err
		}
		alive = alive[:0]
		n, ghosts, err := t.SelectExpired(batch, c.ds.sweepSizes.bytes, &alive)
		if err != nil {
			return err
		}
		judged = n
		late, err := t.PurgeAll(ghosts, h.take)
		if err != nil {
			return err
		}
		if late != nil { // the late item and the rest are left to the next transaction
			judged, alive = before(batch, late.RID, alive)
		}
		if t.Purged > 0 {
			t.SetSwept()
		}
		t.Finish()
		h.finish()
		t.Relax()
		return nil
	}, transaction.ItemKeys(s, batch)...)
	if err != nil {
		return 0, 0, nil, t.Blocked, err
	}
	c.committed(t)
	committed = true
	return judged, t.Purged, alive, nil, nil
}

// before returns the number n of candidates in batch that precede the one with the given rid, and those
// candidates of alive that are among these n.
func before(batch []sweep.ExpiryCandidate, rid uint64,
	alive []sweep.ExpiryCandidate) (n int, left []sweep.ExpiryCandidate) {
	n = slices.IndexFunc(batch, func(cand sweep.ExpiryCandidate) bool { return cand.RID == rid })
	left = slices.DeleteFunc(alive, func(cand sweep.ExpiryCandidate) bool {
		return slices.ContainsFunc(batch[n:],
			func(late sweep.ExpiryCandidate) bool { return late.RID == cand.RID })
	})
	return n, left
}
