package layout

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

var ridEncoding = base64.StdEncoding

const (
	RIDTypeRange = 5

	RIDLSNBits = 48
)

func ItemRID(slot uint16, lsn uint64) uint64 { return uint64(slot)<<RIDLSNBits | lsn }

func RIDSlot(rid uint64) uint16 { return uint16(rid >> RIDLSNBits) }

func RIDText(b []byte) string {
	var buf [32]byte
	return string(AppendRID(buf[:0], b))
}

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

// parseRID decodes rid text; ok is false where it is no rid of n bytes.
func ParseRID(s string, n int) (b []byte, ok bool) {
	b, err := ridEncoding.DecodeString(strings.ReplaceAll(s, "-", "/"))
	return b, err == nil && len(b) == n
}

func DatabaseRIDBytes(dbid uint32) []byte { return binary.LittleEndian.AppendUint32(nil, dbid) }

func ContainerRIDBytes(dbid, cid uint32) []byte {
	return binary.BigEndian.AppendUint32(DatabaseRIDBytes(dbid), cid)
}

func ChildRIDBytes(dbid, cid uint32, child uint64) []byte {
	return binary.LittleEndian.AppendUint64(ContainerRIDBytes(dbid, cid), child)
}

func UserRIDBytes(dbid, user uint32) []byte {
	return binary.BigEndian.AppendUint32(DatabaseRIDBytes(dbid), user)
}

// ridTypeEncryptionKey tells a client encryption key from other children of a database.
const RIDTypeEncryptionKey = 2

func EncryptionKeyRIDBytes(dbid, key uint32) []byte {
	b := append(DatabaseRIDBytes(dbid), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, key)
	return binary.LittleEndian.AppendUint32(b, RIDTypeEncryptionKey)
}

func OfferRIDText(n uint32) string {
	b := binary.LittleEndian.AppendUint32(nil, n)
	if b[3] == 0 {
		b = b[:3]
	}
	return RIDText(b)
}

// etagText makes an etag out of what never names two contents: the container's incarnation, the slot and the
// LSN. It has the GUID shape that Cosmos DB's etags have, and its literal quotes.
func ETagText(incarnation uint32, slot uint16, lsn uint64) string {
	b := ETagBytes(incarnation, slot, lsn)
	return string(b[:])
}

func ETagBytes(incarnation uint32, slot uint16, lsn uint64) (b [38]byte) {
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
func ETagMatches(condition, etag string) bool {
	return BareETag(condition) == BareETag(etag)
}

// bareETag is an etag without what clients add or drop.
func BareETag(etag string) string {
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(etag), "W/"), `"`)
}
