package store

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// Archives: what has expired is moved to another container instead of being forgotten.
//
// Expiry itself is as ever. From its second on the document is gone for everybody, and its purge is what
// moves it: one transaction over both ends removes it here, with reason ttl, and creates it there, so that it
// is in one place at any moment and arrives once, whatever crashes. Until then it is nowhere to be seen; how
// long that takes is the reaper's pace.
//
// Moved is what has expired by its ttl since the container has an archive. What was deleted with its whole
// partition key is not moved, nor what had expired before.
//
// The document arrives as a dead letter does: its properties as they were, and one more, "_mayfly":
//
//	{"deadLetterReason": "TTLExpiredException", "deadLetterErrorDescription": "The document expired and was moved here.",
//	 "source": the container's id, "expiredAt": seconds since 1970,
//	 "id", "_rid", "_etag", "_ts", "ttl"?: as they were there,
//	 "previous"?: the "_mayfly" that the document had there, by an earlier move,
//	 "document"?: see below}
//
// Its ttl is only kept in there, since it would end the document's life here, too: the archive's own default
// decides about that. Its partition key is what the archive's definition finds in it; where there is nothing
// at the path, it is the one of documents without. Where that key would be too long for Cosmos DB, the whole
// document goes into "_mayfly.document" and has no properties beside it.
//
// Nothing that is in the archive is replaced. Where the id is taken in its partition, the document gets the
// id "<id>~<n>", with n the LSN of its last version, and if that should be taken as well, "<id>~<n>~2" and so
// on; the id is shortened where that is too long. An archive has no unique keys, so it cannot refuse. What
// can still happen is that removing and creating a document of very many index entries is more than one
// transaction can hold. It then stays where it is: nobody sees it, the others pass it by, each round tries
// again and says so in the log, and a write that needs its id fails with CodeTooLarge.
//
// A purge that a write needs, since the id or a unique key is held by a document that has expired, moves it
// as well. The write knows the scope of its own range alone, so it is given up, the document is moved, and
// the write is done again.
//
// Locks: who moves holds the gates of both containers, shared, and takes them in the order of creation, as
// those do who take several exclusively. An archive cannot be deleted as long as it is one, but with the
// whole database.

const (
	// What arrives may be larger and deeper than a document that is sent, by this much for each move.
	archiveBytes = 16 << 10
	archiveDepth = 2
)

// storedLimits are those of a document that is in the store.
var storedLimits = jsondoc.Limits{MaxBytes: jsondoc.DefaultMaxBytes + MaxMoves*archiveBytes,
	MaxDepth: jsondoc.DefaultMaxDepth + MaxMoves*archiveDepth}

// archiving is a container and its archive while their gates are held.
type archiving struct {
	st      *containerState
	archive *Container
	to      *containerState
}

