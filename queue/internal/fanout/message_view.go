package fanout

import (
	"math"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// MessageView is a message in the form in which rules see it: the sender's properties and those that the
// topic sets. It implements rule.Message and rule.EditableMessage. Editing changes Message.
type MessageView struct {
	Message *message.Message
	Header  *layout.MessageHeader
}

// slotOf returns the field of the AMQP properties section that holds a system property. ok is false if none
// does.
func slotOf(s rule.SystemProperty) (slot message.PropertiesSectionField, ok bool) {
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

// System implements rule.Message: it returns a system property, or null if the message does not have it. A
// message being published has no sequence number yet.
func (v *MessageView) System(s rule.SystemProperty) rule.Value {
	if slot, ok := slotOf(s); ok {
		if v.Message.Raw(slot) == nil {
			return rule.NullValue()
		}
		return rule.String(v.Message.Text(slot))
	}
	switch s {
	case rule.PartitionKey:
		if key := v.Message.PartitionKey(); key != "" {
			return rule.String(key)
		}
	case rule.EnqueuedTime:
		return rule.Time(v.Header.Enqueued)
	case rule.TimeToLive:
		if v.Header.TTL != layout.NoTTL {
			return rule.Duration(
				min(v.Header.TTL, math.MaxInt64/entity.TicksPerMillisecond) * entity.TicksPerMillisecond,
			)
		}
	case rule.ScheduledEnqueueTime:
		if at := v.Message.Scheduled(); at != message.Absent {
			return rule.Time(at)
		}
	case rule.DeliveryCount:
		return rule.Int(0)
	}
	return rule.NullValue()
}

// User implements rule.Message: it returns an application property, or no value if the message does not have
// it.
func (v *MessageView) User(name string) rule.Value {
	raw := v.Message.GetFold(name)
	if raw == nil {
		return rule.Value{}
	}
	x, _, err := wire.Value(raw)
	if err != nil {
		return rule.Opaque(raw)
	}
	return entity.PropertyValue(x, raw)
}

// SetSystem implements rule.EditableMessage: it sets a system property. If the session id changes and the
// message has a partition key, that changes as well, because the two must be equal.
func (v *MessageView) SetSystem(s rule.SystemProperty, to rule.Value) {
	slot, ok := slotOf(s)
	if !ok {
		return
	}
	v.Message.SetText(slot, to.Text())
	if slot == message.GroupID && v.Message.PartitionKey() != "" {
		v.Message.SetPartitionKey(to.Text())
	}
}

// SetUser implements rule.EditableMessage: it sets an application property.
func (v *MessageView) SetUser(name string, to rule.Value) {
	var old any
	if raw := v.Message.GetFold(name); raw != nil {
		old, _, _ = wire.Value(raw)
	}
	v.Message.SetFold(name, entity.EncodeValue(to, old))
}
