package view

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// MaxShapes is the maximum number of shapes with a record in a range. A shape is the set of paths that a
// document has; its record lists them. A query for documents without a path merges the postings of the
// recorded shapes, and checks the documents of all other shapes one by one. With more records, merging would
// cost as much as these checks.
const MaxShapes = 512

// AppendTerms appends the index entries of an item that is indexed by x in a range, in the order of their
// keys. It does not look up whether the item's shape (its set of paths) has a record: see StoredTerms.
func AppendTerms(dst []index.Entry, x *index.Indexer, scope []byte, item *DecodedItem) []index.Entry {
	n := len(dst)
	dst = x.EntriesWithin(dst, scope, layout.RIDLen, item.Body, item.Head.Life.TS)
	SetRID(dst[n:], item.RID)
	return dst
}

// StoredTerms returns the index entries of an item that is indexed by x, with their keys as stored: if the
// item's shape (its set of paths) has no record, its name is replaced by the common name of all shapes
// without a record.
func StoredTerms(r engine.Reader, x *index.Indexer, scope []byte, item *DecodedItem) ([]index.Entry, error) {
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

// IsListed reports whether the partition range with this scope has a record of the shape (set of document
// paths) with this name.
func IsListed(r engine.Reader, scope, name []byte) (bool, error) {
	_, err := r.Get(layout.ShapeRecordKey(scope, name))
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// CompareTerms orders index entries by their keys.
func CompareTerms(a, b index.Entry) int { return bytes.Compare(a.Key, b.Key) }

// SetRID writes a rid into the space that the keys have for it at their end.
func SetRID(entries []index.Entry, rid uint64) {
	for _, e := range entries {
		binary.BigEndian.PutUint64(e.Key[len(e.Key)-layout.RIDLen:], rid)
	}
}
