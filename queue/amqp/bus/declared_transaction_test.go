package bus

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// coordinate attaches a link to a transaction coordinator.
func (c *testClient) coordinate(handle uint32) {
	c.t.Helper()
	c.say(0, &frame.Attach{Name: "coordinator", Handle: handle, Source: source("here"),
		Target:               &frame.Coordinator{Capabilities: []wire.Symbol{"amqp:local-transactions"}},
		InitialDeliveryCount: frame.Some(0)})
	if a := await[*frame.Attach](c); a.Target == nil {
		c.t.Fatalf("the coordinator is refused: %v", await[*frame.Detach](c).Error)
	}
}

// asks sends a Declare or Discharge to the coordinator and returns its outcome. id is the delivery id.
func (c *testClient) asks(handle, id uint32, body frame.Body) frame.DeliveryState {
	c.t.Helper()
	m := message.New(nil)
	m.Body = frame.AppendValue([]byte{0, 0x53, sectionValue}, body)
	c.transfer(handle, id, m)
	return c.outcome(id)
}

// puts sends a message in the transaction txn and returns its outcome. id is the delivery id.
func (c *testClient) puts(handle, id uint32, txn []byte, text string) frame.DeliveryState {
	c.t.Helper()
	c.say(0, &frame.Transfer{Handle: handle, DeliveryID: frame.Some(id), DeliveryTag: []byte{byte(id)},
		State: &frame.Transactional{TxnID: txn}}, message.New([]byte(text)).AppendBare(nil)...)
	return c.outcome(id)
}

// TestTransactions checks that the sends and settlements in a transaction take effect when the transaction
// is committed, and have no effect after a rollback.
func TestTransactions(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "other")
	c := w.attached("a", "b", "c")
	c.sender(1, "other")
	c.coordinate(2)
	declare := func(id uint32) []byte {
		t.Helper()
		d, ok := c.asks(2, id, &frame.Declare{}).(*frame.Declared)
		if !ok || len(d.TxnID) == 0 {
			t.Fatalf("declared %+v", d)
		}
		return d.TxnID
	}
	inside := func(s frame.DeliveryState, txn []byte) {
		t.Helper()
		if p, ok := s.(*frame.Transactional); !ok || string(p.TxnID) != string(txn) ||
			!isState[*frame.Accepted](p.Outcome) {
			t.Fatalf("in a transaction: %+v", s)
		}
	}
	txn := declare(0)
	inside(c.puts(1, 1, txn, "x"), txn)
	inside(c.settles(0, &frame.Transactional{TxnID: txn, Outcome: &frame.Accepted{}}), txn)
	w.shows("other", "")
	w.shows("q", "a b c")
	if s := c.asks(2, 2, &frame.Discharge{TxnID: txn}); !isState[*frame.Accepted](s) {
		t.Fatalf("discharged: %+v", s)
	}
	w.shows("other", "x")
	w.shows("q", "b c")
	refused(t, c.asks(2, 3, &frame.Discharge{TxnID: txn}), frame.CondTransactionUnknownID)
	refused(t, c.puts(1, 4, txn, "late"), frame.CondTransactionUnknownID)

	txn = declare(5)
	inside(c.puts(1, 6, txn, "y"), txn)
	inside(c.settles(1, &frame.Transactional{TxnID: txn, Outcome: &frame.Accepted{}}), txn)
	if s := c.asks(2, 7, &frame.Discharge{TxnID: txn, Fail: true}); !isState[*frame.Accepted](s) {
		t.Fatalf("discharged: %+v", s)
	}
	w.shows("other", "x")
	w.shows("q", "b c")

	// The end of the coordinator is that of its transactions.
	txn = declare(8)
	inside(c.puts(1, 9, txn, "z"), txn)
	c.say(0, &frame.Detach{Handle: 2, Closed: true})
	await[*frame.Detach](c)
	c.coordinate(2)
	refused(t, c.asks(2, 10, &frame.Discharge{TxnID: txn}), frame.CondTransactionUnknownID)
	c.say(0, &frame.Transfer{Handle: 2, DeliveryID: frame.Some(11), DeliveryTag: []byte{1}}, 0, 0x53, 0x77,
		0x40)
	if s := await[*frame.Disposition](c).State; !isState[*frame.Rejected](s) {
		t.Errorf("nonsense is answered by %+v", s)
	}
	w.shows("other", "x")
}

