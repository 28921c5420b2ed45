package jsondoc

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// Kind is the type of a Value. The constants are in the order in which Cosmos DB sorts values of different
// types.
type Kind uint8

// The kinds of values, lowest first.
const (
	Undefined Kind = iota // no value: a missing property
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"undefined", "null", "boolean", "number", "string", "array", "object"}

// String returns the name of the kind in JavaScript and Cosmos DB.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// article returns the name with its indefinite article.
func (k Kind) article() string {
	switch k {
	case Undefined, Null:
		return k.String()
	case Array, Object:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// Value is one JSON value, usually a view on its text. It is small and passed by value. The zero Value is
// undefined. Do not compare values with ==, for which 1 and 1.0 differ; use Equal.
type Value struct {
	_ [0]func()
	// text is the JSON text without blanks around it or, if made is set and kind is String, the string
	// itself.
	text string
	num  float64 // if made is set and kind is Number
	kind Kind
	made bool // the value was not read from JSON text; it is a number or a string
}

// Of returns a view on raw, which must be the text of one JSON value that Valid accepts; blanks around it
// are allowed. For an empty text it returns undefined.
func Of(raw []byte) Value {
	text := viewOf(raw)
	text = text[skipBlanks(text, 0):]
	for len(text) > 0 && isBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	if len(text) == 0 {
		return Value{}
	}
	return Value{text: text, kind: kindAt[text[0]]}
}

// viewOf returns the bytes as a string without copying them. The string changes when the bytes do.
func viewOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// kindAt maps the first byte of a value's text to its kind.
var kindAt = [256]Kind{
	'n': Null, 't': Bool, 'f': Bool, '"': String, '[': Array, '{': Object, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// NullValue returns null.
func NullValue() Value { return Value{text: "null", kind: Null} }

// BoolValue returns b as a Value.
func BoolValue(b bool) Value {
	if b {
		return Value{text: "true", kind: Bool}
	}
	return Value{text: "false", kind: Bool}
}

// NumberValue returns a number. NaN and the infinities, which can be results of calculations in queries, are
// numbers as well. JSON cannot represent them, so their JSON text is one of the strings "NaN", "Infinity"
// and "-Infinity".
func NumberValue(f float64) Value {
	return Value{num: f + 0, kind: Number, made: true}
}

// StringValue returns a string. Bytes that are not UTF-8 become U+FFFD.
func StringValue(s string) Value {
	return Value{text: strings.ToValidUTF8(s, "\uFFFD"), kind: String, made: true}
}

// Kind returns the type of the value.
func (v Value) Kind() Kind { return v.kind }

// Raw returns the JSON text, in the client's spelling if v is a view, or nil if v is undefined. The bytes
// must not be changed.
func (v Value) Raw() []byte {
	switch {
	case v.kind == Undefined:
		return nil
	case v.made:
		return v.AppendJSON(nil)
	}
	return unsafe.Slice(unsafe.StringData(v.text), len(v.text))
}

// TextLen returns the length in bytes of the JSON text that the value is a view on, or of the string from
// which it was made. The result of Str is never longer. The call is cheap.
func (v Value) TextLen() int { return len(v.text) }

// Spelled reports whether the value is a view on JSON text. A number then has all its digits as written; a
// computed number is only a double.
func (v Value) Spelled() bool { return v.kind != Undefined && !v.made }

// AppendJSON appends the JSON text, as returned by Raw, to dst. It appends nothing if v is undefined.
func (v Value) AppendJSON(dst []byte) []byte {
	switch {
	case v.kind == Undefined:
		return dst
	case !v.made:
		return append(dst, v.text...)
	case v.kind == String:
		return AppendString(dst, v.text)
	}
	return appendNumber(dst, v.num)
}

// Str returns a copy of the string with its escapes resolved; a lone surrogate becomes U+FFFD. It returns ""
// if v is not a string.
func (v Value) Str() string {
	if v.kind != String {
		return ""
	}
	if v.made {
		return v.text
	}
	in := inside(v.text)
	if strings.IndexByte(in, '\\') < 0 {
		return strings.Clone(in)
	}
	return unescaped(in) // a copy, since escapes have to be resolved
}

// AppendStr appends the bytes of Str to dst.
func (v Value) AppendStr(dst []byte) []byte {
	switch {
	case v.kind != String:
		return dst
	case v.made:
		return append(dst, v.text...)
	}
	return appendUnescaped(dst, inside(v.text))
}

// str returns the string with its escapes resolved. Unlike Str it does not copy: the result may share memory
// with v.
func (v Value) str() string {
	if v.made {
		return v.text
	}
	return unescaped(inside(v.text))
}

// Num returns the number as a double, rounded to the nearest if the text is more precise. It returns 0 if v
// is not a number.
func (v Value) Num() float64 {
	switch {
	case v.kind != Number:
		return 0
	case v.made:
		return v.num
	}
	return parseNumber(v.text)
}

// parseNumber converts the text of a JSON number. Integers of up to 15 digits, which doubles represent
// exactly, are by far the most frequent and need no strconv.
func parseNumber(text string) float64 {
	if len(text) <= 15 {
		var n int64
		digits := text
		if text[0] == '-' {
			digits = text[1:]
		}
		for i := 0; ; i++ {
			if i == len(digits) {
				if text[0] == '-' {
					n = -n
				}
				return float64(n)
			}
			c := digits[i] - '0'
			if c > 9 {
				break
			}
			n = n*10 + int64(c)
		}
	}
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

// Bool returns the boolean, or false if v is not one.
func (v Value) Bool() bool { return v.kind == Bool && v.text[0] == 't' }

// Len returns the number of elements of an array or of members of an object, and 0 for other values. It
// counts them on each call.
func (v Value) Len() int {
	n := 0
	for it := v.walk(); it.next(); {
		n++
	}
	return n
}

// Each calls fn for each element of an array, with an empty key, or each member of an object, in order, until
// fn returns false. The key is unescaped. Key and elem are views and must be cloned if they are kept.
func (v Value) Each(fn func(key string, elem Value) bool) {
	for it := v.walk(); it.next(); {
		if !fn(unescaped(it.key), it.elem) {
			return
		}
	}
}

// Get returns the value at path p. It returns undefined if a name is missing or if a value on the path is
// not an object. For the empty path it returns v itself.
func (v Value) Get(p Path) Value {
	if len(p.segments) == 0 {
		return v
	}
	if v.kind != Object {
		return Value{}
	}
	return getText(v.text, p)
}

// Member returns the value of the member called name, or undefined if there is none or v is not an object.
func (v Value) Member(name string) Value {
	if v.kind != Object {
		return Value{}
	}
	for it := v.walk(); it.next(); {
		if keyIs(it.key, name) {
			return it.elem
		}
	}
	return Value{}
}

// Clone returns a copy of v that shares no memory with it.
func (v Value) Clone() Value {
	v.text = strings.Clone(v.text)
	return v
}

// appendNumber appends a double in the shortest form that parses to the same double, in JavaScript's format:
// integers without a point, an exponent only below 1e-6 and from 1e21. Infinities and NaN become strings.
func appendNumber(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case f > math.MaxFloat64:
		return append(dst, `"Infinity"`...)
	case abs > math.MaxFloat64:
		return append(dst, `"-Infinity"`...)
	case f == 0 && math.Signbit(f):
		return append(dst, "-0.0"...) // most JSON readers read -0 as the integer 0
	}
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		// strconv writes an exponent with at least two digits, JavaScript writes it without leading zeros:
		// e-07 becomes e-7.
		if e := bytes.IndexByte(dst[start:], 'e') + start; dst[e+2] == '0' && len(dst) == e+4 {
			dst = append(dst[:e+2], dst[e+3])
		}
		return dst
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string, in quotes. It escapes only what JSON requires. s must be valid
// UTF-8.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		if c < ' ' {
			dst = appendControl(dst, c)
		} else {
			dst = append(dst, '\\', c)
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// appendControl appends the escape of a control character.
func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
