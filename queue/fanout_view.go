package queue

import (
	"math"
	"strconv"

	"github.com/google/uuid"

	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// view is a message as rules see it: what its sender wrote, and what the topic knows of it.
type view struct {
	m *message.Message
	h *header
}

// slotOf is the slot of a system property; ok is false for one that lies elsewhere.
func slotOf(s rule.System) (slot message.Slot, ok bool) {
	switch s {
	case rule.ContentType:
		return message.ContentType, true
	case rule.CorrelationID:
		return message.CorrelationID, true
	case rule.Label:
		return message.Subject, true
	case rule.MessageID:
		return message.MessageID, true
	case rule.ReplyTo:
		return message.ReplyTo, true
	case rule.ReplyToSessionID:
		return message.ReplyToGroupID, true
	case rule.SessionID:
		return message.GroupID, true
	case rule.To:
		return message.To, true
	}
	return 0, false
}

// System implements rule.Message. A message that is published has no number yet.
func (v *view) System(s rule.System) rule.Value {
	if slot, ok := slotOf(s); ok {
		if v.m.Raw(slot) == nil {
			return rule.NullValue()
		}
		return rule.String(v.m.Text(slot))
	}
	switch s {
	case rule.PartitionKey:
		if key := v.m.PartitionKey(); key != "" {
			return rule.String(key)
		}
	case rule.EnqueuedTime:
		return rule.Time(v.h.Enqueued)
	case rule.TimeToLive:
		if v.h.TTL != noTTL {
			return rule.Duration(min(v.h.TTL, math.MaxInt64/ticks) * ticks)
		}
	case rule.ScheduledEnqueueTime:
		if at := v.m.Scheduled(); at != message.Absent {
			return rule.Time(at)
		}
	case rule.DeliveryCount:
		return rule.Int(0)
	}
	return rule.NullValue()
}

// User implements rule.Message.
func (v *view) User(name string) rule.Value {
	raw := v.m.GetFold(name)
	if raw == nil {
		return rule.Value{}
	}
	x, _, err := wire.Value(raw)
	if err != nil {
		return rule.Opaque(raw)
	}
	return valueOf(x, raw)
}

// The types that clients of .NET write under names of their own. Ticks are 100 nanoseconds, of moments since
// the year 1.
const (
	typeSpan   = wire.Symbol("com.microsoft:timespan")
	typeMoment = wire.Symbol("com.microsoft:datetime-offset")
	typeURI    = wire.Symbol("com.microsoft:uri")

	ticks      = 10_000 // in a millisecond
	ticksUntil = 621_355_968_000_000_000
)

// valueOf is a value as rules calculate with it. raw is x, encoded.
func valueOf(x any, raw []byte) rule.Value {
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
		return rule.Time((n - ticksUntil) / ticks)
	case d.Descriptor == typeURI && isText:
		return rule.String(text)
	}
	return rule.Opaque(raw)
}

// SetSystem implements rule.Editable. A partition key follows the session, which it must be equal to.
func (v *view) SetSystem(s rule.System, to rule.Value) {
	slot, ok := slotOf(s)
	if !ok {
		return
	}
	v.m.SetText(slot, to.Text())
	if slot == message.GroupID && v.m.PartitionKey() != "" {
		v.m.SetPartitionKey(to.Text())
	}
}

// SetUser implements rule.Editable.
func (v *view) SetUser(name string, to rule.Value) {
	var old any
	if raw := v.m.GetFold(name); raw != nil {
		old, _, _ = wire.Value(raw)
	}
	v.m.SetFold(name, encodeValue(to, old))
}

// encodeValue encodes what a rule has calculated. A number keeps the width of the one before it, if it fits;
// without one before, it has the type of the rule's parameter.
func encodeValue(v rule.Value, old any) []byte {
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

// encodeNumber encodes a whole number as one of the type that was there, or as a long.
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

// encodeAny encodes a value of a type that has an encoding.
func encodeAny(v any) []byte {
	b, err := wire.Append(nil, v)
	if err != nil {
		return wire.AppendNull(nil)
	}
	return b
}
