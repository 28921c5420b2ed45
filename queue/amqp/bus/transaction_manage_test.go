package bus

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// whole returns the encoding of a message with its annotations, as a sender writes it.
func whole(m *message.Message) []byte {
	return m.AppendWire(nil, &message.BrokerProperties{TTL: message.Absent, ExpiresAt: message.Absent,
		LockedUntil: message.Absent})
}

// inAnHour returns the body of a management request that schedules messages with these texts in an hour.
func (w *serviceBusUnderTest) inAnHour(texts ...string) wire.Map {
	list := make(wire.List, len(texts))
	for i, text := range texts {
		m := message.New([]byte(text))
		m.SetScheduled(w.q.Now().Add(time.Hour).UnixMilli())
		list[i] = pairs("message-id", text, "message", whole(m))
	}
	return pairs("messages", list)
}

func numbersOf(n ...int64) wire.Map { return pairs("sequence-numbers", wire.Longs(n)) }

// TestTransactionOfRequests checks management requests that are sent in a transaction: their effects are
// visible only after the commit, and a rollback undoes them at once.
func TestTransactionOfRequests(t *testing.T) {
	for name, fail := range map[string]bool{"commit": false, "rollback": true} {
		t.Run(name, func(t *testing.T) {
			w := newServiceBusUnderTest(t)
			c := w.attached("a", "b", "c")
			if s := c.settles(1, &frame.Modified{UndeliverableHere: true}); !isState[*frame.Modified](s) {
				t.Fatalf("deferred: %+v", s)
			}
			m := c.manage(10, "q")
			m.do(200, "schedule-message", w.inAnHour("old")) // 4
			c.coordinate(2)
			txn := c.declare(2, 1000)
			fetched := m.do(200, "receive-by-sequence-number", append(numbersOf(2),
				wire.MapEntry{Key: "receiver-settle-mode", Value: uint32(1)}))
			token := field[wire.UUID](t, field[wire.List](t, fetched, "messages")[0].(wire.Map), "lock-token")
			complete := pairs("disposition-status", "completed", "lock-tokens", wire.UUIDs(
				[]wire.UUID{token}))

			m.state = &frame.Transactional{TxnID: txn}
			fresh := field[wire.Array](t, m.do(200, "schedule-message", w.inAnHour("x", "y")),
				"sequence-numbers")
			same(t, fresh.Elements, []any{int64(5), int64(6)})
			m.do(200, "cancel-scheduled-message", numbersOf(4))
			m.do(200, "update-disposition", complete)
			m.state = nil
			w.shows("q", "a b c old")
			m.do(410, "update-disposition", complete) // the transaction holds its lock
			m.do(404, "cancel-scheduled-message", numbersOf(5))

			c.discharge(0, 2, 1001, &frame.Discharge{TxnID: txn, Fail: fail})
			if fail {
				m.do(200, "update-disposition", complete)
				m.do(200, "cancel-scheduled-message", numbersOf(4))
				m.do(404, "cancel-scheduled-message", numbersOf(5))
				w.shows("q", "a c")
				return
			}
			m.do(404, "cancel-scheduled-message", numbersOf(4))
			w.shows("q", "a c x y")
			m.do(200, "cancel-scheduled-message", numbersOf(5))
			w.advance(time.Hour)
			w.shows("q", "a c y")
		})
	}
}

// TestTransactionOfFailedRequest checks that a transaction cannot be committed if a management request in
// it was refused.
func TestTransactionOfFailedRequest(t *testing.T) {
	w := newServiceBusUnderTest(t)
	c := w.attached("a")
	m := c.manage(10, "q")
	c.coordinate(2)
	for i, spoil := range []func(){
		func() { m.do(404, "cancel-scheduled-message", numbersOf(99)) },
		func() { m.do(400, "batch-delete-messages", pairs("message-count", int32(5))) }, // no part of any
	} {
		txn := c.declare(2, uint32(1000+2*i))
		m.state = &frame.Transactional{TxnID: txn}
		m.do(200, "schedule-message", w.inAnHour("x"))
		spoil()
		c.discharge(0, 2, uint32(1001+2*i), &frame.Discharge{TxnID: txn})
		refused(t, c.outcome(uint32(1001+2*i)), frame.CondTransactionRollback)
		w.shows("q", "a")
	}
	// What is cancelled may arrive first.
	m.state = nil
	m.do(200, "schedule-message", w.inAnHour("old"))
	txn := c.declare(2, 2000)
	m.state = &frame.Transactional{TxnID: txn}
	m.do(200, "cancel-scheduled-message", numbersOf(4))
	w.advance(61 * time.Second)
	m.state = nil
	m.do(200, "cancel-scheduled-message", numbersOf(4))
	c.discharge(0, 2, 2001, &frame.Discharge{TxnID: txn})
	if s, ok := c.outcome(2001).(*frame.Rejected); !ok {
		t.Errorf("the commit is answered %+v", s)
	}
}

