package sweep

import (
	"bytes"
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// A clock that is set back would revive the items that have expired since, unless the reaper has purged
// them. To make the result independent of the reaper's speed, a clock cannot be set back behind the last
// expiry, whether the item is purged or not. This file finds the last expiry of the items that are not
// purged; the container's marks have the second of the last purge.

// ExpiredSince searches the items that were live in second to, have expired since and are not purged yet.
// It returns the latest second in which one of them expired, or 0 if there are none.
func ExpiredSince(ctx context.Context, r engine.Reader, state *view.ContainerAtTime,
	to int64) (died int64, err error) {
	w := latestExpirySearch{state: state, to: to}
	inherit, due := state.Policy.Cutoffs(state.Now)
	for i := range state.Ranges {
		scope := state.Ranges[i].Scope
		w.items = r.Scan(layout.ScopeFamily(scope, layout.FamilyItem), false)
		if !state.Lives.Settled() {
			err = w.all(ctx)
		} else if err = w.walk(ctx, r, scope, layout.FamilyWritten, inherit); err == nil {
			err = w.walk(ctx, r, scope, layout.FamilyDeadline, due)
		}
		if cerr := w.items.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return 0, err
		}
	}
	return w.died, nil
}

// latestExpirySearch finds the latest moment between two seconds at which an item of a range has expired.
type latestExpirySearch struct {
	state *view.ContainerAtTime
	to    int64
	items engine.Iterator // of the range
	died  int64
}

// walk checks the items that have an entry at or before the second cutoff in one of the two expiry indexes.
// family is the key letter of the index: w for items without a ttl of their own, x for items with one. An
// item may have expired much later than its entry says, because of a lease.
func (w *latestExpirySearch) walk(ctx context.Context, r engine.Reader, scope []byte, family byte,
	cutoff int64) error {
	prefix := layout.TimePrefix(scope, family)
	return host.EachDue(r, prefix, cutoff, func(e host.DeadlineIndexEntry) (more bool, err error) {
		if err = ctx.Err(); err == nil {
			err = w.judge(scope, e.ID)
		}
		return true, err
	})
}

func (w *latestExpirySearch) judge(scope []byte, rid uint64) error {
	key := layout.AppendScopeKey(nil, scope, layout.FamilyItem, rid)
	if !w.items.SeekGE(key) || !bytes.Equal(w.items.Key(), key) {
		return engine.ErrCorrupt
	}
	return w.look()
}

// all looks for expired items by checking every item. It is used during a change of ttlPropertyPath, when the
// times in the expiry index are not yet those at which the items expire.
func (w *latestExpirySearch) all(ctx context.Context) (err error) {
	for err == nil && w.items.Next() {
		if err = ctx.Err(); err == nil {
			err = w.look()
		}
	}
	return err
}

// look decodes the item at the current position of the iterator items. If the item is expired now and was
// live in second to, look records the time of its expiry if that is the latest so far.
func (w *latestExpirySearch) look() error {
	h, body, err := layout.DecodeItem(w.items.Value())
	if err != nil {
		return err
	}
	p, l := w.state.Policy, w.state.Lives.Of(&h, body)
	if p.Expired(l, w.state.Now) && !p.Expired(l, w.to) {
		at, _ := p.ExpiresAt(l)
		w.died = max(w.died, min(at, w.state.Now))
	}
	return nil
}
