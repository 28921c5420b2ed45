package message

import (
	"unicode/utf8"

	"github.com/mayflydb/mayfly/queue/wire"
)

// The message annotations that the service gives a meaning.
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

// annLockToken is the delivery annotation that tells the token of a lock.
const annLockToken = "x-opt-lock-token"

// isBrokers tells the annotations that only the broker writes. A sender that passes a received message on
// sends them, too.
func isBrokers(name string) bool {
	switch name {
	case annSequence, annEnqueuedSequence, annEnqueued, annLockedUntil, annState, annDeadLetterSource:
		return true
	}
	return false
}

// PartitionKey is what the sender calls the partition; "": nothing.
func (m *Message) PartitionKey() string {
	text, _ := wire.Text(m.Annotation(annPartitionKey))
	return text
}

// SetPartitionKey sets it; "" deletes it.
func (m *Message) SetPartitionKey(key string) { m.setText(annPartitionKey, key) }

// ViaPartitionKey is the partition of the entity that a transaction goes through; "": nothing.
func (m *Message) ViaPartitionKey() string {
	text, _ := wire.Text(m.Annotation(annViaPartitionKey))
	return text
}

// SetViaPartitionKey sets it; "" deletes it.
func (m *Message) SetViaPartitionKey(key string) { m.setText(annViaPartitionKey, key) }

func (m *Message) setText(name, text string) {
	if text == "" {
		m.SetAnnotation(name, nil)
		return
	}
	m.SetAnnotation(name, wire.AppendString(nil, text))
}

// Scheduled is the moment before which nobody receives the message, in milliseconds since 1970; Absent.
func (m *Message) Scheduled() int64 {
	if ms, ok := wire.Time(m.Annotation(annScheduled)); ok {
		return ms
	}
	return Absent
}

// SetScheduled sets it; Absent deletes it.
func (m *Message) SetScheduled(ms int64) {
	if ms == Absent {
		m.SetAnnotation(annScheduled, nil)
		return
	}
	m.SetAnnotation(annScheduled, wire.AppendTimestamp(nil, ms))
}

// OwnTTL is the time to live that the sender gave, in milliseconds; Absent. It is the header's; where that
// has no more bits, or says nothing, the moments of creation and of expiry tell it.
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
	return Absent // further apart than a number can tell
}

// maxHeaderTTL is the longest that the header can tell, in milliseconds: 49.7 days.
const maxHeaderTTL = 1<<32 - 1

// SetOwnTTL sets it, in milliseconds; Absent: none. created is the moment of creation, in milliseconds since
// 1970, which stands beside a time to live that the header cannot tell.
func (m *Message) SetOwnTTL(ttl, created int64) {
	m.slots[Creation], m.slots[AbsoluteExpiry] = nil, nil
	m.Header.TTL = ttl
	if ttl >= maxHeaderTTL {
		m.Header.TTL = maxHeaderTTL
		m.slots[Creation] = wire.AppendTimestamp(nil, created)
		m.slots[AbsoluteExpiry] = wire.AppendTimestamp(nil, later(created, ttl))
	}
}

// later adds without going beyond the last moment that clients know.
func later(at, by int64) int64 {
	if by > LastMoment-at {
		return LastMoment
	}
	return at + by
}

// LastMoment is the end of the year 9999, in milliseconds since 1970: the latest that all clients can read.
const LastMoment = 253402300799999

// annotation checks one of the sender's annotations, and gives those that have a meaning the type that
// receivers expect. keep is false for what is the broker's.
func annotation(key, value []byte) (p Property, keep bool, err error) {
	name, ok := wire.Text(key)
	if !ok || isBrokers(name) || wire.IsNull(value) {
		return p, false, nil // keys that are numbers are reserved, and nobody has given one out
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
	return Property{name, value}, true, nil
}

// annotationText is a string, or a binary that is one in UTF-8: a client for Python passes the strings of a
// message that it has received on as binaries.
func annotationText(value []byte) (text string, ok bool) {
	if text, ok = wire.Text(value); ok {
		return text, true
	}
	b, ok := wire.Bytes(value)
	return string(b), ok && utf8.Valid(b)
}

// deliveryAnnotation checks one of the sender's delivery annotations. keep is false for the token of a lock
// that the sender has received the message under.
func deliveryAnnotation(key, value []byte) (p Property, keep bool, err error) {
	name, ok := wire.Text(key)
	return Property{name, value}, ok && name != annLockToken && !wire.IsNull(value), nil
}
