package index

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/prefix"
)

// A composite index has one entry for each document: the terms of its paths, one after the other. A path that
// the document lacks has a term, too, so every document is in every composite index exactly once. Arrays and
// objects have their whole encoding, cut like a long string. The bytes of a descending path are complemented,
// which turns the order round and leaves no term the beginning of another.
//
// An index is known in keys by 8 bytes of the SHA-256 of its definition, not by its number in the policy: a
// policy that changes around it leaves its entries good.
const compositeIDSize = 8

// Composite is one composite index.
type Composite struct {
	Keys []CompositeKey
	// Ready reports whether the index holds all documents. While documents are still being indexed anew it
	// may be part of the policy without being of use.
	Ready bool

	id [compositeIDSize]byte
}

// CompositeKey is one path of a composite index.
type CompositeKey struct {
	Path       jsondoc.Path
	Descending bool
}

func newComposite(paths []CompositePath) (*Composite, error) {
	c := &Composite{Ready: true}
	var text strings.Builder
	for _, p := range paths {
		path, err := jsondoc.ParsePath(p.Path)
		if err != nil {
			return nil, badPath(p.Path, 0, err)
		}
		k := CompositeKey{path, p.Order == compositeOrders()[1]}
		c.Keys = append(c.Keys, k)
		text.WriteString(k.String() + "\n")
	}
	sum := sha256.Sum256([]byte(text.String()))
	copy(c.id[:], sum[:])
	return c, nil
}

// String returns the key as index metrics write it: /a/b ASC.
func (k CompositeKey) String() string {
	if k.Descending {
		return k.Path.String() + " DESC"
	}
	return k.Path.String() + " ASC"
}

// appendLead appends what all keys of the index begin with.
func (c *Composite) appendLead(dst []byte) []byte {
	return append(append(dst, FamilyComposite), c.id[:]...)
}

// appendTo appends the term of the path of that number.
func (c *Composite) appendTo(dst []byte, i int, v jsondoc.Value) (key []byte, exact bool) {
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

// Prefix returns what the keys of the documents begin with whose first paths have these values; with none,
// all keys of the index. Where exact is false there may be others among them: a value was cut.
func (c *Composite) Prefix(values ...jsondoc.Value) (key []byte, exact bool) {
	key, exact = c.appendLead(nil), true
	for i, v := range values {
		var e bool
		key, e = c.appendTo(key, i, v)
		exact = exact && e
	}
	return key, exact
}

// Interval returns the interval [lo, hi) of the keys of the documents whose first paths have the values of
// equal; these must not be more than the index has paths.
func (c *Composite) Interval(equal ...jsondoc.Value) (lo, hi []byte, exact bool) {
	lo, exact = c.Prefix(equal...)
	return lo, prefix.End(lo), exact
}

// Range is Interval for documents whose next path compares with v as well, value op v, and is of v's kind.
// equal must leave a path over.
func (c *Composite) Range(equal []jsondoc.Value, op Op, v jsondoc.Value) (lo, hi []byte, exact bool) {
	prefix, exact := c.Prefix(equal...)
	i := len(equal)
	low, high := jsondoc.KindBounds(v.Kind())
	descending := c.Keys[i].Descending
	if descending {
		low, high = ^(high - 1), ^(low - 1)
		op = map[Op]Op{Less: Greater, LessEqual: GreaterEqual, Greater: Less, GreaterEqual: LessEqual}[op]
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

// Values returns the values of a key's paths, in order, and the number of them, from the first, that are
// exact and in the order of a query. The value behind those was cut, or it is an array or an object, which
// queries order in another way: the documents must tell, and their order as well.
func (c *Composite) Values(key []byte) (values []jsondoc.Value, exact int) {
	rest := key[min(len(key), 1+compositeIDSize):]
	cut := false
	for _, k := range c.Keys {
		var term []byte
		var w bool
		if term, rest, w = splitTerm(rest, k.Descending); term == nil {
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

// splitTerm takes the first term of a composite key off, turned back if it is complemented; nil where there
// is none.
func splitTerm(b []byte, complemented bool) (term, rest []byte, whole bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	term = append(make([]byte, 0, maxTerm), b[:min(len(b), maxTerm)]...)
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

// encodingEnd returns the length of the ordered encoding that b begins with, or 0 where b ends before.
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
