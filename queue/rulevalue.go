package queue

import (
	"strconv"

	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// RuleValue converts a value of AMQP to one of rules. Numbers keep their type; unknown types are opaque.
func RuleValue(v any) rule.Value {
	value := valueOf(v, encodeAny(v))
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
		return value.WithType(rule.Uint64, strconv.FormatUint(v, 10)) // it may be rounded in calculations
	case float32:
		return value.WithType(rule.Float32, "")
	case float64:
		return value.WithType(rule.Float64, "")
	}
	return value
}

// sampleOf returns a number of the type of v, for encodeNumber; nil for an untyped value.
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

// WireValue converts a value of a rule to AMQP. A number has the type that its client gave it.
func WireValue(v rule.Value) any {
	x, _, err := wire.Value(encodeValue(v, nil))
	if err != nil {
		return nil // an opaque one that is no value
	}
	return x
}