// outcome waits for the outcome of the delivery that the client has sent with this id.
func (c *testClient) outcome(id uint32) frame.DeliveryState {
	c.t.Helper()
	for {
		if d := await[*frame.Disposition](c); d.Receiver && id-d.First <= d.Last.Or(d.First)-d.First {
			return d.State
		}
	}
}

// declare declares a transaction at the coordinator and returns its id. The parameter id is the delivery
// id.
func (c *testClient) declare(handle, id uint32) []byte {
	c.t.Helper()
	d, ok := c.asks(handle, id, &frame.Declare{}).(*frame.Declared)
	if !ok || len(d.TxnID) == 0 {
		c.t.Fatalf("declared %+v", d)
	}
	return d.TxnID
}

// post sends a message in the transaction txn on a channel, without waiting for the outcome.
func (c *testClient) post(channel uint16, handle, id uint32, txn []byte, text string) {
	c.t.Helper()
	t := &frame.Transfer{Handle: handle, DeliveryID: frame.Some(id), DeliveryTag: []byte{byte(id)}}
	if txn != nil {
		t.State = &frame.Transactional{TxnID: txn}
	}
	c.say(channel, t, message.New([]byte(text)).AppendBare(nil)...)
}

// discharge sends a Discharge, which ends a transaction, on a channel, without waiting for the outcome.
func (c *testClient) discharge(channel uint16, handle, id uint32, d *frame.Discharge) {
	c.t.Helper()
	m := message.New(nil)
	m.Body = frame.AppendValue([]byte{0, 0x53, sectionValue}, d)
	c.say(channel, &frame.Transfer{Handle: handle, DeliveryID: frame.Some(id), DeliveryTag: []byte{byte(id)}},
		m.AppendBare(nil)...)
}

// TestPipelinedTransactions checks that a client may send the discharge of a transaction before it has
// received the outcomes of the sends and settlements in it, with all links on one session or on a session
// each.
func TestPipelinedTransactions(t *testing.T) {
	const rounds = 50
	for _, apart := range []bool{false, true} {
		for _, fail := range []bool{false, true} {
			t.Run(fmt.Sprintf("apart %v, fail %v", apart, fail), func(t *testing.T) {
				w := newServiceBusUnderTest(t)
				var texts, sent []string
				for i := range rounds {
					texts = append(texts, fmt.Sprint("m", i))
				}
				c := w.attached(texts...)
				w.create(entity.Queue, "other")
				sending, coordinating := uint16(0), uint16(0)
				if apart {
					sending, coordinating = 1, 2
					c.begin(1, 1000)
					c.begin(2, 1000)
				}
				c.say(sending, &frame.Attach{Name: "s", Handle: 1, Source: source("here"), Target: target(
					"q"),
					InitialDeliveryCount: frame.Some(0)})
				await[*frame.Attach](c)
				c.say(coordinating, &frame.Attach{Name: "c", Handle: 2, Source: source("here"),
					Target: &frame.Coordinator{}, InitialDeliveryCount: frame.Some(0)})
				await[*frame.Attach](c)
				id := uint32(0)
				next := func() uint32 { id++; return id }
				for i := range rounds {
					m := message.New(nil)
					m.Body = frame.AppendValue([]byte{0, 0x53, sectionValue}, &frame.Declare{})
					first := next()
					c.say(coordinating, &frame.Transfer{Handle: 2, DeliveryID: frame.Some(first),
						DeliveryTag: []byte{1}}, m.AppendBare(nil)...)
					txn := c.outcome(first).(*frame.Declared).TxnID
					for j := range 2 {
						text := fmt.Sprint("s", i, ".", j)
						c.post(sending, 1, next(), txn, text)
						sent = append(sent, text)
					}
					c.say(0, &frame.Disposition{Receiver: true, First: uint32(i),
						State: &frame.Transactional{TxnID: txn, Outcome: &frame.Accepted{}}})
					end := next()
					c.discharge(coordinating, 2, end, &frame.Discharge{TxnID: txn, Fail: fail})
					if s := c.outcome(end); !isState[*frame.Accepted](s) {
						t.Fatalf("the discharge is answered %+v", s)
					}
				}
				want := sent
				if fail {
					want = texts
				}
				w.shows("q", strings.Join(want, " "))
			})
		}
	}
}

