package layout

import (
	"encoding/binary"
	"math"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// All keys of the store are built in this package. Numbers are big-endian, so that byte order is numeric
// order. Text is escaped (00 becomes 00 FF, the end is 00 01), so that no encoded text is a prefix of
// another and byte order is the order of the text.
//
// The first byte separates the two halves of the key space: 00 is the catalog, 80 and above is a
// container, because a container id has its top bit set.
//
//	+----+------+--------+------------+
//	| 00 | kind | parent |    name    |   catalog record (JSON)
//	+----+------+--------+------------+
//	  1     1       4      escaped
//
//	+-----+-------+---+-----+
//	| cid | range | d | rid |            the item: header, then the JSON body
//	| cid | range | f | seq |            latest-version change feed
//	| cid | range | v | seq |            change feed of all versions and deletes, if the container keeps one
//	| cid | range | e | seq |            log of expiries, if the container keeps one
//	| cid | range | w | _ts | rid |      items without a ttl, by the second from which their life counts
//	| cid | range | x | due | rid |      items with a ttl of their own, by deadline
//	| cid | range | i | ...  | rid |     index entries: package index defines the part before the rid
//	| cid | range | o | ...  | rid |     entries of composite indexes
//	| cid | range | s |                  first LSN that must not be issued yet (written by the engine)
//	| cid | range | M |                  version of the container's state (written by the engine)
//	| cid | range | h |                  the second of the last purge
//	| cid | range | g |                  how far documents are indexed again (may be lost)
//	| cid | range | l |                  when a lease was last given or ended
//	+-----+-------+---+-----+
//	   4      2     1    8      8
//
//	+-----+---+-----+----+----------------+
//	| cid | p | epk | pk | id             |   -> rid: the first look-up of a point read
//	| cid | k | epk | pk | rid            |   one logical partition in rid order, and each prefix of a hierarchical key
//	| cid | u | pk  | constraint | values |   -> rid: unique keys
//	| cid | b | epk | pk |                    -> LSN: items of this partition key at or below it are deleted
//	| cid | a |                               -> second: the container counts as used until then
//	| cid | c | webhook |                     -> position in the log of expiries that its endpoint has confirmed
//	+-----+---+-----+----+----------------+
//
// seq is a WriteSequence. Ranges stay below 0x1000, so the byte after the cid is below 0x10 for a range and a
// letter otherwise.
const (
	FamilyItem     = 'd'
	FamilyFeed     = 'f'
	FamilyVersions = 'v'
	FamilyExpired  = 'e'
	FamilyWritten  = 'w'
	FamilyDeadline = 'x'
	FamilySwept    = 'h'
	FamilyIndexed  = 'g'
	FamilyLeased   = 'l'

	FamilyTerms     = index.FamilyTerms
	FamilyComposite = index.FamilyComposite

	FamilyPoint     = 'p'
	FamilyPartition = 'k'
	FamilyUnique    = 'u'
	FamilyTombstone = 'b'
	FamilyConfirmed = 'c'
	FamilyUsed      = 'a'
)

// Kinds of catalog records; the kinds of small resources are in record.Kinds. The letter 's' is not a kind:
// the engine stores the LSN ceiling of the catalog under it.
const (
	KindDatabase  = 'd'
	KindContainer = 'c'
	KindOffer     = 'o'
	KindDrop      = 'x'
	KindFormer    = 'g'
	KindUpgrade   = 'U' // progress of an upgrade
)

// Lengths of parts of keys, in bytes.
const (
	CIDLen   = 4
	ScopeLen = CIDLen + 2
	RIDLen   = 8
)

const (
	// CIDBit is the top bit of every container id. It marks container ids in keys, and a container's rid on
	// the wire.
	CIDBit = uint32(1) << 31
	// MaxRanges is the maximum number of ranges of a container.
	MaxRanges = 1 << 12
)

// CatalogKey returns the key of a catalog record.
func CatalogKey(kind byte, parent uint32, name string) []byte {
	k := host.AppendCatalogHead(make([]byte, 0, host.CatalogHead+2+len(name)), kind, parent)
	return jsondoc.AppendEscaped(k, []byte(name))
}

// AppendCID appends a container id, with which all keys of the container begin.
func AppendCID(dst []byte, cid uint32) []byte { return binary.BigEndian.AppendUint32(dst, cid) }

// ContainerRange returns the range of all keys of a container.
func ContainerRange(cid uint32) engine.Range { return engine.Prefix(AppendCID(nil, cid)) }

// RangeScope returns the prefix of all keys of the partition range with the given number. It is also the
// range's engine scope, in which writing transactions run one after the other.
func RangeScope(cid uint32, number uint16) []byte {
	return binary.BigEndian.AppendUint16(AppendCID(make([]byte, 0, ScopeLen), cid), number)
}

// AppendScopeKey appends a key of one of the families d, f, v and e: the key prefix scope of a partition
// range, the family's letter, a number.
func AppendScopeKey(dst, scope []byte, family byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(append(dst, scope...), family), n)
}

