package index

import (
	"bytes"
	"encoding/hex"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/prefix"
)

// A term is a value in an index key. The term of a scalar is its ordered encoding, whose bytes sort like
// the values. The term of an array or object is only the first byte of its encoding. So a scan of a path's
// terms finds every document that has a value at the path, in the order of types. The order among arrays or
// objects must be taken from the documents.
//
// A term has at most 128 bytes. A longer string is cut to its first 127 bytes, followed by FF. The
// encoding of a whole string ends in 01, so a cut term never equals a whole one. Cutting keeps the order.
// Two encodings that differ within 127 bytes sort as before. If a whole term has the same 127 bytes as a
// cut one, its last byte is 01, the second byte of its end mark 00 01. The cut string continues there
// with FF (after 00 only 01, the end, or FF can follow), so it is the greater one. The values of equal
// cut terms are not sorted; a scan sorts each run of them by the documents.
const (
	maxTerm   = 128
	cutMarker = 0xFF
	// maxRaw is a length of JSON string text that always encodes to more than maxTerm bytes. It allows six
	// bytes of text for a byte of the term, and some more for an escape or a character that is cut at the
	// end.
	maxRaw = 6*maxTerm + 16
	// maxPlainRaw is a length of JSON text in bytes. A string without escapes whose text is at least as long
	// always has a term of more than maxTerm bytes.
	maxPlainRaw = maxTerm + 16
)

// appendTerm appends the part of an index key that stands for a value: the value's ordered encoding, cut if
// it is long, or only the kind of an array or object.
func appendTerm(dst []byte, v jsondoc.Value) []byte {
	if k := v.Kind(); k >= jsondoc.Array {
		low, _ := jsondoc.KindBounds(k)
		return append(dst, low)
	}
	return appendCut(dst, v)
}

// appendCut appends the ordered encoding of a value, cut to the maximum length of a term.
func appendCut(dst []byte, v jsondoc.Value) []byte {
	start := len(dst)
	if v.Kind() == jsondoc.String {
		v = shorten(v)
	}
	dst = jsondoc.AppendOrdered(dst, v)
	if len(dst)-start > maxTerm {
		dst = append(dst[:start+maxTerm-1], cutMarker)
	}
	return dst
}

// shorten returns the beginning of a long string, long enough for a term. So a text of a megabyte need
// not be read to its end.
func shorten(v jsondoc.Value) jsondoc.Value {
	raw := v.Raw()
	if len(raw) <= maxRaw {
		return v
	}
	if bytes.IndexByte(raw[:maxPlainRaw], '\\') < 0 {
		return jsondoc.Of(append(append(make([]byte, 0, maxPlainRaw+1), raw[:maxPlainRaw]...), '"'))
	}
	end := 1
	for end < maxRaw-12 {
		if raw[end] == '\\' {
			end++
			if raw[end] == 'u' {
				end += 4
			}
		}
		end++
	}
	return jsondoc.Of(append(append(make([]byte, 0, end+1), raw[:end]...), '"'))
}

// whole reports whether a term is the complete encoding of one value: not only its kind, and not cut.
func whole(term []byte) bool {
	if len(term) == 0 {
		return false
	}
	if low, _ := jsondoc.KindBounds(jsondoc.Array); term[0] >= low {
		return false
	}
	return len(term) < maxTerm || term[len(term)-1] != cutMarker
}

// TermValue returns the value in a key of a range index. If exact is false, the value must be read from
// the document: for a long string v is only its beginning, for an array or object v is an empty one. For
// any other key v is undefined and exact is false.
func TermValue(key []byte) (v jsondoc.Value, exact bool) {
	term := Term(key)
	if len(term) == 0 {
		return jsondoc.Value{}, false
	}
	return decodeTerm(term)
}

// Term returns the encoded value in a key of a range index, or nil for any other key.
func Term(key []byte) []byte {
	if end, _ := splitPath(key); end > 0 && key[end-1] == kindRange {
		return key[end:]
	}
	return nil
}

// ExactTerm reports whether TermValue returns the whole value of a key, without decoding it.
func ExactTerm(key []byte) bool {
	return whole(Term(key))
}

func decodeTerm(term []byte) (v jsondoc.Value, exact bool) {
	if whole(term) {
		v, _, err := jsondoc.DecodeOrdered(term)
		return v, err == nil
	}
	if low, _ := jsondoc.KindBounds(jsondoc.String); len(term) > 0 && term[0] == low {
		return decodeCut(term), false
	}
	if low, _ := jsondoc.KindBounds(jsondoc.Object); len(term) > 0 && term[0] == low {
		return jsondoc.Of([]byte("{}")), false
	}
	return jsondoc.Of([]byte("[]")), false
}

