package store

import (
	"context"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/work"
	"github.com/mayflydb/mayfly/ttl"
)

// A change of a container's indexing policy is one record: the new spec, together with the older ones by
// which documents may still be indexed. From then on each write creates the entries of the new policy and
// removes the old entries of all these policies, and a query uses only paths that all of them index. In the
// background the reindexer visits the documents, range by range in the order of their rids, and writes the
// entries of the new policy for each. When it has finished, the older specs are removed from the record. If
// the policy changes again before that, the record gets one more older spec, and the work starts again.
//
// The reindexer works in small steps, as the reaper does. It computes the entries of a few documents in a
// view, without any lock, and writes them in a short transaction. It skips documents that have been written
// since (their LSN differs), because these have the right entries already. It does not wait for the disk. Its
// progress is stored in the same transaction, so it is never ahead of the work. Work that a crash undoes is
// repeated.

const (
	// reindexRest determines the pauses of the reindexer while requests are being served. After each batch
	// it pauses for this multiple of the time that the batch took, so that the requests get most of the
	// machine.
	reindexRest    = 4
	maxReindexRest = 50 * time.Millisecond
)

// reindexer is the goroutine that reindexes documents.
type reindexer struct {
	work.BackgroundTask
	ds *openDataset
}

func (x *reindexer) open(db *openDataset) {
	x.ds = db
	x.Prepare(db.opts.Logger, "indexing documents anew",
		func(ctx context.Context) error { return x.pass(ctx, x.rest) })
}

// rest pauses after a batch if requests are being served.
func (x *reindexer) rest(took time.Duration) {
	if x.ds.in.Working() > 0 {
		work.Wait(x.Life, min(took*reindexRest, maxReindexRest))
	}
}

// IndexNow completes all pending changes of indexing policies, without pauses. It changes no result of a
// query, only its speed.
func (db *DB) IndexNow(ctx context.Context) error { return db.live().indexNow(ctx) }

func (ds *openDataset) indexNow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ds.reindexer.Life, cancel)()
	err := ds.reindexer.pass(ctx, func(time.Duration) {})
	if ds.reindexer.Life.Err() != nil {
		return classify.ToFault(engine.ErrClosed)
	}
	return classify.ToFault(err)
}

// pass reindexes all containers that need it. After each batch it calls rest with the time that the batch
// took, so that the caller can pause.
func (x *reindexer) pass(ctx context.Context, rest func(time.Duration)) error {
	x.Turn.Lock()
	defer x.Turn.Unlock()
	x.ds.mu.RLock()
	containers := x.ds.cat.containers
	x.ds.mu.RUnlock()
	var failed []error
	for _, c := range containers {
		for {
			more, err := c.reindex(ctx, rest)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil && fault.ErrorCode(classify.ToFault(err)) != fault.CodeOwnerNotFound {
				failed = append(failed, err)
			}
			if !more || err != nil {
				break
			}
		}
	}
	return errors.Join(failed...)
}

// IndexProgress returns how many percent of the documents are indexed by the current policy, from 0 to 100.
// It is 100 except after a change of the policy.
func (c *Container) IndexProgress() int {
	st := c.state.Load()
	if !st.Unsettled() {
		return 100
	}
	done := 0.0
	for _, s := range st.Ranges {
		at := s.Reindexed.Load()
		if at == layout.AllReindexed {
			done++
			continue
		}
		last := float64(c.ds.eng.Horizon(s.Scope))
		done += min(float64(layout.RIDCreated(at).LSN())/max(last, 1), 1)
	}
	return min(int(100*done/float64(len(st.Ranges))), 99)
}