// AppendSequenceKey appends a key of the latest-version feed (family f), the feed of all versions (v) or the
// log of expiries (e). It consists of scope, which is the key prefix of a partition range, the family's
// letter and the sequence n.
func AppendSequenceKey(dst, scope []byte, family byte, n WriteSequence) []byte {
	return AppendScopeKey(dst, scope, family, uint64(n))
}

// AppendTimeKey appends a key of the index of expiry: in family w items are ordered by the second of their
// last write, in family x by the second of their deadline. The key consists of scope, which is the key prefix
// of a partition range, the family's letter, the second and the item's rid.
func AppendTimeKey(dst, scope []byte, family byte, second int64, rid uint64) []byte {
	return host.AppendEntry(append(append(dst, scope...), family),
		host.DeadlineIndexEntry{At: second, ID: rid})
}

// TimePrefix returns the prefix of the keys of one of the two families, w and x, of the index of expiry.
func TimePrefix(scope []byte, family byte) []byte {
	return append(append(make([]byte, 0, ScopeLen+1+8+RIDLen), scope...), family)
}

// ScopeFamily returns the key range of one family (a kind of key) of a partition range.
func ScopeFamily(scope []byte, family byte) engine.Range {
	return engine.Prefix(append(append(make([]byte, 0, ScopeLen+1), scope...), family))
}

// SweptKey returns the key under which a range stores the second of its last purge.
func SweptKey(scope []byte) []byte {
	return append(append(make([]byte, 0, ScopeLen+1), scope...), FamilySwept)
}

// IndexedKey returns the key under which a range stores how far its documents are indexed by a new policy.
func IndexedKey(scope []byte) []byte {
	return append(append(make([]byte, 0, ScopeLen+1), scope...), FamilyIndexed)
}

// LeasedKey returns the key under which a range stores when a lease on one of its documents was last granted
// or ended. A lease keeps a document from expiring.
func LeasedKey(scope []byte) []byte {
	return append(append(make([]byte, 0, ScopeLen+1), scope...), FamilyLeased)
}

// UsedKey returns the key under which the time of the last use of a container is stored.
func UsedKey(cid uint32) []byte { return append(AppendCID(make([]byte, 0, CIDLen+1), cid), FamilyUsed) }

// ConfirmedKey returns the key of a stored position in a container's log of expiries: the one up to which the
// given webhook has confirmed the events.
func ConfirmedKey(cid uint32, webhook string) []byte {
	return AppendEscapedString(append(AppendCID(nil, cid), FamilyConfirmed), webhook)
}

// ScopePrefix returns scope, the key prefix of a partition range, followed by prefix. The slice has capacity
// for a rid after it.
func ScopePrefix(scope, prefix []byte) []byte {
	return append(append(make([]byte, 0, ScopeLen+len(prefix)+RIDLen), scope...), prefix...)
}

// KeyRID returns the rid at the end of an index entry's key.
func KeyRID(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-RIDLen:]) }

// IsItemKey reports whether a key is that of a stored item (family d).
func IsItemKey(key []byte) bool {
	return len(key) == ScopeLen+1+RIDLen && key[ScopeLen] == FamilyItem
}

// ScopeKeyNumber returns the number at the end of a key of an item, a feed or a log (family d, f, v or e). It
// returns false for a key of another length.
func ScopeKeyNumber(key []byte) (uint64, bool) {
	if len(key) != ScopeLen+1+8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[ScopeLen+1:]), true
}

// KeySequence returns the sequence at the end of a key of a feed or log (family f, v or e), or 0 if the key
// has none.
func KeySequence(key []byte) WriteSequence {
	n, _ := ScopeKeyNumber(key)
	return WriteSequence(n)
}

