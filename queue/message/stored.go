package message

import "encoding/binary"

// The format of a stored message:
//
//	version  1 byte: 2; 1 for messages stored before delivery annotations were supported
//	flags    1 byte: durable 1, footer 2, first acquirer 4, delivery annotations 8; 16, 32 and 64 if the
//	         sender omitted durable, first acquirer, priority
//	priority 1 byte
//	slots    2 bytes, big-endian: a bit for each slot (field of the properties section) in use, the first
//	         slot the lowest
//	ttl      uvarint of the header's milliseconds + 1; 0: absent
//	then each slot in use; the annotations and the application properties, each as their number, names and
//	values; the delivery annotations in the same form and the footer, each if its flag is set. A uvarint
//	with the length precedes each slot, name, value and footer.
//	The body is the rest.
const storedVersion = 2

const (
	flagDurable = 1 << iota
	flagFooter
	flagFirstAcquirer
	flagDelivery
)

// unsetShift is the position of the bits of Header.Unset in the flags.
const unsetShift = 4

// AppendStored encodes the message for the store.
func (m *Message) AppendStored(dst []byte) []byte {
	var flags byte
	if m.Header.Durable {
		flags |= flagDurable
	}
	if m.Footer != nil {
		flags |= flagFooter
	}
	if m.Header.FirstAcquirer {
		flags |= flagFirstAcquirer
	}
	if len(m.Delivery) > 0 {
		flags |= flagDelivery
	}
	flags |= byte(m.Header.Unset) << unsetShift
	filled := uint16(0)
	for s, raw := range m.slots {
		if raw != nil {
			filled |= 1 << s
		}
	}
	dst = binary.BigEndian.AppendUint16(append(dst, storedVersion, flags, m.Header.Priority), filled)
	dst = binary.AppendUvarint(dst, uint64(m.Header.TTL+1))
	for _, raw := range m.slots {
		if raw != nil {
			dst = appendPiece(dst, raw)
		}
	}
	dst = appendProperties(appendProperties(dst, m.Annotations), m.Application)
	if len(m.Delivery) > 0 {
		dst = appendProperties(dst, m.Delivery)
	}
	if m.Footer != nil {
		dst = appendPiece(dst, m.Footer)
	}
	return append(dst, m.Body...)
}

func appendProperties(dst []byte, list []ApplicationProperty) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, p := range list {
		dst = append(binary.AppendUvarint(dst, uint64(len(p.Name))), p.Name...)
		dst = appendPiece(dst, p.Value)
	}
	return dst
}

func appendPiece(dst, piece []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(piece))), piece...)
}

// ParseStored decodes the result of AppendStored. A *FormatError means that the store is damaged.
func ParseStored(b []byte) (*Message, error) {
	if len(b) < 5 || b[0] < 1 || b[0] > storedVersion {
		return nil, malformed("stored bytes of another version")
	}
	m := &Message{}
	flags, filled := b[1], binary.BigEndian.Uint16(b[3:])
	m.Header.Durable, m.Header.Priority = flags&flagDurable != 0, b[2]
	m.Header.FirstAcquirer = flags&flagFirstAcquirer != 0
	m.Header.Unset = HeaderFieldSet(flags>>unsetShift) & anyField
	r := storedMessageDecoder{b[5:], false}
	m.Header.TTL = int64(r.number()) - 1
	for s := range m.slots {
		if filled&(1<<s) != 0 {
			m.slots[s] = r.piece()
		}
	}
	m.Annotations, m.Application = r.properties(), r.properties()
	if flags&flagDelivery != 0 {
		m.Delivery = r.properties()
	}
	if flags&flagFooter != 0 {
		m.Footer = r.piece()
	}
	if r.bad {
		return nil, malformed("stored bytes end too soon")
	}
	if len(r.left) > 0 {
		m.Body = r.left
	}
	return m, nil
}

// storedMessageDecoder decodes a stored message: numbers, and byte strings that their length precedes. After
// an error it reads nothing more.
type storedMessageDecoder struct {
	left []byte
	bad  bool
}

func (r *storedMessageDecoder) number() uint64 {
	n, width := binary.Uvarint(r.left)
	if width <= 0 {
		r.bad, r.left = true, nil
		return 0
	}
	r.left = r.left[width:]
	return n
}

func (r *storedMessageDecoder) piece() []byte {
	n := r.number()
	if n > uint64(len(r.left)) {
		r.bad, r.left = true, nil
		return nil
	}
	piece := r.left[:n:n]
	r.left = r.left[n:]
	return piece
}

func (r *storedMessageDecoder) properties() (list []ApplicationProperty) {
	n := r.number()
	if n > uint64(len(r.left)) {
		r.bad, r.left = true, nil
		return nil
	}
	if n > 0 {
		list = make([]ApplicationProperty, 0, n)
	}
	for range n {
		list = append(list, ApplicationProperty{string(r.piece()), r.piece()})
	}
	return list
}
