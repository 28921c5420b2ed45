package store

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// A rid is the address that the system gives a resource. On the wire it is base64 with '-' for '/', of
//
//	database    4 bytes: number, little-endian, never 0
//	container   8 bytes: the database's, then the container's 4, whose first byte has its top bit set
//	user        8 bytes: the database's, then the user's 4, whose first byte has its top bit clear
//	permission 16 bytes: the user's, then a number of 64 bits, little-endian
//	key        16 bytes: the database's, then 4 zeros, the key's number and a type of 32 bits each, little-endian
//	child      16 bytes: the container's, then 64 bits, little-endian; the top 4 bits are the type
//	offer       3 bytes of its number, little-endian; all 4 where it needs them
//
// An item's 64 bits are its storage rid: type 0, the slot it was born in (12 bits), the LSN it was born with
// (48 bits). It never changes, and its numeric order in a slot is the order of creation.

var ridEncoding = base64.StdEncoding

const (
	ridTypeRange = 5

	ridLSNBits = 48
)

func itemRID(slot uint16, lsn uint64) uint64 { return uint64(slot)<<ridLSNBits | lsn }

func ridSlot(rid uint64) uint16 { return uint16(rid >> ridLSNBits) }

func ridText(b []byte) string {
	var buf [32]byte
	return string(appendRID(buf[:0], b))
}

func appendRID(dst, b []byte) []byte {
	at := len(dst)
	dst = ridEncoding.AppendEncode(dst, b)
	for i := at; i < len(dst); i++ {
		if dst[i] == '/' {
			dst[i] = '-'
		}
	}
	return dst
}

// parseRID decodes rid text; ok is false where it is no rid of n bytes.
func parseRID(s string, n int) (b []byte, ok bool) {
	b, err := ridEncoding.DecodeString(strings.ReplaceAll(s, "-", "/"))
	return b, err == nil && len(b) == n
}

func databaseRIDBytes(dbid uint32) []byte { return binary.LittleEndian.AppendUint32(nil, dbid) }

func containerRIDBytes(dbid, cid uint32) []byte {
	return binary.BigEndian.AppendUint32(databaseRIDBytes(dbid), cid)
}

func childRIDBytes(dbid, cid uint32, child uint64) []byte {
	return binary.LittleEndian.AppendUint64(containerRIDBytes(dbid, cid), child)
}

func userRIDBytes(dbid, user uint32) []byte {
	return binary.BigEndian.AppendUint32(databaseRIDBytes(dbid), user)
}

// ridTypeEncryptionKey tells a client encryption key from other children of a database.
const ridTypeEncryptionKey = 2

func encryptionKeyRIDBytes(dbid, key uint32) []byte {
	b := append(databaseRIDBytes(dbid), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, key)
	return binary.LittleEndian.AppendUint32(b, ridTypeEncryptionKey)
}

func offerRIDText(n uint32) string {
	b := binary.LittleEndian.AppendUint32(nil, n)
	if b[3] == 0 {
		b = b[:3]
	}
	return ridText(b)
}

// etagText makes an etag out of what never names two contents: the container's incarnation, the slot and the
// LSN. It has the GUID shape that Cosmos DB's etags have, and its literal quotes.
func etagText(incarnation uint32, slot uint16, lsn uint64) string {
	b := etagBytes(incarnation, slot, lsn)
	return string(b[:])
}

func etagBytes(incarnation uint32, slot uint16, lsn uint64) (b [38]byte) {
	var raw [8]byte
	b[0], b[37] = '"', '"'
	binary.BigEndian.PutUint32(raw[:], incarnation)
	hex.Encode(b[1:9], raw[:4])
	copy(b[9:], "-0000-0000-")
	binary.BigEndian.PutUint16(raw[:], slot)
	hex.Encode(b[20:24], raw[:2])
	b[24] = '-'
	binary.BigEndian.PutUint64(raw[:], lsn)
	hex.Encode(b[25:37], raw[2:])
	return b
}

// etagMatches compares an etag with a condition as clients send it: quoted or not, weak or not.
func etagMatches(condition, etag string) bool {
	return bareETag(condition) == bareETag(etag)
}

// bareETag is an etag without what clients add or drop.
func bareETag(etag string) string {
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(etag), "W/"), `"`)
}
