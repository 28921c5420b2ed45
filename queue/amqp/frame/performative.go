package frame

import (
	"math"

	"github.com/mayflydb/mayfly/queue/wire"
)

// Descriptors of the performatives.
const (
	descOpen        = 0x10
	descBegin       = 0x11
	descAttach      = 0x12
	descFlow        = 0x13
	descTransfer    = 0x14
	descDisposition = 0x15
	descDetach      = 0x16
	descEnd         = 0x17
	descClose       = 0x18
)

// Open begins a connection.
type Open struct {
	ContainerID  string
	Hostname     string
	MaxFrameSize uint32 // bytes
	ChannelMax   uint16
	IdleTimeout  uint32 // milliseconds; 0: none
	Offered      []wire.Symbol
	Desired      []wire.Symbol
	Properties   wire.Map
}

func (*Open) descriptor() uint64 { return descOpen }

func (o *Open) fields(l *fieldListEncoder) {
	l.string(o.ContainerID)
	l.text(o.Hostname)
	l.uint32(o.MaxFrameSize)
	l.uint16(o.ChannelMax)
	if o.IdleTimeout == 0 {
		l.null()
	} else {
		l.uint32(o.IdleTimeout)
	}
	l.null() // locales
	l.null()
	l.symbols(o.Offered)
	l.symbols(o.Desired)
	l.pairs(o.Properties)
}

func readOpen(f *wire.FieldReader) *Open {
	o := &Open{}
	o.ContainerID, _ = f.Text()
	o.Hostname, _ = f.Text()
	o.MaxFrameSize = f.Uint32(math.MaxUint32)
	o.ChannelMax = f.Uint16(math.MaxUint16)
	o.IdleTimeout = f.Uint32(0)
	f.Skip(2)
	o.Offered, o.Desired, o.Properties = f.Symbols(), f.Symbols(), f.Map()
	return o
}

// Begin begins a session.
type Begin struct {
	RemoteChannel  OptionalNumber // the channel of the session to which this is the response
	NextOutgoingID uint32
	IncomingWindow uint32
	OutgoingWindow uint32
	HandleMax      uint32
	Offered        []wire.Symbol
	Desired        []wire.Symbol
	Properties     wire.Map
}

func (*Begin) descriptor() uint64 { return descBegin }

func (b *Begin) fields(l *fieldListEncoder) {
	if b.RemoteChannel.Set {
		l.uint16(uint16(b.RemoteChannel.Value))
	} else {
		l.null()
	}
	l.uint32(b.NextOutgoingID)
	l.uint32(b.IncomingWindow)
	l.uint32(b.OutgoingWindow)
	l.uint32(b.HandleMax)
	l.symbols(b.Offered)
	l.symbols(b.Desired)
	l.pairs(b.Properties)
}

func readBegin(f *wire.FieldReader) *Begin {
	b := &Begin{RemoteChannel: maybeUpTo(f, math.MaxUint16, "remote-channel of begin")}
	b.NextOutgoingID = must(f, "next-outgoing-id of begin")
	b.IncomingWindow = must(f, "incoming-window of begin")
	b.OutgoingWindow = must(f, "outgoing-window of begin")
	b.HandleMax = f.Uint32(math.MaxUint32)
	b.Offered, b.Desired, b.Properties = f.Symbols(), f.Symbols(), f.Map()
	return b
}

// Flow updates the windows of a session and the credit of a link.
type Flow struct {
	NextIncomingID OptionalNumber
	IncomingWindow uint32
	NextOutgoingID uint32
	OutgoingWindow uint32
	Handle         OptionalNumber // absent: only the session's windows are updated
	DeliveryCount  OptionalNumber
	LinkCredit     OptionalNumber
	Available      OptionalNumber
	Drain          bool
	Echo           bool
	Properties     wire.Map
}

func (*Flow) descriptor() uint64 { return descFlow }

func (w *Flow) fields(l *fieldListEncoder) {
	l.maybe(w.NextIncomingID)
	l.uint32(w.IncomingWindow)
	l.uint32(w.NextOutgoingID)
	l.uint32(w.OutgoingWindow)
	l.maybe(w.Handle)
	l.maybe(w.DeliveryCount)
	l.maybe(w.LinkCredit)
	l.maybe(w.Available)
	l.bool(w.Drain)
	l.bool(w.Echo)
	l.pairs(w.Properties)
}

