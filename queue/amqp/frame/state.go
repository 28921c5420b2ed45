package frame

import "github.com/mayflydb/mayfly/queue/wire"

// Descriptors of states and errors.
const (
	descError         = 0x1d
	descReceived      = 0x23
	descAccepted      = 0x24
	descRejected      = 0x25
	descReleased      = 0x26
	descModified      = 0x27
	descDeclare       = 0x31
	descDischarge     = 0x32
	descDeclared      = 0x33
	descTransactional = 0x34
)

// DeliveryState is the state of a delivery: *Received, *Accepted, *Rejected, *Released, *Modified, *Declared,
// *Transactional.
type DeliveryState interface {
	Body
	state()
}

// Received is the state of a partly received delivery.
type Received struct {
	Section uint32
	Offset  uint64
}

// Accepted is the state of an accepted delivery.
type Accepted struct{}

// Rejected is the state of an invalid delivery.
type Rejected struct{ Error *Error }

// Released is the state of a delivery that is returned unchanged.
type Released struct{}

// Modified is the state of a delivery that is returned with changes.
type Modified struct {
	DeliveryFailed    bool
	UndeliverableHere bool
	Annotations       wire.Map
}

// Declared is the state of a delivery that has requested a new transaction (Declare). It has the
// transaction's id.
type Declared struct{ TxnID []byte }

// Transactional is a delivery state with an outcome that takes effect when the transaction TxnID is
// committed.
type Transactional struct {
	TxnID   []byte
	Outcome DeliveryState // nil: none
}

func (*Received) state()      {}
func (*Accepted) state()      {}
func (*Rejected) state()      {}
func (*Released) state()      {}
func (*Modified) state()      {}
func (*Declared) state()      {}
func (*Transactional) state() {}

func (*Received) descriptor() uint64      { return descReceived }
func (*Accepted) descriptor() uint64      { return descAccepted }
func (*Rejected) descriptor() uint64      { return descRejected }
func (*Released) descriptor() uint64      { return descReleased }
func (*Modified) descriptor() uint64      { return descModified }
func (*Declared) descriptor() uint64      { return descDeclared }
func (*Transactional) descriptor() uint64 { return descTransactional }

func (r *Received) fields(l *fieldListEncoder) {
	l.uint32(r.Section)
	l.uint64(r.Offset)
}
func (*Accepted) fields(*fieldListEncoder)     {}
func (r *Rejected) fields(l *fieldListEncoder) { l.body(r.Error, r.Error != nil) }
func (*Released) fields(*fieldListEncoder)     {}
func (m *Modified) fields(l *fieldListEncoder) {
	l.bool(m.DeliveryFailed)
	l.bool(m.UndeliverableHere)
	l.pairs(m.Annotations)
}
func (d *Declared) fields(l *fieldListEncoder) { l.bytes(d.TxnID) }
func (t *Transactional) fields(l *fieldListEncoder) {
	l.bytes(t.TxnID)
	l.body(t.Outcome, t.Outcome != nil)
}

func readState(f *wire.FieldReader) DeliveryState {
	raw := f.Raw()
	if raw == nil {
		return nil
	}
	s, err := parseState(raw, true)
	f.Fail(err)
	return s
}

// parseState decodes a state. A Transactional cannot contain another Transactional: outer is false for the
// state in a Transactional.
func parseState(raw []byte, outer bool) (DeliveryState, error) {
	code, value, err := described(raw)
	if err != nil {
		return nil, err
	}
	f := wire.ReadFields(value, "a state")
	var s DeliveryState
	switch code {
	case descReceived:
		s = &Received{Section: f.Uint32(0), Offset: f.Uint64(0)}
	case descAccepted:
		s = &Accepted{}
	case descRejected:
		s = &Rejected{Error: readError(&f)}
	case descReleased:
		s = &Released{}
	case descModified:
		s = &Modified{DeliveryFailed: f.Bool(false), UndeliverableHere: f.Bool(false), Annotations: f.Map()}
	case descDeclared:
		s = &Declared{TxnID: f.Bytes()}
	case descTransactional:
		t := &Transactional{TxnID: f.Bytes()}
		if inside := f.Raw(); inside != nil {
			if !outer {
				return nil, &FormatError{Condition: CondInvalidField,
					Reason: "a transaction inside of another"}
			}
			t.Outcome, err = parseState(inside, false)
			f.Fail(err)
		}
		s = t
	default:
		return nil, &FormatError{Condition: CondInvalidField,
			Reason: "a state of a delivery that there is not"}
	}
	return s, f.Err()
}

// Declare requests a new transaction.
type Declare struct{}

// Discharge requests the end of a transaction.
type Discharge struct {
	TxnID []byte
	Fail  bool // roll back instead of commit
}

func (*Declare) descriptor() uint64         { return descDeclare }
func (*Discharge) descriptor() uint64       { return descDischarge }
func (*Declare) fields(l *fieldListEncoder) { l.null() }
func (d *Discharge) fields(l *fieldListEncoder) {
	l.bytes(d.TxnID)
	l.bool(d.Fail)
}

// ParseRequest decodes the value of a message to a coordinator: *Declare or *Discharge.
func ParseRequest(raw []byte) (Body, error) {
	code, value, err := described(raw)
	if err != nil {
		return nil, err
	}
	f := wire.ReadFields(value, "a request for a transaction")
	switch code {
	case descDeclare:
		return &Declare{}, f.Err()
	case descDischarge:
		d := &Discharge{TxnID: f.Bytes(), Fail: f.Bool(false)}
		return d, f.Err()
	}
	return nil, &FormatError{Condition: CondInvalidField, Reason: "neither declare nor discharge"}
}

// AppendValue appends the AMQP encoding of b to dst: a described value, without the header of a frame.
func AppendValue(dst []byte, b Body) []byte { return appendBody(dst, b) }
