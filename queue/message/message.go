package message

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/queue/wire"
)

// UUID is the type of a lock token.
type UUID = wire.UUID

// Message is a message as its sender wrote it. The zero Message is empty.
type Message struct {
	Header      Header
	Delivery    []ApplicationProperty // delivery annotations, without the lock token
	Annotations []ApplicationProperty // message annotations, without those of the broker
	slots       [slotCount][]byte
	Application []ApplicationProperty
	Body        []byte // encoded sections
	Footer      []byte // the encoded section; string keys are symbols; nil: none
}

// Header is the header section of a message.
type Header struct {
	Durable       bool
	FirstAcquirer bool
	Priority      uint8 // default 4
	TTL           int64 // the sender's value in milliseconds, or Absent
	// Unset is the set of fields that the sender omitted. In this struct they have their default values.
	// They are sent to receivers as null, so that a forwarded message is unchanged.
	Unset HeaderFieldSet
}

// HeaderFieldSet is a set of those fields of a Header that a sender may omit.
type HeaderFieldSet uint8

// The members of a HeaderFieldSet: the fields of a message header that a sender may omit. An omitted TTL is
// not in the set; its value is Absent.
const (
	FieldDurable HeaderFieldSet = 1 << iota
	FieldFirstAcquirer
	FieldPriority

	// anyField is the set of all fields that a sender may omit. It is the value of Header.Unset for a message
	// without a header.
	anyField = FieldDurable | FieldFirstAcquirer | FieldPriority
)

// has reports whether a field is in the set.
func (f HeaderFieldSet) has(field HeaderFieldSet) bool { return f&field != 0 }

// Absent is the value of a missing time or duration.
const Absent int64 = -1

// DefaultPriority is the priority if the sender sets none.
const DefaultPriority = 4

// ApplicationProperty is an application property: its name, and its value as AMQP encodes it.
type ApplicationProperty struct {
	Name  string
	Value []byte
}

// PropertiesSectionField is a field of the properties section.
type PropertiesSectionField int

// The fields of the properties section, in the order of their encoding.
const (
	MessageID PropertiesSectionField = iota
	UserID
	To
	Subject
	ReplyTo
	CorrelationID
	ContentType     // a symbol
	ContentEncoding // a symbol
	AbsoluteExpiry  // a timestamp
	Creation        // a timestamp
	GroupID         // the session
	GroupSequence   // a uint
	ReplyToGroupID
	slotCount
)

// New returns a message with a body of one data section.
func New(body []byte) *Message {
	m := &Message{Header: Header{Priority: DefaultPriority, TTL: Absent, Unset: anyField}}
	m.SetBody(body)
	return m
}

// Clone returns a copy that can be changed independently of the original. The two share the bytes of their
// values.
func (m *Message) Clone() *Message {
	c := *m
	c.Delivery = slices.Clone(m.Delivery)
	c.Annotations = slices.Clone(m.Annotations)
	c.Application = slices.Clone(m.Application)
	return &c
}

// Raw returns the AMQP encoding of a field of the properties section, or nil if the message does not have it.
func (m *Message) Raw(s PropertiesSectionField) []byte { return m.slots[s] }

// SetRaw sets a field of the properties section to an encoded value of the field's type; nil and null clear
// it.
func (m *Message) SetRaw(s PropertiesSectionField, value []byte) {
	if wire.IsNull(value) {
		value = nil
	}
	m.slots[s] = value
}

// Text returns a field of the properties section as text, or "" if the message does not have it. AMQP also
// allows an id that is a number, a UUID or bytes: it is returned in decimal, in the form 8-4-4-4-12 and in
// hexadecimal.
func (m *Message) Text(s PropertiesSectionField) string {
	raw := m.slots[s]
	if text, ok := wire.Text(raw); ok || raw == nil {
		return text
	}
	_, text := identity(raw)
	return text
}

// SetText sets a field of the properties section to a string, or to a symbol if the field has that type; ""
// clears it.
func (m *Message) SetText(s PropertiesSectionField, text string) {
	switch {
	case text == "":
		m.slots[s] = nil
	case s == ContentType || s == ContentEncoding:
		m.slots[s] = wire.AppendSymbol(nil, wire.Symbol(text))
	default:
		m.slots[s] = wire.AppendString(nil, text)
	}
}

// SessionID returns the session id; ok is false if the message has none.
func (m *Message) SessionID() (id string, ok bool) { return wire.Text(m.slots[GroupID]) }

// Key returns the message id in a form that distinguishes ids of different types: "s" and a string, "u" and
// a number, "i" and a UUID, or "b" and hexadecimal digits. ok is false if there is no id.
func (m *Message) Key() (key string, ok bool) {
	raw := m.slots[MessageID]
	if raw == nil {
		return "", false
	}
	if text, isText := wire.Text(raw); isText {
		return "s" + text, true
	}
	kind, text := identity(raw)
	return kind + text, true
}

// find returns the index of a property, or -1.
func find(list []ApplicationProperty, name string) int {
	return slices.IndexFunc(list, func(p ApplicationProperty) bool { return p.Name == name })
}

// Get returns the encoded value of an application property, or nil if there is none.
func (m *Message) Get(name string) []byte {
	if i := find(m.Application, name); i >= 0 {
		return m.Application[i].Value
	}
	return nil
}

// GetFold returns the encoded value of an application property, or nil. It ignores case. If several names
// differ only in case, the one in the given case has precedence.
func (m *Message) GetFold(name string) []byte {
	if v := m.Get(name); v != nil {
		return v
	}
	if i := foldIndex(m.Application, name); i >= 0 {
		return m.Application[i].Value
	}
	return nil
}

func foldIndex(list []ApplicationProperty, name string) int {
	return slices.IndexFunc(list, func(p ApplicationProperty) bool { return strings.EqualFold(p.Name, name) })
}

// Set sets an application property to an encoded value; null deletes it. An existing property keeps its
// position.
func (m *Message) Set(name string, value []byte) {
	i := find(m.Application, name)
	switch {
	case wire.IsNull(value) && i >= 0:
		m.Application = slices.Delete(slices.Clone(m.Application), i, i+1)
	case wire.IsNull(value):
	case i >= 0:
		m.Application = slices.Clone(m.Application)
		m.Application[i].Value = value
	default:
		m.Application = append(slices.Clip(m.Application), ApplicationProperty{name, value})
	}
}

// SetFold sets an application property to an encoded value; null deletes it. It ignores case. An existing
// property keeps the spelling of its name.
func (m *Message) SetFold(name string, value []byte) {
	if i := foldIndex(m.Application, name); i >= 0 && find(m.Application, name) < 0 {
		name = m.Application[i].Name
	}
	m.Set(name, value)
}

// SetString sets an application property to a string.
func (m *Message) SetString(name, value string) { m.Set(name, wire.AppendString(nil, value)) }

// Annotation returns the encoded value of a message annotation of the sender, or nil if there is none.
func (m *Message) Annotation(name string) []byte {
	if i := find(m.Annotations, name); i >= 0 {
		return m.Annotations[i].Value
	}
	return nil
}

// SetAnnotation sets a message annotation. nil and null delete it, because clients do not expect null
// annotations.
func (m *Message) SetAnnotation(name string, value []byte) {
	if wire.IsNull(value) {
		value = nil
	}
	i := find(m.Annotations, name)
	list := slices.Clone(m.Annotations)
	switch {
	case value == nil && i < 0:
	case value == nil:
		list = slices.Delete(list, i, i+1)
	case i >= 0:
		list[i].Value = value
	default:
		list = append(list, ApplicationProperty{name, value})
	}
	m.Annotations = list
}
