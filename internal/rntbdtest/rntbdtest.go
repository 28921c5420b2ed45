package rntbdtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// The types of the values of tokens.
const (
	Byte        = 0x00
	ULong       = 0x02
	LongLong    = 0x05
	GUID        = 0x06
	SmallString = 0x07
	String      = 0x08
	Bytes       = 0x0B
	Double      = 0x0E
)

// Token is one token of an RNTBD request, its form of a header: an id, the type of the value, and the value.
type Token struct {
	ID    uint16
	Type  byte
	Value []byte // without its length
}

// Text returns a token whose value is a string.
func Text(id uint16, value string) Token { return Token{id, String, []byte(value)} }

// Flag returns a token whose value is one byte.
func Flag(id uint16, value byte) Token { return Token{id, Byte, []byte{value}} }

// Number returns a token whose value is a number of 32 bits.
func Number(id uint16, value uint32) Token {
	return Token{id, ULong, binary.LittleEndian.AppendUint32(nil, value)}
}

// Frame returns the encoded frame of a request.
func Frame(resource, operation uint16, activity [16]byte, payload []byte, tokens ...Token) []byte {
	b := binary.LittleEndian.AppendUint16(make([]byte, 4), resource)
	b = binary.LittleEndian.AppendUint16(b, operation)
	b = append(b, activity[:]...)
	for _, t := range tokens {
		b = append(binary.LittleEndian.AppendUint16(b, t.ID), t.Type)
		switch t.Type {
		case SmallString:
			b = append(b, byte(len(t.Value)))
		case String, Bytes:
			b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Value)))
		}
		b = append(b, t.Value...)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	if payload != nil {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(payload))), payload...)
	}
	return b
}

// Context returns the encoded connection context, which is the first frame that a client sends.
func Context() []byte {
	return Frame(0, 0, [16]byte{1}, nil, Number(0, 1), Token{1, SmallString, []byte("2020-07-15")},
		Token{2, SmallString, []byte("a test")})
}

// Response is a decoded response of the server.
type Response struct {
	Status   int
	Activity [16]byte
	Values   map[uint16]any // by the id of the token: uint64, int64, float64 or string
	Body     []byte
}

// answerTypes maps the ids of the response tokens that clients read to the types by which they decode them.
var answerTypes = map[uint16]byte{
	0x00: Byte,
	0x03: String,
	0x04: String,
	0x0C: ULong,
	0x0E: String,
	0x0F: String,
	0x13: LongLong,
	0x14: ULong,
	0x15: Double,
	0x17: String,
	0x18: String,
	0x1A: LongLong,
	0x1C: ULong,
	0x1E: ULong,
	0x1F: ULong,
	0x21: String,
	0x25: String,
	0x28: String,
	0x29: LongLong,
	0x30: ULong,
	0x32: LongLong,
	0x35: ULong,
	0x3A: LongLong,
	0x3B: LongLong,
	0x3C: LongLong,
	0x3E: String,
	0x44: String,
	0x45: String,
	0x66: Byte, 0x51: Double,
}

// contextTypes maps the ids of the tokens in the response to a connection context to their types.
var contextTypes = map[uint16]byte{
	0: ULong,
	1: SmallString,
	2: SmallString,
	3: SmallString,
	4: ULong,
	5: ULong,
}

// Read reads one answer.
func Read(r io.Reader) (*Response, error) { return read(r, answerTypes) }

// ReadContext reads the response to a connection context.
func ReadContext(r io.Reader) (*Response, error) { return read(r, contextTypes) }

func read(r io.Reader, types map[uint16]byte) (*Response, error) {
	var head [24]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	a := &Response{Status: int(binary.LittleEndian.Uint32(head[4:])), Values: map[uint16]any{}}
	copy(a.Activity[:], head[8:])
	b := make([]byte, binary.LittleEndian.Uint32(head[:])-24)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	for len(b) > 0 {
		id := binary.LittleEndian.Uint16(b)
		kind, known := types[id]
		if !known {
			return nil, fmt.Errorf("token %x is not known", id)
		}
		if _, twice := a.Values[id]; twice {
			return nil, fmt.Errorf("token %x comes twice", id)
		}
		a.Values[id], b = value(b[3:], kind)
	}
	var present bool
	if v, ok := a.Values[0x00].(uint64); ok && types[0x00] == Byte {
		present = v != 0
	} else if types[0x00] == Byte {
		return nil, errors.New("an answer does not say whether it has a body")
	}
	if !present {
		return a, nil
	}
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	a.Body = make([]byte, binary.LittleEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, a.Body)
	return a, err
}

// value decodes the value at the beginning of b, whose type is kind, and returns it with the bytes after
// it.
func value(b []byte, kind byte) (any, []byte) {
	switch kind {
	case Byte:
		return uint64(b[0]), b[1:]
	case ULong:
		return uint64(binary.LittleEndian.Uint32(b)), b[4:]
	case LongLong:
		return int64(binary.LittleEndian.Uint64(b)), b[8:]
	case Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
	case SmallString:
		n := int(b[0]) + 1
		return string(b[1:n]), b[n:]
	}
	n := int(binary.LittleEndian.Uint16(b)) + 2
	return string(b[2:n]), b[n:]
}
