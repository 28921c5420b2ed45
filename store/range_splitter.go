package store

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/split"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// The splitter splits partition ranges after a throughput was raised. The number of ranges that a container
// shall have is part of its offer, and is on disk before the raise is acknowledged. One goroutine splits
// ranges, one after the other, until there are as many. If the process ends, the next one continues. A single
// split is atomic. Lowering a throughput cancels the splits that have not been made yet; it never merges
// ranges.
//
// Each split is an ordinary Split: requests to the container continue. If a throughput is lowered again
// while a range is being copied, the copy is abandoned. The next range to be split is the one with the
// fewest ancestors, and of those the lowest, so that the ranges stay of similar size.

// rangeSplitter is the goroutine that splits ranges.
type rangeSplitter struct {
	work.BackgroundTask
	ds *openDataset
}

func (x *rangeSplitter) open(db *openDataset) {
	x.ds = db
	x.Prepare(db.opts.Logger, "splitting partition ranges for a raised throughput", x.pass)
}

// FinishSplits splits the partition ranges for all raised throughputs, and returns when there are as many
// as they need. The splitter also does this by itself, in the background. FinishSplits fails with
// CodeUnavailable if the store is being closed.
func (db *DB) FinishSplits(ctx context.Context) error { return db.live().finishSplits(ctx) }

func (ds *openDataset) finishSplits(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ds.splitter.Life, cancel)()
	err := ds.splitter.pass(ctx)
	if ds.splitter.Life.Err() != nil {
		return classify.ToFault(engine.ErrClosed)
	}
	return classify.ToFault(err)
}

// pass splits partition ranges until each container has as many ranges as its throughput requires. A
// container that fails does not stop the others.
func (x *rangeSplitter) pass(ctx context.Context) error {
	x.Turn.Lock()
	defer x.Turn.Unlock()
	x.ds.mu.RLock()
	offers := x.ds.cat.offers
	x.ds.mu.RUnlock()
	failed := []error{x.tidy(ctx)}
	for _, o := range offers {
		for more := o.Ranges > 0; more; {
			var err error
			more, err = x.step(ctx, o.Num)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed = append(failed, err)
				break
			}
		}
	}
	return errors.Join(failed...)
}

// step splits one range of the container with the given offer (its throughput), if the throughput needs more
// ranges than the container has. more reports whether it has split one.
func (x *rangeSplitter) step(ctx context.Context, offer uint32) (more bool, err error) {
	db := x.ds
	find := func() (rec record.Offer, ok bool) { // the caller holds mu or the catalog's lock
		i := slices.IndexFunc(db.cat.offers, func(o record.Offer) bool { return o.Num == offer })
		if i < 0 || !db.pending(db.cat.offers[i]) {
			return rec, false
		}
		return db.cat.offers[i], true
	}
	db.mu.RLock()
	rec, ok := find()
	c := db.cat.cids[rec.CID]
	db.mu.RUnlock()
	if !ok {
		return false, nil
	}
	done, err := c.splitNext(ctx, func() bool { _, ok := find(); return ok })
	if done || errors.Is(err, errUnwanted) || fault.ErrorCode(err) == fault.CodeOwnerNotFound {
		return done, nil
	}
	if err != nil {
		return false, err
	}
	// None of the ranges can be split further.
	if err := db.lockCatalog(ctx); err != nil {
		return false, err
	}
	defer db.in.Catalog().Unlock()
	if rec, ok = find(); !ok {
		return false, nil
	}
	rec.Ranges = 0
	return false, db.changeOffer(ctx, &rec,
		func(t *host.CatalogTxn) error { return host.SetRecord(t, layout.OfferKey(rec.Num), rec) })
}

// splitNext splits one range, one with the fewest splits before. done is false if no range can be split.
// wanted is called under the catalog's lock; if it returns false, the split is not needed any more and
// stops.
func (c *Container) splitNext(ctx context.Context, wanted func() bool) (done bool, err error) {
	ranges := slices.Clone(c.state.Load().Ranges)
	slices.SortStableFunc(
		ranges,
		func(a, b *container.Partition) int { return len(a.Parents) - len(b.Parents) },
	)
	for _, s := range ranges {
		_, err := c.split(ctx, s.ID, "", wanted)
		switch fault.ErrorCode(err) {
		case fault.CodeConflict:
			continue
		case fault.CodeRangeGone: // another request has split it
			return true, nil
		}
		return err == nil, err
	}
	return false, nil
}

// tidy deletes the copies that failed splits have left because they could not delete them.
func (x *rangeSplitter) tidy(ctx context.Context) error {
	x.ds.mu.RLock()
	containers := x.ds.cat.containers
	x.ds.mu.RUnlock()
	var failed []error
	for _, c := range containers {
		if c.state.Load().Rec.Split == nil || !c.splitting.TryLock() { // it is being split
			continue
		}
		failed = append(failed, c.tidySplit(ctx))
		c.splitting.Unlock()
	}
	return errors.Join(failed...)
}

// pending reports whether the container of an offer has fewer ranges than the offer needs. The caller holds
// mu or the catalog's lock.
func (ds *openDataset) pending(o record.Offer) bool {
	c := ds.cat.cids[o.CID]
	return c != nil && len(c.state.Load().Ranges) < o.Ranges
}

// splitPoint returns the effective partition key at which to split a range: at, in hexadecimal, or if that is
// empty the one that puts half of the documents into each half.
func (c *Container) splitPoint(ctx context.Context, s *container.Partition,
	at string) (bound []byte, err error) {
	r := s.Plain()
	if at == "" {
		err = c.ds.view(ctx, func(reader engine.Reader) (err error) {
			bound, err = split.Middle(reader, &c.items.Keys, &r)
			return err
		})
		if err == nil && !split.Divides(&r, bound) {
			err = unsplittable(s.ID)
		}
		return bound, err
	}
	if bound, err = scan.Bound(at); err != nil {
		return nil, err
	}
	if !split.Divides(&r, bound) || definition.EPKHex(bound) >= definition.MaxEPK ||
		len(bound) > math.MaxUint8 {
		return nil, fault.New(fault.CodeBadRequest,
			"'"+at+"' does not lie inside of the partition key range '"+
				s.ID+"'.")
	}
	return bound, nil
}

func unsplittable(rangeID string) error {
	return fault.New(fault.CodeConflict, "The partition key range '"+rangeID+"' cannot be split further.")
}
