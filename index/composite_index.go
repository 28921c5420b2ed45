package index

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/prefix"
)

// compositeIDSize is the length in bytes of the number that identifies a composite index in keys.
//
// A composite index has one entry per document: the terms of its paths, one after the other. A term is the
// order-preserving encoding of a value, cut if it is long. A path that the document lacks has a term, too,
// so every document has exactly one entry in every composite index. The term of an array or an object is
// its whole encoding, cut like a long string. The bytes of a descending path's term are complemented. That
// reverses the order, and no term is a prefix of another.
//
// The number of an index is the first 8 bytes of the SHA-256 of its definition, not its position in the
// policy. So its entries stay valid when other parts of the policy change.
const compositeIDSize = 8

// CompositeIndex is a composite index: an index over the combined values of several paths, in a given order.
type CompositeIndex struct {
	Keys []CompositePath
	// Ready reports whether the index contains all documents. It is false while documents are being indexed
	// anew by a changed policy; the index must not be used then.
	Ready bool

	id [compositeIDSize]byte
}

// CompositePath is one parsed path of a composite index, with its sort order.
type CompositePath struct {
	Path       jsondoc.Path
	Descending bool
}

func newCompositeIndex(paths []CompositePathSpec) (*CompositeIndex, error) {
	c := &CompositeIndex{Ready: true}
	var text strings.Builder
	for _, p := range paths {
		path, err := jsondoc.ParsePath(p.Path)
		if err != nil {
			return nil, badPath(p.Path, 0, err)
		}
		k := CompositePath{path, p.Order == compositeOrders()[1]}
		c.Keys = append(c.Keys, k)
		text.WriteString(k.String() + "\n")
	}
	sum := sha256.Sum256([]byte(text.String()))
	copy(c.id[:], sum[:])
	return c, nil
}

// String returns the key in the form of index metrics: /a/b ASC.
func (k CompositePath) String() string {
	if k.Descending {
		return k.Path.String() + " DESC"
	}
	return k.Path.String() + " ASC"
}

// appendLead appends the prefix of all keys of the index.
func (c *CompositeIndex) appendLead(dst []byte) []byte {
	return append(append(dst, FamilyComposite), c.id[:]...)
}

// appendTo appends the encoding of v as the value of the i-th path. exact is false if the encoding was cut
// because it is long.
func (c *CompositeIndex) appendTo(dst []byte, i int, v jsondoc.Value) (key []byte, exact bool) {
	n := len(dst)
	dst = appendCut(dst, v)
	exact = len(dst)-n < maxTerm || dst[len(dst)-1] != cutMarker
	if c.Keys[i].Descending {
		complement(dst[n:])
	}
	return dst, exact
}