// AppendPartitionPrefix appends the prefix of the keys of one logical partition (or of a prefix of a
// hierarchical key) in a family: p (point keys), k (items in rid order) or b (deletion of the whole
// partition).
func AppendPartitionPrefix(dst []byte, cid uint32, family byte, epk, pk []byte) []byte {
	dst = append(AppendCID(dst, cid), family)
	dst = jsondoc.AppendEscaped(dst, epk)
	return append(dst, pk...)
}

// AppendPointKey appends the key that a point read looks up first; its value is the rid.
func AppendPointKey(dst []byte, cid uint32, epk, pk []byte, id string) []byte {
	dst = AppendPartitionPrefix(dst, cid, FamilyPoint, epk, pk)
	return AppendEscapedString(dst, id)
}

// AppendUniquePrefix appends the prefix of the keys of one unique key constraint in a logical partition.
func AppendUniquePrefix(dst []byte, cid uint32, pk []byte, constraint int) []byte {
	dst = append(AppendCID(dst, cid), FamilyUnique)
	dst = append(dst, pk...)
	return append(dst, byte(constraint))
}

// AppendEscapedString appends s in the form in which keys contain text: 00 is written as 00 FF, and 00 01
// marks the end.
func AppendEscapedString(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			dst = append(dst, 0, 0xFF)
		} else {
			dst = append(dst, s[i])
		}
	}
	return append(dst, 0, 1)
}

// ContainerFamily returns the key range of one family (a kind of key) whose keys do not contain a partition
// range: p, k, u, b or c.
func ContainerFamily(cid uint32, family byte) engine.Range {
	return engine.Prefix(append(AppendCID(make([]byte, 0, CIDLen+1), cid), family))
}

// Number encodes a value that is a single number: a rid, an LSN or a second.
func Number(rid uint64) []byte { return binary.BigEndian.AppendUint64(nil, rid) }

// NumberOf decodes a stored number of 8 bytes, big-endian, which Number has encoded. ok is false if value has
// another length.
func NumberOf(value []byte) (uint64, bool) {
	if len(value) != RIDLen {
		return 0, false
	}
	return binary.BigEndian.Uint64(value), true
}

// IDPath is the path of the id in a document.
var IDPath = mustPath("/id")

func mustPath(s string) jsondoc.Path {
	p, err := jsondoc.ParsePath(s)
	if err != nil {
		panic(err)
	}
	return p
}

// OfferKey returns the key of the catalog record of a throughput (an offer in Cosmos DB) with this number.
func OfferKey(num uint32) []byte {
	return CatalogKey(KindOffer, 0, OfferRIDText(num))
}

// DatabaseKey returns the key of a database record.
func DatabaseKey(id string) []byte { return CatalogKey(KindDatabase, 0, id) }

// ContainerKey returns the key of a container record.
func ContainerKey(database uint32, id string) []byte {
	return CatalogKey(KindContainer, database, id)
}

// FormerKey returns the key of the record of the dropped containers that had one name
// (record.DroppedContainers). database and id are the names of the database and of the container.
func FormerKey(database, id string) []byte { return CatalogKey(KindFormer, 0, database+"/"+id) }

// DropKey returns the key of the record of a container whose keys are being erased.
func DropKey(cid uint32) []byte { return CatalogKey(KindDrop, cid, "") }

// TombstoneKey returns the key of the tombstone of a logical partition: the record that all its items up
// to an LSN were deleted. name is the partition key as TombstoneName returns it.
func TombstoneKey(cid uint32, name string) []byte {
	return append(append(AppendCID(nil, cid), FamilyTombstone), name...)
}

// ShapeRecordKey returns the key of the record of a shape. A shape is the set of paths of a document.
func ShapeRecordKey(scope, name []byte) []byte {
	return append(ScopePrefix(scope, index.ShapeRecordKey(name)), make([]byte, RIDLen)...)
}

// AllReindexed is higher than the rid of every document. As the recorded progress it means that all documents
// of the range are indexed by the current policy.
const AllReindexed = math.MaxUint64

// ReindexedValue encodes how far the documents of a range have been indexed by a new policy: up to rid. It is
// valid only for the change of the policy with the number round.
//
//	+-------+-----+
//	| round | rid |
//	+-------+-----+
//	    4      8
func ReindexedValue(round uint32, rid uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, round), rid)
}

// Behind returns the key range of a family's keys with sequences greater than seq. The family is a feed or
// log: f, v or e.
func Behind(scope []byte, family byte, seq WriteSequence) engine.Range {
	rg := ScopeFamily(scope, family)
	rg.Start = AppendSequenceKey(nil, scope, family, seq+1)
	return rg
}