// reindex indexes the documents of a container by its current indexing policy, and then removes the policies
// that it replaced from the container's record. It calls rest to pause between two transactions. more reports
// that the policy has changed during the work, so that reindex must be called again.
func (c *Container) reindex(ctx context.Context, rest func(time.Duration)) (more bool, err error) {
	st := c.state.Load()
	if !st.Unsettled() || st.Dropped {
		return false, nil
	}
	for _, s := range st.Ranges {
		for s.Reindexed.Load() != layout.AllReindexed {
			began := ttl.SystemClock{}.Now()
			same, err := c.reindexSome(ctx, st, s)
			if again, err := c.refreshed(ctx, err); again || err != nil {
				return again, err
			}
			if !same || err != nil {
				return !same, err
			}
			rest(ttl.SystemClock{}.Now().Sub(began))
		}
		if err := c.ds.settle(ctx, s.Scope, 0); err != nil {
			return false, err
		}
	}
	return c.endReindex(ctx, st)
}

// endReindex removes the older indexing policies and ttlPropertyPaths from the record of a container that has
// been reindexed by the policy of st. more reports that the policy has changed since then, so that it must be
// reindexed again; nothing is removed then.
func (c *Container) endReindex(ctx context.Context, st *container.State) (more bool, err error) {
	if err := c.ds.lockCatalog(ctx); err != nil {
		return more, err
	}
	defer c.ds.in.Catalog().Unlock()
	err = c.againLocked(ctx, func() error {
		return c.change(ctx, func(now container.State, _ int64) (container.State, error) {
			if more = now.Terms != st.Terms; more {
				return now, nil
			}
			next := now
			next.Rec.IndexedBy, next.Rec.Eras = nil, nil
			if err := next.Compile(); err != nil {
				return now, err
			}
			return next, c.setContainer(ctx, &now, &next)
		})
	})
	return more, err
}

// reindexSome reindexes a few documents of a range. same is false if the policy of st is no longer the
// container's.
func (c *Container) reindexSome(ctx context.Context, st *container.State,
	s *container.Partition) (same bool, err error) {
	if st.Terms.Policy().Mode == index.None && st.LifeRules.Settled() {
		return c.reindexTxn(ctx, st, s, layout.AllReindexed, func(t *transaction.Tx) error {
			c.wipeTerms(t)
			return nil
		})
	}
	at := s.Reindexed.Load()
	var found []transaction.ReindexedDocument
	var next uint64
	err = c.ds.view(ctx, func(r engine.Reader) (err error) {
		found, next, err = transaction.Remake(r, st, s, at)
		return err
	})
	if err != nil {
		return true, err
	}
	if len(found) == 1 && found[0].IsLarge() {
		same, err = c.reindexTxn(ctx, st, s, at,
			func(t *transaction.Tx) error { return t.Reindex(found[0], false) })
		if !same || err != nil {
			return same, err
		}
		found[0].DropBefore()
	}
	return c.reindexTxn(ctx, st, s, next, func(t *transaction.Tx) error {
		for _, d := range found {
			if err := t.Reindex(d, true); err != nil {
				return err
			}
		}
		if next == layout.AllReindexed && st.Terms.Policy().Mode == index.None {
			c.wipeTerms(t) // and the records of shapes
		}
		return nil
	})
}

// reindexTxn runs fn as a transaction of the reindexer and stores next as its progress.
func (c *Container) reindexTxn(ctx context.Context, st *container.State, s *container.Partition, next uint64,
	fn func(*transaction.Tx) error) (same bool, err error) {
	now, _, err := c.enter(ctx)
	if err != nil {
		return true, err
	}
	defer c.leave()
	if now.Terms != st.Terms {
		return false, nil
	}
	var t transaction.Tx
	_, err = c.ds.eng.Update(ctx, [][]byte{s.Scope}, func(txn engine.Txn) error {
		if err := c.begin(&t, txn, now, s); err != nil {
			return err
		}
		if err := fn(&t); err != nil {
			return err
		}
		t.SetReindexed(next)
		t.Relax()
		return nil
	})
	if err != nil {
		return true, err
	}
	c.committed(&t)
	if !now.LifeRules.Settled() {
		c.ds.in.WakeReaper()
	}
	s.Reindexed.Store(next)
	return true, nil
}