// TestProvisionalSettlement checks that a delivery that is settled in a transaction stays unsettled until
// the transaction ends. A commit settles it; after a rollback the client can settle it again, even right
// after the discharge.
func TestProvisionalSettlement(t *testing.T) {
	for _, bySession := range []bool{false, true} {
		t.Run(fmt.Sprint("session ", bySession), func(t *testing.T) {
			w := newServiceBusUnderTest(t)
			c := w.dial(1 << 16)
			if bySession {
				w.create(entity.Queue, "q", withSessions)
				w.send("q", "s:a", "s:b")
				c.receiver(0, "q", func(a *frame.Attach) {
					a.Source.Filter = wire.Map{{Key: wire.Symbol(sessionFilter), Value: "s"}}
				})
			} else {
				w.create(entity.Queue, "q")
				w.send("q", "s:a", "s:b")
				c.receiver(0, "q")
			}
			c.credit(0, 0, 2, false)
			c.delivered()
			c.delivered()
			c.coordinate(2)
			id := uint32(0)
			next := func() uint32 { id++; return id }
			settle := func(txn []byte) {
				t.Helper()
				for i := range uint32(2) {
					s := c.settles(i, &frame.Transactional{TxnID: txn, Outcome: &frame.Accepted{}})
					if p, ok := s.(*frame.Transactional); !ok || !isState[*frame.Accepted](p.Outcome) {
						t.Fatalf("the provisional answer is %+v", s)
					}
				}
			}
			for range 3 {
				txn := c.declare(2, next())
				settle(txn)
				end := next()
				c.discharge(0, 2, end, &frame.Discharge{TxnID: txn, Fail: true})
				c.outcome(end)
			}
			txn := c.declare(2, next())
			settle(txn)
			end := next()
			c.discharge(0, 2, end, &frame.Discharge{TxnID: txn})
			for i := range uint32(2) {
				if d := await[*frame.Disposition](c); d.Receiver || d.First != i || !d.Settled ||
					!isState[*frame.Accepted](d.State) {
					t.Fatalf("a delivery of a committed transaction is settled by %+v", d)
				}
			}
			c.outcome(end)
			w.shows("q", "")

			w.send("q", "s:c")
			c.credit(0, 2, 1, false)
			c.delivered()
			txn = c.declare(2, next())
			c.say(0, &frame.Disposition{Receiver: true, First: 2,
				State: &frame.Transactional{TxnID: txn, Outcome: &frame.Accepted{}}})
			end = next()
			c.discharge(0, 2, end, &frame.Discharge{TxnID: txn, Fail: true})
			c.say(0, &frame.Disposition{Receiver: true, First: 2,
				State: &frame.Modified{DeliveryFailed: true}})
			await[*frame.Disposition](c) // provisional
			c.outcome(end)
			if d := await[*frame.Disposition](c); d.First != 2 || !d.Settled || !isState[*frame.Modified](
				d.State) {
				t.Errorf("an abandon behind a rollback is answered %+v", d)
			}
			w.shows("q", "s:c")
		})
	}
}

