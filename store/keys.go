package store

import (
	"encoding/binary"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
)

// All keys of the store are built here and nowhere else. Numbers are big-endian, so that byte order is
// numeric order. Text is escaped (00 becomes 00 FF, the end is 00 01), so that no text is a prefix of
// another's encoding and byte order is the order of the text.
//
// The first byte tells the two halves of the key space apart: 00 is the catalog, 80 and above is a container,
// because the container id has its top bit set.
//
//	+----+------+--------+------------+
//	| 00 | kind | parent |    name    |   catalog record (JSON)
//	+----+------+--------+------------+
//	  1     1       4      escaped
//
//	+-----+------+---+-----+
//	| cid | slot | d | rid |             the item: header, then the JSON body
//	| cid | slot | f | lsn |             latest-version change feed
//	| cid | slot | v | lsn |             change feed of all versions and deletes, where the container keeps one
//	| cid | slot | e | lsn |             log of expiries, where the container keeps one
//	| cid | slot | w | _ts | rid |       items without a ttl, by write time
//	| cid | slot | x | due | rid |       items with a ttl of their own, by deadline
//	| cid | slot | i | ...  | rid |      index entries: package index draws what stands before the rid
//	| cid | slot | o | ...  | rid |      those of composite indexes
//	| cid | slot | s |                   first LSN not to be issued yet (the engine's)
//	| cid | slot | h |                   how far a purge has swept
//	| cid | slot | g |                   how far documents have been indexed anew (a hint)
//	| cid | slot | l |                   when a lease was last given or ended
//	+-----+------+---+-----+
//	   4     2     1    8      8
//
//	+-----+---+-----+----+----------------+
//	| cid | p | epk | pk | id             |   -> rid: what a point read looks up first
//	| cid | k | epk | pk | rid            |   one logical partition in rid order, and each prefix of a hierarchical key
//	| cid | u | pk  | constraint | values |   -> rid: unique keys
//	| cid | b | epk | pk |                    -> LSN: all of this partition key at or below it is deleted
//	| cid | a |                               -> second: the container was last used then, or before
//	| cid | c | webhook |                     -> position in the log of expiries that its endpoint has confirmed
//	+-----+---+-----+----+----------------+
//
// Slots stay below 0x1000, so the byte after the cid is below 0x10 for a slot and a letter otherwise.
const (
	famItem     = 'd'
	famFeed     = 'f'
	famVersions = 'v'
	famExpired  = 'e'
	famWritten  = 'w'
	famDeadline = 'x'
	famSwept    = 'h'
	famIndexed  = 'g'
	famLeased   = 'l'

	famTerms     = index.FamilyTerms
	famComposite = index.FamilyComposite

	famPoint     = 'p'
	famPartition = 'k'
	famUnique    = 'u'
	famFence     = 'b'
	famConfirmed = 'c'
	famUsed      = 'a'
)

// catalogHead is the length of what stands before the name in the key of a catalog record.
const catalogHead = 6

// Kinds of catalog records; those of small resources are in resourceKinds. The letter 's' is the engine's:
// the LSN ceiling of the catalog's scope.
const (
	kindDatabase  = 'd'
	kindContainer = 'c'
	kindOffer     = 'o'
	kindDrop      = 'x'
	kindMeta      = 'm'
)

const (
	cidLen   = 4
	scopeLen = cidLen + 2
	ridLen   = 8
	// cidBit marks a container id in keys and, by the same bit, a container's rid on the wire.
	cidBit   = uint32(1) << 31
	maxSlots = 1 << 12
)

// catalogScope is the scope of every change of the catalog.
func catalogScope() []byte { return []byte{0} }

func catalogKey(kind byte, parent uint32, name string) []byte {
	k := make([]byte, 0, 8+len(name))
	k = append(k, 0, kind)
	k = binary.BigEndian.AppendUint32(k, parent)
	return doc.AppendEscaped(k, []byte(name))
}

// catalogKind is the range of all records of one kind.
func catalogKind(kind byte) engine.Range { return engine.Prefix([]byte{0, kind}) }

func appendCID(dst []byte, cid uint32) []byte { return binary.BigEndian.AppendUint32(dst, cid) }

// containerRange is every key of a container.
func containerRange(cid uint32) engine.Range { return engine.Prefix(appendCID(nil, cid)) }

