package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// Archives: an expired document is moved to another container instead of being deleted.
//
// Expiry itself does not change. From the second of its expiry on, no read returns the document. The
// reaper's purge moves it: one transaction over both containers removes the document from the source, with
// reason ttl, and creates it in the archive. So the document is in exactly one place at any moment and
// arrives exactly once, even after a crash. Between expiry and purge no read finds it in either container;
// how long that takes depends on the reaper.
//
// Only documents that have expired by their ttl since the archive was set are moved. Documents deleted with
// their whole partition key are not moved, nor are documents that had expired before.
//
// The document arrives in the form of a dead letter: its properties are unchanged, and one is added,
// "_mayfly":
//
//	{"deadLetterReason": "TTLExpiredException", "deadLetterErrorDescription": "The document expired and was moved here.",
//	 "source": the source container's id, "expiredAt": seconds since 1970,
//	 "id", "_rid", "_etag", "_ts", "ttl"?: their values in the source,
//	 "previous"?: the "_mayfly" that the document had in the source, from an earlier move,
//	 "document"?: see below}
//
// The document's ttl is kept in "_mayfly" only, because a property "ttl" would make the document expire in
// the archive as well. The archive's own default decides how long the document lives there. The archive's
// definition determines the partition key; a document without a value at the key's path gets the key of
// such documents (undefined). If that key would be too long for Cosmos DB, the whole document goes into
// "_mayfly.document" and has no other properties beside it.
//
// A move never replaces a document of the archive. If the id is taken in its partition, the document gets
// the id "<id>~<n>", with n the LSN of its last version. If that is taken as well, it gets "<id>~<n>~2" and
// so on. An id that would be too long is shortened. An archive has no unique keys, so it cannot refuse a
// document for one. A move can still fail: removing and creating a document with very many index entries
// can exceed the limit of one transaction. Such a document stays in the source: reads do not see it, purges
// of other documents skip it, each round of the reaper tries again and logs the failure, and a write that
// needs its id fails with CodeTooLarge.
//
// A write may have to purge an expired document that still occupies the id or a unique key of the new one.
// That purge moves the expired document as well. The write's transaction has the scope of its own range
// only, so the transaction is rolled back, the expired document is moved, and the write is repeated.
//
// Locks: a move holds the gates of both containers, shared. It takes them in the order in which the
// containers were created, as does every operation that takes several gates exclusively. A container cannot
// be deleted while it is the archive of another, except with the whole database.

const (
	// By these amounts for each move, an archived document may be larger and more deeply nested than a
	// document in a request.
	archiveBytes = 16 << 10
	archiveDepth = 2
)

// storedLimits are the limits of a stored document, which include what archiving adds.
var storedLimits = jsondoc.Limits{MaxBytes: jsondoc.DefaultMaxBytes + MaxMoves*archiveBytes,
	MaxDepth: jsondoc.DefaultMaxDepth + MaxMoves*archiveDepth}

// enterBoth takes the gates of the container and of its archive, shared, in the order of their creation.
func (c *Container) enterBoth(ctx context.Context, name string) (*container.State, expirySink, error) {
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
	b := transaction.LockedArchive{From: &c.items, Name: c.name, State: c.state.Load(), To: &a.items,
		ToState: a.state.Load()}
	return b.State, &archiveSink{LockedArchive: b, c: c, archive: a}, nil
}

// Purge moves an expired item to the container's expiry sink, in a transaction of its own.
func (c *itemContainer) Purge(ctx context.Context, s *container.Partition, rid uint64) error {
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

// archiveSink is the expiry sink that moves ghosts to the archive.
type archiveSink struct {
	transaction.LockedArchive
	c       *Container
	archive *Container
	ranges  []*container.Partition // of the archive; the transaction has their scopes
	t       *transaction.Tx        // of the container
	there   []*transaction.Tx      // of the archive's ranges
}

func (a *archiveSink) scopes(ctx context.Context, s *container.Partition, batch []sweep.ExpiryCandidate) (
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

func (a *archiveSink) begin(t *transaction.Tx) error {
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

// take creates the document in the archive for a ghost (an expired item that is not purged yet). It returns
// false if the document belongs to a range of the archive whose scope is not part of the transaction; that
// is known only once the document is built.
func (a *archiveSink) take(ghost *transaction.StoredItem) (taken bool, err error) {
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

func (a *archiveSink) finish() {
	for _, t := range a.there {
		t.Finish()
	}
}

func (a *archiveSink) leave(committed bool) {
	if committed {
		for _, t := range a.there {
			a.archive.committed(t)
		}
	}
	a.archive.leave()
	a.c.leave()
}
