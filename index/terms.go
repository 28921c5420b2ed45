package index

import (
	"bytes"
	"encoding/hex"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/prefix"
)

// A term is a value in an index key: the ordered encoding of a scalar, whose bytes compare as values do. Of
// an array or object it is the first byte alone, so that a walk of a path's terms meets every document that
// has something there, in the order of types; what the order among arrays is, the documents must tell.
//
// A term has at most 128 bytes. A string that needs more is cut: its first 127 bytes, then FF. The encoding
// of a whole string ends in 01, so the two cannot be taken for each other. A cut keeps the order. Two
// encodings that differ within 127 bytes compare as before. If a whole term agrees with a cut one in 127
// bytes it has one byte more, the 01 of its end, which is below FF; and the value that was cut goes on with
// FF there (00 01 would be its end), so it is the greater. Values that share a cut term are in no order;
// whoever walks them sorts each such run by the documents.
const (
	maxTerm   = 128
	cutMarker = 0xFF
	// maxRaw is how much JSON text of a string is sure to hold more than maxTerm bytes: six for a character
	// at worst, and some for an escape or a character that is cut at the end.
	maxRaw = 6*maxTerm + 16
)

// appendTerm appends the term of a value at a path.
func appendTerm(dst []byte, v jsondoc.Value) []byte {
	if k := v.Kind(); k >= jsondoc.Array {
		low, _ := jsondoc.KindBounds(k)
		return append(dst, low)
	}
	return appendCut(dst, v)
}

// appendCut appends the ordered encoding of a value, cut where it is long.
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

// shorten returns the beginning of a long string, enough of it for a term, so that a text of a megabyte need
// not be read to its end.
func shorten(v jsondoc.Value) jsondoc.Value {
	raw := v.Raw()
	if len(raw) <= maxRaw {
		return v
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

// whole reports whether a term stands for one value only: not for a kind, and not cut.
func whole(term []byte) bool {
	if len(term) == 0 {
		return false
	}
	if low, _ := jsondoc.KindBounds(jsondoc.Array); term[0] >= low {
		return false
	}
	return len(term) < maxTerm || term[len(term)-1] != cutMarker
}

// TermValue returns the value that a key of a range index stands for. exact is false where the documents must
// tell: for a long string, of which v is the beginning, and for an array or object, where v is an empty one.
// For any other key v is undefined.
func TermValue(key []byte) (v jsondoc.Value, exact bool) {
	end, _ := splitPath(key)
	if end == 0 || key[end-1] != kindRange || end == len(key) {
		return jsondoc.Value{}, false
	}
	return decodeTerm(key[end:])
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

// decodeCut returns the string that a cut term begins with, less a character that is cut off.
func decodeCut(term []byte) jsondoc.Value {
	text := bytes.TrimSuffix(term[1:len(term)-1], []byte{0}) // the first half of 00 FF
	text, _, err := jsondoc.DecodeEscaped(append(bytes.Clone(text), 0x00, 0x01))
	if err != nil {
		return jsondoc.StringValue("")
	}
	return jsondoc.StringValue(strings.ToValidUTF8(string(text), ""))
}

// An Op is a comparison that a range of keys can answer.
type Op uint8

// The comparisons.
const (
	Less Op = iota + 1
	LessEqual
	Greater
	GreaterEqual
)

// Term returns the key of the documents that hold v at path. Where exact is false there may be others among
// them: a long string is found by its beginning, an array or object by its kind. Undefined has no term: see
// Source for the documents that lack a path.
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

// Range returns the interval [lo, hi) of the keys of values at path that are of v's kind and compare with it
// so: value op v. Where exact is false it holds others, too. For an array or object it holds all of the kind;
// for undefined, nothing.
func (x *Indexer) Range(p Path, op Op, v jsondoc.Value) (lo, hi []byte, exact bool) {
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

// cutInterval narrows [lo, hi) to what compares with key. Where key stands for several values it stays in.
func cutInterval(lo, hi, key []byte, op Op, exact bool) (from, to []byte) {
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

// Prefix returns the interval [lo, hi) of the keys of strings at path that begin with s. Where s is long the
// interval holds others, too, and exact is false.
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

// formatTerm writes a term for people.
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