// decodeCut returns the string whose beginning a truncated term holds. If the last character is incomplete,
// it is left out.
func decodeCut(term []byte) jsondoc.Value {
	text := bytes.TrimSuffix(term[1:len(term)-1], []byte{0}) // the first half of 00 FF
	text, _, err := jsondoc.DecodeEscaped(append(bytes.Clone(text), 0x00, 0x01))
	if err != nil {
		return jsondoc.StringValue("")
	}
	return jsondoc.StringValue(strings.ToValidUTF8(string(text), ""))
}

// A ComparisonOp is a comparison that selects an interval of keys.
type ComparisonOp uint8

// The comparison operators < <= > >= of a ComparisonOp.
const (
	Less ComparisonOp = iota + 1
	LessEqual
	Greater
	GreaterEqual
)

// Term returns the key of the documents that have the value v at path. If exact is false, other documents
// may have the key too: a long string is found by its beginning, an array or object by its kind.
// Undefined has no term: see ShapeHas for the documents that lack a path.
func (x *Indexer) Term(p Path, v jsondoc.Value) (key []byte, exact bool) {
	key = p.appendKey(nil, kindRange)
	n := len(key)
	key = appendTerm(key, v)
	return key, whole(key[n:]) && v.Kind() != jsondoc.Undefined
}

// PathRange returns the interval [lo, hi) of the keys of all values at path.
func (x *Indexer) PathRange(p Path) (lo, hi []byte) {
	lo = p.appendKey(nil, kindRange)
	return lo, prefix.End(lo)
}

// TypeRange returns the interval [lo, hi) of the keys of values of one kind at path.
func (x *Indexer) TypeRange(p Path, k jsondoc.Kind) (lo, hi []byte) {
	low, high := jsondoc.KindBounds(k)
	return append(p.appendKey(nil, kindRange), low), append(p.appendKey(nil, kindRange), high)
}

// Range returns the interval [lo, hi) of the keys of values at path that have v's kind and for which
// "value op v" holds. If exact is false, it contains other values too. For an array or object it contains
// all values of the kind; for undefined it is empty.
func (x *Indexer) Range(p Path, op ComparisonOp, v jsondoc.Value) (lo, hi []byte, exact bool) {
	if lo, hi = x.TypeRange(p, v.Kind()); v.Kind() >= jsondoc.Array {
		return lo, hi, false
	}
	if v.Kind() == jsondoc.Undefined {
		return lo, lo, true
	}
	key, exact := x.Term(p, v)
	lo, hi = cutInterval(lo, hi, key, op, exact)
	return lo, hi, exact
}

// cutInterval narrows [lo, hi) to the keys k for which "k op key" holds. If key is not exact, it stays in the
// interval, since it may also stand for other values.
func cutInterval(lo, hi, key []byte, op ComparisonOp, exact bool) (from, to []byte) {
	switch {
	case op == Less && exact:
		return lo, key
	case op == Less, op == LessEqual:
		return lo, prefix.End(key)
	case op == Greater && exact:
		return prefix.End(key), hi
	default:
		return key, hi
	}
}

// Prefix returns the interval [lo, hi) of the keys of strings at path that begin with s. If s is too long
// for a term, the interval contains other strings too, and exact is false.
func (x *Indexer) Prefix(p Path, s string) (lo, hi []byte, exact bool) {
	lo = p.appendKey(nil, kindRange)
	start := len(lo)
	lo = jsondoc.AppendOrdered(lo, jsondoc.StringValue(s))
	lo = lo[:len(lo)-2] // without the end of the string
	if exact = len(lo)-start < maxTerm; !exact {
		lo = lo[:start+maxTerm-1]
	}
	return lo, prefix.End(lo), exact
}

// formatTerm formats the encoded value in an index key for messages.
func formatTerm(term []byte) string {
	v, exact := decodeTerm(term)
	switch {
	case exact && v.Kind() == jsondoc.Undefined:
		return "undefined"
	case exact:
		return string(v.Raw())
	case v.Kind() == jsondoc.String && len(term) == maxTerm:
		return string(v.Raw()) + "..."
	case len(term) == 1:
		return v.Kind().String()
	}
	return "?" + hex.EncodeToString(term)
}
