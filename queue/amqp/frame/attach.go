package frame

import "github.com/mayflydb/mayfly/queue/wire"

// Descriptors of the termini.
const (
	descSource      = 0x28
	descTarget      = 0x29
	descCoordinator = 0x30
)

// The settle modes of a sender.
const (
	SenderUnsettled = 0
	SenderSettled   = 1
	SenderMixed     = 2
)

// The settle modes of a receiver.
const (
	ReceiverFirst  = 0 // at once
	ReceiverSecond = 1 // after the sender has settled the delivery
)

// Attach begins a link.
type Attach struct {
	Name                 string
	Handle               uint32
	Receiver             bool // the role of the peer that sends this attach
	SndSettleMode        uint8
	RcvSettleMode        uint8
	Source               *Source // nil: null
	Target               Body    // *Target, *Coordinator; nil: null
	Unsettled            []byte  // as encoded; nil: null
	IncompleteUnsettled  bool
	InitialDeliveryCount OptionalNumber
	MaxMessageSize       uint64 // bytes; 0: no limit
	Offered              []wire.Symbol
	Desired              []wire.Symbol
	Properties           wire.Map
}

func (*Attach) descriptor() uint64 { return descAttach }

func (a *Attach) fields(l *fieldListEncoder) {
	l.string(a.Name)
	l.uint32(a.Handle)
	l.bool(a.Receiver)
	l.uint8(a.SndSettleMode)
	l.uint8(a.RcvSettleMode)
	l.body(a.Source, a.Source != nil)
	l.body(a.Target, a.Target != nil)
	l.raw(a.Unsettled)
	l.bool(a.IncompleteUnsettled)
	l.maybe(a.InitialDeliveryCount)
	if a.MaxMessageSize == 0 {
		l.null()
	} else {
		l.uint64(a.MaxMessageSize)
	}
	l.symbols(a.Offered)
	l.symbols(a.Desired)
	l.pairs(a.Properties)
}

func readAttach(f *wire.FieldReader) *Attach {
	a := &Attach{}
	name, ok := f.Text()
	if !ok {
		f.Fail(missing("name of attach"))
	}
	a.Name, a.Handle, a.Receiver = name, must(f, "handle of attach"), mustBool(f, "role of attach")
	a.SndSettleMode, a.RcvSettleMode = f.Uint8(SenderMixed), f.Uint8(ReceiverFirst)
	if a.SndSettleMode > SenderMixed || a.RcvSettleMode > ReceiverSecond {
		f.Fail(&FormatError{Condition: CondInvalidField, Reason: "a settle mode of attach that there is not"})
	}
	a.Source, a.Target = readSource(f), readTarget(f)
	a.Unsettled, a.IncompleteUnsettled = f.Raw(), f.Bool(false)
	a.InitialDeliveryCount, a.MaxMessageSize = maybe(f), f.Uint64(0)
	a.Offered, a.Desired, a.Properties = f.Symbols(), f.Symbols(), f.Map()
	return a
}

// Source is the source terminus of a link: the node from which messages come.
type Source struct {
	Address          string
	HasAddress       bool // false: the address is null
	Durable          uint32
	ExpiryPolicy     wire.Symbol
	Timeout          uint32 // seconds
	Dynamic          bool
	NodeProperties   wire.Map
	DistributionMode wire.Symbol
	Filter           wire.Map
	DefaultOutcome   []byte // as encoded; nil: null
	Outcomes         []wire.Symbol
	Capabilities     []wire.Symbol
}

func (*Source) descriptor() uint64 { return descSource }

func (s *Source) fields(l *fieldListEncoder) {
	l.address(s.Address, s.HasAddress)
	l.uint32(s.Durable)
	l.symbol(s.ExpiryPolicy)
	l.uint32(s.Timeout)
	l.bool(s.Dynamic)
	l.pairs(s.NodeProperties)
	l.symbol(s.DistributionMode)
	l.pairs(s.Filter)
	l.raw(s.DefaultOutcome)
	l.symbols(s.Outcomes)
	l.symbols(s.Capabilities)
}

func (l *fieldListEncoder) address(text string, is bool) {
	if is {
		l.string(text)
	} else {
		l.null()
	}
}

func readSource(f *wire.FieldReader) *Source {
	in, ok := inner(f, descSource, "amqp:source:list")
	if !ok {
		return nil
	}
	s := &Source{}
	s.Address, s.HasAddress = in.Text()
	s.Durable = in.Uint32(0)
	s.ExpiryPolicy, s.Timeout = symbol(&in), in.Uint32(0)
	s.Dynamic, s.NodeProperties = in.Bool(false), in.Map()
	s.DistributionMode, s.Filter, s.DefaultOutcome = symbol(&in), in.Map(), in.Raw()
	s.Outcomes, s.Capabilities = in.Symbols(), in.Symbols()
	f.Fail(in.Err())
	return s
}

// Target is the target terminus of a link: the node to which messages go.
type Target struct {
	Address        string
	HasAddress     bool // false: the address is null
	Durable        uint32
	ExpiryPolicy   wire.Symbol
	Timeout        uint32 // seconds
	Dynamic        bool
	NodeProperties wire.Map
	Capabilities   []wire.Symbol
}

func (*Target) descriptor() uint64 { return descTarget }

func (t *Target) fields(l *fieldListEncoder) {
	l.address(t.Address, t.HasAddress)
	l.uint32(t.Durable)
	l.symbol(t.ExpiryPolicy)
	l.uint32(t.Timeout)
	l.bool(t.Dynamic)
	l.pairs(t.NodeProperties)
	l.symbols(t.Capabilities)
}

// Coordinator is the target terminus of a link for transactions.
type Coordinator struct{ Capabilities []wire.Symbol }

func (*Coordinator) descriptor() uint64 { return descCoordinator }

func (c *Coordinator) fields(l *fieldListEncoder) { l.symbols(c.Capabilities) }

func readTarget(f *wire.FieldReader) Body {
	raw := f.Raw()
	if raw == nil {
		return nil
	}
	code, value, err := described(raw)
	if err != nil {
		f.Fail(err)
		return nil
	}
	in := wire.ReadFields(value, "target")
	defer func() { f.Fail(in.Err()) }()
	switch code {
	case descTarget:
		t := &Target{}
		t.Address, t.HasAddress = in.Text()
		t.Durable, t.ExpiryPolicy, t.Timeout = in.Uint32(0), symbol(&in), in.Uint32(0)
		t.Dynamic, t.NodeProperties, t.Capabilities = in.Bool(false), in.Map(), in.Symbols()
		return t
	case descCoordinator:
		return &Coordinator{Capabilities: in.Symbols()}
	}
	f.Fail(&FormatError{Condition: CondInvalidField, Reason: "the target of attach is none"})
	return nil
}
