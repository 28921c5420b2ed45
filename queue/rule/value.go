package rule

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"
)

// ValueKind is the type of a Value.
type ValueKind uint8

// The kinds of values.
const (
	Missing ValueKind = iota // there is no value
	Null
	Boolean
	Integer
	Float
	Text
	Moment // a point in time
	Span   // a duration
	GUID
	Binary
	Other // an opaque type, such as a decimal
)

// NumberType is the number type that a client sent. It is returned to clients with the rule, and ignored in
// comparisons.
type NumberType uint8

// The number types that clients send. An Untyped number is a long or a double.
const (
	Untyped NumberType = iota
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	Decimal
)

// Value is a value of a property or of an expression. The zero Value is Missing.
type Value struct {
	Kind   ValueKind
	typ    NumberType
	number int64 // Boolean, Integer; ticks of 100 ns of a Moment or Span; the bits of a Float
	text   string
}

// WithType returns the value with the type and the text that a client sent; "" stands for no text. Only an
// Integer and a Float have a type, and only these, a Moment and a Span have a text.
func (v Value) WithType(t NumberType, written string) Value {
	switch v.Kind {
	case Integer, Float:
		v.typ, v.text = t, written
	case Moment, Span:
		v.text = written
	}
	return v
}

// Type returns the type that a client gave the number.
func (v Value) Type() NumberType { return v.typ }

// Written returns the text that a client gave a number, a Moment or a Span; "" for none.
func (v Value) Written() string {
	if v.Kind == Integer || v.Kind == Float || v.Kind == Moment || v.Kind == Span {
		return v.text
	}
	return ""
}

// Plain returns the value without the AMQP type and text that it had in the message. Values without these can
// be compared with ==.
func (v Value) Plain() Value { return v.WithType(Untyped, "") }

// Constructors of values.

// NullValue returns null.
func NullValue() Value { return Value{Kind: Null} }

// Bool returns a Value of the kind Boolean.
func Bool(v bool) Value {
	if v {
		return Value{Kind: Boolean, number: 1}
	}
	return Value{Kind: Boolean}
}

// Int returns a Value of the kind Integer.
func Int(v int64) Value { return Value{Kind: Integer, number: v} }

// Number returns a Value of the kind Float.
func Number(v float64) Value { return Value{Kind: Float, number: int64(math.Float64bits(v))} }

// String returns a Value of the kind Text.
func String(v string) Value { return Value{Kind: Text, text: v} }

// Time returns a Value of the kind Moment, a point in time. ms is in milliseconds since 1970.
func Time(ms int64) Value { return Value{Kind: Moment, number: ms * 10_000} }

// Duration returns a Value of the kind Span, a duration. A tick is 100 nanoseconds.
func Duration(ticks int64) Value { return Value{Kind: Span, number: ticks} }

// UUID returns the Value for a GUID. text has 8-4-4-4-12 hexadecimal digits, separated by hyphens.
func UUID(text string) Value { return Value{Kind: GUID, text: strings.ToLower(text)} }

// Bytes returns a Value of the kind Binary.
func Bytes(v []byte) Value { return Value{Kind: Binary, text: string(v)} }

// Opaque returns a value of an unknown type, which expressions cannot compute with.
func Opaque(raw []byte) Value { return Value{Kind: Other, text: string(raw)} }

// Bool returns the value of a Boolean.
func (v Value) Bool() bool { return v.number != 0 }

// Int returns the value of an Integer, or the ticks of a Span.
func (v Value) Int() int64 { return v.number }

// Float returns the value of a Float or an Integer.
func (v Value) Float() float64 {
	if v.Kind == Float {
		return math.Float64frombits(uint64(v.number))
	}
	return float64(v.number)
}

// Millis returns the value of a Moment in milliseconds since 1970.
func (v Value) Millis() int64 { return v.number / 10_000 }

// Text returns the text of a Text or GUID, or the bytes of a Binary or Other; "" for other kinds.
func (v Value) Text() string {
	if v.Kind == Text || v.Kind == GUID || v.Kind == Binary || v.Kind == Other {
		return v.text
	}
	return ""
}

func (v Value) isNumber() bool { return v.Kind == Integer || v.Kind == Float }

// known reports whether the value is neither Missing nor Null.
func (v Value) known() bool { return v.Kind > Null }

// truthValue is a value of three-valued logic.
type truthValue uint8

const (
	unknown truthValue = iota
	no
	yes
)

func truthOf(v bool) truthValue {
	if v {
		return yes
	}
	return no
}

func (t truthValue) not() truthValue {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

// compare returns the order of two values: -1, 0 or 1. ok is false if they have no order.
func compare(a, b Value) (order int, ok bool) {
	switch {
	case a.Kind == Integer && b.Kind == Integer:
		return cmp.Compare(a.number, b.number), true
	case a.isNumber() && b.isNumber():
		x, y := a.Float(), b.Float()
		return cmp.Compare(x, y), x == x && y == y
	case a.Kind != b.Kind:
		return 0, false
	}
	switch a.Kind {
	case Text:
		return strings.Compare(a.text, b.text), true
	case Moment, Span:
		return cmp.Compare(a.number, b.number), true
	}
	return 0, false
}

// equal compares two values. It returns unknown if they cannot be compared.
func equal(a, b Value) truthValue {
	if order, ok := compare(a, b); ok {
		return truthOf(order == 0)
	}
	if a.Kind != b.Kind || !a.known() {
		return unknown
	}
	switch a.Kind {
	case Boolean:
		return truthOf(a.number == b.number)
	case GUID:
		return truthOf(a.text == b.text)
	case Binary:
		return truthOf(bytes.Equal([]byte(a.text), []byte(b.text)))
	}
	return unknown
}

// convert converts a value to a kind. ok is false if the value cannot be converted.
func (v Value) convert(kind ValueKind) (Value, bool) {
	if v.Kind == kind {
		return v, true
	}
	switch {
	case kind == Float && v.Kind == Integer:
		return Number(float64(v.number)), true
	case kind == Integer && v.Kind == Float:
		f := v.Float()
		return Int(int64(f)), f == math.Trunc(f) && math.Abs(f) < 1<<63
	case kind == Text:
		return String(v.display()), v.Kind != Other && v.Kind != Binary
	case v.Kind == Text:
		return parseAs(kind, v.text)
	}
	return v, false
}

func parseAs(kind ValueKind, text string) (Value, bool) {
	switch kind {
	case Integer:
		n, err := strconv.ParseInt(text, 10, 64)
		return Int(n), err == nil
	case Float:
		f, err := strconv.ParseFloat(text, 64)
		return Number(f), err == nil
	case Boolean:
		return Bool(strings.EqualFold(text, "true")), strings.EqualFold(text, "true") ||
			strings.EqualFold(text, "false")
	case Moment:
		t, err := time.Parse(time.RFC3339Nano, text)
		return Time(t.UnixMilli()), err == nil
	}
	return Value{}, false
}

// display returns a value as text, for error messages.
func (v Value) display() string {
	switch v.Kind {
	case Boolean:
		return strings.ToUpper(strconv.FormatBool(v.Bool()))
	case Integer, Span:
		return strconv.FormatInt(v.number, 10)
	case Float:
		return strconv.FormatFloat(v.Float(), 'G', -1, 64)
	case Moment:
		return time.UnixMilli(v.Millis()).UTC().Format("2006-01-02T15:04:05.999Z")
	case Binary, Other:
		return hex.EncodeToString([]byte(v.text))
	}
	return v.text
}
