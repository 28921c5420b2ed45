package definition

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/twmb/murmur3"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// The effective partition key (EPK) is the hash that assigns documents to partition ranges. Clients compute
// it, too, and compare it as upper-case hexadecimal text. This package uses the bytes of that text, which
// have the same order.
//
//	version 2   MurmurHash3 x64-128 of all components, reversed, top two bits cleared: 16 bytes
//	MultiHash   the hash of version 2 for each component by itself, concatenated: 16 bytes a component, so that
//	            the EPK of a key prefix is a prefix of the EPK
//	version 1   MurmurHash3 x86-32 as a number, then the components, all in a binary encoding that keeps their order
//
// The hash input of a component is a byte for its type. A number follows as its double in little-endian
// order, a string as its UTF-8 bytes and an end mark. Version 1 uses only the first 100 UTF-16 units of a
// string.
const (
	EPKHashLen   = 16
	v1Truncation = 100 // maximum of hashed UTF-16 units, and of encoded bytes with an end mark
)

// The bytes that stand for the type of a component of a partition key, and for its end, in the input of
// the hash and in the binary encoding of an effective partition key.
const (
	epkUndefined = 0x00
	epkNull      = 0x01
	epkFalse     = 0x02
	epkTrue      = 0x03
	epkNumber    = 0x05
	EPKText      = 0x08

	epkEndV1 = 0x00
	epkEndV2 = 0xFF
)

// EPK returns the effective partition key of a full key, or of a prefix of one if the definition is
// hierarchical. The EPK of the empty key is empty, which is the lowest.
func EPK(d *PartitionKeyDefinition, k PartitionKey) []byte { return AppendEPK(nil, d, k) }

// AppendEPK appends the effective partition key (EPK) of the partition key k under the definition d. It
// allocates no other buffer: it builds the hash input behind dst and then overwrites it with the result.
func AppendEPK(dst []byte, d *PartitionKeyDefinition, k PartitionKey) []byte {
	switch {
	case len(k.values) == 0:
	case d.Kind == KindMultiHash:
		for i := range k.values {
			dst = appendHashV2(dst, k.values[i:i+1])
		}
	case d.Version == 2:
		dst = appendHashV2(dst, k.values)
	default:
		dst = appendHashV1(dst, k.values)
	}
	return dst
}

// EPKHex returns an EPK as the text that clients use.
func EPKHex(epk []byte) string { return strings.ToUpper(hex.EncodeToString(epk)) }

func appendHashV2(dst []byte, values []jsondoc.Value) []byte {
	start := len(dst)
	for _, v := range values {
		dst = appendComponent(dst, v)
		if v.Kind() == jsondoc.String {
			dst = append(dst, epkEndV2)
		}
	}
	hash := jsondoc.Murmur128(dst[start:], jsondoc.MurmurHash128{})
	dst = binary.BigEndian.AppendUint64(dst[:start], hash.High)
	dst = binary.BigEndian.AppendUint64(dst, hash.Low)
	dst[start] &= 0x3F
	return dst
}

func appendHashV1(dst []byte, values []jsondoc.Value) []byte {
	start := len(dst)
	for _, v := range values {
		at := len(dst) + 1
		dst = appendComponent(dst, v)
		if v.Kind() == jsondoc.String {
			dst = append(truncateUTF16(dst, at), epkEndV1)
		}
	}
	hash := murmur3.Sum32(dst[start:])
	dst = AppendBinaryNumber(dst[:start], float64(hash))
	for _, v := range values {
		switch v.Kind() {
		case jsondoc.Number:
			dst = AppendBinaryNumber(dst, v.Num())
		case jsondoc.String:
			at := len(dst) + 1
			dst = binaryString(truncateUTF16(appendComponent(dst, v), at), at)
		default:
			dst = appendComponent(dst, v)
		}
	}
	return dst
}

// appendComponent appends the type of a component and its value. It does not append the end mark of a
// string.
func appendComponent(dst []byte, v jsondoc.Value) []byte {
	switch v.Kind() {
	case jsondoc.Null:
		return append(dst, epkNull)
	case jsondoc.Bool:
		if v.Bool() {
			return append(dst, epkTrue)
		}
		return append(dst, epkFalse)
	case jsondoc.Number:
		return binary.LittleEndian.AppendUint64(append(dst, epkNumber), math.Float64bits(v.Num()+0))
	case jsondoc.String:
		return v.AppendStr(append(dst, EPKText))
	}
	return append(dst, epkUndefined)
}

// truncateUTF16 truncates the string b[at:] to its first 100 UTF-16 units. If that would cut a character of
// two units in half, U+FFFD takes its place, as in the clients.
func truncateUTF16(b []byte, at int) []byte {
	units := 0
	for i := at; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		units++
		if r > 0xFFFF {
			units++
		}
		if units > v1Truncation {
			b = b[:i]
			if units == v1Truncation+2 || r <= 0xFFFF {
				return b
			}
			return utf8.AppendRune(b, utf8.RuneError)
		}
		i += size
	}
	return b
}

// binaryString converts the string b[at:] to its binary encoding. Each byte is increased by one. A string
// of at most 100 bytes gets an end mark; a longer one is cut to 101 bytes without an end mark.
func binaryString(b []byte, at int) []byte {
	long := len(b)-at > v1Truncation
	if long {
		b = b[:at+v1Truncation+1]
	}
	for i := at; i < len(b); i++ {
		if b[i] != 0xFF {
			b[i]++
		}
	}
	if long {
		return b
	}
	return append(b, 0x00)
}

// AppendBinaryNumber appends the binary encoding of a number, which has the order of the numbers. The bits
// of the double are first mapped to an order-preserving integer. The top byte comes first, then seven bits
// per byte until all remaining bits are zero. Each byte except the last has its lowest bit set.
func AppendBinaryNumber(dst []byte, f float64) []byte {
	u := math.Float64bits(f + 0)
	if u>>63 == 0 {
		u ^= 1 << 63
	} else {
		u = ^u + 1
	}
	dst = append(dst, epkNumber, byte(u>>56))
	u <<= 8
	for {
		b := byte(u>>56) | 1
		if u <<= 7; u == 0 {
			return append(dst, b&^1)
		}
		dst = append(dst, b)
	}
}

// SplitRanges returns the n+1 bounds of n equal ranges of the EPK space, the first "" and the last "FF".
// Clients compare them as text. As in Cosmos DB, each bound is a multiple of the rounded-down size of a
// range, and the last range includes the remainder.
func SplitRanges(d *PartitionKeyDefinition, n int) []string {
	bounds := []string{""}
	for i := 1; i < n; i++ {
		if d.Version == 2 {
			top := new(big.Int).Lsh(big.NewInt(1), 126)
			b := top.Sub(top, big.NewInt(1)).Div(top, big.NewInt(int64(n))).Mul(top, big.NewInt(int64(i)))
			bounds = append(bounds, EPKHex(b.FillBytes(make([]byte, EPKHashLen))))
		} else {
			hash := uint64(i) * (math.MaxUint32 / uint64(n))
			bounds = append(bounds, EPKHex(AppendBinaryNumber(nil, float64(hash))))
		}
	}
	return append(bounds, MaxEPK)
}

// MaxEPK is the exclusive end of the space of effective partition keys.
const MaxEPK = "FF"
