package queue

import (
	"math"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// view is a message as rules see it: what its sender wrote, and what the topic knows of it.
type view struct {
	m *message.Message
	h *layout.Header
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
		if v.h.TTL != layout.NoTTL {
			return rule.Duration(
				min(v.h.TTL, math.MaxInt64/entity.TicksPerMillisecond) * entity.TicksPerMillisecond,
			)
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
	return entity.PropertyValue(x, raw)
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
	v.m.SetFold(name, entity.EncodeValue(to, old))
}
