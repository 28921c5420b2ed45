package jsonbinary

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Is reports whether b is binary JSON rather than text.
func Is(b []byte) bool { return len(b) > 0 && b[0] == Preamble }

// AppendText appends the JSON text of src, which must be binary JSON including its preamble. The text is
// compact, with numbers in their shortest spelling. A name that occurs twice in an object also occurs twice
// in the text.
//
// The error is an *Error if src is malformed, and a *jsondoc.DepthError or a *jsondoc.SizeError if it
// exceeds lim. lim.MaxBytes counts the appended text. If there is an error, the appended bytes must not be
// used.
func AppendText(dst, src []byte, lim jsondoc.Limits) ([]byte, error) {
	r := textConverter{src: src, dst: dst, start: len(dst), lim: lim}
	if r.lim.MaxBytes <= 0 {
		r.lim.MaxBytes = jsondoc.DefaultMaxBytes
	}
	if r.lim.MaxDepth <= 0 {
		r.lim.MaxDepth = jsondoc.DefaultMaxDepth
	}
	if !Is(src) {
		return dst, &Error{Reason: "it does not begin with 0x80"}
	}
	r.pos = 1
	r.value()
	if r.err == nil && r.pos < len(src) {
		r.fail(r.pos, "there is more behind the value")
	}
	return r.dst, r.err
}

// textConverter converts binary JSON to text. It reads src once, from left to right; only references refer
// back. After the first error it reads zeros and appends nothing more.
type textConverter struct {
	src   []byte
	pos   int
	dst   []byte
	start int // beginning of the text in dst
	lim   jsondoc.Limits
	depth int
	err   error
}

func (r *textConverter) fail(at int, reason string) {
	if r.err == nil {
		r.err = &Error{Offset: at, Reason: reason}
	}
	r.pos = len(r.src)
}

// room reports whether n more bytes may be appended. If not, it records a SizeError.
func (r *textConverter) room(n int) bool {
	if size := len(r.dst) - r.start + n; r.err == nil && size > r.lim.MaxBytes {
		r.err = &jsondoc.SizeError{Size: size, Max: r.lim.MaxBytes}
		r.pos = len(r.src)
	}
	return r.err == nil
}

func (r *textConverter) put(text string) {
	if r.room(len(text)) {
		r.dst = append(r.dst, text...)
	}
}

// take returns the next n bytes, or nil if there are fewer.
func (r *textConverter) take(n int) []byte {
	if n > len(r.src)-r.pos {
		r.fail(r.pos, "it ends early")
		return nil
	}
	b := r.src[r.pos : r.pos+n]
	r.pos += n
	return b
}

// uint reads an integer of 1 to 8 bytes.
func (r *textConverter) uint(size int) uint64 {
	var word [8]byte
	copy(word[:], r.take(size))
	return binary.LittleEndian.Uint64(word[:])
}

// length reads a length or a count of up to 4 bytes.
func (r *textConverter) length(size int) int {
	n := r.uint(size)
	if n > math.MaxInt32 {
		r.fail(r.pos-size, "a length is out of range")
		return 0
	}
	return int(n)
}

// value reads one value and appends its text.
func (r *textConverter) value() {
	at := r.pos
	marker := byte(r.uint(1))
	switch {
	case r.err != nil:
	case marker < systemStrings:
		r.integer(int64(marker))
	case isString(marker):
		r.pos = at
		r.quoted()
	case isNumber(marker):
		r.number(marker, at)
	case marker >= array0 && marker <= arrayLC4:
		r.container(marker-array0, '[', ']', r.value)
	case marker >= object0 && marker <= objectLC4:
		r.container(marker-object0, '{', '}', r.member)
	case marker >= numbersC1 && marker <= numberArraysC2:
		r.uniform(marker)
	default:
		r.plain(marker, at)
	}
}

// plain reads a value whose marker has a constant of its own: null, a boolean, a GUID or bytes. at is the
// offset of the marker.
func (r *textConverter) plain(marker byte, at int) {
	switch marker {
	case null:
		r.put("null")
	case boolFalse:
		r.put("false")
	case boolTrue:
		r.put("true")
	case guid:
		b := r.take(16)
		if r.err != nil {
			return
		}
		r.put(fmt.Sprintf(`"%08x-%04x-%04x-%x-%x"`, binary.LittleEndian.Uint32(b),
			binary.LittleEndian.Uint16(b[4:]),
			binary.LittleEndian.Uint16(b[6:]), b[8:10], b[10:]))
	case binaryL1, binaryL2, binaryL4:
		r.blob(1 << (marker - binaryL1))
	default:
		r.fail(at, fmt.Sprintf("the marker %#02x means nothing here", marker))
	}
}

// container reads an array or an object and writes it as text between the brackets open and end. element
// reads one element or member. form says what follows the marker: nothing, one element, a length of 1, 2 or 4
// bytes, or such a length and a count of the same size.
func (r *textConverter) container(form byte, open, end byte, element func()) {
	if r.depth++; r.depth > r.lim.MaxDepth {
		r.err = &jsondoc.DepthError{Max: r.lim.MaxDepth}
		r.pos = len(r.src)
		return
	}
	r.put(string(rune(open)))
	switch {
	case form == 0:
	case form == 1:
		element()
	default:
		r.elements(form, element)
	}
	r.put(string(rune(end)))
	r.depth--
}

