package message

import "github.com/mayflydb/mayfly/queue/wire"

// SetBody sets the body to one data section.
func (m *Message) SetBody(data []byte) {
	m.Body = wire.AppendBinary(wire.AppendDescriptor(make([]byte, 0, len(data)+16), sectionData), data)
}

// Data returns the body as bytes, for receivers that do not use AMQP: the data sections, concatenated, or a
// string or binary value. ok is false for other values and for sequences.
func (m *Message) Data() (data []byte, ok bool) {
	for left := m.Body; len(left) > 0; {
		code, name, value, rest, err := wire.SplitDescribed(left)
		if err != nil {
			return nil, false
		}
		if name != "" {
			code = sectionNames[name]
		}
		piece, isBytes := wire.Bytes(value)
		if text, isText := wire.Text(value); code == sectionValue && isText {
			piece, isBytes = []byte(text), true
		}
		if !isBytes || code == sectionSequence {
			return nil, false
		}
		if data == nil && len(rest) == 0 {
			return piece, true
		}
		data, left = append(data, piece...), rest
	}
	return data, true
}

// Size returns the approximate size of the message on the wire in bytes.
func (m *Message) Size() int { return m.PropertiesSize() + len(m.Body) + len(m.Footer) + 16 }

// MinSize returns the size in bytes of the shortest encoding of the message on the wire. No sender's encoding
// of the message is shorter.
func (m *Message) MinSize() int { return m.minPropertiesSize() + len(m.Body) + len(m.Footer) }

// PropertiesSize returns the approximate size of all properties and annotations on the wire in bytes.
func (m *Message) PropertiesSize() int { return m.minPropertiesSize() + len(m.slots) }

// minPropertiesSize returns the size in bytes of the shortest encoding of all properties and annotations.
func (m *Message) minPropertiesSize() (n int) {
	for _, list := range [][]ApplicationProperty{m.Delivery, m.Annotations, m.Application} {
		for _, p := range list {
			n += 2 + len(p.Name) + len(p.Value) // a name is preceded by its type and length
		}
	}
	for _, s := range m.slots {
		n += len(s)
	}
	return n
}
