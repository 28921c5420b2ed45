package entity

import (
	"math"
	"strconv"

	"github.com/google/uuid"

	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// RuleValue converts an AMQP value to a value in rules. Numbers keep their type. A value of an unknown type
// becomes opaque: it can be copied but not compared.
func RuleValue(v any) rule.Value {
	value := PropertyValue(v, encodeAny(v))
	switch v := v.(type) {
	case int8:
		return value.WithType(rule.Int8, "")
	case int16:
		return value.WithType(rule.Int16, "")
	case int32:
		return value.WithType(rule.Int32, "")
	case int64:
		return value.WithType(rule.Int64, "")
	case uint8:
		return value.WithType(rule.Uint8, "")
	case uint16:
		return value.WithType(rule.Uint16, "")
	case uint32:
		return value.WithType(rule.Uint32, "")
	case uint64:
		return value.WithType(rule.Uint64, strconv.FormatUint(v, 10)) // the Float may be rounded
	case float32:
		return value.WithType(rule.Float32, "")
	case float64:
		return value.WithType(rule.Float64, "")
	}
	return value
}

// sampleOf returns a zero of the Go type that corresponds to the numeric type of v, for encodeNumber. It
// returns nil if v has the default type (long or double) or is not a number.
func sampleOf(v rule.Value) any {
	switch v.Type() {
	case rule.Int8:
		return int8(0)
	case rule.Int16:
		return int16(0)
	case rule.Int32:
		return int32(0)
	case rule.Uint8:
		return uint8(0)
	case rule.Uint16:
		return uint16(0)
	case rule.Uint32:
		return uint32(0)
	case rule.Uint64:
		return uint64(0)
	case rule.Float32:
		return float32(0)
	}
	return nil
}

// WireValue converts a value of a rule to AMQP. A number gets the type that the client gave it.
func WireValue(v rule.Value) any {
	x, _, err := wire.Value(EncodeValue(v, nil))
	if err != nil {
		return nil // an opaque value with invalid bytes
	}
	return x
}

// Described types defined by .NET clients. A tick is 100 nanoseconds; times are counted in ticks since the
// year 1.
const (
	typeSpan   = wire.Symbol("com.microsoft:timespan")
	typeMoment = wire.Symbol("com.microsoft:datetime-offset")
	typeURI    = wire.Symbol("com.microsoft:uri")

	TicksPerMillisecond = 10_000 // in a millisecond
	ticksUntil          = 621_355_968_000_000_000
)

// PropertyValue converts a message property, given as the decoded AMQP value x, to a value that filters and
// actions evaluate. raw is the AMQP encoding of x, which the result keeps if its type is unknown.
func PropertyValue(x any, raw []byte) rule.Value {
	switch x := x.(type) {
	case nil:
		return rule.NullValue()
	case bool:
		return rule.Bool(x)
	case float32:
		return rule.Number(float64(x))
	case float64:
		return rule.Number(x)
	case string:
		return rule.String(x)
	case wire.Symbol:
		return rule.String(string(x))
	case wire.Char:
		return rule.String(string(rune(x)))
	case wire.Timestamp:
		return rule.Time(int64(x))
	case wire.UUID:
		return rule.UUID(x.String())
	case []byte:
		return rule.Bytes(x)
	case uint64:
		if x > math.MaxInt64 {
			return rule.Number(float64(x))
		}
	case wire.Described:
		return describedValue(x, raw)
	}
	if n, ok := wire.Integer(raw); ok {
		return rule.Int(n)
	}
	return rule.Opaque(raw)
}

func describedValue(d wire.Described, raw []byte) rule.Value {
	n, isNumber := d.Value.(int64)
	text, isText := d.Value.(string)
	switch {
	case d.Descriptor == typeSpan && isNumber:
		return rule.Duration(n)
	case d.Descriptor == typeMoment && isNumber:
		return rule.Time((n - ticksUntil) / TicksPerMillisecond)
	case d.Descriptor == typeURI && isText:
		return rule.String(text)
	}
	return rule.Opaque(raw)
}

// EncodeValue encodes the result of a rule's expression. A number gets the type of the old value if it fits
// into that. If there is no old value, it gets the type of the rule's parameter.
func EncodeValue(v rule.Value, old any) []byte {
	if old == nil {
		old = sampleOf(v)
	}
	switch v.Kind {
	case rule.Boolean:
		return wire.AppendBool(nil, v.Bool())
	case rule.Integer:
		return encodeNumber(v.Int(), old)
	case rule.Float:
		if n, err := strconv.ParseUint(v.Written(), 10, 64); err == nil && v.Type() == rule.Uint64 {
			return encodeAny(n)
		}
		if _, narrow := old.(float32); narrow {
			return encodeAny(float32(v.Float()))
		}
		return encodeAny(v.Float())
	case rule.Text:
		if _, isURI := old.(wire.Described); isURI {
			return encodeAny(wire.Described{Descriptor: typeURI, Value: v.Text()})
		}
		return wire.AppendString(nil, v.Text())
	case rule.Moment:
		return wire.AppendTimestamp(nil, v.Millis())
	case rule.Span:
		return encodeAny(wire.Described{Descriptor: typeSpan, Value: v.Int()})
	case rule.GUID:
		if id, err := uuid.Parse(v.Text()); err == nil {
			return wire.AppendUUID(nil, wire.UUID(id))
		}
		return wire.AppendString(nil, v.Text())
	case rule.Binary:
		return wire.AppendBinary(nil, []byte(v.Text()))
	case rule.Other:
		return []byte(v.Text())
	}
	return wire.AppendNull(nil)
}

// encodeNumber encodes an integer with the type of the old value if it fits into that, and else as a long.
func encodeNumber(n int64, old any) []byte {
	var same any
	var fits bool
	switch old.(type) {
	case int8:
		same, fits = int8(n), int64(int8(n)) == n
	case int16:
		same, fits = int16(n), int64(int16(n)) == n
	case int32:
		same, fits = int32(n), int64(int32(n)) == n
	case uint8:
		same, fits = uint8(n), int64(uint8(n)) == n
	case uint16:
		same, fits = uint16(n), int64(uint16(n)) == n
	case uint32:
		same, fits = uint32(n), int64(uint32(n)) == n
	case uint64:
		same, fits = uint64(n), n >= 0
	}
	if fits {
		return encodeAny(same)
	}
	return wire.AppendInt64(nil, n)
}

// encodeAny encodes a value, or null if its type has no encoding.
func encodeAny(v any) []byte {
	b, err := wire.Append(nil, v)
	if err != nil {
		return wire.AppendNull(nil)
	}
	return b
}