// enterBoth takes the gates of the container and of its archive, shared, in the order of their making.
func (c *Container) enterBoth(ctx context.Context, name string) (*containerState, expirySink, error) {
	a, err := c.d.Container(name)
	if err != nil {
		if st := c.state.Load(); st.dropped {
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
	b := archiving{st: c.state.Load(), archive: a, to: a.state.Load()}
	return b.st, &archiver{archiving: b, c: c}, nil
}

// arrival is a ghost as it comes to the archive.
type arrival struct {
	prepared
	s *partition
}

// arrive makes of a ghost of c what the archive gets. It looks for an id that is free.
func (b *archiving) arrive(r engine.Reader, c *Container, ghost *stored) (*arrival, error) {
	a := &arrival{prepared: prepared{kind: OperationCreate}}
	plain := ghost.plain()
	at, _ := b.st.policy().ExpiresAt(b.st.life(ghost))
	from := value.Archived{Item: &plain, Identity: &c.identity, Container: c.name, ExpiredAt: at}
	for n := 0; ; n++ {
		id := value.ArchiveID(&plain, n)
		body := value.ArchiveBody(from, id, false)
		pk, err := b.archive.def.KeyOf(definition.PartitionKey{}, body)
		if err != nil {
			body = value.ArchiveBody(from, id, true)
			pk = b.archive.def.Extract(body)
		}
		a.itemLocation = b.archive.locate(pk, id)
		a.s = b.to.rangeOf(a.epk)
		a.item = stored{head: layout.Header{EPK: a.epk}, body: body, id: id, pk: a.pk}
		free, err := b.isFree(r, a)
		if err != nil || free {
			return a, err
		}
	}
}

// isFree reports whether nobody has the id of an arrival: a ghost of the archive has not.
func (b *archiving) isFree(r engine.Reader, a *arrival) (bool, error) {
	v, err := r.Get(a.point)
	if isAbsent(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	rid, ok := layout.NumberOf(v)
	if !ok {
		return false, engine.ErrCorrupt
	}
	v, err = r.Get(layout.AppendSlotKey(nil, a.s.scope, layout.FamilyItem, rid))
	if err != nil {
		return false, err
	}
	head, body, err := layout.DecodeItem(v)
	if err != nil {
		return false, err
	}
	return b.to.expired(&head, body, b.archive.moment()) ||
		b.to.tombstoned(head, func() []byte { return a.pk }), nil
}

// errBlocked ends a transaction that needs something out of its way which it cannot remove: see tx.blocked.
var errBlocked = errors.New("a document that has expired must be moved first")

// blocker is a ghost that must be moved, for which a transaction has not the scopes.
type blocker struct {
	c   *Container
	s   *partition
	rid uint64
}

// clear moves the ghost.
func (b *blocker) clear(ctx context.Context) error {
	_, left, err := b.c.purge(ctx, b.s, []sweep.Candidate{{RID: b.rid}})
	if err == nil && len(left) > 0 {
		err = &fault.Error{
			Code:    fault.CodeTooLarge,
			Message: "A document that has expired is in the way and cannot be moved to the archive of the container '" + b.c.name + "'.",
			Hint:    "clear onExpire in the container's settings: the document is purged then",
		}
	}
	return err
}

// archiver is the expiry sink that moves ghosts to the archive.
type archiver struct {
	archiving
	c      *Container
	ranges []*partition // of the archive, whose scopes the transaction has
	t      *tx          // of the container
	there  []*tx        // of the archive's ranges
}

func (a *archiver) scopes(ctx context.Context, s *partition, batch []sweep.Candidate) (scopes [][]byte,
	err error) {
	seen := make(map[*partition]bool)
	err = a.c.withMoved(ctx, a.st, s, batch, func(r engine.Reader, items []*stored) error {
		for _, item := range items {
			to, err := a.arrive(r, a.c, item)
			if err != nil {
				return err
			}
			if !seen[to.s] {
				seen[to.s] = true
				a.ranges = append(a.ranges, to.s)
				scopes = append(scopes, to.s.scope)
			}
		}
		return nil
	})
	return scopes, err
}

func (a *archiver) begin(t *tx) error {
	a.t, a.there = t, a.there[:0]
	for _, s := range a.ranges {
		there := new(tx)
		if err := there.begin(t.Txn, a.archive, a.to, s); err != nil {
			return err
		}
		a.there = append(a.there, there)
	}
	return nil
}

// take creates in the archive what a ghost becomes. It does not where that would go to a range whose scope
// the transaction does not have: that was not to be expected when it began.
func (a *archiver) take(ghost *stored) (taken bool, err error) {
	to, err := a.arrive(a.t, a.c, ghost)
	if err != nil {
		return false, err
	}
	for _, t := range a.there {
		if t.s != to.s {
			continue
		}
		if err := t.create(to.point, &to.item); err != nil {
			a.t.blocked = t.blocked
			return false, err
		}
		t.written = append(t.written, &to.prepared)
		return true, nil
	}
	return false, nil
}

func (a *archiver) finish() {
	for _, t := range a.there {
		t.finish()
	}
}

func (a *archiver) leave(committed bool) {
	if committed {
		for _, t := range a.there {
			t.committed()
		}
	}
	a.archive.leave()
	a.c.leave()
}
