package wire

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Symbol is an AMQP symbol: a name from a set defined by a protocol.
type Symbol string

// UUID is 16 bytes in the order of the textual form.
type UUID [16]byte

// String returns the UUID as 8-4-4-4-12 hexadecimal digits.
func (u UUID) String() string {
	var b [36]byte
	hex.Encode(b[:], u[:4])
	at := 8
	for _, part := range [][]byte{u[4:6], u[6:8], u[8:10], u[10:]} {
		b[at] = '-'
		hex.Encode(b[at+1:], part)
		at += 1 + 2*len(part)
	}
	return string(b[:])
}

// ParseUUID parses the form that String returns, with letters of either case; ok is false for any other
// text.
func ParseUUID(text string) (u UUID, ok bool) {
	digits := strings.ReplaceAll(text, "-", "")
	n, err := hex.Decode(u[:min(len(digits)/2, len(u))], []byte(digits[:min(len(digits), 2*len(u))]))
	return u, err == nil && n == len(u) && strings.EqualFold(u.String(), text)
}

// Timestamp is a time in milliseconds since 1970.
type Timestamp int64

// Char is a character.
type Char rune

// Decimal numbers of IEEE 754 in their encoded form. They are never decoded.
type (
	Decimal32  [4]byte
	Decimal64  [8]byte
	Decimal128 [16]byte
)

// List is a list of values.
type List []any

// Map is a map with its pairs in the order of the encoding.
type Map []MapEntry

// MapEntry is an entry of a Map.
type MapEntry struct{ Key, Value any }

// Get returns the value of a key that is a string or a symbol; ok is false if there is none.
func (m Map) Get(key string) (value any, ok bool) {
	for _, p := range m {
		switch k := p.Key.(type) {
		case string:
			ok = k == key
		case Symbol:
			ok = string(k) == key
		}
		if ok {
			return p.Value, true
		}
	}
	return nil, false
}

// Array is a list of values of one type. Code is the type of an empty one.
type Array struct {
	Code     byte // the constructor of the elements; 0: that of the first element's Go type
	Elements []any
}

// Described is a value with a descriptor that defines its meaning: a uint64 or a Symbol.
type Described struct{ Descriptor, Value any }

// CodecError reports bytes that cannot be decoded, or a Go value that has no encoding.
type CodecError struct {
	Want string // what was expected
	Got  string // what was found
}

func (e *CodecError) Error() string { return "amqp: " + e.Got + " where " + e.Want + " is due" }

func bad(want, format string, args ...any) error {
	return &CodecError{Want: want, Got: fmt.Sprintf(format, args...)}
}

// The constructors: the bytes that precede an encoded value and give its type.
const (
	codeDescribed  = 0x00
	codeNull       = 0x40
	codeTrue       = 0x41
	codeFalse      = 0x42
	codeUint0      = 0x43
	codeUlong0     = 0x44
	codeList0      = 0x45
	codeUbyte      = 0x50
	codeByte       = 0x51
	codeUintSmall  = 0x52
	codeUlongSmall = 0x53
	codeIntSmall   = 0x54
	codeLongSmall  = 0x55
	codeBool       = 0x56
	codeUshort     = 0x60
	codeShort      = 0x61
	codeUint       = 0x70
	codeInt        = 0x71
	codeFloat      = 0x72
	codeChar       = 0x73
	codeDecimal32  = 0x74
	codeUlong      = 0x80
	codeLong       = 0x81
	codeDouble     = 0x82
	codeTimestamp  = 0x83
	codeDecimal64  = 0x84
	codeDecimal128 = 0x94
	codeUUID       = 0x98
	codeBinary8    = 0xa0
	codeString8    = 0xa1
	codeSymbol8    = 0xa3
	codeBinary32   = 0xb0
	codeString32   = 0xb1
	codeSymbol32   = 0xb3
	codeList8      = 0xc0
	codeMap8       = 0xc1
	codeList32     = 0xd0
	codeMap32      = 0xd1
	codeArray8     = 0xe0
	codeArray32    = 0xf0
)

// IsNull reports whether an encoded value is null. Empty input counts as null.
func IsNull(raw []byte) bool { return len(raw) == 0 || raw[0] == codeNull }
