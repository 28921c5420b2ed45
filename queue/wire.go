package queue

import (
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// This file has everything of package queue that depends on the content of messages: the validation of sent
// messages, changes of stored ones, and the properties that the broker adds to received ones.

const (
	maxID         = 128       // characters of ids and partition keys
	maxProperty   = 32 << 10  // bytes of one property
	maxProperties = 64 << 10  // bytes of all properties
	maxIDBytes    = 4 * maxID // of an id in UTF-8
)

// arrival is a validated message to be stored in an entity.
type arrival struct {
	layout.Header                  // Session, the sender's TTL, Origin, Hops, Source
	msg           *message.Message // the message to store
	body          []byte           // the encoding of msg
	id            string           // for duplicate detection
	due           int64            // the scheduled time in ms; 0: none
	number        int64            // the sequence number reserved for it; 0: none
}

// bodyBytes returns the total size of encoded messages in bytes.
func bodyBytes(list []arrival) (n int) {
	for i := range list {
		n += len(list[i].body)
	}
	return n
}

// arrivalOf validates a message and encodes it.
func (s *messageStore) arrivalOf(m *message.Message) (a arrival, err error) {
	if err := s.checkMessage(m); err != nil {
		return a, err
	}
	m = m.Clone()
	if m.Text(message.MessageID) == "" {
		id := newToken()
		m.SetText(message.MessageID, hex.EncodeToString(id[:]))
	}
	a.msg, a.due = m, max(0, m.Scheduled())
	a.id = s.e.idOf(m)
	a.Session, _ = m.SessionID()
	if a.TTL = m.OwnTTL(); a.TTL == message.Absent {
		a.TTL = layout.NoTTL
	}
	a.body = m.AppendStored(nil)
	return a, nil
}

// idOf returns the id by which the entity detects duplicates of a message.
func (e *entityState) idOf(m *message.Message) string {
	id, _ := m.Key()
	if e.properties.Load().EnablePartitioning {
		id = m.PartitionKey() + "\x00" + id
	}
	return id
}

// checkMessage refuses a message that exceeds the limits, or that has no session id if the store requires
// one. A topic accepts messages without a session id even if its subscriptions require one.
func (s *messageStore) checkMessage(m *message.Message) error {
	session, has := m.SessionID()
	if !has && s.bySession() {
		return s.notAllowed("The SessionId was not set on a message, and it cannot be sent to the entity. " +
			"Entities that have session support enabled can only receive messages that have the SessionId " +
			"set to a valid value.")
	}
	key := m.PartitionKey()
	if session != "" && key != "" && key != session {
		return s.argument("The partition key of a message is another one than its session id.")
	}
	for _, id := range []string{m.Text(message.MessageID), session, key, m.ViaPartitionKey(),
		m.Text(message.ReplyToGroupID)} {
		if utf8.RuneCountInString(id) > maxID {
			return s.argument("Message ids, session ids and partition keys have at most 128 characters.")
		}
	}
	if m.PropertiesSize() > maxProperties {
		return s.refuse(entity.CodeMessageTooLarge, "The properties of a message have at most 64 KB.")
	}
	return s.checkProperties(m.Application)
}

// checkProperties refuses application properties that are too large.
func (s *messageStore) checkProperties(list []message.Property) error {
	total := 0
	for _, p := range list {
		if len(p.Name)+len(p.Value) > maxProperty {
			return s.refuse(entity.CodeMessageTooLarge, "A property of a message has at most 32 KB.")
		}
		total += len(p.Name) + len(p.Value)
	}
	if total > maxProperties {
		return s.refuse(entity.CodeMessageTooLarge, "The properties of a message have at most 64 KB.")
	}
	return nil
}

// parseStored decodes a stored body, or returns engine.ErrCorrupt.
func parseStored(body []byte) (*message.Message, error) {
	m, err := message.ParseStored(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrCorrupt, err)
	}
	return m, nil
}

// setProperties sets application properties in an encoded body; a null value deletes one.
func setProperties(body []byte, list []message.Property) ([]byte, error) {
	m, err := parseStored(body)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		m.Set(p.Name, p.Value)
	}
	return m.AppendStored(nil), nil
}

// reason is the reason and description of a dead letter.
type reason struct{ Reason, Description *string }

func newReason(name, text string) reason { return reason{&name, &text} }

// setReason sets the dead-letter properties in an encoded body.
func setReason(body []byte, why reason) ([]byte, error) {
	m, err := parseStored(body)
	if err != nil {
		return nil, err
	}
	if why.Reason != nil {
		m.SetString("DeadLetterReason", *why.Reason)
	}
	if why.Description != nil {
		m.SetString("DeadLetterErrorDescription", *why.Description)
	}
	return m.AppendStored(nil), nil
}

// delivery returns a message as a receiver gets it, without its lock.
func (s *messageStore) delivery(m *stored) (Delivery, error) {
	d, err := s.shown(m)
	if err != nil {
		return d, err
	}
	props := s.e.properties.Load()
	d.Broker.ShowZeroOrigin, d.Broker.ShowActive = props.EnablePartitioning && props.RequiresSession, false
	if m.State == layout.Active && m.Due > 0 { // receivers see it as scheduled
		d.Broker.State = message.Scheduled
	}
	if def := millis(props.DefaultTTL); m.TTL == layout.NoTTL && def != host.Never && s.sub == entity.Main {
		d.Broker.TTL, d.Broker.ExpiresAt = def, m.Header.Deadline(def)
	}
	return d, nil
}

// shown returns a message as Peek shows it. Its expiry time is set only if it has a time to live of its
// own. An expiry time that follows from the entity's default may still change.
func (s *messageStore) shown(m *stored) (Delivery, error) {
	body, err := parseStored(m.body)
	if err != nil {
		return Delivery{}, err
	}
	b := message.Broker{SequenceNumber: m.seq, EnqueuedSequenceNumber: m.Origin, EnqueuedTime: m.Enqueued,
		LockedUntil: message.Absent, ExpiresAt: message.Absent, TTL: message.Absent,
		State: message.State(m.State), DeliveryCount: uint32(max(m.Count, 0)), DeadLetterSource: m.Source,
		ShowZeroOrigin: true, ShowActive: true}
	if m.TTL != layout.NoTTL {
		h := m.Header
		if h.State == layout.Scheduled {
			h.Enqueued = h.Due
			h.TTL = capTTL(h.TTL, s.e.properties.Load().DefaultTTL)
		}
		b.TTL, b.ExpiresAt = h.TTL, h.Deadline(host.Never)
	}
	return Delivery{Message: body, Broker: b}, nil
}
