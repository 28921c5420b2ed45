package content

import (
	"fmt"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/view"
	"github.com/mayflydb/mayfly/queue/message"
)

// MaxIDBytes is the maximal size in bytes of a message id, session id or partition key in UTF-8.
const MaxIDBytes = 4 * maxID

const (
	maxID         = 128      // characters of ids and partition keys
	maxProperty   = 32 << 10 // bytes of one property
	maxProperties = 64 << 10 // bytes of all properties
)

// Parse decodes a stored body. It returns engine.ErrCorrupt if the body is invalid.
func Parse(body []byte) (*message.Message, error) {
	m, err := message.ParseStored(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrCorrupt, err)
	}
	return m, nil
}

// SetProperties sets application properties in an encoded body; a null value deletes one.
func SetProperties(body []byte, list []message.ApplicationProperty) ([]byte, error) {
	m, err := Parse(body)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		m.Set(p.Name, p.Value)
	}
	return m.AppendStored(nil), nil
}

// DeadLetterReason is the reason and description of a dead letter.
type DeadLetterReason struct{ Reason, Description *string }

// NewReason returns a reason with a name and a text.
func NewReason(name, text string) DeadLetterReason { return DeadLetterReason{&name, &text} }

// SetReason sets the dead-letter properties in an encoded body.
func SetReason(body []byte, why DeadLetterReason) ([]byte, error) {
	m, err := Parse(body)
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

// Check refuses a message that exceeds the limits, whose partition key differs from its session id, or
// that has no session id if the store requires one. A topic accepts messages without a session id even if
// its subscriptions require one.
func Check(s *view.MessageStore, m *message.Message) error {
	session, has := m.SessionID()
	if !has && s.BySession {
		return s.NotAllowed("The SessionId was not set on a message, and it cannot be sent to the entity. " +
			"Entities that have session support enabled can only receive messages that have the SessionId " +
			"set to a valid value.")
	}
	key := m.PartitionKey()
	if session != "" && key != "" && key != session {
		return s.Argument("The partition key of a message is another one than its session id.")
	}
	for _, id := range []string{m.Text(message.MessageID), session, key, m.ViaPartitionKey(),
		m.Text(message.ReplyToGroupID)} {
		if utf8.RuneCountInString(id) > maxID {
			return s.Argument("Message ids, session ids and partition keys have at most 128 characters.")
		}
	}
	if m.PropertiesSize() > maxProperties {
		return s.Refuse(entity.CodeMessageTooLarge, "The properties of a message have at most 64 KB.")
	}
	return CheckProperties(s, m.Application)
}

// CheckProperties refuses application properties that are too large.
func CheckProperties(s *view.MessageStore, list []message.ApplicationProperty) error {
	total := 0
	for _, p := range list {
		if len(p.Name)+len(p.Value) > maxProperty {
			return s.Refuse(entity.CodeMessageTooLarge, "A property of a message has at most 32 KB.")
		}
		total += len(p.Name) + len(p.Value)
	}
	if total > maxProperties {
		return s.Refuse(entity.CodeMessageTooLarge, "The properties of a message have at most 64 KB.")
	}
	return nil
}
