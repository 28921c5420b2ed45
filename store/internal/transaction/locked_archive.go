package transaction

import (
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
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

// LockedContainerAndArchive is a container and its archive (the container to which its expired items are
// moved), while the caller holds the locks of both.
type LockedContainerAndArchive struct {
	From    *ImmutableContainerProperties
	Name    string // of the container
	State   *container.State
	To      *ImmutableContainerProperties // the archive
	ToState *container.State
}

// PreparedArchiveWrite is an expired item in the form in which the archive stores it.
type PreparedArchiveWrite struct {
	PreparedOperation
	Range *container.Partition // of the archive
}

// Convert converts a ghost (an expired item that is not purged yet) to the document that the archive stores.
// It chooses an id that no live item of the archive has at now, a second of the archive's clock.
func (b *LockedContainerAndArchive) Convert(r engine.Reader, ghost *StoredItem,
	now int64) (*PreparedArchiveWrite, error) {
	a := &PreparedArchiveWrite{PreparedOperation: PreparedOperation{Kind: value.OperationCreate}}
	at, _ := b.State.Policy().ExpiresAt(b.State.Life(&ghost.DecodedItem))
	from := value.ItemBeingArchived{DecodedItem: &ghost.DecodedItem, Identity: &b.From.Identity,
		Container: b.Name,
		ExpiredAt: at}
	for n := 0; ; n++ {
		id := value.ArchiveID(&ghost.DecodedItem, n)
		body := value.ArchiveBody(from, id, false)
		pk, err := b.To.Keys.Def.KeyOf(definition.PartitionKey{}, body)
		if err != nil {
			body = value.ArchiveBody(from, id, true)
			pk = b.To.Keys.Def.Extract(body)
		}
		a.EncodedItemKey = b.To.Locate(pk, id)
		a.Range = b.ToState.RangeOf(a.EPK)
		a.Item = StoredItem{
			DecodedItem: view.DecodedItem{Head: layout.ItemHeader{EPK: a.EPK}, Body: body, ID: id, PK: a.PK},
		}
		free, err := b.isFree(r, a, now)
		if err != nil || free {
			return a, err
		}
	}
}

// isFree reports whether no live item of the archive has the id of a.
func (b *LockedContainerAndArchive) isFree(r engine.Reader, a *PreparedArchiveWrite,
	now int64) (bool, error) {
	v, err := r.Get(a.Point)
	if errors.Is(err, engine.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	rid, ok := layout.NumberOf(v)
	if !ok {
		return false, engine.ErrCorrupt
	}
	v, err = r.Get(layout.AppendScopeKey(nil, a.Range.Scope, layout.FamilyItem, rid))
	if err != nil {
		return false, err
	}
	head, body, err := layout.DecodeItem(v)
	if err != nil {
		return false, err
	}
	return b.ToState.Expired(&head, body, now) ||
		b.ToState.Tombstoned(head, func() []byte { return a.PK }), nil
}
