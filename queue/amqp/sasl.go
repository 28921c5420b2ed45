package amqp

import (
	"bytes"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/wire"
)

// The SASL mechanisms, in the order of Service Bus. Some clients choose the first one that they support.
const (
	mechBus       wire.Symbol = "MSSBCBS" // the client sends its token later, over $cbs
	mechPlain     wire.Symbol = "PLAIN"
	mechAnonymous wire.Symbol = "ANONYMOUS"
	mechExternal  wire.Symbol = "EXTERNAL"
)

// authenticate runs the SASL exchange. ok is false if the client was rejected.
func (c *conn) authenticate(o *clientHandshake) (ok bool, err error) {
	header := frame.HeaderSASL()
	b := frame.Append(header[:], 0, &frame.SASLMechanisms{
		List: []wire.Symbol{mechBus, mechPlain, mechAnonymous, mechExternal}}, nil)
	if _, err := c.raw.Write(b); err != nil {
		return false, err
	}
	f, err := c.r.Next()
	if err != nil {
		return false, err
	}
	body, _, err := frame.Parse(f.Body)
	if err != nil {
		return false, err
	}
	init, isInit := body.(*frame.SASLInit)
	if !isInit || f.Type != frame.TypeSASL {
		return false, &frame.FormatError{Condition: frame.CondFraming, Reason: "SASL begins with an init"}
	}
	outcome := &frame.SASLOutcome{Code: frame.SASLOK}
	switch init.Mechanism {
	case mechBus, mechAnonymous, mechExternal:
	case mechPlain:
		if o.peer.Identity, ok = c.password(init.Response); !ok {
			outcome.Code = frame.SASLAuth
		}
	default:
		outcome.Code = frame.SASLAuth
	}
	_, err = c.raw.Write(frame.Append(nil, 0, outcome, nil))
	return outcome.Code == frame.SASLOK, err
}

// password checks a response of PLAIN. It consists of an authorization identity, which is ignored, the user
// and the password, separated by zero bytes.
func (c *conn) password(response []byte) (identity any, ok bool) {
	parts := bytes.Split(response, []byte{0})
	if len(parts) != 3 || c.o.Password == nil {
		return nil, false
	}
	identity, err := c.o.Password(string(parts[1]), string(parts[2]))
	return identity, err == nil
}
