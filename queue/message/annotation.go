package message

import (
	"unicode/utf8"

	"github.com/mayflydb/mayfly/queue/wire"
)

// The message annotations defined by the service.
const (
	annPartitionKey    = "x-opt-partition-key"
	annViaPartitionKey = "x-opt-via-partition-key"
	annScheduled       = "x-opt-scheduled-enqueue-time"

	annSequence         = "x-opt-sequence-number"
	annEnqueuedSequence = "x-opt-enqueue-sequence-number"
	annEnqueued         = "x-opt-enqueued-time"
	annLockedUntil      = "x-opt-locked-until"
	annState            = "x-opt-message-state"
	annDeadLetterSource = "x-opt-deadletter-source"
)

// annLockToken is the delivery annotation with the lock token.
const annLockToken = "x-opt-lock-token"

// isBrokers reports whether an annotation can be set by the broker only. It is ignored if a sender sets it,
// as senders do that forward a received message.
func isBrokers(name string) bool {
	switch name {
	case annSequence, annEnqueuedSequence, annEnqueued, annLockedUntil, annState, annDeadLetterSource:
		return true
	}
	return false
}

// PartitionKey returns the partition key; "" for none.
func (m *Message) PartitionKey() string {
	text, _ := wire.Text(m.Annotation(annPartitionKey))
	return text
}

// SetPartitionKey sets the partition key; "" deletes it.
func (m *Message) SetPartitionKey(key string) { m.setText(annPartitionKey, key) }

// ViaPartitionKey returns the partition key for the entity through which the message is sent (via entity);
// "" for none.
func (m *Message) ViaPartitionKey() string {
	text, _ := wire.Text(m.Annotation(annViaPartitionKey))
	return text
}

// SetViaPartitionKey sets the partition key for the via entity; "" deletes it.
func (m *Message) SetViaPartitionKey(key string) { m.setText(annViaPartitionKey, key) }

func (m *Message) setText(name, text string) {
	if text == "" {
		m.SetAnnotation(name, nil)
		return
	}
	m.SetAnnotation(name, wire.AppendString(nil, text))
}

// Scheduled returns the time before which the message cannot be received, in milliseconds since 1970, or
// Absent.
func (m *Message) Scheduled() int64 {
	if ms, ok := wire.Time(m.Annotation(annScheduled)); ok {
		return ms
	}
	return Absent
}

// SetScheduled sets the time before which the message cannot be received, in milliseconds since 1970; Absent
// deletes it.
func (m *Message) SetScheduled(ms int64) {
	if ms == Absent {
		m.SetAnnotation(annScheduled, nil)
		return
	}
	m.SetAnnotation(annScheduled, wire.AppendTimestamp(nil, ms))
}

// OwnTTL returns the sender's time to live in milliseconds, or Absent. It is the value in the header or, if
// that is missing or the maximum, the difference between the expiry time and the creation time.
func (m *Message) OwnTTL() int64 {
	if m.Header.TTL != Absent && m.Header.TTL < maxHeaderTTL {
		return m.Header.TTL
	}
	created, first := wire.Time(m.slots[Creation])
	expires, second := wire.Time(m.slots[AbsoluteExpiry])
	if !first || !second {
		return m.Header.TTL
	}
	if expires < created {
		return 0
	}
	if life := expires - created; life >= 0 {
		return life
	}
	return Absent // the difference overflows
}

// maxHeaderTTL is the maximum that the header can represent, in milliseconds: 49.7 days.
const maxHeaderTTL = 1<<32 - 1

// SetOwnTTL sets the time to live in milliseconds; Absent for none. created is the creation time in
// milliseconds since 1970. If the header cannot represent ttl, the creation and expiry times are stored as
// well.
func (m *Message) SetOwnTTL(ttl, created int64) {
	m.slots[Creation], m.slots[AbsoluteExpiry] = nil, nil
	m.Header.TTL = ttl
	if ttl >= maxHeaderTTL {
		m.Header.TTL = maxHeaderTTL
		m.slots[Creation] = wire.AppendTimestamp(nil, created)
		m.slots[AbsoluteExpiry] = wire.AppendTimestamp(nil, later(created, ttl))
	}
}

// later returns the sum of two numbers of milliseconds, at most LastMoment.
func later(at, by int64) int64 {
	if by > LastMoment-at {
		return LastMoment
	}
	return at + by
}

// LastMoment is the end of the year 9999, in milliseconds since 1970: the latest time that all clients can
// read.
const LastMoment = 253402300799999

// annotation validates an annotation of a sender. It converts an annotation that Service Bus defines to the
// type that receivers expect. keep is false for annotations that only the broker sets.
func annotation(key, value []byte) (p ApplicationProperty, keep bool, err error) {
	name, ok := wire.Text(key)
	if !ok || isBrokers(name) || wire.IsNull(value) {
		return p, false, nil // numeric keys are reserved, and none is defined
	}
	switch name {
	case annPartitionKey, annViaPartitionKey:
		text, ok := annotationText(value)
		if !ok {
			return p, false, malformed("the annotation " + name + " is no string")
		}
		value = wire.AppendString(nil, text)
	case annScheduled:
		ms, ok := wire.Integer(value)
		if !ok {
			return p, false, malformed("the annotation " + name + " is no timestamp")
		}
		value = wire.AppendTimestamp(nil, ms)
	}
	return ApplicationProperty{name, value}, true, nil
}

// annotationText decodes a string, or a binary that contains UTF-8, since a Python client forwards received
// strings as binaries. ok is false for other values.
func annotationText(value []byte) (text string, ok bool) {
	if text, ok = wire.Text(value); ok {
		return text, true
	}
	b, ok := wire.Bytes(value)
	return string(b), ok && utf8.Valid(b)
}

// deliveryAnnotation validates a delivery annotation of a sender. keep is false for a lock token, which a
// sender sends if it forwards a received message.
func deliveryAnnotation(key, value []byte) (p ApplicationProperty, keep bool, err error) {
	name, ok := wire.Text(key)
	return ApplicationProperty{name, value}, ok && name != annLockToken && !wire.IsNull(value), nil
}
