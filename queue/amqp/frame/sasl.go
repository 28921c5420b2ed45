package frame

import "github.com/mayflydb/mayfly/queue/wire"

// Descriptors of SASL bodies.
const (
	descMechanisms  = 0x40
	descInit        = 0x41
	descChallenge   = 0x42
	descResponse    = 0x43
	descSASLOutcome = 0x44
)

// Codes of an Outcome.
const (
	SASLOK        = 0
	SASLAuth      = 1 // invalid credentials
	SASLSystem    = 2
	SASLPermanent = 3
	SASLTemporary = 4
)

// Mechanisms lists the server's mechanisms in order of preference.
type Mechanisms struct{ List []wire.Symbol }

// Init is the client's choice of a mechanism.
type Init struct {
	Mechanism wire.Symbol
	Response  []byte // nil: none
	Hostname  string
}

// Challenge is the server's challenge.
type Challenge struct{ Data []byte }

// Response is the client's response to a Challenge.
type Response struct{ Data []byte }

// Outcome ends the SASL exchange and says whether it succeeded.
type Outcome struct {
	Code uint8
	Data []byte
}

func (*Mechanisms) descriptor() uint64 { return descMechanisms }
func (*Init) descriptor() uint64       { return descInit }
func (*Challenge) descriptor() uint64  { return descChallenge }
func (*Response) descriptor() uint64   { return descResponse }
func (*Outcome) descriptor() uint64    { return descSASLOutcome }

// fields writes the mechanisms as an array even if there is only one, because older clients do not accept a
// single symbol.
func (m *Mechanisms) fields(l *fieldList) { l.value(wire.Symbols(m.List)) }

func (i *Init) fields(l *fieldList) {
	l.symbol(i.Mechanism)
	l.bytes(i.Response)
	l.text(i.Hostname)
}

func (c *Challenge) fields(l *fieldList) { l.bytes(c.Data) }

func (r *Response) fields(l *fieldList) { l.bytes(r.Data) }

func (o *Outcome) fields(l *fieldList) {
	l.uint8(o.Code)
	l.bytes(o.Data)
}

func readInit(f *wire.Fields) *Init {
	i := &Init{Mechanism: symbol(f), Response: f.Bytes()}
	i.Hostname, _ = f.Text()
	return i
}