func readFlow(f *wire.FieldReader) *Flow {
	return &Flow{NextIncomingID: maybe(f), IncomingWindow: must(f, "incoming-window of flow"),
		NextOutgoingID: must(f, "next-outgoing-id of flow"), OutgoingWindow: must(f,
			"outgoing-window of flow"),
		Handle: maybe(f), DeliveryCount: maybe(f), LinkCredit: maybe(f), Available: maybe(f),
		Drain: f.Bool(false), Echo: f.Bool(false), Properties: f.Map()}
}

// Transfer carries a message or a part of one. Further parts need not repeat the fields of the first one.
type Transfer struct {
	Handle        uint32
	DeliveryID    OptionalNumber
	DeliveryTag   []byte
	MessageFormat OptionalNumber
	Settled       bool
	More          bool
	RcvSettleMode OptionalNumber
	State         DeliveryState // nil: none
	Resume        bool
	Aborted       bool
	Batchable     bool
}

func (*Transfer) descriptor() uint64 { return descTransfer }

func (t *Transfer) fields(l *fieldListEncoder) {
	l.uint32(t.Handle)
	l.maybe(t.DeliveryID)
	l.bytes(t.DeliveryTag)
	l.maybe(t.MessageFormat)
	l.bool(t.Settled)
	l.bool(t.More)
	if t.RcvSettleMode.Set {
		l.uint8(uint8(t.RcvSettleMode.Value))
	} else {
		l.null()
	}
	l.body(t.State, t.State != nil)
	l.bool(t.Resume)
	l.bool(t.Aborted)
	l.bool(t.Batchable)
}

func readTransfer(f *wire.FieldReader) *Transfer {
	return &Transfer{Handle: must(f, "handle of transfer"), DeliveryID: maybe(f), DeliveryTag: f.Bytes(),
		MessageFormat: maybe(f), Settled: f.Bool(false), More: f.Bool(false),
		RcvSettleMode: maybeUpTo(f, ReceiverSecond, "rcv-settle-mode of transfer"),
		State:         readState(f), Resume: f.Bool(false), Aborted: f.Bool(false), Batchable: f.Bool(false)}
}

// Disposition updates the state of deliveries.
type Disposition struct {
	Receiver  bool // sent by the receiver of the deliveries
	First     uint32
	Last      OptionalNumber // absent: First
	Settled   bool
	State     DeliveryState // nil: none
	Batchable bool
}

func (*Disposition) descriptor() uint64 { return descDisposition }

func (d *Disposition) fields(l *fieldListEncoder) {
	l.bool(d.Receiver)
	l.uint32(d.First)
	l.uint32(d.Last.Or(d.First))
	l.bool(d.Settled)
	l.body(d.State, d.State != nil)
	l.bool(d.Batchable)
}

func readDisposition(f *wire.FieldReader) *Disposition {
	return &Disposition{Receiver: mustBool(f, "role of disposition"), First: must(f, "first of disposition"),
		Last: maybe(f), Settled: f.Bool(false), State: readState(f), Batchable: f.Bool(false)}
}

// Detach detaches a link. If Closed is set, the link is closed and cannot be resumed.
type Detach struct {
	Handle uint32
	Closed bool
	Error  *Error // nil: none
}

func (*Detach) descriptor() uint64 { return descDetach }

func (d *Detach) fields(l *fieldListEncoder) {
	l.uint32(d.Handle)
	l.bool(d.Closed)
	l.body(d.Error, d.Error != nil)
}

func readDetach(f *wire.FieldReader) *Detach {
	return &Detach{Handle: must(f, "handle of detach"), Closed: f.Bool(false), Error: readError(f)}
}

// End ends a session.
type End struct{ Error *Error }

func (*End) descriptor() uint64 { return descEnd }

func (e *End) fields(l *fieldListEncoder) { l.body(e.Error, e.Error != nil) }

// Close ends a connection.
type Close struct{ Error *Error }

func (*Close) descriptor() uint64 { return descClose }

func (c *Close) fields(l *fieldListEncoder) { l.body(c.Error, c.Error != nil) }
