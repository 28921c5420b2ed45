package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// A path's terms lead to the documents that have something there. An ORDER BY wants the others, too. An entry
// for every path that some document lacks would be many; so a document has one entry for the set of paths
// that it has, its shape, and a record tells for each shape what paths those are. Documents are alike, so
// shapes are few, and the documents that lack a path are the union of the entries of the shapes without it.
//
// A shape is named by the SHA-256 of its record, the first 16 bytes. The name depends on nothing but the
// paths, so a record never changes, and a policy that comes and goes leaves it right. Paths that enter arrays
// do not count.
//
// Where documents are not alike (their names are data, say) shapes would be as many as documents. Who keeps
// the records therefore keeps a limited number of them; a document with any other shape has its entry under
// the name Unlisted, and so has one whose record would be too long. These documents may lack a path or have
// it: they must be looked at.

// ShapeSize is the length of a shape's name, in bytes.
const ShapeSize = 16

// maxShapeRecord is how long a record may be, in bytes.
const maxShapeRecord = 16 << 10

// Unlisted is the name under which documents stand whose shape has no record.
func Unlisted() (name [ShapeSize]byte) {
	for i := range name {
		name[i] = 0xFF
	}
	return name
}

// addShape adds the entry for the document's shape. The entries have been sorted.
func (w *walk) addShape() {
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
	s := span{start: len(w.keys), value: start, valueEnd: start}
	w.keys = append(append(w.keys, FamilyTerms, shapePosting), name[:]...)
	s.end = len(w.keys)
	at, _ := slices.BinarySearchFunc(w.spans, s,
		func(a, b span) int { return bytes.Compare(w.key(a), w.key(b)) })
	w.spans = slices.Insert(w.spans, at, s)
}

func nameOf(record []byte) [ShapeSize]byte {
	sum := sha256.Sum256(record)
	return [ShapeSize]byte(sum[:ShapeSize])
}

// appendShapePath appends the path that a key of a range index begins with to a record.
func appendShapePath(dst, key []byte) []byte {
	path := key[1 : len(key)-1] // without the family and the kind
	return append(binary.AppendUvarint(dst, uint64(len(path))), path...)
}

// ShapeOf finds the entry for a document's shape among its entries, whose keys begin with so many bytes of
// lead; -1 where there is none.
func ShapeOf(entries []Entry, lead int) int {
	return slices.IndexFunc(entries, func(e Entry) bool {
		return e.Key[lead] == FamilyTerms && e.Key[lead+1] == shapePosting
	})
}

// ShapeName is the part of the key of such an entry that names the shape. Changing it changes the entry.
func ShapeName(e Entry, lead int) []byte { return e.Key[lead+2 : lead+2+ShapeSize] }

// AppendShape appends the record of a document's shape, made of its entries.
func AppendShape(dst []byte, entries []Entry, lead int) []byte {
	for _, e := range entries {
		end, enters := splitPath(e.Key[lead:])
		if end > 0 && !enters && e.Key[lead+end-1] == kindRange {
			dst = appendShapePath(dst, e.Key[lead:lead+end])
		}
	}
	return dst
}

// ShapeKey returns the key of the entries of a shape.
func ShapeKey(name []byte) []byte {
	return append([]byte{FamilyTerms, shapePosting}, name...)
}

// ShapeRecordKey returns the key of a shape's record; without a name, what the keys of all of them begin
// with.
func ShapeRecordKey(name []byte) []byte {
	return append([]byte{FamilyTerms, shapeRecord}, name...)
}

// ShapeFits reports whether a record is the one that the name stands for.
func ShapeFits(name, record []byte) bool {
	want := nameOf(record)
	return bytes.Equal(name, want[:])
}

// ShapeHas reports whether documents of the shape with this record have something at path, which does not
// enter arrays.
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
