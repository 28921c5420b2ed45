package view

import (
	"encoding/binary"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// DecodedItem is a decoded stored item.
type DecodedItem struct {
	RID  uint64
	Head layout.ItemHeader
	Body []byte
	ID   string
	PK   []byte // ordered encoding of the full partition key
}

// KeyValue is one of the keys that are stored for an item, with its value.
type KeyValue struct{ Key, Value []byte }

// ItemKeyBuilder builds the keys of a container's items. It has the properties of the container on which
// these keys depend, and never changes.
type ItemKeyBuilder struct {
	CID    uint32
	Def    definition.PartitionKeyDefinition
	Unique index.UniqueKeyConstraints
}

// Decode decodes the stored value of the item with this rid: its header, body, id and partition key.
func (k *ItemKeyBuilder) Decode(rid uint64, value []byte) (item DecodedItem, err error) {
	h, body, err := layout.DecodeItem(value)
	if err != nil {
		return item, err
	}
	id := jsondoc.Get(body, layout.IDPath).Str()
	return DecodedItem{RID: rid, Head: h, Body: body, ID: id, PK: k.PartitionOf(body)}, nil
}

// PartitionOf returns the ordered encoding of a document's partition key.
func (k *ItemKeyBuilder) PartitionOf(body []byte) []byte {
	return k.Def.Extract(body).AppendOrdered(nil)
}

// AppendEntries appends the keys by which an item is found: its point key, its partition keys, its unique
// keys and its key in the expiry index. It does not append the item's own key, its feed entry and the entries
// of the document index. The keys are allocated in room.
func (k *ItemKeyBuilder) AppendEntries(dst []KeyValue, room *layout.KeyArena, scope []byte,
	item *DecodedItem) []KeyValue {
	epk := item.Head.EPK
	rid := room.Keep(binary.BigEndian.AppendUint64(room.Free(), item.RID))
	dst = append(dst,
		KeyValue{room.Keep(layout.AppendPointKey(room.Free(), k.CID, epk, item.PK, item.ID)), rid})
	for n := k.Def.Levels(); n > 0; n-- {
		e, p := k.Def.Prefix(epk, item.PK, n)
		key := append(layout.AppendPartitionPrefix(room.Free(), k.CID, layout.FamilyPartition, e, p), rid...)
		dst = append(dst, KeyValue{room.Keep(key), nil})
	}
	for i := range k.Unique.Len() {
		prefix := layout.AppendUniquePrefix(room.Free(), k.CID, item.PK, i)
		dst = append(dst, KeyValue{room.Keep(k.Unique.Values(prefix, i, item.Body)), rid})
	}
	if key := AppendTimeKey(room.Free(), scope, item.Head.Life, item.RID); key != nil {
		dst = append(dst, KeyValue{room.Keep(key), nil})
	}
	return dst
}

// AppendTimeKey appends the key of an item's entry in one of the two expiry indexes (for items with and
// without a ttl of their own), in the range with the key prefix scope. It returns nil for an item that never
// expires.
func AppendTimeKey(dst, scope []byte, l ttl.Lifetime, rid uint64) []byte {
	family, second, ok := TimeEntry(l)
	if !ok {
		return nil
	}
	return layout.AppendTimeKey(dst, scope, family, second, rid)
}

// TimeEntry returns where an item is in the expiry index. An item with a ttl of its own is in the key family
// x, under the second of its deadline; an item that inherits the default is in the family w, under the second
// from which the default counts. ok is false for an item that never expires.
func TimeEntry(l ttl.Lifetime) (family byte, second int64, ok bool) {
	own, second, ok := l.IndexEntry()
	if own {
		return layout.FamilyDeadline, second, ok
	}
	return layout.FamilyWritten, second, ok
}
