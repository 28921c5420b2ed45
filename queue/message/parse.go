package message

import (
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/mayflydb/mayfly/queue/wire"
)

// Descriptors of the sections.
const (
	sectionHeader      = 0x70
	sectionDelivery    = 0x71
	sectionAnnotations = 0x72
	sectionProperties  = 0x73
	sectionApplication = 0x74
	sectionData        = 0x75
	sectionSequence    = 0x76
	sectionValue       = 0x77
	sectionFooter      = 0x78
)

// sectionNames maps symbolic descriptors to sections.
var sectionNames = map[wire.Symbol]uint64{
	"amqp:header:list": sectionHeader, "amqp:delivery-annotations:map": sectionDelivery,
	"amqp:message-annotations:map": sectionAnnotations, "amqp:properties:list": sectionProperties,
	"amqp:application-properties:map": sectionApplication, "amqp:data:binary": sectionData,
	"amqp:amqp-sequence:list": sectionSequence, "amqp:amqp-value:*": sectionValue,
	"amqp:footer:map": sectionFooter,
}

// FormatError reports bytes that are not a valid message.
type FormatError struct {
	Reason string
	Err    error // of package wire; nil for none
}

func (e *FormatError) Error() string {
	if e.Err != nil {
		return "malformed message: " + e.Reason + ": " + e.Err.Error()
	}
	return "malformed message: " + e.Reason
}

// Unwrap returns Err.
func (e *FormatError) Unwrap() error { return e.Err }

func malformed(reason string) error { return &FormatError{Reason: reason} }

// Parse decodes the payload of one transfer. The sections may be in any order. It fails with a
// *FormatError.
func Parse(b []byte) (*Message, error) {
	m := &Message{Header: Header{Priority: DefaultPriority, TTL: Absent, Unset: anyField}}
	// seen has a bit for each section; body is the type of the sections of the body
	seen, body := uint16(0), uint64(0)
	for len(b) > 0 {
		code, name, value, rest, err := wire.SplitDescribed(b)
		if err != nil {
			return nil, &FormatError{"a section", err}
		}
		if name != "" {
			code = sectionNames[name]
		}
		if code < sectionHeader || code > sectionFooter {
			return nil, malformed("a section of no known type")
		}
		if isBody(code) && body != 0 && (code != body || code == sectionValue) {
			return nil, malformed("the body consists of sections that cannot stand together")
		}
		bit := uint16(1) << (code - sectionHeader)
		if !isBody(code) && seen&bit != 0 {
			return nil, malformed("a section is repeated")
		}
		if err := m.section(code, value, b[:len(b)-len(rest)]); err != nil {
			return nil, err
		}
		if seen |= bit; isBody(code) {
			body = code
		}
		b = rest
	}
	m.Body = slices.Clip(m.Body) // so that append cannot overwrite what follows
	return m, nil
}

func isBody(section uint64) bool { return section >= sectionData && section <= sectionValue }

// section decodes a section of a message into m. code is its descriptor, value its content, and whole its
// encoding with the descriptor. It also validates the parts that are sent on unchanged, since a receiver that
// cannot decode a message cannot settle it.
func (m *Message) section(code uint64, value, whole []byte) (err error) {
	switch code {
	case sectionHeader:
		f := wire.ReadFields(value, "the header")
		h := &m.Header
		h.Unset = 0
		var set bool
		if h.Durable, set = f.OptionalBool(); !set {
			h.Unset |= FieldDurable
		}
		if h.Priority, set = f.OptionalUint8(); !set {
			h.Priority, h.Unset = DefaultPriority, h.Unset|FieldPriority
		}
		// If a Java client forwards a received message without a time to live, it writes 0.
		if ttl, ok := f.OptionalUint32(); ok && ttl > 0 {
			h.TTL = int64(ttl)
		}
		if h.FirstAcquirer, set = f.OptionalBool(); !set {
			h.Unset |= FieldFirstAcquirer
		}
		err = f.Err()
	case sectionDelivery:
		m.Delivery, err = properties(value, deliveryAnnotation)
	case sectionAnnotations:
		m.Annotations, err = properties(value, annotation)
	case sectionProperties:
		err = m.properties(value)
	case sectionApplication:
		m.Application, err = properties(value, application)
	case sectionFooter:
		m.Footer, err = footer(value, plain(code, value, whole))
	default:
		err = checkBody(code, value)
		m.Body = extend(m.Body, plain(code, value, whole))
	}
	if err != nil {
		return &FormatError{"section " + strconv.FormatUint(code, 16), err}
	}
	return nil
}

// extend joins two slices. If they are adjacent in memory, as the sections of a body are, it does not copy
// them.
func extend(body, more []byte) []byte {
	if body == nil {
		return more
	}
	if cap(body) >= len(body)+len(more) && &body[:len(body)+1][len(body)] == &more[0] {
		return body[:len(body)+len(more)]
	}
	return append(body[:len(body):len(body)], more...)
}

// plain returns the encoding of a section with its descriptor as a number of one byte, because some clients
// do not accept other forms. whole is returned as it is if it has that form already.
func plain(code uint64, value, whole []byte) []byte {
	if len(whole) == len(value)+3 {
		return whole
	}
	return append(wire.AppendDescriptor(make([]byte, 0, len(value)+3), code), value...)
}

