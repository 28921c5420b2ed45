package layout

import (
	"encoding/binary"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue/entity"
)

// All keys of messages are built here and nowhere else. Numbers are big-endian, so that byte order is
// numeric order. Text is escaped (00 becomes 00 FF, the end is 00 01), so that no text is a prefix of
// another's encoding and byte order is the order of the text.
//
//	+--------+-------+---+-----+
//	| number | store | c |                         the store's counters, which exist as long as the store
//	| number | store | m | seq |                   a message: its header, in every state
//	| number | store | b | seq |                   its body: the sender's sections
//	| number | store | r | seq |                   active, in a store without sessions
//	| number | store | q | session | seq |         active, in a store with sessions
//	| number | store | h | seq |                   -> session; one per session, for its first active message
//	| number | store | w | enqueued | seq |        active without a time to live of its own
//	| number | store | x | deadline | seq |        active with a time to live of its own
//	| number | store | t | due | seq |             scheduled
//	| number | store | i | message id |            -> when it was first seen, and its number in j
//	| number | store | j | seen | n |              -> message id
//	| number | store | z | session |               when the state was set, and the state
//	| number | store | k | seq |                   -> the lock of a message
//	| number | store | u | until | seq |           locked until then
//	| number | store | y | session | seq |         locked with its session
//	| number | store | g | session |               -> the lock of a session
//	| number | store | v | until | session |       -> session; locked until then
//	| number | store | a |                         -> when the entity was last used
//	+--------+-------+---+-----+
//	    4        1     1    8
//
// number is the entity's catalog number with bit 30 set, so that the first byte is from 40 to 7F. store is
// the value of entity.SubQueue: 0, 1 or 2. The number of a queue or topic is also its engine scope, in which
// writing transactions run one after the other: the engine stores the highest LSN of the scope under number
// and 's', which is no store, and a version of the scope under number and 'M'. Times are milliseconds since
// 1970. Dead letters have no entries in w and x, because they do not expire.
//
// The families k, u, y, g, v and a are used only in an engine that several servers share. A message that is
// locked there has no entries in r, q, h, w and x.
//
// The constants are the letters of the families.
const (
	FamilyCounters = 'c'
	FamilyMessage  = 'm'
	FamilyBody     = 'b'
	familyReady    = 'r'
	FamilySession  = 'q'
	FamilyHead     = 'h'
	FamilyEnqueued = 'w'
	FamilyDeadline = 'x'
	FamilyDue      = 't'
	FamilySeen     = 'i'
	FamilySeenAt   = 'j'
	FamilyState    = 'z'

	FamilyLock         = 'k'
	FamilyLapse        = 'u'
	FamilyHeld         = 'y'
	FamilySessionLock  = 'g'
	FamilySessionLapse = 'v'
	FamilyAccessed     = 'a'
)

// storeNumberBit is a bit that is set in the entity's number at the beginning of each key of a message. No
// key of a document begins with a number that has this bit, so the two cannot be confused.
const storeNumberBit = uint32(1) << 30

// MessageStoreKeyBuilder builds the keys of one message store. Its bytes are the prefix that all of them have
// in common: number and store. Each method returns a new slice.
type MessageStoreKeyBuilder []byte

// StorePrefixLen is the length in bytes of the prefix that all keys of a message store have in common: the
// number of the entity and the number of the store in it (its sub-queue).
const StorePrefixLen = 5

// EntityPrefix returns the prefix that all keys of an entity's messages have in common.
func EntityPrefix(number uint32) []byte {
	return binary.BigEndian.AppendUint32(make([]byte, 0, 16), number|storeNumberBit)
}

// NumberOf returns the number of the entity whose keys begin with a prefix.
func NumberOf(prefix []byte) uint32 { return binary.BigEndian.Uint32(prefix) &^ storeNumberBit }

// MessageStoreKeysOf returns the MessageStoreKeyBuilder by which the keys of one message store of an entity
// are built.
func MessageStoreKeysOf(number uint32, sub entity.SubQueue) MessageStoreKeyBuilder {
	return append(EntityPrefix(number), byte(sub))
}

// Family returns the common prefix of the store's keys of one family, which is a kind of key.
func (s MessageStoreKeyBuilder) Family(f byte) []byte {
	return append(append(make([]byte, 0, StorePrefixLen+17), s...), f)
}

// Key returns a key of a family (a kind of key) whose letter is followed by a sequence number.
func (s MessageStoreKeyBuilder) Key(f byte, seq int64) []byte {
	return binary.BigEndian.AppendUint64(s.Family(f), uint64(seq))
}

// AppendKey appends to dst the key of a family (a kind of key, f is its letter) with a sequence number, as
// Key returns it.
func (s MessageStoreKeyBuilder) AppendKey(dst []byte, f byte, seq int64) []byte {
	return binary.BigEndian.AppendUint64(append(append(dst, s...), f), uint64(seq))
}

// MomentKey returns a key of a family (a kind of key) whose letter is followed by a time in milliseconds and
// a sequence number.
func (s MessageStoreKeyBuilder) MomentKey(f byte, at, seq int64) []byte {
	return host.AppendEntry(s.Family(f), host.DeadlineIndexEntry{At: at, ID: uint64(seq)})
}

// TextKey returns a key of a family (a kind of key) whose letter is followed by text, such as a session id or
// message id.
func (s MessageStoreKeyBuilder) TextKey(f byte, text string) []byte {
	return jsondoc.AppendEscaped(s.Family(f), []byte(text))
}

// ReadyPrefix returns the prefix of the keys of active messages in a store without sessions.
func (s MessageStoreKeyBuilder) ReadyPrefix() []byte { return s.Family(familyReady) }

// SessionPrefix returns the prefix of the keys of a session's active messages.
func (s MessageStoreKeyBuilder) SessionPrefix(session string) []byte {
	return s.TextKey(FamilySession, session)
}

// HeldPrefix returns the prefix of the keys of messages that are locked together with a session.
func (s MessageStoreKeyBuilder) HeldPrefix(session string) []byte {
	return s.TextKey(FamilyHeld, session)
}

// SessionLapseKey returns the index entry of a session's lock, which is ordered by the time at which the
// lock lapses.
func (s MessageStoreKeyBuilder) SessionLapseKey(until int64, session string) []byte {
	return jsondoc.AppendEscaped(s.Key(FamilySessionLapse, until), []byte(session))
}

// AppendSeq returns a new key: prefix, followed by a number.
func AppendSeq(prefix []byte, seq int64) []byte {
	return binary.BigEndian.AppendUint64(prefix[:len(prefix):len(prefix)], uint64(seq))
}

// SeqOf returns the sequence number of a message in the last 8 bytes of a key.
func SeqOf(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[len(key)-8:])) }
