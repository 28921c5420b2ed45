package buscases

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// receivedDelivery identifies the AMQP delivery by which a message was received: its client and its delivery
// id.
type receivedDelivery struct {
	p       *amqpClient
	id      uint32
	settled bool
}

// tokenOf returns the lock token in a delivery tag, which is a UUID whose first three groups are
// little-endian.
func tokenOf(tag []byte) (u message.UUID) {
	for i, from := range []int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15} {
		u[i] = tag[from]
	}
	return u
}

// conditionOf returns the AMQP error condition that the service sends for an error code.
func conditionOf(code entity.ErrorCode) wire.Symbol {
	switch code {
	case entity.CodeEntityNotFound:
		return "amqp:not-found"
	case entity.CodeEntityDisabled:
		return "com.microsoft:entity-disabled"
	case entity.CodeMessageTooLarge:
		return "amqp:link:message-size-exceeded"
	case entity.CodeMessageLockLost:
		return "com.microsoft:message-lock-lost"
	case entity.CodeMessageNotFound:
		return "com.microsoft:message-not-found"
	case entity.CodeTimeout:
		return "com.microsoft:timeout"
	}
	return "?"
}

func (*amqpClient) refused(err error, code entity.ErrorCode) bool {
	var e *frame.Error
	return errors.As(err, &e) && e.Condition == conditionOf(code)
}

// send sends messages to an address: all of them first, and then it waits for their outcomes.
func (p *amqpClient) send(address string, list ...*message.Message) error {
	var payloads [][]byte
	for _, m := range list {
		payloads = append(payloads, encode(m))
	}
	return p.transmit(address, 0, payloads...)
}

