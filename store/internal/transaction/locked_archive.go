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

// LockedArchive is a container and its archive, while the gates of both are held.
type LockedArchive struct {
	From    *Container
	Name    string // of the container
	State   *container.State
	To      *Container // the archive
	ToState *container.State
}

// ArchivedItem is an expired item in the form in which the archive stores it.
type ArchivedItem struct {
	PreparedOperation
	Range *container.Partition // of the archive
}

// Convert converts a ghost to the document that the archive stores. It chooses an id that no live item of the
// archive has at now, a second of the archive's clock.
func (b *LockedArchive) Convert(r engine.Reader, ghost *StoredItem, now int64) (*ArchivedItem, error) {
	a := &ArchivedItem{PreparedOperation: PreparedOperation{Kind: value.OperationCreate}}
	at, _ := b.State.Policy().ExpiresAt(b.State.Life(&ghost.Item))
	from := value.ArchivingItem{Item: &ghost.Item, Identity: &b.From.Identity, Container: b.Name,
		ExpiredAt: at}
	for n := 0; ; n++ {
		id := value.ArchiveID(&ghost.Item, n)
		body := value.ArchiveBody(from, id, false)
		pk, err := b.To.Keys.Def.KeyOf(definition.PartitionKey{}, body)
		if err != nil {
			body = value.ArchiveBody(from, id, true)
			pk = b.To.Keys.Def.Extract(body)
		}
		a.ItemLocation = b.To.Locate(pk, id)
		a.Range = b.ToState.RangeOf(a.EPK)
		a.Item = StoredItem{
			Item: view.Item{Head: layout.ItemHeader{EPK: a.EPK}, Body: body, ID: id, PK: a.PK},
		}
		free, err := b.isFree(r, a, now)
		if err != nil || free {
			return a, err
		}
	}
}

// isFree reports whether no live item of the archive has the id of a.
func (b *LockedArchive) isFree(r engine.Reader, a *ArchivedItem, now int64) (bool, error) {
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
