package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// The terms of a path lead to the documents that have a value there. An ORDER BY also needs the documents
// that lack the path. One entry for each missing path of each document would be too many. So a document has
// one entry for its shape, the set of paths that it has, and each shape has one record that lists its
// paths. The documents of a container are usually alike, so there are few shapes. The documents that lack a
// path are the union of the entries of all shapes without it.
//
// The name of a shape is the first 16 bytes of the SHA-256 of its record. It depends only on the paths,
// so a record never changes and stays valid when the policy changes. Paths that enter arrays are not part
// of a shape.
//
// If documents are not alike (for example because their property names are data), there could be as many
// shapes as documents. The store therefore keeps a limited number of records. A document has its entry
// under the name Unlisted if its shape has no record, or if the record would be too long. Such a document
// may have or lack a path, so it must be read.

// ShapeSize is the length in bytes of the name of a shape. A shape is the set of paths that a document has.
const ShapeSize = 16

// maxShapeRecord is the maximum length in bytes of a stored record that lists the paths of a shape (the set
// of paths that a document has).
const maxShapeRecord = 16 << 10

// Unlisted returns the common shape name of all documents whose shape (set of paths) is not stored as a
// list, because the list is too long or there are too many lists: see AppendShape.
func Unlisted() (name [ShapeSize]byte) {
	for i := range name {
		name[i] = 0xFF
	}
	return name
}

// addShape adds the entry for the document's shape: the set of paths that the document has. The other entries
// must be sorted.
func (w *documentWalk) addShape() {
	start := len(w.extra)
	for _, s := range w.spans {
		if s.rangeEntry && !s.enters {
			w.extra = appendShapePath(w.extra, w.keys[s.start:s.start+s.path])
		}
	}
	name := Unlisted()
	if len(w.extra)-start <= maxShapeRecord {
		name = nameOf(w.extra[start:])
	}
	w.extra = w.extra[:start]
	s := indexEntryBeingBuilt{start: len(w.keys), value: start, valueEnd: start}
	w.keys = append(append(w.keys, FamilyTerms, shapePosting), name[:]...)
	s.end = len(w.keys)
	at, _ := slices.BinarySearchFunc(w.spans, s,
		func(a, b indexEntryBeingBuilt) int { return bytes.Compare(w.key(a), w.key(b)) })
	w.spans = slices.Insert(w.spans, at, s)
}

func nameOf(record []byte) [ShapeSize]byte {
	sum := sha256.Sum256(record)
	return [ShapeSize]byte(sum[:ShapeSize])
}

// appendShapePath appends the path in a range index key to the list of a shape's paths: its length, then its
// bytes. key consists of only the index family, the path and the kind.
func appendShapePath(dst, key []byte) []byte {
	path := key[1 : len(key)-1] // without the family and the kind
	return append(binary.AppendUvarint(dst, uint64(len(path))), path...)
}

// ShapeOf returns the position, in a document's index entries, of the entry that names the document's shape
// (the set of its paths), or -1 if there is none. lead is the number of bytes before the index key in each
// entry's key.
func ShapeOf(entries []Entry, lead int) int {
	return slices.IndexFunc(entries, func(e Entry) bool {
		return e.Key[lead] == FamilyTerms && e.Key[lead+1] == shapePosting
	})
}

// ShapeName returns the name of a document's shape, the set of paths that it has, from the index entry e for
// the shape. In e.Key, lead other bytes come before the index key. The result shares the memory of e.Key.
func ShapeName(e Entry, lead int) []byte { return e.Key[lead+2 : lead+2+ShapeSize] }

// AppendShape appends the record of a document's shape: the list of all paths at which the document has a
// value, except those that enter arrays. It takes the paths from the document's index entries, whose keys
// begin with lead other bytes.
func AppendShape(dst []byte, entries []Entry, lead int) []byte {
	for _, e := range entries {
		end, enters := splitPath(e.Key[lead:])
		if end > 0 && !enters && e.Key[lead+end-1] == kindRange {
			dst = appendShapePath(dst, e.Key[lead:lead+end])
		}
	}
	return dst
}

// ShapeKey returns the index key of the documents whose shape, the set of paths that they have, has this
// name.
func ShapeKey(name []byte) []byte {
	return append([]byte{FamilyTerms, shapePosting}, name...)
}

// ShapeRecordKey returns the key under which the list of a shape's paths is stored (see AppendShape). Without
// a name, it is the common prefix of all such keys.
func ShapeRecordKey(name []byte) []byte {
	return append([]byte{FamilyTerms, shapeRecord}, name...)
}

// ShapeFits reports whether name is the name that belongs to the record of a shape (a list of the paths of
// a document): the first 16 bytes of the record's SHA-256. If it is not, the record is corrupt.
func ShapeFits(name, record []byte) bool {
	want := nameOf(record)
	return bytes.Equal(name, want[:])
}

// ShapeHas reports whether the documents of a shape have a value at path. record is the shape's list of
// paths: see AppendShape. path must not enter arrays.
func ShapeHas(record []byte, p Path) bool {
	key := p.appendKey(nil, kindRange)
	want := appendShapePath(nil, key)
	for len(record) > 0 {
		n, size := binary.Uvarint(record)
		if size <= 0 || n > uint64(len(record)-size) {
			return false
		}
		if end := size + int(n); bytes.Equal(record[:end], want) {
			return true
		} else {
			record = record[end:]
		}
	}
	return false
}
