package queue

import (
	"encoding/hex"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/content"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// This file encodes sent messages, and adds the broker's properties to received ones.

// validatedMessage is a validated message that is about to be stored in an entity.
type validatedMessage struct {
	layout.MessageHeader                  // Session, the sender's TTL, Origin, Hops, Source
	msg                  *message.Message // the message to store
	body                 []byte           // the encoding of msg
	id                   string           // for duplicate detection
	due                  int64            // the scheduled time in ms; 0: none
	number               int64            // the sequence number reserved for it; 0: none
}

// bodyBytes returns the total size of encoded messages in bytes.
func bodyBytes(list []validatedMessage) (n int) {
	for i := range list {
		n += len(list[i].body)
	}
	return n
}

// arrivalOf checks a message that is sent to this store, and encodes it in the form in which it is stored.
func (s *inMemoryMessageStoreState) arrivalOf(m *message.Message) (a validatedMessage, err error) {
	if err := content.Check(&s.MessageStore, m); err != nil {
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

// idOf returns the id by which the entity recognizes duplicates of a message.
func (e *entityState) idOf(m *message.Message) string {
	id, _ := m.Key()
	if e.properties.Load().EnablePartitioning {
		id = m.PartitionKey() + "\x00" + id
	}
	return id
}

// delivery returns a message in the form in which a receiver gets it, without its lock.
func (s *inMemoryMessageStoreState) delivery(m *storedMessage) (Delivery, error) {
	d, err := s.shown(m)
	if err != nil {
		return d, err
	}
	props := s.e.properties.Load()
	d.Broker.ShowZeroOrigin, d.Broker.ShowActive = props.EnablePartitioning && props.RequiresSession, false
	if m.State == layout.Active && m.Due > 0 { // receivers see a message that was scheduled
		d.Broker.State = message.Scheduled
	}
	if def := millis(props.DefaultTTL); m.TTL == layout.NoTTL && def != host.Never && s.Sub == entity.Main {
		d.Broker.TTL, d.Broker.ExpiresAt = def, m.MessageHeader.Deadline(def)
	}
	return d, nil
}

// shown returns a stored message in the form in which Peek returns it. Its expiry time is set only if the
// message has a time to live of its own, since an expiry time from the entity's default may still change.
func (s *inMemoryMessageStoreState) shown(m *storedMessage) (Delivery, error) {
	body, err := content.Parse(m.body)
	if err != nil {
		return Delivery{}, err
	}
	b := message.BrokerProperties{SequenceNumber: m.seq, EnqueuedSequenceNumber: m.Origin,
		EnqueuedTime: m.Enqueued,
		LockedUntil:  message.Absent, ExpiresAt: message.Absent, TTL: message.Absent,
		State: message.State(m.State), DeliveryCount: uint32(max(m.Count, 0)), DeadLetterSource: m.Source,
		ShowZeroOrigin: true, ShowActive: true}
	if m.TTL != layout.NoTTL {
		h := m.MessageHeader
		if h.State == layout.Scheduled {
			h.Enqueued = h.Due
			h.TTL = capTTL(h.TTL, s.e.properties.Load().DefaultTTL)
		}
		b.TTL, b.ExpiresAt = h.TTL, h.Deadline(host.Never)
	}
	return Delivery{Message: body, Broker: b}, nil
}
