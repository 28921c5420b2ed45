package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/message"
)

// MessageState is the stored state of a message.
type MessageState uint8

// The stored states of a message.
const (
	Active MessageState = iota
	Deferred
	Scheduled
)

// MessageHeader is the broker's data of a message. It is stored apart from the body, so that a settlement
// need not read and write the body.
type MessageHeader struct {
	State MessageState
	Hops  uint8 // how many times it was forwarded
	// Count is the number of failed deliveries. For a message in a topic that is being copied to the
	// subscriptions, it is the catalog number of the first subscription that has no copy yet.
	Count    int32
	Enqueued int64 // in ms since 1970; for a scheduled message, when it was sent
	TTL      int64 // in ms, limited by the entity's default; NoTTL for none
	Due      int64 // the scheduled time in ms, kept after the message became active; 0: none
	Origin   int64 // sequence number in its first entity, if it was forwarded; else 0
	Size     int64 // bytes of the body
	Session  string
	Source   string // entity in whose dead-letter queue it was, if it was forwarded from there
}

// NoTTL is the TTL of a message without a time to live of its own.
const NoTTL = -1

const headerVersion = 1

// Encode returns the header in the form in which it is stored.
func (h *MessageHeader) Encode() []byte {
	b := append(make([]byte, 0, 40+len(h.Session)+len(h.Source)), headerVersion, byte(h.State), h.Hops)
	for _, v := range []int64{int64(h.Count), h.Enqueued, h.TTL, h.Due, h.Origin, h.Size} {
		b = binary.AppendVarint(b, v)
	}
	for _, text := range []string{h.Session, h.Source} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// DecodeHeader decodes a header. Errors: engine.ErrCorrupt, engine.ErrNewerFormat.
func DecodeHeader(b []byte) (h MessageHeader, err error) {
	d := fieldDecoder{b: b}
	if v := d.byte(); v > headerVersion {
		return h, fmt.Errorf("%w: the header of a message has version %d", engine.ErrNewerFormat, v)
	}
	h.State, h.Hops = MessageState(d.byte()), d.byte()
	h.Count = int32(d.varint())
	for _, v := range []*int64{&h.Enqueued, &h.TTL, &h.Due, &h.Origin, &h.Size} {
		*v = d.varint()
	}
	h.Session, h.Source = d.text(), d.text()
	return h, d.end("the header of a message")
}

// Deadline returns the millisecond at which a message expires, or host.Never. def is the entity's default
// time to live in milliseconds.
func (h *MessageHeader) Deadline(def int64) int64 {
	ttl := h.TTL
	if ttl == NoTTL {
		if ttl = def; ttl == host.Never {
			return host.Never
		}
	}
	if ttl > message.LastMoment-h.Enqueued {
		return message.LastMoment
	}
	return h.Enqueued + ttl
}

// fieldDecoder decodes the fields of a stored value, one after the other.
type fieldDecoder struct {
	b   []byte
	bad bool
}

func (d *fieldDecoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *fieldDecoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.b, d.bad = nil, true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *fieldDecoder) text() string {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > uint64(len(d.b)-n) {
		d.b, d.bad = nil, true
		return ""
	}
	text := string(d.b[n : n+int(v)])
	d.b = d.b[n+int(v):]
	return text
}

// end fails if a field was missing, or data is left.
func (d *fieldDecoder) end(what string) error {
	if d.bad || len(d.b) > 0 {
		return fmt.Errorf("%w: %s", engine.ErrCorrupt, what)
	}
	return nil
}

// MessageStoreCounters are the counters of a message store. They are updated by the transactions that change
// the store. A store exists as long as its counters do.
type MessageStoreCounters struct {
	Last      int64 // the highest sequence number assigned
	Active    int64 // active and deferred messages
	Scheduled int64
	Bytes     int64 // of all messages
	Latest    int64 // the latest time at which something was stored, in ms
	Seen      int64 // the highest number in j
	// Next is a time in ms before which no lock lapses and no scheduled message becomes due; 0 means that
	// there are none. It is always 0 if only one server has the engine open.
	Next int64
}

func (c *MessageStoreCounters) all() []*int64 {
	return []*int64{&c.Last, &c.Active, &c.Scheduled, &c.Bytes, &c.Latest, &c.Seen}
}

// Encode returns the counters in the form in which they are stored.
func (c *MessageStoreCounters) Encode() []byte {
	var b []byte
	for _, v := range c.all() {
		b = binary.AppendVarint(b, *v)
	}
	if c.Next != 0 {
		b = binary.AppendVarint(b, c.Next)
	}
	return b
}

// DecodeCounters decodes counters. Errors: engine.ErrCorrupt.
func DecodeCounters(b []byte) (c MessageStoreCounters, err error) {
	d := fieldDecoder{b: b}
	for _, v := range c.all() {
		*v = d.varint()
	}
	if len(d.b) > 0 {
		c.Next = d.varint()
	}
	return c, d.end("the counters of a message store")
}

// Wake lowers Next, the time of the store's next wake-up, to at if at is earlier. It ignores host.Never.
func (c *MessageStoreCounters) Wake(at int64) {
	if at != host.Never && (c.Next == 0 || at < c.Next) {
		c.Next = at
	}
}

// Count adds n, which may be negative, to the number of messages in a state.
func (c *MessageStoreCounters) Count(st MessageState, n int64) {
	if st == Scheduled {
		c.Scheduled += n
		return
	}
	c.Active += n
}