// TestTransactionOfSessionState checks that a session state that is set in a transaction is stored at the
// commit.
func TestTransactionOfSessionState(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "talks", withSessions)
	w.send("talks", "s:a")
	c := w.dial(1 << 16)
	c.receiver(0, "talks", func(a *frame.Attach) {
		a.Source.Filter = wire.Map{{Key: wire.Symbol(sessionFilter), Value: "s"}}
	})
	m := c.manage(10, "talks")
	c.coordinate(2)
	state := func() any {
		t.Helper()
		got, _ := m.do(200, "get-session-state", pairs("session-id", "s")).Get("session-state")
		return got
	}
	for i, fail := range []bool{true, false} {
		txn := c.declare(2, uint32(1000+2*i))
		m.state = &frame.Transactional{TxnID: txn}
		m.do(200, "set-session-state", pairs("session-id", "s", "session-state", []byte("half")))
		m.state = nil
		if got := state(); got != nil {
			t.Errorf("the state is %q before the end", got)
		}
		c.discharge(0, 2, uint32(1001+2*i), &frame.Discharge{TxnID: txn, Fail: fail})
	}
	if got := state(); string(got.([]byte)) != "half" {
		t.Errorf("the state is %q", got)
	}
}

// TestTransactionsOverEntities checks that a transaction can use only one queue or topic. If the
// coordinator and all links share a session, senders to other entities are allowed: their messages go
// through the entity of the first link.
func TestTransactionsOverEntities(t *testing.T) {
	for _, c := range []struct {
		name              string
		together, crosses bool
		first, second     string
		attach, post      wire.Symbol // of a refusal; "": there is none
	}{
		{name: "apart", first: "receive q", second: "send p", post: frame.CondNotAllowed},
		{name: "together, the receiver first", together: true, first: "receive q", second: "send p"},
		{name: "together, the sender first", together: true, first: "send p", second: "receive q",
			attach: frame.CondNotAllowed},
		{name: "allowed", crosses: true, first: "receive q", second: "send p"},
		{name: "allowed together", crosses: true, together: true, first: "send p", second: "receive q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newServiceBusUnderTest(t)
			w.bus.o.CrossEntityTransactions = c.crosses
			for _, name := range []string{"p", "q"} {
				w.create(entity.Queue, name)
			}
			w.send("q", "a")
			p := w.dial(1 << 16)
			channel := func(n uint16) uint16 {
				if c.together {
					return 0
				}
				p.begin(n, 100)
				return n
			}
			coordinating := channel(1)
			p.say(coordinating, &frame.Attach{Name: "c", Handle: 2, Source: source("here"),
				Target: &frame.Coordinator{}, InitialDeliveryCount: frame.Some(0)})
			await[*frame.Attach](p)
			on := map[string]uint16{}
			for i, link := range []string{c.first, c.second} {
				on[link] = channel(uint16(2 + i))
				a := &frame.Attach{Name: link, Handle: 0, Source: source("here"), Target: target("p"),
					InitialDeliveryCount: frame.Some(0)}
				if link == "receive q" {
					a = &frame.Attach{Name: link, Handle: 1, Receiver: true, Source: source("q"),
						Target: target("here")}
				}
				p.say(on[link], a)
				await[*frame.Attach](p)
			}
			if c.attach != "" {
				if d := await[*frame.Detach](p); d.Error == nil || d.Error.Condition != wire.Symbol(
					c.attach) {
					t.Fatalf("the second link is refused by %+v", d)
				}
				return
			}
			p.say(on["receive q"], &frame.Flow{IncomingWindow: 100, Handle: frame.Some(1),
				LinkCredit: frame.Some(1)})
			p.delivered()
			m := message.New(nil)
			m.Body = frame.AppendValue([]byte{0, 0x53, sectionValue}, &frame.Declare{})
			p.say(coordinating, &frame.Transfer{Handle: 2, DeliveryID: frame.Some(0), DeliveryTag: []byte{1}},
				m.AppendBare(nil)...)
			txn := p.outcome(0).(*frame.Declared).TxnID
			p.say(on["receive q"], &frame.Disposition{Receiver: true, First: 0,
				State: &frame.Transactional{TxnID: txn, Outcome: &frame.Accepted{}}})
			await[*frame.Disposition](p)
			p.post(on["send p"], 0, 1, txn, "x")
			s := p.outcome(1)
			if c.post != "" {
				refused(t, s, wire.Symbol(c.post))
			} else if !isState[*frame.Transactional](s) {
				t.Errorf("a send to another queue is answered %+v", s)
			}
			p.discharge(coordinating, 2, 2, &frame.Discharge{TxnID: txn})
			if s := p.outcome(2); isState[*frame.Accepted](s) != (c.post == "") {
				t.Errorf("the commit is answered %+v", s)
			}
			if c.post == "" {
				w.shows("p", "x")
				w.shows("q", "")
			}
		})
	}
}