// TestIncompleteTransaction checks that a transaction is rolled back if some of its work was refused or
// lost.
func TestIncompleteTransaction(t *testing.T) {
	const missing = 77 // a delivery that there is not
	for name, spoil := range map[string]func(w *serviceBusUnderTest, c *testClient, txn []byte){
		"a message is refused": func(w *serviceBusUnderTest, c *testClient, txn []byte) {
			m := message.New([]byte("x"))
			m.Set("bad", []byte{0x40}) // no value of a property
			m.SetText(message.MessageID, strings.Repeat("x", 200))
			c.say(0, &frame.Transfer{Handle: 1, DeliveryID: frame.Some(50), DeliveryTag: []byte{1},
				State: &frame.Transactional{TxnID: txn}}, m.AppendBare(nil)...)
		},
		"a message is too large": func(w *serviceBusUnderTest, c *testClient, txn []byte) {
			big := make([]byte, 300<<10)
			for len(big) > 0 {
				n := min(len(big), 30<<10)
				c.say(0, &frame.Transfer{Handle: 1, DeliveryID: frame.Some(50), DeliveryTag: []byte{1},
					More: n < len(big), State: &frame.Transactional{TxnID: txn}}, big[:n]...)
				big = big[n:]
			}
		},
		"a lock is lost": func(w *serviceBusUnderTest, c *testClient, txn []byte) {
			w.advance(2 * entity.Defaults(entity.Queue).LockDuration)
			c.say(0, &frame.Disposition{Receiver: true, First: 0,
				State: &frame.Transactional{TxnID: txn, Outcome: &frame.Accepted{}}})
		},
		"a delivery is not known": func(w *serviceBusUnderTest, c *testClient, txn []byte) {
			c.say(0, &frame.Disposition{Receiver: true, First: missing,
				State: &frame.Transactional{TxnID: txn, Outcome: &frame.Accepted{}}})
		},
		"the link is detached": func(w *serviceBusUnderTest, c *testClient, txn []byte) {
			w.must(w.q.Delete(w.ctx, "third"))
			await[*frame.Detach](c)
			c.say(0, &frame.Disposition{Receiver: true, First: 1,
				State: &frame.Transactional{TxnID: txn, Outcome: &frame.Accepted{}}})
		},
		"there is no such link": func(w *serviceBusUnderTest, c *testClient, txn []byte) {
			c.post(0, 9, 50, txn, "x") // ends the session
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newServiceBusUnderTest(t)
			w.create(entity.Queue, "third")
			w.send("third", "t")
			c := w.attached("a")
			c.receiver(3, "third")
			c.credit(3, 0, 1, false)
			c.delivered()
			c.sender(1, "q")
			c.begin(1, 100)
			c.say(1, &frame.Attach{Name: "coordinator", Handle: 0, Source: source("here"),
				Target: &frame.Coordinator{}, InitialDeliveryCount: frame.Some(0)})
			await[*frame.Attach](c)
			m := message.New(nil)
			m.Body = frame.AppendValue([]byte{0, 0x53, sectionValue}, &frame.Declare{})
			c.say(1, &frame.Transfer{Handle: 0, DeliveryID: frame.Some(100), DeliveryTag: []byte{1}},
				m.AppendBare(nil)...)
			txn := c.outcome(100).(*frame.Declared).TxnID
			c.post(0, 1, 1, txn, "y")
			spoil(w, c, txn)
			c.discharge(1, 0, 101, &frame.Discharge{TxnID: txn})
			refused(t, c.outcome(101), frame.CondTransactionRollback)
			w.shows("q", "a")
		})
	}
}

// TestSettledAfterDetach checks the answer to settlements on a link that the server has detached, sent
// before the client has confirmed the detach: each is rejected with the reason of the detach.
func TestSettledAfterDetach(t *testing.T) {
	w := newServiceBusUnderTest(t)
	c := w.attached("a", "b", "c")
	w.must(w.q.Delete(w.ctx, "q"))
	if d := await[*frame.Detach](c); d.Error == nil || d.Error.Condition != frame.CondNotFound {
		t.Fatalf("the link of a queue that is deleted is detached by %+v", d)
	}
	refused(t, c.settles(1, &frame.Accepted{}), frame.CondNotFound)
	c.say(0, &frame.Disposition{Receiver: true, First: 0, Last: frame.Some(2), State: &frame.Accepted{}})
	for _, id := range []uint32{0, 2} { // 1 is settled
		d := await[*frame.Disposition](c)
		if d.First != id || !d.Settled {
			t.Errorf("%d is answered %+v", id, d)
		}
		refused(t, d.State, frame.CondNotFound)
	}
}
