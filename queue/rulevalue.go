package queue

import (
	"strconv"

	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// RuleValue is a value of AMQP as rules see it: a number keeps its type. What has no meaning to them is
// opaque.
func RuleValue(v any) rule.Value {
	value := valueOf(v, encodeAny(v))
	switch v := v.(type) {
	case int8:
		return value.As(rule.Int8, "")
	case int16:
		return value.As(rule.Int16, "")
	case int32:
		return value.As(rule.Int32, "")
	case int64:
		return value.As(rule.Int64, "")
	case uint8:
		return value.As(rule.Uint8, "")
	case uint16:
		return value.As(rule.Uint16, "")
	case uint32:
		return value.As(rule.Uint32, "")
	case uint64:
		return value.As(rule.Uint64, strconv.FormatUint(v, 10)) // a rule calculates with what is near it
	case float32:
		return value.As(rule.Float32, "")
	case float64:
		return value.As(rule.Float64, "")
	}
	return value
}

// sampleOf is a number of AMQP of the type in which a client has given a value; nil for one without.
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

// WireValue is a value of a rule as AMQP has it: a number in the type in which it was given.
func WireValue(v rule.Value) any {
	x, _, err := wire.Value(encodeValue(v, nil))
	if err != nil {
		return nil // an opaque one that is no value
	}
	return x
}
