package queue

import (
	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/queue/message"
)

// What the engine of messages knows of what is in a message, in one place.

func encodeMessage(m *message.Message) []byte    { return m.Encode() }
func messageID(m *message.Message) string        { return m.ID }
func setMessageID(m *message.Message, id string) { m.ID = id }
func sessionID(m *message.Message) string        { return m.Session }
func partitionKey(m *message.Message) string     { return m.PartitionKey }
func dueOf(m *message.Message) int64             { return m.Due }
func ttlOf(m *message.Message) int64 {
	if m.TTL == nil {
		return noTTL
	}
	return *m.TTL
}

func (s *messageStore) checkMessage(m *message.Message) error {
	p := s.e.properties.Load()
	if p.RequiresSession && s.e.kind == Queue && m.Session == "" {
		return s.notAllowed("The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have session support enabled can only receive messages that have the SessionId set to a valid value.")
	}
	return nil
}

func setProperties(body []byte, list []message.Property) ([]byte, error) {
	m, err := message.Decode(body)
	if err != nil {
		return nil, err
	}
	if m.Properties == nil {
		m.Properties = map[string]any{}
	}
	for _, p := range list {
		if p.Value == nil {
			delete(m.Properties, p.Name)
		} else {
			m.Properties[p.Name] = p.Value
		}
	}
	return m.Encode(), nil
}

func setReason(body []byte, why reason) ([]byte, error) {
	var list []message.Property
	if why.Reason != nil {
		list = append(list, message.Property{Name: "DeadLetterReason", Value: *why.Reason})
	}
	if why.Description != nil {
		list = append(list, message.Property{Name: "DeadLetterErrorDescription", Value: *why.Description})
	}
	return setProperties(body, list)
}

func (s *messageStore) delivery(m *stored, until int64) (Delivery, error) {
	d, err := s.shown(m)
	if until > 0 {
		d.Broker.LockedUntil = moment(until)
	}
	if at := m.header.deadline(millis(s.e.properties.Load().DefaultTTL)); at != host.Never {
		d.Broker.ExpiresAt = moment(at)
	}
	return d, err
}

func (s *messageStore) shown(m *stored) (d Delivery, err error) {
	d.Message, err = message.Decode(m.body)
	d.Broker = message.Broker{SequenceNumber: m.seq, EnqueuedTime: moment(m.Enqueued), DeliveryCount: m.Count, State: int32(m.State),
		TTL: m.TTL}
	return d, err
}
