package queue

import (
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/queue/entity"
)

// All keys of messages are built here and nowhere else. Numbers are big-endian, so that byte order is
// numeric order. Text is escaped (00 becomes 00 FF, the end is 00 01), so that no text is a prefix of
// another's encoding and byte order is the order of the text.
//
//	+--------+-------+---+-----+
//	| number | store | c |                         the store's counters: there as long as the store is
//	| number | store | m | seq |                   a message: its header, in every state
//	| number | store | b | seq |                   its body: all that its sender wrote
//	| number | store | r | seq |                   active, in a store without sessions
//	| number | store | q | session | seq |         active, in a store with sessions
//	| number | store | h | seq |                   -> session: of each session's first active message
//	| number | store | w | enqueued | seq |        active without a time to live of its own
//	| number | store | x | deadline | seq |        active with one
//	| number | store | t | due | seq |             scheduled
//	| number | store | i | message id |            -> when it was first seen, and its number in j
//	| number | store | j | seen | n |              -> message id
//	| number | store | z | session |               when the state was set, and the state
//	+--------+-------+---+-----+
//	    4        1     1    8
//
// number is the entity's in the catalog with bit 30 set, so that the first byte is from 40 to 7F. Stores
// are 0, 1 and 2, as Sub counts them. The engine keeps the ceiling of the scope's LSNs under number and
// 's', where no store is. Moments are milliseconds since 1970. Dead letters have no entries in w and x:
// they do not expire.
const (
	familyCounters = 'c'
	familyMessage  = 'm'
	familyBody     = 'b'
	familyReady    = 'r'
	familySession  = 'q'
	familyHead     = 'h'
	familyEnqueued = 'w'
	familyDeadline = 'x'
	familyDue      = 't'
	familySeen     = 'i'
	familySeenAt   = 'j'
	familyState    = 'z'
)

// storeNumberBit marks an entity's number in keys.
const storeNumberBit = uint32(1) << 30

// storePrefixLen is the length of number and store.
const storePrefixLen = 5

// entityPrefix is what all keys of an entity's messages begin with.
func entityPrefix(number uint32) []byte {
	return binary.BigEndian.AppendUint32(make([]byte, 0, 16), number|storeNumberBit)
}

func storePrefix(number uint32, sub entity.Sub) []byte {
	return append(entityPrefix(number), byte(sub))
}

// family is what the keys of one family begin with.
func (s *messageStore) family(f byte) []byte {
	return append(append(make([]byte, 0, storePrefixLen+17), s.prefix...), f)
}

// key is the key of a family that has a message's number behind the letter.
func (s *messageStore) key(f byte, seq int64) []byte {
	return binary.BigEndian.AppendUint64(s.family(f), uint64(seq))
}

// momentKey is the key of an entry of a family that is ordered by moments.
func (s *messageStore) momentKey(f byte, at, seq int64) []byte {
	return host.AppendEntry(s.family(f), host.Entry{At: at, ID: uint64(seq)})
}

// textKey is the key of a family that has text behind the letter.
func (s *messageStore) textKey(f byte, text string) []byte {
	return doc.AppendEscaped(s.family(f), []byte(text))
}

// readyPrefix is what the keys are under which receivers look: those of a session, or all.
func (s *messageStore) readyPrefix(session string) []byte {
	if s.bySession() {
		return s.textKey(familySession, session)
	}
	return s.family(familyReady)
}

func (s *messageStore) readyKey(session string, seq int64) []byte {
	return appendSeq(s.readyPrefix(session), seq)
}

// appendSeq returns a key that has a number behind a prefix, which it leaves alone.
func appendSeq(prefix []byte, seq int64) []byte {
	return binary.BigEndian.AppendUint64(prefix[:len(prefix):len(prefix)], uint64(seq))
}

// seqOf is the number at the end of a key.
func seqOf(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[len(key)-8:])) }

// state is what a message is, as far as it is stored.
type state uint8

const (
	active state = iota
	deferred
	scheduled
)

// header is what the broker knows of a message. It is stored apart from the body, so that a settlement need
// not read and write what the sender wrote.
type header struct {
	State    state
	Hops     uint8 // how often it was forwarded
	Count    int32 // deliveries that have failed; of one that a topic is publishing: the next subscription
	Enqueued int64 // millisecond; of a scheduled one: when it was sent
	TTL      int64 // milliseconds of its own, capped by the default; noTTL for none
	Due      int64 // millisecond for which it is scheduled, or was before it became active; 0: none
	Origin   int64 // the number at its first entry, where it was forwarded; else 0
	Size     int64 // bytes of the body
	Session  string
	Source   string // where it died, once it was forwarded out of the dead letters
}

const (
	noTTL         = -1
	headerVersion = 1
)

func (h *header) encode() []byte {
	b := append(make([]byte, 0, 40+len(h.Session)+len(h.Source)), headerVersion, byte(h.State), h.Hops)
	for _, v := range []int64{int64(h.Count), h.Enqueued, h.TTL, h.Due, h.Origin, h.Size} {
		b = binary.AppendVarint(b, v)
	}
	for _, text := range []string{h.Session, h.Source} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// decodeHeader reads a header: engine.ErrCorrupt, engine.ErrNewerFormat.
func decodeHeader(b []byte) (h header, err error) {
	d := fields{b: b}
	if v := d.byte(); v > headerVersion {
		return h, fmt.Errorf("%w: the header of a message has version %d", engine.ErrNewerFormat, v)
	}
	h.State, h.Hops = state(d.byte()), d.byte()
	h.Count = int32(d.varint())
	for _, v := range []*int64{&h.Enqueued, &h.TTL, &h.Due, &h.Origin, &h.Size} {
		*v = d.varint()
	}
	h.Session, h.Source = d.text(), d.text()
	return h, d.end("the header of a message")
}

// fields reads what is stored field by field.
type fields struct {
	b   []byte
	bad bool
}

func (d *fields) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *fields) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.b, d.bad = nil, true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *fields) text() string {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > uint64(len(d.b)-n) {
		d.b, d.bad = nil, true
		return ""
	}
	text := string(d.b[n : n+int(v)])
	d.b = d.b[n+int(v):]
	return text
}

// end fails where a field was missing, or something is left.
func (d *fields) end(what string) error {
	if d.bad || len(d.b) > 0 {
		return fmt.Errorf("%w: %s", engine.ErrCorrupt, what)
	}
	return nil
}

// counters are what is counted of a store, in the transactions that change it. A store is there as long as
// its counters are.
type counters struct {
	Last      int64 // the highest number that was given
	Active    int64 // messages: visible, locked, deferred
	Scheduled int64
	Bytes     int64 // of all messages
	Latest    int64 // the last millisecond in which something was stored
	Seen      int64 // the highest number in j
}

func (c *counters) all() []*int64 {
	return []*int64{&c.Last, &c.Active, &c.Scheduled, &c.Bytes, &c.Latest, &c.Seen}
}

func (c *counters) encode() []byte {
	var b []byte
	for _, v := range c.all() {
		b = binary.AppendVarint(b, *v)
	}
	return b
}

func decodeCounters(b []byte) (c counters, err error) {
	d := fields{b: b}
	for _, v := range c.all() {
		*v = d.varint()
	}
	return c, d.end("the counters of a message store")
}
