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

// Codes of an SASLOutcome.
const (
	SASLOK        = 0
	SASLAuth      = 1 // invalid credentials
	SASLSystem    = 2
	SASLPermanent = 3
	SASLTemporary = 4
)

// SASLMechanisms lists the server's mechanisms in order of preference.
type SASLMechanisms struct{ List []wire.Symbol }

// SASLInit is the client's choice of a mechanism.
type SASLInit struct {
	Mechanism wire.Symbol
	Response  []byte // nil: none
	Hostname  string
}

// SASLChallenge is the server's challenge.
type SASLChallenge struct{ Data []byte }

// SASLResponse is the client's response to a SASLChallenge.
type SASLResponse struct{ Data []byte }

// SASLOutcome ends the SASL exchange and says whether it succeeded.
type SASLOutcome struct {
	Code uint8
	Data []byte
}

func (*SASLMechanisms) descriptor() uint64 { return descMechanisms }
func (*SASLInit) descriptor() uint64       { return descInit }
func (*SASLChallenge) descriptor() uint64  { return descChallenge }
func (*SASLResponse) descriptor() uint64   { return descResponse }
func (*SASLOutcome) descriptor() uint64    { return descSASLOutcome }

// fields writes the mechanisms as an array even if there is only one, because older clients do not accept a
// single symbol.
func (m *SASLMechanisms) fields(l *fieldListEncoder) { l.value(wire.Symbols(m.List)) }

func (i *SASLInit) fields(l *fieldListEncoder) {
	l.symbol(i.Mechanism)
	l.bytes(i.Response)
	l.text(i.Hostname)
}

func (c *SASLChallenge) fields(l *fieldListEncoder) { l.bytes(c.Data) }

func (r *SASLResponse) fields(l *fieldListEncoder) { l.bytes(r.Data) }

func (o *SASLOutcome) fields(l *fieldListEncoder) {
	l.uint8(o.Code)
	l.bytes(o.Data)
}

func readSASLInit(f *wire.FieldReader) *SASLInit {
	i := &SASLInit{Mechanism: symbol(f), Response: f.Bytes()}
	i.Hostname, _ = f.Text()
	return i
}
