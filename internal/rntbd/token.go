package rntbd

import (
	"encoding/binary"
	"errors"
	"math"
)

// tokenType is the type of a token's value. All integers are little-endian.
type tokenType uint8

// The types of tokens, with the encodings of their values.
const (
	kindByte        tokenType = 0x00
	kindUShort      tokenType = 0x01 // 2 bytes, unsigned
	kindULong       tokenType = 0x02 // 4 bytes, unsigned
	kindLong        tokenType = 0x03
	kindULongLong   tokenType = 0x04 // 8 bytes, unsigned
	kindLongLong    tokenType = 0x05
	kindGuid        tokenType = 0x06 // 16 bytes, in Microsoft's order
	kindSmallString tokenType = 0x07 // a length of 1 byte, then UTF-8
	kindString      tokenType = 0x08 // a length of 2 bytes
	kindULongString tokenType = 0x09 // a length of 4 bytes
	kindSmallBytes  tokenType = 0x0A
	kindBytes       tokenType = 0x0B
	kindULongBytes  tokenType = 0x0C
	kindFloat       tokenType = 0x0D
	kindDouble      tokenType = 0x0E
)

// layouts holds, for each type, the size in bytes of its values (fixed), or of the length before a value
// (prefix).
var layouts = [...]struct{ fixed, prefix int }{
	kindByte: {fixed: 1}, kindUShort: {fixed: 2}, kindULong: {fixed: 4}, kindLong: {fixed: 4},
	kindULongLong: {fixed: 8}, kindLongLong: {fixed: 8}, kindGuid: {fixed: 16},
	kindSmallString: {prefix: 1}, kindString: {prefix: 2}, kindULongString: {prefix: 4},
	kindSmallBytes: {prefix: 1}, kindBytes: {prefix: 2}, kindULongBytes: {prefix: 4},
	kindFloat: {fixed: 4}, kindDouble: {fixed: 8},
}

// errMalformed reports bytes that are not valid tokens. The start of the next frame is then unknown.
var errMalformed = errors.New("rntbd: malformed tokens")

// token is one token of a request. The value does not include its length.
type token struct {
	id    uint16
	kind  tokenType
	value string
}

// tokenList are a request's tokens in the order received. Clients send at most a few dozen, and most are
// looked up once, so a linear search is fast enough.
type tokenList []token

// parseTokens appends all tokens in text to list. Unknown tokens are kept; their lengths follow from their
// types.
func parseTokens(list tokenList, text string) (tokenList, error) {
	for len(text) > 0 {
		if len(text) < 3 {
			return list, errMalformed
		}
		t := token{id: uint16(text[0]) | uint16(text[1])<<8, kind: tokenType(text[2])}
		if int(t.kind) >= len(layouts) {
			return list, errMalformed
		}
		text = text[3:]
		n := uint64(layouts[t.kind].fixed)
		if prefix := layouts[t.kind].prefix; prefix > 0 {
			if len(text) < prefix {
				return list, errMalformed
			}
			n, text = number(text[:prefix]), text[prefix:]
		}
		if n > uint64(len(text)) {
			return list, errMalformed
		}
		t.value, text = text[:n], text[n:]
		list = append(list, t)
	}
	return list, nil
}

// find returns the value of a token. It returns false if the token is absent.
func (t tokenList) find(id uint16) (value string, found bool) {
	for i := range t {
		if t[i].id == id {
			return t[i].value, true
		}
	}
	return "", false
}

// text returns the value of a token of a string type, or "" if it is absent.
func (t tokenList) text(id uint16) string {
	value, _ := t.find(id)
	return value
}

// number returns the value of a token of an integer type, or 0 if it is absent.
func (t tokenList) number(id uint16) uint64 { return number(t.text(id)) }

func number(value string) (n uint64) {
	for i := min(len(value), 8) - 1; i >= 0; i-- {
		n = n<<8 | uint64(value[i])
	}
	return n
}

// The tokens of a response must have the types that clients expect, since clients ignore the type byte.

func appendHead(b []byte, id uint16, k tokenType) []byte {
	return append(binary.LittleEndian.AppendUint16(b, id), byte(k))
}

func appendByte(b []byte, id uint16, v byte) []byte { return append(appendHead(b, id, kindByte), v) }

func appendULong(b []byte, id uint16, v uint32) []byte {
	return binary.LittleEndian.AppendUint32(appendHead(b, id, kindULong), v)
}

func appendLongLong(b []byte, id uint16, v int64) []byte {
	return binary.LittleEndian.AppendUint64(appendHead(b, id, kindLongLong), uint64(v))
}

func appendDouble(b []byte, id uint16, v float64) []byte {
	return binary.LittleEndian.AppendUint64(appendHead(b, id, kindDouble), math.Float64bits(v))
}

func appendSmallString(b []byte, id uint16, v string) []byte {
	v = v[:min(len(v), math.MaxUint8)]
	return append(append(appendHead(b, id, kindSmallString), byte(len(v))), v...)
}

// appendString appends a string token. A string that is longer than the type allows is omitted, because a
// truncated token or list would be useless.
func appendString[T string | []byte](b []byte, id uint16, v T) []byte {
	if len(v) > math.MaxUint16 {
		return b
	}
	b = binary.LittleEndian.AppendUint16(appendHead(b, id, kindString), uint16(len(v)))
	return append(b, v...)
}
