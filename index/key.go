package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// An index key identifies an entry of an index. The store puts the scope of the index before it and the
// rid of the document after it.
//
//	+---+------+---+------+
//	| i | path | R | term |   range: a scalar, or the kind of an array or object, at a path
//	| i | path | S | cell |   spatial: a cell that a geometry touches
//	| i | path | T | word |   full text: a word                            -> how often, how many words in all
//	| i | path | V |          vector                                        -> its numbers
//	| i | path | C |          code of a vector                              -> see Quantizer
//	| i | P    | shape |      the set of paths that a document has
//	| i | Q    | shape |      the paths of a shape; one entry for the whole index, with document 0
//	| o | composite | terms | one term for each path of a composite index
//	+---+------+---+------+
//
// A path is the text of its steps: names unchanged, FF before each property but the first, FE for the
// elements of an array. The bytes from F5 on do not occur in UTF-8. Therefore names need no escaping, the
// kinds R, S, T, V, C and the other marks are such bytes, and no path is a prefix of another.
//
// The path is stored as text rather than as a hash. Text is about as short (names rarely exceed the eight
// bytes of a hash), is copied rather than computed for each value, and cannot collide. A collision would
// return documents of another path, twice or in the wrong order. Only a path of more than 64 bytes is
// replaced by FD (FC if it enters arrays) and 16 bytes of its SHA-256; the order of paths is never used.
//
// No key is a prefix of another, so the entries of a key are exactly the entries that begin with it.
const (
	FamilyTerms     = 'i' // first byte of all keys except those of composite indexes
	FamilyComposite = 'o'

	stepProperty = 0xFF
	stepElement  = 0xFE
	longPath     = 0xFD
	longElements = 0xFC

	kindVector  = 0xFB
	kindText    = 0xFA
	kindSpatial = 0xF9
	kindRange   = 0xF8

	shapePosting = 0xF7
	shapeRecord  = 0xF6

	kindCode = 0xF5

	maxPathText  = 64
	pathHashSize = 16
)

// Path is a path to a value in a document, through properties and elements of arrays. Its first step is a
// property.
type Path []PathSegment

// PathTo converts a jsondoc.Path, which consists of property names only, to a Path of this package, which
// may also enter arrays.
func PathTo(p jsondoc.Path) Path {
	path := make(Path, 0, len(p.Segments()))
	for _, name := range p.Segments() {
		path = append(path, PathSegment{Name: name})
	}
	return path
}

// Equals reports whether p consists of the same properties as q. It is false if p leads through elements of
// an array, which q cannot do.
func (p Path) Equals(q jsondoc.Path) bool {
	return slices.EqualFunc(p, q.Segments(), func(s PathSegment, name string) bool {
		return !s.Element && s.Name == name
	})
}

// Property returns the path of a property of the object at p.
func (p Path) Property(name string) Path { return append(slices.Clip(p), PathSegment{Name: name}) }

// Element returns the path of the elements of the array at p.
func (p Path) Element() Path { return append(slices.Clip(p), PathSegment{Element: true}) }

// String returns the path as written in policies, without the /? at the end.
func (p Path) String() string {
	return strings.TrimSuffix(PathPattern{segments: p}.String(), "/?")
}

// enters reports whether the path enters an array.
func (p Path) enters() bool {
	return slices.ContainsFunc(p, func(s PathSegment) bool { return s.Element })
}

// sound reports whether a document can have a value at the path: its names are valid UTF-8, and its first
// step is a property.
func (p Path) sound() bool {
	return len(p) > 0 && !p[0].Element &&
		!slices.ContainsFunc(p, func(s PathSegment) bool { return !utf8.ValidString(s.Name) })
}

// appendKey appends the key prefix for one kind of index on this path.
func (p Path) appendKey(dst []byte, kind byte) []byte {
	var steps []byte
	for i, s := range p {
		steps = appendStep(steps, s.Name, s.Element, i == 0)
	}
	return appendPath(append(dst, FamilyTerms), steps, p.enters(), kind)
}

// appendStep appends one step to the text of a path. element says that the step enters the elements of an
// array; otherwise it goes to the property name. first says that it is the first step of the path.
func appendStep(steps []byte, name string, element, first bool) []byte {
	if element {
		return append(steps, stepElement)
	}
	if !first {
		steps = append(steps, stepProperty)
	}
	return append(steps, name...)
}

// appendPath appends a path of an index key, followed by the byte for the kind of index. steps is the text of
// the path; a text that is too long is replaced by its hash, with a mark that says whether the path enters an
// array (enters).
func appendPath(dst, steps []byte, enters bool, kind byte) []byte {
	if len(steps) <= maxPathText {
		return append(append(dst, steps...), kind)
	}
	lead := byte(longPath)
	if enters {
		lead = longElements
	}
	sum := sha256.Sum256(steps)
	return append(append(append(dst, lead), sum[:pathHashSize]...), kind)
}

// splitPath finds the path in an index key. It returns the length of the key's beginning, which consists of a
// byte for the family of keys, the path, and a byte for the kind of index. It returns 0 if the key has no
// path. enters reports whether the path leads to elements of an array.
func splitPath(key []byte) (end int, enters bool) {
	if len(key) < 2 || key[0] != FamilyTerms {
		return 0, false
	}
	switch key[1] {
	case shapePosting, shapeRecord:
		return 0, false
	case longPath, longElements:
		if len(key) < 2+pathHashSize+1 {
			return 0, false
		}
		return 2 + pathHashSize + 1, key[1] == longElements
	}
	for i := 1; i < len(key); i++ {
		switch key[i] {
		case kindRange, kindSpatial, kindText, kindVector, kindCode:
			return i + 1, enters
		case stepElement:
			enters = true
		}
	}
	return 0, false
}

// FormatKey formats an index key for messages: paths and words as text, everything else in hexadecimal.
func FormatKey(key []byte) string {
	if len(key) > 0 && key[0] == FamilyComposite {
		return formatComposite(key)
	}
	if len(key) > 1 && (key[1] == shapePosting || key[1] == shapeRecord) {
		return map[byte]string{shapePosting: "shape ", shapeRecord: "paths "}[key[1]] +
			hex.EncodeToString(key[2:])
	}
	end, _ := splitPath(key)
	if end == 0 {
		return "?" + hex.EncodeToString(key)
	}
	kind := map[byte]string{kindRange: " ", kindSpatial: " cell ", kindText: " word ",
		kindVector: " vector", kindCode: " code"}[key[end-1]]
	rest := hex.EncodeToString(key[end:])
	switch key[end-1] {
	case kindRange:
		rest = formatTerm(key[end:])
	case kindText:
		word, _ := TextWord(key)
		rest = string(jsondoc.AppendString(nil, word))
	}
	return formatPath(key[1:end-1]) + kind + rest
}

func formatPath(path []byte) string {
	if len(path) > 0 && (path[0] == longPath || path[0] == longElements) {
		return "/#" + hex.EncodeToString(path[1:])
	}
	var p Path
	for i, step := range bytes.Split(path, []byte{stepProperty}) {
		name, elements, _ := bytes.Cut(step, []byte{stepElement})
		if i == 0 || len(name) > 0 || len(elements) == 0 && !bytes.HasPrefix(step, []byte{stepElement}) {
			p = p.Property(string(name))
		}
		for range bytes.Count(step, []byte{stepElement}) {
			p = p.Element()
		}
	}
	return p.String()
}