func partitioned(p *entity.Properties) { p.EnablePartitioning = true }

// keyed returns a message with a partition key.
func keyed(text, key string) *message.Message {
	m := message.New([]byte(text))
	m.SetPartitionKey(key)
	return m
}

// TestTransactionsOverPartitions checks that the messages of one batch, and those of one transaction, must
// have the same partition key.
func TestTransactionsOverPartitions(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q", partitioned)
	w.must(w.q.Send(w.ctx, entity.Address{Entity: "q"}, []*message.Message{keyed("a", "1")}, nil))
	w.must(w.q.Send(w.ctx, entity.Address{Entity: "q"}, []*message.Message{keyed("b", "2")}, nil))
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.credit(0, 0, 2, false)
	c.delivered()
	c.delivered()
	c.sender(1, "q")
	c.coordinate(2)
	id := uint32(0)
	next := func() uint32 { id++; return id }
	send := func(state frame.DeliveryState, m *message.Message) frame.DeliveryState {
		t.Helper()
		n := next()
		c.say(0, &frame.Transfer{Handle: 1, DeliveryID: frame.Some(n), DeliveryTag: []byte{byte(n)},
			State: state},
			whole(m)...)
		return c.outcome(n)
	}
	state := &frame.Transactional{TxnID: c.declare(2, next())}
	for _, key := range []string{"1", "1", ""} {
		if s := send(state, keyed("x", key)); !isState[*frame.Transactional](s) {
			t.Fatalf("the key %q is answered %+v", key, s)
		}
	}
	refused(t, send(state, keyed("x", "2")), frame.CondNotAllowed)

	state = &frame.Transactional{TxnID: c.declare(2, next()), Outcome: &frame.Accepted{}}
	if s := c.settles(0, state); !isState[*frame.Transactional](s) {
		t.Fatalf("the first settlement is answered %+v", s)
	}
	refused(t, c.settles(1, state), frame.CondNotAllowed)

	for _, batch := range []struct {
		keys []string
		ok   bool
	}{{[]string{"1", "1"}, true}, {[]string{"1", "2"}, false}} {
		m := message.New(nil)
		m.Body = nil
		for _, key := range batch.keys {
			one := whole(keyed("y", key))
			m.Body = append(m.Body, wire.AppendBinary([]byte{0, 0x53, 0x75}, one)...)
		}
		n := next()
		c.say(0, &frame.Transfer{Handle: 1, DeliveryID: frame.Some(n), DeliveryTag: []byte{byte(n)},
			MessageFormat: frame.Some(message.BatchFormat)}, m.AppendBare(nil)...)
		s := c.outcome(n)
		if !batch.ok {
			refused(t, s, frame.CondNotAllowed)
		} else if !isState[*frame.Accepted](s) {
			t.Errorf("a batch of one partition is answered %+v", s)
		}
	}
}

// TestSendVia checks a sender to one queue through another one: in a transaction the messages reach their
// destination at the commit. Those that the destination refuses go to the transfer dead-letter queue of
// the other queue.
func TestSendVia(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "through")
	w.create(entity.Queue, "dest")
	w.send("through", "a")
	c := w.dial(1 << 16)
	c.receiver(0, "through")
	c.credit(0, 0, 1, false)
	c.delivered()
	via := func(handle uint32, dest any) *frame.Attach {
		t.Helper()
		c.say(0, &frame.Attach{Name: "via", Handle: handle, Source: source("here"), Target: target("through"),
			InitialDeliveryCount: frame.Some(0),
			Properties:           wire.Map{{Key: wire.Symbol(transferDestination), Value: dest}}})
		return await[*frame.Attach](c)
	}
	via(5, "missing")
	if d := await[*frame.Detach](c); d.Error == nil || d.Error.Condition != frame.CondNotFound {
		t.Errorf("a destination that is missing is refused by %+v", d)
	}
	via(1, "dest")
	c.coordinate(2)
	txn := c.declare(2, 0)
	if s := c.puts(1, 1, txn, "x"); !isState[*frame.Transactional](s) {
		t.Fatalf("sent: %+v", s)
	}
	if s := c.settles(0, &frame.Transactional{TxnID: txn,
		Outcome: &frame.Accepted{}}); !isState[*frame.Transactional](s) {
		t.Fatalf("settled: %+v", s)
	}
	w.shows("dest", "")
	w.shows("through", "a")
	c.asks(2, 2, &frame.Discharge{TxnID: txn})
	w.shows("dest", "x")
	w.shows("through", "")

	txn = c.declare(2, 3)
	c.puts(1, 4, txn, "y")
	w.must(w.q.Delete(w.ctx, "dest"))
	if s := c.asks(2, 5, &frame.Discharge{TxnID: txn}); !isState[*frame.Accepted](s) {
		t.Errorf("the commit is answered %+v", s)
	}
	w.shows("through", "")
	w.shows("through/$Transfer/$DeadLetterQueue", "y")
}
