package transaction

import (
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/ttl"
)

// MustFind returns a live item. It fails with CodeNotFound if there is none.
func (t *Tx) MustFind(p EncodedItemKey) (*StoredItem, error) {
	item, ghost, err := t.Find(p.Point)
	if err != nil {
		return nil, err
	}
	if item == nil || ghost {
		return nil, ItemNotFound()
	}
	return item, nil
}

// ItemNotFound returns the error for an item that does not exist, with CodeNotFound.
func ItemNotFound() error {
	return fault.New(fault.CodeNotFound, "Entity with the specified id does not exist in the system.")
}

// Create stores a new item. point is its point key, by which the item is found by its id. A ghost (an
// expired item that is not purged yet) that holds its id or one of its unique keys is purged in the same
// transaction.
func (t *Tx) Create(point []byte, item *StoredItem) error {
	if err := t.ensureFree(point); err != nil {
		return err
	}
	return t.createFree(item)
}

// createFree stores a new item whose id is free. It purges expired items that hold one of its unique keys.
func (t *Tx) createFree(item *StoredItem) error {
	item.Head.Life.LeaseUntil = 0
	t.lowerTTL(item)
	if err := t.claimUnique(item, nil); err != nil {
		return err
	}
	return t.put(nil, item)
}

// ensureFree makes sure that an id can be given to an item. point is the point key with that id, by which
// the item would be found. It fails with CodeConflict if a live item has the id, and purges an expired
// item that has it.
func (t *Tx) ensureFree(point []byte) error {
	holder, err := t.findLive(point)
	if holder != nil {
		return fault.New(fault.CodeConflict, "Resource with specified id or name already exists.")
	}
	return err
}

// findLive returns the live item with a point key, by which it is found by its id, or nil if there is
// none. It purges an expired item with that key.
func (t *Tx) findLive(point []byte) (*StoredItem, error) {
	found, ghost, err := t.Find(point)
	if err != nil || found == nil {
		return nil, err
	}
	if ghost {
		return nil, t.purge(found)
	}
	return found, nil
}

// replace stores a new version of a live item.
func (t *Tx) replace(old, item *StoredItem) error {
	item.RID = old.RID
	item.Head.Renamed = item.Head.Renamed || old.Head.Renamed
	t.lowerTTL(item)
	if err := t.claimUnique(item, old); err != nil {
		return err
	}
	item.Head.Life.LeaseUntil = old.Head.Life.LeaseUntil
	return t.put(old, item)
}

// claimUnique makes sure that no other live item holds one of item's unique keys. It purges expired items
// that hold one.
func (t *Tx) claimUnique(item, old *StoredItem) error {
	for i := range t.Container.Keys.Unique.Len() {
		prefix := layout.AppendUniquePrefix(nil, t.Container.Keys.CID, item.PK, i)
		k := t.Container.Keys.Unique.Values(prefix, i, item.Body)
		holder, ghost, err := t.Find(k)
		if err != nil {
			return err
		}
		if holder == nil || old != nil && holder.RID == old.RID {
			continue
		}
		if !ghost {
			return fault.New(fault.CodeConflict,
				"Resource with specified id, name, or unique index already exists.")
		}
		if err := t.purge(holder); err != nil {
			return err
		}
	}
	return nil
}

// Named reports whether value, the stored value of an item, has the id of p. A cached rid may lead to an item
// whose id has been changed. The header marks such items (layout.ItemHeader.Renamed), so Named compares the
// ids of these only.
func (p *EncodedItemKey) Named(value []byte) bool {
	h, body, err := layout.DecodeItem(value)
	return err != nil || !h.Renamed || jsondoc.Get(body, layout.IDPath).Str() == p.ID
}

// CheckIfNoneMatch fails with CodeNotModified if the reader already has this version, or if condition is
// "*".
func CheckIfNoneMatch(condition string, it value.Item) error {
	if condition != "" && (condition == "*" || layout.ETagMatches(condition, it.ETag())) {
		return fault.New(fault.CodeNotModified, "The item has not changed.")
	}
	return nil
}

// date sets the _ts of an item that p imports, to the time that the options of the import determine. For
// other operations it does nothing: their items get the time of the write.
func (t *Tx) date(p *PreparedOperation) (err error) {
	if o := p.options.Import; o != nil {
		p.Item.dated = true
		l := p.Item.Head.Life
		l.Base, l.Based = t.State.LifeRules.Basis.Of(p.Item.Body)
		p.Item.Head.Life.TS, err = o.WrittenAt(t.State.Policy(), l, t.Now)
	}
	return err
}

// lowerTTL reduces the ttl of an item that is about to be written to the container's default, if TTLCeiling
// is set. It changes both the document and its header.
func (t *Tx) lowerTTL(item *StoredItem) {
	limit, own := t.State.Policy().Default, item.Head.Life.Own
	if !t.State.Rec.Settings.TTLCeiling || limit <= 0 || own == ttl.Absent || own > 0 && own <= limit {
		return
	}
	b := make([]byte, 0, len(item.Body)+8)
	jsondoc.Of(item.Body).Each(func(name string, v jsondoc.Value) bool {
		b = append(jsondoc.AppendString(append(b, ','), name), ':')
		if name == "ttl" {
			b = strconv.AppendInt(b, int64(limit), 10)
		} else {
			b = append(b, v.Raw()...)
		}
		return true
	})
	b[0] = '{'
	item.Body = append(b, '}')
	item.Head.Life.Own = limit
	item.terms = nil
}

// Together returns the key with which a transaction over all the operations begins: the key of the first
// operation's item, with the point keys of the other items in Others. The transaction then reads all these
// keys ahead.
func Together(list []*PreparedOperation) EncodedItemKey {
	at := list[0].EncodedItemKey
	for _, p := range list[1:] {
		if p != nil {
			at.Others = append(at.Others, p.Point)
		}
	}
	return at
}