func (r *textConverter) elements(form byte, element func()) {
	size, count := 1<<((form-2)%3), -1
	at := r.pos
	length := r.length(size)
	if form > 4 {
		count = r.length(size)
	}
	if length > len(r.src)-r.pos {
		r.fail(at, "an array or object is longer than what is left")
		return
	}
	stop, n := r.pos+length, 0
	for ; r.pos < stop && r.err == nil; n++ {
		if n > 0 {
			r.put(",")
		}
		element()
	}
	if r.err == nil && (r.pos != stop || count >= 0 && n != count) {
		r.fail(at, "the length or the count of an array or object is wrong")
	}
}

// member reads the name and the value of one member of an object and appends their text.
func (r *textConverter) member() {
	if r.pos < len(r.src) && !isString(r.src[r.pos]) {
		r.fail(r.pos, "a name is not a string")
		return
	}
	r.quoted()
	r.put(":")
	r.value()
}

// quoted reads the string whose marker is next, and appends it as a JSON string.
func (r *textConverter) quoted() {
	s := r.str(true)
	if r.err != nil {
		return
	}
	if !utf8.Valid(s) {
		r.fail(r.pos, "a string is not UTF-8")
		return
	}
	if r.room(len(s) + 2) { // an escape adds up to five bytes per byte; the next call of room counts these
		r.dst = jsondoc.AppendString(r.dst, string(s))
		r.room(0)
	}
}

// integer appends the decimal digits of an integer.
func (r *textConverter) integer(n int64) {
	if r.room(len("-9223372036854775808")) {
		r.dst = strconv.AppendInt(r.dst, n, 10)
	}
}

// isNumber reports whether a marker is followed by a number.
func isNumber(marker byte) bool {
	return marker >= numberUint64 && marker <= typedFloat16 || marker >= typedUint8 && marker <= typedUint32
}

// number reads the number after a marker. at is the offset of the marker.
func (r *textConverter) number(marker byte, at int) {
	switch marker {
	case numberUint64:
		if n := r.uint(8); r.room(len("18446744073709551615")) {
			r.dst = strconv.AppendUint(r.dst, n, 10)
		}
	case numberUint8, typedUint8:
		r.integer(int64(r.uint(1)))
	case typedInt8:
		r.integer(int64(int8(r.uint(1))))
	case numberInt16, typedInt16:
		r.integer(int64(int16(r.uint(2))))
	case numberInt32, typedInt32:
		r.integer(int64(int32(r.uint(4))))
	case typedUint32:
		r.integer(int64(r.uint(4)))
	case numberInt64, typedInt64:
		r.integer(int64(r.uint(8)))
	case numberDouble, typedFloat64:
		r.double(math.Float64frombits(r.uint(8)), at)
	case typedFloat32:
		r.double(float64(math.Float32frombits(uint32(r.uint(4)))), at)
	case typedFloat16:
		r.double(half(uint16(r.uint(2))), at)
	}
}

func (r *textConverter) double(f float64, at int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.fail(at, "a number that JSON does not have")
		return
	}
	if f == 0 && math.Signbit(f) {
		r.put("-0.0") // a computed zero would lose its sign, as in NumberValue
	} else if r.room(0) {
		r.dst = jsondoc.NumberValue(f).AppendJSON(r.dst)
	}
}

// half returns the value of a 16-bit floating-point number (IEEE 754 binary16).
func half(bits uint16) float64 {
	sign, exponent, fraction := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 != 0 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		return math.NaN()
	}
	return sign * math.Ldexp(fraction+1024, exponent-25)
}

// uniform reads an array of numbers of one type, or an array of such arrays of equal length.
func (r *textConverter) uniform(marker byte) {
	size, outer := 1+int(marker-numbersC1)%2, -1
	nested := marker >= numberArraysC1
	if at := r.pos; nested && byte(r.uint(1)) != marker-numberArraysC1+numbersC1 && r.err == nil {
		r.fail(at, "the arrays in an array of arrays of numbers are of another kind")
	}
	at := r.pos
	kind := byte(r.uint(1))
	inner := r.length(size)
	if nested {
		outer = r.length(size)
	}
	if r.err != nil {
		return
	}
	if kind != typedFloat16 && kind != typedFloat32 && kind != typedFloat64 &&
		(kind < typedUint8 || kind > typedUint32) {
		r.fail(at, fmt.Sprintf("an array of numbers of the type %#02x", kind))
		return
	}
	numbers := func() { r.repeat(inner, func() { r.number(kind, at) }) }
	if !nested {
		numbers()
		return
	}
	r.repeat(outer, numbers)
}

// repeat appends the text of a JSON array: it calls element n times, which reads one element and appends
// its text.
func (r *textConverter) repeat(n int, element func()) {
	if r.depth++; r.depth > r.lim.MaxDepth {
		r.err = &jsondoc.DepthError{Max: r.lim.MaxDepth}
	}
	r.put("[")
	for i := 0; i < n && r.err == nil; i++ {
		if i > 0 {
			r.put(",")
		}
		element()
	}
	r.put("]")
	r.depth--
}