func complement(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// Prefix returns the key prefix of the documents that have the given values at the first paths of the
// index. Without values it returns the prefix of all keys of the index. If exact is false, keys of other
// documents may have the prefix too, because a value was cut.
func (c *CompositeIndex) Prefix(values ...jsondoc.Value) (key []byte, exact bool) {
	key, exact = c.appendLead(nil), true
	for i, v := range values {
		var e bool
		key, e = c.appendTo(key, i, v)
		exact = exact && e
	}
	return key, exact
}

// Interval returns the interval [lo, hi) of the index keys of the documents that have the values in equal at
// the first paths of the index. There must not be more values than paths. If exact is false, the interval may
// contain keys of other documents, because a value was cut.
func (c *CompositeIndex) Interval(equal ...jsondoc.Value) (lo, hi []byte, exact bool) {
	lo, exact = c.Prefix(equal...)
	return lo, prefix.End(lo), exact
}

// Range returns the interval [lo, hi) of the index keys of the documents that have the values in equal at the
// first paths of the index, and at the next path a value of v's kind that satisfies "value op v". equal must
// have fewer values than the index has paths. If exact is false, the interval may contain keys of other
// documents, because a value was cut, or v is an array or an object.
func (c *CompositeIndex) Range(equal []jsondoc.Value, op ComparisonOp, v jsondoc.Value) (lo, hi []byte,
	exact bool) {
	prefix, exact := c.Prefix(equal...)
	i := len(equal)
	low, high := jsondoc.KindBounds(v.Kind())
	descending := c.Keys[i].Descending
	if descending {
		low, high = ^(high - 1), ^(low - 1)
		op = map[ComparisonOp]ComparisonOp{Less: Greater, LessEqual: GreaterEqual, Greater: Less,
			GreaterEqual: LessEqual}[op]
	}
	lo = append(append(lo, prefix...), low)
	hi = append(append(hi, prefix...), high)
	switch {
	case v.Kind() == jsondoc.Undefined:
		return lo, lo, exact
	case v.Kind() >= jsondoc.Array:
		return lo, hi, false
	}
	key, whole := c.appendTo(append([]byte{}, prefix...), i, v)
	lo, hi = cutInterval(lo, hi, key, op, whole)
	return lo, hi, exact && whole
}

// Values returns the values in a key, in the order of the paths. exact is the number of leading values that
// are complete and sorted as in a query. The next value was cut, or it is an array or an object, which
// queries sort differently. From this value on, the caller must take both values and order from the
// documents.
func (c *CompositeIndex) Values(key []byte) (values []jsondoc.Value, exact int) {
	rest := key[min(len(key), 1+compositeIDSize):]
	cut := false
	for _, k := range c.Keys {
		var term []byte
		var w bool
		if term, rest, w = splitTerm(make([]byte, 0, maxTerm), rest, k.Descending); term == nil {
			break
		}
		v, err := jsondoc.Value{}, error(nil)
		if w {
			v, _, err = jsondoc.DecodeOrdered(term)
		} else {
			v, _ = decodeTerm(term)
		}
		values = append(values, v)
		if cut = cut || !w || err != nil || v.Kind() >= jsondoc.Array; !cut {
			exact++
		}
	}
	return values, exact
}

// Exact reports whether an index key contains the complete values of all paths, and none of them is an
// array or an object. Such keys sort like the results of a query.
func (c *CompositeIndex) Exact(key []byte) bool {
	var room [maxTerm]byte
	array, _ := jsondoc.KindBounds(jsondoc.Array)
	rest := key[min(len(key), 1+compositeIDSize):]
	for _, k := range c.Keys {
		var term []byte
		var whole bool
		if term, rest, whole = splitTerm(room[:0], rest, k.Descending); !whole || term[0] >= array {
			return false
		}
	}
	return true
}

// TermsFrom returns the part of an index key from the i-th path on: the encoded values as they are stored,
// with those of descending paths complemented. The key must hold the complete values of all paths (see
// Exact).
func (c *CompositeIndex) TermsFrom(key []byte, i int) []byte {
	var room [maxTerm]byte
	rest := key[min(len(key), 1+compositeIDSize):]
	for _, k := range c.Keys[:i] {
		_, rest, _ = splitTerm(room[:0], rest, k.Descending)
	}
	return rest
}

// splitTerm splits b, the rest of a composite index key, into the encoded value of its first path and the
// rest. complemented must be true if the path is in descending order, in which the value's bytes are stored
// complemented; term has them restored, in the memory of room. term is nil if b does not begin with an
// encoded value. whole is false if the value was cut because it is long.
func splitTerm(room, b []byte, complemented bool) (term, rest []byte, whole bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	term = append(room[:0], b[:min(len(b), maxTerm)]...)
	if complemented {
		complement(term)
	}
	end := encodingEnd(term)
	if end > 0 {
		return term[:end], b[end:], true
	}
	if len(term) < maxTerm || term[maxTerm-1] != cutMarker {
		return nil, nil, false
	}
	return term, b[maxTerm:], false
}

// encodingEnd returns the length of the order-preserving encoding of one value (jsondoc.AppendOrdered) at
// the start of b, or 0 if b does not contain all of it.
func encodingEnd(b []byte) int {
	stringTag, _ := jsondoc.KindBounds(jsondoc.String)
	numberTag, _ := jsondoc.KindBounds(jsondoc.Number)
	arrayTag, _ := jsondoc.KindBounds(jsondoc.Array)
	objectTag, none := jsondoc.KindBounds(jsondoc.Object)
	depth := 0
	for i := 0; i < len(b); {
		switch tag := b[i]; {
		case tag == 0 && depth > 0:
			depth--
			i++
		case tag == numberTag:
			i += 9
		case tag == stringTag:
			for i++; i+1 < len(b) && (b[i] != 0 || b[i+1] != 1); i++ {
			}
			i += 2
		case tag == arrayTag, tag == objectTag:
			depth++
			i++
		case tag < stringTag && tag > 0 && tag < none:
			i++
		default:
			return 0
		}
		if depth == 0 && i <= len(b) {
			return i
		}
	}
	return 0
}

func formatComposite(key []byte) string {
	return "composite " + hex.EncodeToString(key[1:min(len(key), 1+compositeIDSize)]) + " " +
		hex.EncodeToString(key[min(len(key), 1+compositeIDSize):])
}
