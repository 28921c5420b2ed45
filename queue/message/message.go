package message

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/queue/wire"
)

// UUID is the type of lock tokens.
type UUID = wire.UUID

// Message is what a sender wrote. The zero Message is an empty one.
type Message struct {
	Header      Header
	Delivery    []Property // delivery annotations; the token of a lock is not among them
	Annotations []Property // message annotations; those of the broker are not among them
	slots       [slotCount][]byte
	Application []Property
	Body        []byte // sections as they are encoded
	Footer      []byte // the section as it is encoded, its keys symbols or numbers; nil: none
}

// Header is what concerns the transport of a message.
type Header struct {
	Durable       bool
	FirstAcquirer bool
	Priority      uint8 // 4 where the sender says nothing
	TTL           int64 // milliseconds as the sender wrote them; Absent
	// Unset are the fields of these that the sender left out, which have their defaults: receivers get them
	// as null, so that a message which is sent again is the one that was sent.
	Unset HeaderFields
}

// HeaderFields is a set of fields of a Header.
type HeaderFields uint8

// The fields that a sender may leave out; TTL has Absent for that.
const (
	FieldDurable HeaderFields = 1 << iota
	FieldFirstAcquirer
	FieldPriority

	// anyField are all of them: the fields of a message without a header.
	anyField = FieldDurable | FieldFirstAcquirer | FieldPriority
)

// has reports whether a field is in the set.
func (f HeaderFields) has(field HeaderFields) bool { return f&field != 0 }

// Absent stands for a time or duration that is not there.
const Absent int64 = -1

// DefaultPriority is that of a message whose sender says nothing.
const DefaultPriority = 4

// Property is a name with a value, encoded as package wire has it.
type Property struct {
	Name  string
	Value []byte
}

// Slot is one of the fields of the properties section.
type Slot int

// The slots, in the order of the wire.
const (
	MessageID Slot = iota
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

// New is a message with a body of one data section.
func New(body []byte) *Message {
	m := &Message{Header: Header{Priority: DefaultPriority, TTL: Absent, Unset: anyField}}
	m.SetBody(body)
	return m
}

// Clone is a message of its own, which shares the bytes.
func (m *Message) Clone() *Message {
	c := *m
	c.Delivery = slices.Clone(m.Delivery)
	c.Annotations = slices.Clone(m.Annotations)
	c.Application = slices.Clone(m.Application)
	return &c
}

// Raw is a slot as it is encoded; nil: it is empty.
func (m *Message) Raw(s Slot) []byte { return m.slots[s] }

// SetRaw fills a slot with an encoded value of the type that it must have; nil and null empty it.
func (m *Message) SetRaw(s Slot, value []byte) {
	if wire.IsNull(value) {
		value = nil
	}
	m.slots[s] = value
}

// Text is a slot as text; "" for an empty one. Ids that are no strings are told as in Key, without its first
// letter.
func (m *Message) Text(s Slot) string {
	raw := m.slots[s]
	if text, ok := wire.Text(raw); ok || raw == nil {
		return text
	}
	_, text := identity(raw)
	return text
}

// SetText fills a slot with a string, or with a symbol where it has one; "" empties it.
func (m *Message) SetText(s Slot, text string) {
	switch {
	case text == "":
		m.slots[s] = nil
	case s == ContentType || s == ContentEncoding:
		m.slots[s] = wire.AppendSymbol(nil, wire.Symbol(text))
	default:
		m.slots[s] = wire.AppendString(nil, text)
	}
}

// SessionID is the session that the message belongs to; ok is false where it belongs to none.
func (m *Message) SessionID() (id string, ok bool) { return wire.Text(m.slots[GroupID]) }

// Key is the message id in a form that tells the ids of different types apart: "s" and a string, "u" and a
// number, "i" and a UUID, "b" and hexadecimal digits. ok is false where there is no id.
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

// find is the place of a property, or -1.
func find(list []Property, name string) int {
	return slices.IndexFunc(list, func(p Property) bool { return p.Name == name })
}

// Get is an application property as it is encoded; nil: there is none.
func (m *Message) Get(name string) []byte {
	if i := find(m.Application, name); i >= 0 {
		return m.Application[i].Value
	}
	return nil
}

// GetFold is Get for a name in any case; one that is spelled alike goes first.
func (m *Message) GetFold(name string) []byte {
	if v := m.Get(name); v != nil {
		return v
	}
	if i := foldIndex(m.Application, name); i >= 0 {
		return m.Application[i].Value
	}
	return nil
}

func foldIndex(list []Property, name string) int {
	return slices.IndexFunc(list, func(p Property) bool { return strings.EqualFold(p.Name, name) })
}

// Set sets an application property to an encoded value, in its place where it is there already; null deletes
// it.
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
		m.Application = append(slices.Clip(m.Application), Property{name, value})
	}
}

// SetFold is Set for a name in any case; a property that is there keeps its spelling.
func (m *Message) SetFold(name string, value []byte) {
	if i := foldIndex(m.Application, name); i >= 0 && find(m.Application, name) < 0 {
		name = m.Application[i].Name
	}
	m.Set(name, value)
}

// SetString sets an application property to a string.
func (m *Message) SetString(name, value string) { m.Set(name, wire.AppendString(nil, value)) }

// Annotation is one of the sender's message annotations as it is encoded; nil: there is none.
func (m *Message) Annotation(name string) []byte {
	if i := find(m.Annotations, name); i >= 0 {
		return m.Annotations[i].Value
	}
	return nil
}

// SetAnnotation sets one; nil and null delete it: clients do not expect null among them.
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
		list = append(list, Property{name, value})
	}
	m.Annotations = list
}