// encode returns the AMQP encoding of a message as a sender writes it.
func encode(m *message.Message) []byte {
	var b []byte
	if own := m.OwnTTL(); own != message.Absent && m.Header.TTL != message.Absent {
		b = wire.AppendDescriptor(b, 0x70)
		b = must(wire.Append(b, wire.List{false, uint8(4), uint32(m.Header.TTL)}))
	}
	if at := m.Scheduled(); at != message.Absent {
		b = wire.AppendDescriptor(b, 0x72)
		b = must(wire.Append(b, wire.Map{{Key: wire.Symbol("x-opt-scheduled-enqueue-time"),
			Value: wire.Timestamp(at)}}))
	}
	return m.AppendBare(b)
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func (p *amqpClient) batch(address string, list ...*message.Message) error {
	var envelope []byte
	for _, m := range list {
		envelope = wire.AppendBinary(wire.AppendDescriptor(envelope, 0x75), encode(m))
	}
	return p.transmit(address, message.BatchFormat, envelope)
}

// transmit sends each payload as one delivery with the message format, and waits for the outcomes. It
// returns the error of the first rejected delivery.
func (p *amqpClient) transmit(address string, format uint32, payloads ...[]byte) error {
	p.b.Helper()
	l, err := p.attach("to "+address, address, false)
	if err != nil {
		return err
	}
	first := p.sent
	for _, payload := range payloads {
		p.deliver(l, format, false, payload)
	}
	for id := first; id != p.sent; id++ {
		var state frame.DeliveryState
		p.reach(func() (ok bool) { state, ok = p.states[deliveryID{true, id}]; return ok || l.detached })
		if l.detached {
			return fail(l.gone)
		}
		if r, ok := state.(*frame.Rejected); ok {
			return fail(r.Error)
		}
	}
	return nil
}

// deliver sends one delivery on a link, in frames of at most 32,000 bytes. If done is set it is sent
// settled, so that the server does not answer it.
func (p *amqpClient) deliver(l *amqpClientLink, format uint32, done bool, payload []byte) {
	p.b.Helper()
	id := p.sent
	p.sent++
	for more := true; more; {
		n := min(len(payload), 32_000)
		more = n < len(payload)
		p.say(&frame.Transfer{Handle: l.handle, DeliveryID: frame.Some(id), DeliveryTag: fmt.Append(nil, id),
			MessageFormat: frame.Some(format), Settled: done, More: more}, payload[:n]...)
		payload = payload[n:]
	}
}

func (p *amqpClient) receive(address string, mode queue.ReceiveMode, most int) ([]receivedMessage, error) {
	l, err := p.attach(fmt.Sprint("from ", address, mode), address, true, func(a *frame.Attach) {
		if mode == queue.ReceiveAndDelete {
			a.SndSettleMode, a.RcvSettleMode = frame.SenderSettled, frame.ReceiverFirst
		}
	})
	if err != nil {
		return nil, err
	}
	return p.drain(l, most)
}

// drain receives the messages that are available on a link, at most most of them, without waiting for
// further ones.
func (p *amqpClient) drain(l *amqpClientLink, most int) ([]receivedMessage, error) {
	l.drained, l.inbox = false, nil
	p.flow(l, uint32(most), true)
	p.reach(func() bool { return l.drained || l.detached })
	if l.detached {
		return nil, fail(l.gone)
	}
	return l.inbox, nil
}

func (p *amqpClient) flow(l *amqpClientLink, credit uint32, drain bool) {
	p.say(&frame.Flow{NextIncomingID: frame.Some(p.received), IncomingWindow: p.window,
		OutgoingWindow: 100_000, Handle: frame.Some(l.handle), DeliveryCount: frame.Some(l.count),
		LinkCredit: frame.Some(credit), Drain: drain})
}

// credit returns the remaining credit of the link that receives from a queue in peek-lock mode.
func (p *amqpClient) credit(address string) int {
	return int(p.links[fmt.Sprint("from ", address, queue.PeekLock)].credit)
}

// settle settles a message: by its delivery if that is still unsettled on this connection, otherwise by
// its lock token in a management request, as the SDKs do.
func (p *amqpClient) settle(address string, m receivedMessage, s queue.SettlementRequest) error {
	r, ok := m.reference.(receivedDelivery)
	if _, twice := p.states[deliveryID{false, r.id}]; !ok || r.p != p || r.settled || twice {
		return p.settleByToken(address, m, s)
	}
	p.say(&frame.Disposition{Receiver: true, First: r.id, State: stateOf(s)})
	key := deliveryID{false, r.id}
	p.reach(func() bool { return p.states[key] != nil })
	if state, ok := p.states[key].(*frame.Rejected); ok && state.Error != nil {
		return state.Error
	}
	return nil
}

func (p *amqpClient) completeUnheard(m receivedMessage) {
	p.say(&frame.Disposition{Receiver: true, First: m.reference.(receivedDelivery).id,
		State: &frame.Accepted{}})
}

func modified(s queue.SettlementRequest) (m wire.Map) {
	for _, c := range s.Modify {
		v, _, _ := wire.Value(c.Value)
		m = append(m, wire.MapEntry{Key: c.Name, Value: v})
	}
	return m
}

func stateOf(s queue.SettlementRequest) frame.DeliveryState {
	switch s.Outcome {
	case queue.Abandon:
		return &frame.Modified{DeliveryFailed: true, Annotations: modified(s)}
	case queue.Defer:
		return &frame.Modified{UndeliverableHere: true, Annotations: modified(s)}
	case queue.Release:
		return &frame.Released{}
	case queue.DeadLetter:
		e := &frame.Error{Condition: "com.microsoft:dead-letter", Info: modified(s)}
		if s.Reason != nil {
			e.Info = append(e.Info, wire.MapEntry{Key: wire.Symbol("DeadLetterReason"), Value: *s.Reason})
		}
		if s.Description != nil {
			e.Info = append(e.Info, wire.MapEntry{Key: wire.Symbol("DeadLetterErrorDescription"),
				Value: *s.Description})
		}
		return &frame.Rejected{Error: e}
	}
	return &frame.Accepted{}
}

// listen attaches a receiving link with credit for one message, and implements receiverStarter.
func (p *amqpClient) listen(address string) (stop func()) {
	l, err := p.attach("wait "+address, address, true)
	p.b.must(err)
	p.flow(l, 1, false)
	return func() {
		p.say(&frame.Detach{Handle: l.handle, Closed: true})
		p.reach(func() bool { return l.detached })
	}
}

// read decodes the AMQP encoding of a message as a receiver gets it.
func (p *amqpClient) read(payload []byte) receivedMessage {
	m := receivedMessage{values: map[string]string{}}
	for len(payload) > 0 {
		v, rest, err := wire.Value(payload)
		p.b.must(err)
		payload = rest
		section := v.(wire.Described)
		switch section.Descriptor {
		case uint64(0x70):
			header := section.Value.(wire.List)
			if ms, ok := header[2].(uint32); ok {
				m.ttl = time.Duration(ms) * time.Millisecond
			}
			n, _ := header[4].(uint32)
			m.count = int(n)
		case uint64(0x72):
			m.annotate(section.Value.(wire.Map))
		case uint64(0x73):
			list := section.Value.(wire.List)
			m.id, _ = list[0].(string)
			if at, ok := list[8].(wire.Timestamp); ok {
				m.expires = moment(int64(at))
			}
			if len(list) > 10 {
				m.session, _ = list[10].(string)
			}
		case uint64(0x74):
			for _, e := range section.Value.(wire.Map) {
				m.set(fmt.Sprint(e.Key), e.Value)
			}
		case uint64(0x75):
			m.text += string(section.Value.([]byte))
		case uint64(0x77):
			m.body, _ = section.Value.(wire.Map)
		}
	}
	return m
}

func (m *receivedMessage) annotate(all wire.Map) {
	for _, e := range all {
		name, _ := e.Key.(wire.Symbol)
		switch v := e.Value.(type) {
		case int64:
			switch name {
			case "x-opt-sequence-number":
				m.number = v
			case "x-opt-enqueue-sequence-number":
				m.original = v
			}
		case wire.Timestamp:
			switch name {
			case "x-opt-enqueued-time":
				m.enqueued = moment(int64(v))
			case "x-opt-locked-until":
				m.until = moment(int64(v))
			}
		case int32:
			m.state = message.State(v)
		case string:
			if strings.HasSuffix(string(name), "deadletter-source") {
				m.died = v
			}
		}
	}
}
