package message

import "github.com/mayflydb/mayfly/queue/wire"

// SetBody makes the body one data section.
func (m *Message) SetBody(data []byte) {
	m.Body = wire.AppendBinary(wire.AppendDescriptor(make([]byte, 0, len(data)+16), sectionData), data)
}

// Data is the body as bytes, for receivers that know nothing of AMQP: data sections one after the other, or a
// value that is a string or a binary. ok is false for any other value and for sequences.
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

// Size is about how many bytes the message has on the wire.
func (m *Message) Size() int { return m.PropertiesSize() + len(m.Body) + len(m.Footer) + 16 }

// PropertiesSize is about how many bytes all properties and annotations have on the wire.
func (m *Message) PropertiesSize() (n int) {
	for _, list := range [][]Property{m.Delivery, m.Annotations, m.Application} {
		for _, p := range list {
			n += len(p.Name) + len(p.Value) + 2
		}
	}
	for _, s := range m.slots {
		n += len(s) + 1
	}
	return n
}
