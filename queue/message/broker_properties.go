package message

import "github.com/mayflydb/mayfly/queue/wire"

// State is the state of a message: active, deferred or scheduled.
type State int32

// The states of a message, as receivers see them.
const (
	Active State = iota
	Deferred
	Scheduled
)

// BrokerProperties holds the properties that the broker adds to a received message. Times are in milliseconds
// since 1970.
type BrokerProperties struct {
	SequenceNumber         int64
	EnqueuedSequenceNumber int64 // sequence number in its first entity, if it was forwarded; else 0
	EnqueuedTime           int64
	LockedUntil            int64 // Absent without a lock; LastMoment for a message of a session
	// ExpiresAt is the time at which the message expires, in milliseconds since 1970. It is Absent if the
	// message does not expire, or if its expiry time must not be shown.
	ExpiresAt int64
	// TTL is the effective time to live in milliseconds. It is Absent if the message does not expire, or if
	// its expiry time is not to be shown.
	TTL              int64
	State            State
	DeliveryCount    uint32 // of failed deliveries
	DeadLetterSource string // entity in whose dead-letter queue it was, if it was forwarded from there
	LockToken        *UUID  // nil without a lock
	// ShowZeroOrigin makes AppendWire write EnqueuedSequenceNumber even if it is 0, and ShowActive makes it
	// write the state even if it is Active. As in Service Bus, both are set for a peek. A receiver gets the 0
	// only from a partitioned entity with sessions.
	ShowZeroOrigin, ShowActive bool
	// OmitBody makes AppendWire leave out the body.
	OmitBody bool
}

// AppendWire encodes the message for a receiver.
func (m *Message) AppendWire(dst []byte, b *BrokerProperties) []byte {
	dst = m.appendHeader(dst, b)
	dst = m.appendDelivery(dst, b)
	dst = m.appendAnnotations(dst, b)
	dst = m.appendProperties(dst, b)
	body := m.Body
	if b.OmitBody {
		body = nil
	}
	return m.appendRest(dst, body)
}

// appendDelivery writes the delivery annotations: the sender's, and the lock token. If there are none, a
// receiver gets an empty map, and a peek gets no such section, as in Service Bus.
func (m *Message) appendDelivery(dst []byte, b *BrokerProperties) []byte {
	count := 2 * len(m.Delivery)
	if b.LockToken != nil {
		count += 2
	}
	if count == 0 && b.ShowActive {
		return dst
	}
	dst, o := wire.OpenMap(wire.AppendDescriptor(dst, sectionDelivery))
	for _, p := range m.Delivery {
		dst = append(wire.AppendSymbol(dst, wire.Symbol(p.Name)), p.Value...)
	}
	if b.LockToken != nil {
		dst = wire.AppendUUID(wire.AppendSymbol(dst, annLockToken), *b.LockToken)
	}
	return o.CloseWith(dst, count)
}

// AppendBare encodes the message without header and annotations, for messages that are responses of a
// management node.
func (m *Message) AppendBare(dst []byte) []byte {
	return m.appendRest(m.appendProperties(dst, &BrokerProperties{ExpiresAt: Absent}), m.Body)
}

// appendRest writes the sections after the properties.
func (m *Message) appendRest(dst, body []byte) []byte {
	if len(m.Application) > 0 {
		var o wire.CompoundBeingWritten
		dst = wire.AppendDescriptor(dst, sectionApplication)
		dst, o = wire.OpenMap(dst)
		for _, p := range m.Application {
			dst = append(wire.AppendString(dst, p.Name), p.Value...)
		}
		dst = o.CloseWith(dst, 2*len(m.Application))
	}
	return append(append(dst, body...), m.Footer...)
}

func (m *Message) appendHeader(dst []byte, b *BrokerProperties) []byte {
	dst, o := wire.OpenList(wire.AppendDescriptor(dst, sectionHeader))
	dst = m.Header.appendBool(dst, FieldDurable, m.Header.Durable)
	if m.Header.Unset.has(FieldPriority) {
		dst = wire.AppendNull(dst)
	} else {
		dst = wire.AppendUint8(dst, m.Header.Priority)
	}
	if b.TTL == Absent {
		dst = wire.AppendNull(dst)
	} else {
		dst = wire.AppendUint32(dst, uint32(min(max(b.TTL, 0), maxHeaderTTL)))
	}
	dst = m.Header.appendBool(dst, FieldFirstAcquirer, m.Header.FirstAcquirer)
	return o.CloseWith(wire.AppendUint32(dst, b.DeliveryCount), 5)
}

// appendBool writes a field of the header, or null if its sender omitted it.
func (h *Header) appendBool(dst []byte, field HeaderFieldSet, v bool) []byte {
	if h.Unset.has(field) {
		return wire.AppendNull(dst)
	}
	return wire.AppendBool(dst, v)
}

// appendAnnotations writes the annotations, each with the exact type that clients expect.
func (m *Message) appendAnnotations(dst []byte, b *BrokerProperties) []byte {
	dst, o := wire.OpenMap(wire.AppendDescriptor(dst, sectionAnnotations))
	count := 0
	name := func(s wire.Symbol) []byte {
		count++
		return wire.AppendSymbol(dst, s)
	}
	dst = wire.AppendInt64(name(annSequence), b.SequenceNumber)
	dst = wire.AppendTimestamp(name(annEnqueued), b.EnqueuedTime)
	if b.LockedUntil != Absent {
		dst = wire.AppendTimestamp(name(annLockedUntil), b.LockedUntil)
	}
	if b.ShowZeroOrigin || b.EnqueuedSequenceNumber != 0 {
		dst = wire.AppendInt64(name(annEnqueuedSequence), b.EnqueuedSequenceNumber)
	}
	if b.ShowActive || b.State != Active {
		dst = wire.AppendInt32(name(annState), int32(b.State))
	}
	if b.DeadLetterSource != "" {
		dst = wire.AppendString(name(annDeadLetterSource), b.DeadLetterSource)
	}
	for _, p := range m.Annotations {
		dst = append(name(wire.Symbol(p.Name)), p.Value...)
	}
	return o.CloseWith(dst, 2*count)
}

// appendProperties writes the properties section. If the broker sets an expiry time, it also sets the
// creation time. Otherwise it omits the sender's expiry time, because that has no effect.
func (m *Message) appendProperties(dst []byte, b *BrokerProperties) []byte {
	dst, o := wire.OpenList(wire.AppendDescriptor(dst, sectionProperties))
	for s, raw := range m.slots {
		switch {
		case PropertiesSectionField(s) == AbsoluteExpiry && b.ExpiresAt != Absent:
			dst = wire.AppendTimestamp(dst, b.ExpiresAt)
		case PropertiesSectionField(s) == Creation && b.ExpiresAt != Absent:
			dst = wire.AppendTimestamp(dst, b.EnqueuedTime)
		case raw == nil || PropertiesSectionField(s) == AbsoluteExpiry:
			dst = wire.AppendNull(dst)
		default:
			dst = append(dst, raw...)
		}
	}
	return o.CloseWith(dst, int(slotCount))
}
