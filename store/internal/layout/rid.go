package layout

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// A rid is the address that the system gives a resource. On the wire it is base64 with '-' in place of
// '/', of these bytes:
//
//	database    4 bytes: number, little-endian, never 0
//	container   8 bytes: the database's, then the container's 4, whose first byte has its top bit set
//	user        8 bytes: the database's, then the user's 4, whose first byte has its top bit clear
//	permission 16 bytes: the user's, then a number of 64 bits, little-endian
//	key        16 bytes: the database's, then 4 zeros, the key's number and a type of 32 bits each, little-endian
//	child      16 bytes: the container's, then 64 bits, little-endian; the top 4 bits are the type
//	offer       3 bytes of its number, little-endian; 4 bytes if the number needs them
//
// The 64 bits of an item are its storage rid: type 0, the range in which it was created (12 bits), the
// sequence with which it was created (48 bits). It never changes. In a range its numeric order is the
// order of creation.

var ridEncoding = base64.StdEncoding

// RIDTypeRange is the type of a partition key range among the children of a container.
const RIDTypeRange = 5

// ItemRID returns the rid of an item that is created in the partition range with the given number; born is
// the sequence of the creating write.
func ItemRID(number uint16, born WriteSequence) uint64 {
	return uint64(number)<<SequenceBits | uint64(born)
}

// RIDRange returns the number of the partition range in which an item was created.
func RIDRange(rid uint64) uint16 { return uint16(rid >> SequenceBits) }

// RIDCreated returns the write sequence (LSN and position in the transaction) of the write that created the
// item with a rid.
func RIDCreated(rid uint64) WriteSequence { return WriteSequence(rid & (1<<SequenceBits - 1)) }

// RIDText returns the text of a rid as sent on the wire.
func RIDText(b []byte) string {
	var buf [32]byte
	return string(AppendRID(buf[:0], b))
}

// AppendRID appends the text of a rid as sent on the wire.
func AppendRID(dst, b []byte) []byte {
	at := len(dst)
	dst = ridEncoding.AppendEncode(dst, b)
	for i := at; i < len(dst); i++ {
		if dst[i] == '/' {
			dst[i] = '-'
		}
	}
	return dst
}

// ParseRID decodes the text of a rid; ok is false if it is not a rid of n bytes.
func ParseRID(s string, n int) (b []byte, ok bool) {
	b, err := ridEncoding.DecodeString(strings.ReplaceAll(s, "-", "/"))
	return b, err == nil && len(b) == n
}

// DatabaseRIDBytes returns the rid of a database.
func DatabaseRIDBytes(dbid uint32) []byte { return binary.LittleEndian.AppendUint32(nil, dbid) }

// ContainerRIDBytes returns the rid of a container.
func ContainerRIDBytes(dbid, cid uint32) []byte {
	return binary.BigEndian.AppendUint32(DatabaseRIDBytes(dbid), cid)
}

// ContainerOfRID returns the number of the container in its rid, which has 8 bytes.
func ContainerOfRID(rid []byte) (cid uint32) { return binary.BigEndian.Uint32(rid[4:]) }

// ChildRIDBytes returns the rid of a child of a container. child holds the type in its top 4 bits.
func ChildRIDBytes(dbid, cid uint32, child uint64) []byte {
	return binary.LittleEndian.AppendUint64(ContainerRIDBytes(dbid, cid), child)
}

// UserRIDBytes returns the rid of a user.
func UserRIDBytes(dbid, user uint32) []byte {
	return binary.BigEndian.AppendUint32(DatabaseRIDBytes(dbid), user)
}

// RIDTypeEncryptionKey distinguishes a client encryption key from other children of a database.
const RIDTypeEncryptionKey = 2

// EncryptionKeyRIDBytes returns the rid of a client encryption key.
func EncryptionKeyRIDBytes(dbid, key uint32) []byte {
	b := append(DatabaseRIDBytes(dbid), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, key)
	return binary.LittleEndian.AppendUint32(b, RIDTypeEncryptionKey)
}

// OfferRIDText returns the rid of a throughput (an offer in Cosmos DB) as sent on the wire.
func OfferRIDText(n uint32) string {
	b := binary.LittleEndian.AppendUint32(nil, n)
	if b[3] == 0 {
		b = b[:3]
	}
	return RIDText(b)
}

// ETagText returns the etag of a version. It is built from the container's incarnation, the number of the
// range and a number of 48 bits (for an item its sequence), a combination that is never reused. Like Cosmos
// DB's etags it looks like a GUID and includes its literal quotes.
func ETagText(incarnation uint32, slot uint16, number uint64) string {
	b := ETagBytes(incarnation, slot, number)
	return string(b[:])
}

// ETagBytes returns the etag of a version as an array, quotes included, so that no string is allocated. The
// etag is built from the container's incarnation, the number of the range in slot, and a number of 48 bits
// (for an item its sequence).
func ETagBytes(incarnation uint32, slot uint16, number uint64) (b [38]byte) {
	var raw [8]byte
	b[0], b[37] = '"', '"'
	binary.BigEndian.PutUint32(raw[:], incarnation)
	hex.Encode(b[1:9], raw[:4])
	copy(b[9:], "-0000-0000-")
	binary.BigEndian.PutUint16(raw[:], slot)
	hex.Encode(b[20:24], raw[:2])
	b[24] = '-'
	binary.BigEndian.PutUint64(raw[:], number)
	hex.Encode(b[25:37], raw[2:])
	return b
}

// ETagMatches reports whether an etag matches a condition in any form in which clients send it: with or
// without quotes, with or without W/.
func ETagMatches(condition, etag string) bool {
	return BareETag(condition) == BareETag(etag)
}

// BareETag returns an etag without spaces, the prefix W/ and quotes.
func BareETag(etag string) string {
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(etag), "W/"), `"`)
}