func checkBody(code uint64, value []byte) error {
	switch code {
	case sectionData:
		if _, ok := wire.Bytes(value); !ok {
			return malformed("data that is no binary")
		}
		return nil
	case sectionSequence:
		if f := wire.ReadFields(value, "a sequence"); f.Err() != nil {
			return f.Err()
		}
	}
	_, err := wire.Check(value)
	return err
}

// footer checks the footer section of a message and returns its encoding. value is the section's map, and
// whole the encoded section, which footer returns if it need not change. Keys must be strings or numbers.
// Strings become symbols, because some clients cannot read a message with other keys.
func footer(value, whole []byte) ([]byte, error) {
	if wire.IsNull(value) {
		return nil, nil
	}
	asSent, count := true, 0
	list, o := wire.OpenMap(wire.AppendDescriptor(nil, sectionFooter))
	_, err := wire.EachPair(value, func(key, value []byte) error {
		text, isText := wire.Text(key)
		if _, isNumber := wire.Integer(key); !isText && !isNumber {
			return malformed("a footer with a key that is neither a string nor a number")
		}
		if isText && !wire.IsSymbol(key) {
			asSent, key = false, wire.AppendSymbol(nil, wire.Symbol(text))
		}
		list, count = append(append(list, key...), value...), count+2
		return nil
	})
	if err == nil {
		_, err = wire.Check(value)
	}
	if err != nil || asSent {
		return whole, err
	}
	return o.CloseWith(list, count), nil
}

// manyProperties is the number of properties from which on a map is used to find duplicates.
const manyProperties = 16

// properties decodes an AMQP map with names as keys. If several entries have the same name, only the first is
// kept. take decodes an entry and reports whether to keep it.
func properties(raw []byte,
	take func(key, value []byte) (ApplicationProperty, bool, error)) (list []ApplicationProperty, err error) {
	var seen map[string]bool // used from manyProperties on
	_, err = wire.EachPair(raw, func(key, value []byte) error {
		for _, raw := range [2][]byte{key, value} {
			if _, err := wire.Check(raw); err != nil {
				return err
			}
		}
		p, keep, err := take(key, value)
		if err != nil || !keep {
			return err
		}
		if len(list) < manyProperties {
			if find(list, p.Name) >= 0 {
				return nil
			}
		} else if seen = names(seen, list); seen[p.Name] {
			return nil
		} else {
			seen[p.Name] = true
		}
		list = append(list, p)
		return nil
	})
	return list, err
}

// names returns the set of the names of properties that were read so far: seen or, if that is nil, a new set
// of the names in list.
func names(seen map[string]bool, list []ApplicationProperty) map[string]bool {
	if seen == nil {
		seen = make(map[string]bool, 2*len(list))
		for _, p := range list {
			seen[p.Name] = true
		}
	}
	return seen
}

func application(key, value []byte) (p ApplicationProperty, keep bool, err error) {
	name, ok := wire.Text(key)
	if !ok {
		return p, false, malformed("an application property whose name is no string")
	}
	return ApplicationProperty{name, value}, true, nil
}

// properties decodes the properties section and validates the types of the fields.
func (m *Message) properties(value []byte) error {
	f := wire.ReadFields(value, "the properties")
	for s := range slotCount {
		raw := f.Raw()
		if raw == nil {
			continue
		}
		if _, err := wire.Check(raw); err != nil {
			return err
		}
		if !s.admits(raw) {
			return malformed("the field " + strconv.Itoa(int(s)) + " of the properties has another type")
		}
		m.slots[s] = raw
	}
	return f.Err()
}

// admits reports whether an encoded value has the AMQP type that the field requires.
func (s PropertiesSectionField) admits(raw []byte) bool {
	switch s {
	case MessageID, CorrelationID:
		if _, ok := wire.Text(raw); ok {
			return true
		}
		kind, _ := identity(raw)
		return kind != ""
	case UserID:
		_, ok := wire.Bytes(raw)
		return ok
	case AbsoluteExpiry, Creation:
		_, ok := wire.Time(raw)
		return ok
	case GroupSequence:
		n, ok := wire.Integer(raw)
		return ok && n >= 0 && n < 1<<32
	}
	_, ok := wire.Text(raw)
	return ok
}

// identity decodes an id that is not a string. It returns its kind and its text. kind is "" if the value is
// not an id.
func identity(raw []byte) (kind, text string) {
	v, _, err := wire.Value(raw)
	if err != nil {
		return "", ""
	}
	switch v := v.(type) {
	case uint64:
		return "u", strconv.FormatUint(v, 10)
	case wire.UUID:
		return "i", v.String()
	case []byte:
		return "b", hex.EncodeToString(v)
	}
	return "", ""
}

// BatchFormat is the message format of a transfer with a batch.
const BatchFormat = 0x80013700

// ParseBatch decodes the payload of a transfer with a batch: an envelope whose data sections are messages.
// The other sections of the envelope are ignored, since they only repeat properties of the first message.
func ParseBatch(b []byte) ([]*Message, error) {
	envelope, err := Parse(b)
	if err != nil {
		return nil, err
	}
	var list []*Message
	for left := envelope.Body; len(left) > 0; {
		code, _, value, rest, err := wire.SplitDescribed(left)
		if err != nil {
			return nil, &FormatError{"a batch", err}
		}
		inner, ok := wire.Bytes(value)
		if code != sectionData || !ok {
			return nil, malformed("a batch consists of data sections")
		}
		m, err := Parse(inner)
		if err != nil {
			return nil, err
		}
		list, left = append(list, m), rest
	}
	if len(list) == 0 {
		return nil, malformed("a batch without messages")
	}
	return list, nil
}
