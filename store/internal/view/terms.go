package view

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// MaxShapes is how many shapes of documents a slot keeps records of. Documents of any other shape are told to
// be different and looked at one by one; so many shapes are as much work to merge.
const MaxShapes = 512

// AppendTerms appends the index entries that an item has in a slot if it was indexed by x, in the order of
// their keys, before its shape is looked up.
func AppendTerms(dst []index.Entry, x *index.Indexer, scope []byte, item *Item) []index.Entry {
	n := len(dst)
	dst = x.EntriesWithin(dst, scope, layout.RIDLen, item.Body, item.Head.Life.TS)
	SetRID(dst[n:], item.RID)
	return dst
}

// StoredTerms are the index entries that an item has if it was indexed by x, with their keys as they are
// stored.
func StoredTerms(r engine.Reader, x *index.Indexer, scope []byte, item *Item) ([]index.Entry, error) {
	list := AppendTerms(nil, x, scope, item)
	i := index.ShapeOf(list, layout.ScopeLen)
	if i < 0 {
		return list, nil
	}
	name := index.ShapeName(list[i], layout.ScopeLen)
	listed, err := IsListed(r, scope, name)
	if err == nil && !listed {
		unlisted := index.Unlisted()
		copy(name, unlisted[:])
	}
	return list, err
}

// IsListed reports whether a shape has a record in a slot.
func IsListed(r engine.Reader, scope, name []byte) (bool, error) {
	_, err := r.Get(layout.ShapeRecordKey(scope, name))
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// CompareTerms orders index entries by their keys.
func CompareTerms(a, b index.Entry) int { return bytes.Compare(a.Key, b.Key) }

// SetRID puts a rid into the room that the keys have for it.
func SetRID(entries []index.Entry, rid uint64) {
	for _, e := range entries {
		binary.BigEndian.PutUint64(e.Key[len(e.Key)-layout.RIDLen:], rid)
	}
}
