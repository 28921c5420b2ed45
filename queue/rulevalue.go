package queue

import (
	"encoding/hex"
	"strings"

	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// The types of .NET that travel as described values of AMQP.
const (
	typeTimeSpan       wire.Symbol = "com.microsoft:timespan"
	typeDateTimeOffset wire.Symbol = "com.microsoft:datetime-offset"
	typeURI            wire.Symbol = "com.microsoft:uri"
)

// epochTicks is 1970 in .NET's ticks: units of 100 nanoseconds since the year 1.
const epochTicks = 621355968000000000

// RuleValue is a value of AMQP as rules see it. What has no meaning to them is opaque.
func RuleValue(v any) rule.Value {
	switch v := v.(type) {
	case nil:
		return rule.NullValue()
	case bool:
		return rule.Bool(v)
	case string:
		return rule.String(v)
	case wire.Symbol:
		return rule.String(string(v))
	case float32:
		return rule.Number(float64(v))
	case float64:
		return rule.Number(v)
	case wire.Char:
		return rule.String(string(rune(v)))
	case wire.Timestamp:
		return rule.Time(int64(v))
	case wire.UUID:
		return rule.UUID(v.String())
	case []byte:
		return rule.Bytes(v)
	case wire.Described:
		return described(v)
	}
	if n, ok := whole(v); ok {
		return rule.Int(n)
	}
	if n, ok := v.(uint64); ok {
		return rule.Number(float64(n))
	}
	return rule.Opaque(nil)
}

// whole is a whole number that an int64 holds.
func whole(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint64:
		return int64(v), v <= 1<<63-1
	}
	return 0, false
}

func described(d wire.Described) rule.Value {
	name, _ := d.Descriptor.(wire.Symbol)
	ticks, isTicks := d.Value.(int64)
	switch {
	case name == typeTimeSpan && isTicks:
		return rule.Duration(ticks)
	case name == typeDateTimeOffset && isTicks:
		return rule.Time((ticks - epochTicks) / 10_000)
	case name == typeURI:
		if text, ok := d.Value.(string); ok {
			return rule.String(text)
		}
	}
	return rule.Opaque(nil)
}

// WireValue is a value of a rule as AMQP has it.
func WireValue(v rule.Value) any {
	switch v.Kind {
	case rule.Boolean:
		return v.Bool()
	case rule.Integer:
		return v.Int()
	case rule.Float:
		return v.Float()
	case rule.Text:
		return v.Text()
	case rule.Moment:
		return wire.Timestamp(v.Millis())
	case rule.Span:
		return wire.Described{Descriptor: typeTimeSpan, Value: v.Int()}
	case rule.GUID:
		raw, err := hex.DecodeString(strings.ReplaceAll(v.Text(), "-", ""))
		if err == nil && len(raw) == len(wire.UUID{}) {
			return wire.UUID(raw)
		}
		return v.Text()
	case rule.Binary:
		return []byte(v.Text())
	}
	return nil
}
