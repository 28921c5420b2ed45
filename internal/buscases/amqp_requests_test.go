package buscases

import (
	"fmt"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// ask sends a management request, such as renew-lock, to the $management node of an entity. It returns the
// body of the response, or nil if the response is that there are no messages.
func (p *amqpClient) ask(address, operation string, body wire.Map) (wire.Map, error) {
	p.b.Helper()
	node := address + "/$management"
	reply := "answers of " + address
	in, err := p.attach(reply, node, true, func(a *frame.Attach) {
		a.Target = &frame.Target{Address: reply, HasAddress: true}
		a.SndSettleMode, a.RcvSettleMode = frame.SenderSettled, frame.ReceiverFirst
	})
	if err != nil {
		return nil, err
	}
	in.inbox = nil
	p.flow(in, 1, false)
	out, err := p.attach("requests of "+address, node, false)
	if err != nil {
		return nil, err
	}
	m := message.New(nil)
	m.SetText(message.MessageID, operation)
	m.SetText(message.ReplyTo, reply)
	m.SetString("operation", "com.microsoft:"+operation)
	m.Body = must(wire.Append([]byte{0, 0x53, 0x77}, body))
	p.deliver(out, 0, true, m.AppendBare(nil))
	p.reach(func() bool { return len(in.inbox) > 0 || in.detached || out.detached })
	if len(in.inbox) == 0 {
		return nil, fail(out.gone)
	}
	answer := in.inbox[0]
	if status := answer.property("statusCode"); !strings.HasPrefix(status, "2") {
		return nil, &frame.Error{Condition: wire.Symbol(answer.property("errorCondition")),
			Description: answer.property("statusDescription")}
	}
	return answer.body, nil
}

func (p *amqpClient) settleByToken(address string, m receivedMessage, s queue.SettlementRequest) error {
	status := map[queue.SettlementOutcome]string{queue.Complete: "completed", queue.Abandon: "abandoned",
		queue.DeadLetter: "suspended", queue.Defer: "defered", queue.Release: "released"}[s.Outcome]
	body := wire.Map{{Key: "disposition-status", Value: status},
		{Key: "lock-tokens", Value: wire.UUIDs([]wire.UUID{m.token})}}
	if s.Reason != nil {
		body = append(body, wire.MapEntry{Key: "deadletter-reason", Value: *s.Reason})
	}
	_, err := p.ask(address, "update-disposition", body)
	return err
}

func (p *amqpClient) renew(address string, m receivedMessage) (until time.Time, err error) {
	body, err := p.ask(address, "renew-lock",
		wire.Map{{Key: "lock-tokens", Value: wire.UUIDs([]wire.UUID{m.token})}})
	if err != nil {
		return until, err
	}
	v, _ := body.Get("expirations")
	return moment(int64(v.(wire.Array).Elements[0].(wire.Timestamp))), nil
}

// messagesOf decodes the messages in the body of a management response.
func (p *amqpClient) messagesOf(body wire.Map) (list []receivedMessage) {
	v, _ := body.Get("messages")
	all, _ := v.(wire.List)
	for _, e := range all {
		entry := e.(wire.Map)
		payload, _ := entry.Get("message")
		m := p.read(payload.([]byte))
		if token, ok := entry.Get("lock-token"); ok {
			m.token = token.(wire.UUID)
		}
		list = append(list, m)
	}
	return list
}

func (p *amqpClient) peek(address string) (all []receivedMessage, err error) {
	for from := int64(0); ; {
		body, err := p.ask(address, "peek-message", wire.Map{{Key: "from-sequence-number", Value: from},
			{Key: "message-count", Value: int32(250)}})
		if err != nil {
			return nil, err
		}
		page := p.messagesOf(body)
		if len(page) == 0 {
			return all, nil
		}
		all, from = append(all, page...), page[len(page)-1].number+1
	}
}

func (p *amqpClient) schedule(address string, list ...*message.Message) (numbers []int64, err error) {
	var all wire.List
	for _, m := range list {
		all = append(all, wire.Map{{Key: "message-id", Value: m.Text(message.MessageID)},
			{Key: "message", Value: encode(m)}})
	}
	body, err := p.ask(address, "schedule-message", wire.Map{{Key: "messages", Value: all}})
	if err != nil {
		return nil, err
	}
	v, _ := body.Get("sequence-numbers")
	for _, n := range v.(wire.Array).Elements {
		numbers = append(numbers, n.(int64))
	}
	return numbers, nil
}

func (p *amqpClient) cancel(address string, numbers ...int64) error {
	_, err := p.ask(address, "cancel-scheduled-message",
		wire.Map{{Key: "sequence-numbers", Value: wire.Longs(numbers)}})
	return err
}

func (p *amqpClient) deferred(address string, mode queue.ReceiveMode,
	numbers ...int64) ([]receivedMessage, error) {
	settle := uint32(1)
	if mode == queue.ReceiveAndDelete {
		settle = 0
	}
	body, err := p.ask(address, "receive-by-sequence-number", wire.Map{
		{Key: "sequence-numbers", Value: wire.Longs(numbers)}, {Key: "receiver-settle-mode", Value: settle}})
	return p.messagesOf(body), err
}

// amqpLockedSession is a Service Bus session that the client has locked by attaching a link to it.
type amqpLockedSession struct {
	p       *amqpClient
	l       *amqpClientLink
	address string
	session string
}

func (p *amqpClient) accept(address, id string) (lockedSession, error) {
	var want any
	if id != "" {
		want = id
	}
	l, err := p.attach(fmt.Sprint("session ", p.handles), address, true, func(a *frame.Attach) {
		a.Source.Filter = wire.Map{{Key: wire.Symbol("com.microsoft:session-filter"), Value: want}}
		a.Properties = wire.Map{{Key: wire.Symbol("com.microsoft:timeout"), Value: uint32(patience / ms)}}
	})
	if err != nil {
		return nil, err
	}
	v, _ := l.answer.Source.Filter.Get("com.microsoft:session-filter")
	return &amqpLockedSession{p, l, address, v.(string)}, nil
}

func (t *amqpLockedSession) id() string { return t.session }

func (t *amqpLockedSession) receive(most int) ([]receivedMessage, error) { return t.p.drain(t.l, most) }

func (t *amqpLockedSession) state() (string, error) {
	body, err := t.p.ask(t.address, "get-session-state", wire.Map{{Key: "session-id", Value: t.session}})
	v, _ := body.Get("session-state")
	state, _ := v.([]byte)
	return string(state), err
}

func (t *amqpLockedSession) setState(text string) error {
	var state any
	if text != "" {
		state = []byte(text)
	}
	_, err := t.p.ask(t.address, "set-session-state",
		wire.Map{{Key: "session-id", Value: t.session}, {Key: "session-state", Value: state}})
	return err
}

func (t *amqpLockedSession) close() {
	t.p.say(&frame.Detach{Handle: t.l.handle, Closed: true})
	t.p.reach(func() bool { return t.l.detached })
}

// settledTransfers is a case: it sends messages as settled deliveries, to a queue that accepts them and to
// a disabled one, and checks that the server answers neither.
func settledTransfers(b *caseFixture) {
	b.queue("q")
	b.queue("off")
	for _, name := range []string{"q", "off"} {
		l, err := b.peer.attach("to "+name, name, false)
		b.must(err)
		if name == "off" {
			b.update("off", status(entity.SendDisabled))
		}
		b.peer.deliver(l, 0, true, encode(msg("A")))
	}
	b.send("q", msg("B")) // what is answered later than the first two
	for id := range uint32(2) {
		if state, ok := b.peer.states[deliveryID{true, id}]; ok {
			b.Fatalf("transfer %d is answered by %v", id, state)
		}
	}
	b.expect("q", "A B")
	b.shows("off", "")
}

// smallFrames is a case: it receives a large message in frames of 512 bytes, with a session window of one
// frame.
func smallFrames(b *caseFixture) {
	b.queue("q")
	text := strings.Repeat("0123456789", 20_000)
	b.send("q", msg(text, named("L")))
	b.hangUp()
	b.peer = dial(b, 512, 1)
	b.messages = b.peer
	if m := b.locked("q", text); m.id != "L" {
		b.Fatalf("its id is %q", m.id)
	}
}
