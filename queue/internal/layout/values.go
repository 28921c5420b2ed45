package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/message"
)

// State is what a message is, as far as it is stored.
type State uint8

// The states.
const (
	Active State = iota
	Deferred
	Scheduled
)

// Header is what the broker knows of a message. It is stored apart from the body, so that a settlement need
// not read and write what the sender wrote.
type Header struct {
	State    State
	Hops     uint8 // how often it was forwarded
	Count    int32 // deliveries that have failed; of one that a topic is publishing: the next subscription
	Enqueued int64 // millisecond; of a scheduled one: when it was sent
	TTL      int64 // milliseconds of its own, capped by the default; NoTTL for none
	Due      int64 // millisecond for which it is scheduled, or was before it became active; 0: none
	Origin   int64 // the number at its first entry, where it was forwarded; else 0
	Size     int64 // bytes of the body
	Session  string
	Source   string // where it died, once it was forwarded out of the dead letters
}

// NoTTL is the TTL of a message without a time to live of its own.
const NoTTL = -1

const headerVersion = 1

// Encode returns the stored form.
func (h *Header) Encode() []byte {
	b := append(make([]byte, 0, 40+len(h.Session)+len(h.Source)), headerVersion, byte(h.State), h.Hops)
	for _, v := range []int64{int64(h.Count), h.Enqueued, h.TTL, h.Due, h.Origin, h.Size} {
		b = binary.AppendVarint(b, v)
	}
	for _, text := range []string{h.Session, h.Source} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// DecodeHeader reads a header: engine.ErrCorrupt, engine.ErrNewerFormat.
func DecodeHeader(b []byte) (h Header, err error) {
	d := fields{b: b}
	if v := d.byte(); v > headerVersion {
		return h, fmt.Errorf("%w: the header of a message has version %d", engine.ErrNewerFormat, v)
	}
	h.State, h.Hops = State(d.byte()), d.byte()
	h.Count = int32(d.varint())
	for _, v := range []*int64{&h.Enqueued, &h.TTL, &h.Due, &h.Origin, &h.Size} {
		*v = d.varint()
	}
	h.Session, h.Source = d.text(), d.text()
	return h, d.end("the header of a message")
}

// Deadline is the millisecond from which on a message is expired; host.Never: none. def is the default of its
// entity, in milliseconds.
func (h *Header) Deadline(def int64) int64 {
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

// Counters are what is counted of a store, in the transactions that change it. A store is there as long as
// its counters are.
type Counters struct {
	Last      int64 // the highest number that was given
	Active    int64 // messages: visible, locked, deferred
	Scheduled int64
	Bytes     int64 // of all messages
	Latest    int64 // the last millisecond in which something was stored
	Seen      int64 // the highest number in j
}

func (c *Counters) all() []*int64 {
	return []*int64{&c.Last, &c.Active, &c.Scheduled, &c.Bytes, &c.Latest, &c.Seen}
}

// Encode returns the stored form.
func (c *Counters) Encode() []byte {
	var b []byte
	for _, v := range c.all() {
		b = binary.AppendVarint(b, *v)
	}
	return b
}

// DecodeCounters reads counters: engine.ErrCorrupt.
func DecodeCounters(b []byte) (c Counters, err error) {
	d := fields{b: b}
	for _, v := range c.all() {
		*v = d.varint()
	}
	return c, d.end("the counters of a message store")
}

// Count counts a message in or out.
func (c *Counters) Count(st State, n int64) {
	if st == Scheduled {
		c.Scheduled += n
		return
	}
	c.Active += n
}
