package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// Locks of a move to an archive (see transaction.LockedContainerAndArchive): it holds the gates of both
// containers,
// shared. It takes them in the order in which the containers were created, as does every operation that
// takes several gates exclusively. A container cannot be deleted while it is the archive of another, except
// with the whole database.

// enterBoth takes the locks (gates) of the container and of its archive, shared, in the order in which the
// two were created.
func (c *Container) enterBoth(ctx context.Context, name string) (*container.State, expiredItemSink, error) {
	a, err := c.d.Container(name)
	if err != nil {
		if st := c.state.Load(); st.Dropped {
			return nil, nil, c.gone()
		}
		return nil, nil, &fault.Error{Code: fault.CodeUnavailable,
			Message: "The archive '" + name + "' of the container '" + c.name + "' is missing.",
			Hint:    "clear onExpire in the container's settings", Err: err}
	}
	first, second := c, a
	if a.cid < c.cid {
		first, second = a, c
	}
	if _, _, err := first.enter(ctx); err != nil {
		return nil, nil, err
	}
	if _, _, err := second.enter(ctx); err != nil {
		first.leave()
		return nil, nil, err
	}
	b := transaction.LockedContainerAndArchive{From: &c.items, Name: c.name, State: c.state.Load(), To: &a.items,
		ToState: a.state.Load()}
	return b.State, &archiveExpirySink{LockedContainerAndArchive: b, c: c, archive: a}, nil
}

// Purge moves an item that has expired, but is in the way of a write, to the container's expiry sink, in a
// transaction of its own.
func (c *containerCallbacksAdapter) Purge(ctx context.Context, s *container.Partition, rid uint64) error {
	_, left, err := (*Container)(c).purge(ctx, s, []sweep.ExpiryCandidate{{RID: rid}})
	if err == nil && len(left) > 0 {
		err = &fault.Error{
			Code: fault.CodeTooLarge,
			Message: "A document that has expired is in the way and cannot be moved to the archive of the " +
				"container '" + c.name + "'.",
			Hint: "clear onExpire in the container's settings: the document is purged then",
		}
	}
	return err
}

// archiveExpirySink is the expiry sink that moves expired items to the archive, another container.
type archiveExpirySink struct {
	transaction.LockedContainerAndArchive
	c       *Container
	archive *Container
	ranges  []*container.Partition // of the archive; the transaction has their scopes
	t       *transaction.Tx        // of the container
	there   []*transaction.Tx      // of the archive's ranges
}

func (a *archiveExpirySink) scopes(ctx context.Context, s *container.Partition,
	batch []sweep.ExpiryCandidate) (
	scopes [][]byte, err error) {
	seen := make(map[*container.Partition]bool)
	err = a.c.withMoved(ctx, a.State, s, batch, func(r engine.Reader, items []*transaction.StoredItem) error {
		for _, item := range items {
			to, err := a.Convert(r, item, a.archive.moment())
			if err != nil {
				return err
			}
			if !seen[to.Range] {
				seen[to.Range] = true
				a.ranges = append(a.ranges, to.Range)
				scopes = append(scopes, to.Range.Scope)
			}
		}
		return nil
	})
	return scopes, err
}

func (a *archiveExpirySink) begin(t *transaction.Tx) error {
	a.t, a.there = t, a.there[:0]
	for _, s := range a.ranges {
		there := new(transaction.Tx)
		if err := a.archive.begin(there, t.Txn, a.ToState, s); err != nil {
			return err
		}
		a.there = append(a.there, there)
	}
	return nil
}

// take creates the document in the archive for a ghost (an expired item that is not purged yet). It
// returns false if the document belongs to a partition range of the archive that the transaction has not
// locked. The transaction cannot write there, and only the finished document shows its range.
func (a *archiveExpirySink) take(ghost *transaction.StoredItem) (taken bool, err error) {
	to, err := a.Convert(a.t, ghost, a.archive.moment())
	if err != nil {
		return false, err
	}
	for _, t := range a.there {
		if t.Range != to.Range {
			continue
		}
		if err := t.Create(to.Point, &to.Item); err != nil {
			a.t.Blocked = t.Blocked
			return false, err
		}
		t.Written = append(t.Written, &to.PreparedOperation)
		return true, nil
	}
	return false, nil
}

func (a *archiveExpirySink) finish() {
	for _, t := range a.there {
		t.Finish()
	}
}

func (a *archiveExpirySink) leave(committed bool) {
	if committed {
		for _, t := range a.there {
			a.archive.committed(t)
		}
	}
	a.archive.leave()
	a.c.leave()
}