func slotScope(cid uint32, slot uint16) []byte {
	return binary.BigEndian.AppendUint16(appendCID(make([]byte, 0, scopeLen), cid), slot)
}

// appendSlotKey is a key of one of the families d, f, v and e: scope, letter, number.
func appendSlotKey(dst, scope []byte, family byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(append(dst, scope...), family), n)
}

// appendTimeKey is a key of one of the families w and x: scope, letter, second, rid.
func appendTimeKey(dst, scope []byte, family byte, second int64, rid uint64) []byte {
	return binary.BigEndian.AppendUint64(appendSlotKey(dst, scope, family, uint64(second)), rid)
}

// slotFamily is the range of one family of a slot.
func slotFamily(scope []byte, family byte) engine.Range {
	return engine.Prefix(append(append(make([]byte, 0, scopeLen+1), scope...), family))
}

func sweptKey(scope []byte) []byte {
	return append(append(make([]byte, 0, scopeLen+1), scope...), famSwept)
}

func indexedKey(scope []byte) []byte {
	return append(append(make([]byte, 0, scopeLen+1), scope...), famIndexed)
}

func leasedKey(scope []byte) []byte {
	return append(append(make([]byte, 0, scopeLen+1), scope...), famLeased)
}

func usedKey(cid uint32) []byte { return append(appendCID(make([]byte, 0, cidLen+1), cid), famUsed) }

// confirmedKey is where the position of a webhook is kept.
func confirmedKey(cid uint32, webhook string) []byte {
	return appendEscapedString(append(appendCID(nil, cid), famConfirmed), webhook)
}

// slotPrefix is what the keys of a slot begin with that continue with prefix. It has room for a rid.
func slotPrefix(scope, prefix []byte) []byte {
	return append(append(make([]byte, 0, scopeLen+len(prefix)+ridLen), scope...), prefix...)
}

// keyRID is the rid at the end of an index entry's key.
func keyRID(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-ridLen:]) }

// timeKeyParts takes a key of family w or x apart.
func timeKeyParts(key []byte) (second int64, rid uint64, ok bool) {
	if len(key) != scopeLen+1+8+ridLen {
		return 0, 0, false
	}
	return int64(binary.BigEndian.Uint64(key[scopeLen+1:])), binary.BigEndian.Uint64(key[scopeLen+9:]), true
}

// slotKeyNumber is the number at the end of a key of family d, f or v.
func slotKeyNumber(key []byte) (uint64, bool) {
	if len(key) != scopeLen+1+8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[scopeLen+1:]), true
}

// appendPartitionPrefix is what the keys of one logical partition (or of a prefix of one) begin with in the
// families p, k and b.
func appendPartitionPrefix(dst []byte, cid uint32, family byte, epk, pk []byte) []byte {
	dst = append(appendCID(dst, cid), family)
	dst = doc.AppendEscaped(dst, epk)
	return append(dst, pk...)
}

func appendPointKey(dst []byte, cid uint32, epk, pk []byte, id string) []byte {
	dst = appendPartitionPrefix(dst, cid, famPoint, epk, pk)
	return appendEscapedString(dst, id)
}

func appendUniquePrefix(dst []byte, cid uint32, pk []byte, constraint int) []byte {
	dst = append(appendCID(dst, cid), famUnique)
	dst = append(dst, pk...)
	return append(dst, byte(constraint))
}

// appendEscapedString is doc.AppendEscaped without turning the text into a slice first.
func appendEscapedString(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			dst = append(dst, 0, 0xFF)
		} else {
			dst = append(dst, s[i])
		}
	}
	return append(dst, 0, 1)
}

func containerFamily(cid uint32, family byte) engine.Range {
	return engine.Prefix(append(appendCID(make([]byte, 0, cidLen+1), cid), family))
}

func ridValue(rid uint64) []byte { return binary.BigEndian.AppendUint64(nil, rid) }

func ridOf(value []byte) (uint64, bool) {
	if len(value) != ridLen {
		return 0, false
	}
	return binary.BigEndian.Uint64(value), true
}

// idPath is where a document has its id.
var idPath = mustPath("/id")

func mustPath(s string) doc.Path {
	p, err := doc.ParsePath(s)
	if err != nil {
		panic(err)
	}
	return p
}
