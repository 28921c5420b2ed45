package bus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// TestTransactionHistories runs random transactions on several connections, pipelined or not, with links
// on one session or on a session each. It checks at any moment, also after a simulated crash, that each
// transaction is stored completely or not at all: completely after its commit was confirmed, not at all
// before its commit was requested.
func TestTransactionHistories(t *testing.T) {
	const steps = 300
	first := metamorphic.FirstSeed()
	for seed := first; seed < first+2*metamorphic.QueueHistories; seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			p := newTransactionHistory(t, seed)
			for range steps {
				p.step()
				if t.Failed() {
					t.Fatal(strings.Join(p.log, "\n"))
				}
			}
			p.end()
			if t.Failed() {
				t.Fatal(strings.Join(p.log, "\n"))
			}
		})
	}
}

// transactionModelRun is one run of the model test: a random sequence of operations in transactions, with the
// server, the clients, and a model of what must be stored.
type transactionModelRun struct {
	*serviceBusUnderTest
	disk    *testdisk.EngineStorage
	r       *rand.Rand
	talkers []*transactionModelClient
	all     []*modelTxn
	plain   map[string]bool // messages sent outside of transactions: whether that was answered
	gone    map[string]bool // preloaded messages settled outside of transactions
	log     []string
}

// modelTxn is the model of one transaction: what its client has sent and settled in it, and how far its
// commit has come.
type modelTxn struct {
	name      string
	id        []byte
	sent      []string
	settled   []string // texts of messages that it completes
	ids       []uint32 // of their deliveries
	spoiled   bool
	asked     bool // its commit was asked for
	committed bool // and answered
}

const preloaded = 60

func newTransactionHistory(t *testing.T, seed uint64) *transactionModelRun {
	p := &transactionModelRun{disk: testdisk.NewCrashable(t), r: rand.New(rand.NewPCG(seed, 2)),
		plain: map[string]bool{}, gone: map[string]bool{}}
	p.serviceBusUnderTest = worldOn(t, p.disk)
	p.create(entity.Queue, "q", func(q *entity.Properties) { q.LockDuration = 5 * time.Minute })
	for i := range preloaded {
		p.send("q", fmt.Sprint("p", i))
	}
	for i := range 3 {
		p.talkers = append(p.talkers, p.newModelClient(i))
	}
	return p
}

// worldOn returns a test server whose data are on the disk.
func worldOn(t *testing.T, disk *testdisk.EngineStorage) *serviceBusUnderTest {
	t.Helper()
	w := &serviceBusUnderTest{t: t, ctx: t.Context(), q: queue.New(queue.Options{})}
	e, err := disk.Open(w.ctx)
	w.must(err)
	clock := ttl.NewManual(time.Date(2026, 7, 2, 1, 0, 0, 0, time.UTC))
	w.h, err = host.Open(w.ctx, e, host.Options{Clock: clock, ManualReaper: true}, w.q.Tenant())
	w.must(err)
	w.bus = New(Options{Queues: w.q, Guard: access.New(access.TokenVerifierOptions{Mode: access.Off}),
		Faults: inject.New(w.q.Now)})
	return w
}

// transactionModelClient is one client of a transactionModelRun, with its open transactions and the
// operations for which it has no outcome yet.
type transactionModelClient struct {
	*testClient
	p       *transactionModelRun
	number  int
	apart   bool
	next    map[uint16]uint32    // delivery ids of what it sends, by channel
	open    []*modelTxn          // declared, and not discharged
	waiting map[uint32]*modelTxn // discharges, by delivery id
	sends   map[uint32]string    // outside of transactions
	have    []modelDelivery      // unsettled
	known   map[uint32]string    // what was delivered, by id
	done    map[uint32]bool      // settled by the server
}

type modelDelivery struct {
	id   uint32
	text string
}

// The handles of the AMQP links that each transactionModelClient, a client of the random transaction tests,
// attaches.
const (
	receiving = iota
	sending
	coordinating
	requesting
	answering
)

// channel returns the channel (the session) of the link with this handle.
func (k *transactionModelClient) channel(handle uint16) uint16 {
	if k.apart {
		return min(handle, requesting)
	}
	return 0
}

func (p *transactionModelRun) newModelClient(number int) *transactionModelClient {
	k := &transactionModelClient{testClient: p.dial(1 << 16), p: p, number: number, apart: p.r.IntN(2) == 0,
		next:    map[uint16]uint32{},
		waiting: map[uint32]*modelTxn{}, sends: map[uint32]string{}, known: map[uint32]string{},
		done: map[uint32]bool{}}
	if k.apart {
		for channel := range uint16(requesting) {
			k.begin(channel+1, 1<<31)
		}
	}
	attach := func(handle uint16, a *frame.Attach) {
		a.Handle = uint32(handle)
		k.say(k.channel(handle), a)
		await[*frame.Attach](k.testClient)
	}
	attach(receiving, &frame.Attach{Name: "r", Receiver: true, Source: source("q"), Target: target("here")})
	attach(sending, &frame.Attach{Name: "s", Source: source("here"), Target: target("q"),
		InitialDeliveryCount: frame.Some(0)})
	attach(coordinating, &frame.Attach{Name: "c", Source: source("here"), Target: &frame.Coordinator{},
		InitialDeliveryCount: frame.Some(0)})
	attach(answering, &frame.Attach{Name: "a", Receiver: true, SndSettleMode: frame.SenderSettled,
		Source: source("q/$management"), Target: target("answers")})
	attach(requesting, &frame.Attach{Name: "m", Source: source("here"), Target: target("q/$management"),
		InitialDeliveryCount: frame.Some(0)})
	for _, handle := range []uint16{receiving, answering} {
		k.say(k.channel(handle), &frame.Flow{IncomingWindow: 1 << 31, OutgoingWindow: 1 << 31,
			Handle: frame.Some(uint32(handle)), LinkCredit: frame.Some(map[uint16]uint32{receiving: 8,
				answering: 1000}[handle])})
	}
	return k
}

// transmit sends a transfer and returns its delivery id.
func (k *transactionModelClient) transmit(handle uint16, state frame.DeliveryState, payload []byte) uint32 {
	channel := k.channel(handle)
	id := k.next[channel]
	k.next[channel]++
	if k.apart { // one number for each delivery of the connection
		id = id*8 + uint32(channel)
	}
	k.say(channel, &frame.Transfer{Handle: uint32(handle), DeliveryID: frame.Some(id), DeliveryTag: []byte{1},
		MessageFormat: frame.Some(0), State: state}, payload...)
	return id
}

func requestOf(body frame.Body) []byte {
	m := message.New(nil)
	m.Body = frame.AppendValue([]byte{0, 0x53, sectionValue}, body)
	return m.AppendBare(nil)
}

func (p *transactionModelRun) note(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format, args...))
}

// step makes a random client carry out one random operation.
func (p *transactionModelRun) step() {
	k := p.talkers[p.r.IntN(len(p.talkers))]
	var txn *modelTxn
	if len(k.open) > 0 {
		txn = k.open[p.r.IntN(len(k.open))]
	}
	switch n := p.r.IntN(100); {
	case n < 20 || txn == nil:
		k.declare()
	case n < 40:
		k.post(txn)
	case n < 55:
		k.settle(txn)
	case n < 63:
		k.schedule(txn)
	case n < 80:
		k.discharge(txn, p.r.IntN(3) > 0)
	case n < 84:
		k.spoil(txn)
	case n < 89:
		text := fmt.Sprint("n", len(p.plain))
		p.plain[text] = false
		k.sends[k.transmit(sending, nil, message.New([]byte(text)).AppendBare(nil))] = text
	case n < 94:
		k.sync()
	case n < 96:
		p.look()
	case n < 99:
		p.crash()
	default:
		p.note("%d hangs up", k.number)
		k.hangUp()
		p.talkers[k.number] = p.newModelClient(k.number)
	}
}

func (k *transactionModelClient) declare() {
	id := k.transmit(coordinating, nil, requestOf(&frame.Declare{}))
	t := &modelTxn{name: fmt.Sprint("t", len(k.p.all))}
	k.p.all = append(k.p.all, t)
	k.until(func(f receivedFrame) bool {
		d, ok := f.body.(*frame.Disposition)
		if !ok || !d.Receiver || d.First != id {
			return false
		}
		t.id = d.State.(*frame.Declared).TxnID
		return true
	})
	k.open = append(k.open, t)
	k.p.note("%d declares %s", k.number, t.name)
}

func (t *modelTxn) state() *frame.Transactional {
	return &frame.Transactional{TxnID: t.id, Outcome: &frame.Accepted{}}
}

func (k *transactionModelClient) post(t *modelTxn) {
	text := fmt.Sprint(t.name, ".", len(t.sent))
	t.sent = append(t.sent, text)
	k.transmit(sending, t.state(), message.New([]byte(text)).AppendBare(nil))
	k.p.note("%d posts %s", k.number, text)
}

func (k *transactionModelClient) schedule(t *modelTxn) {
	text := fmt.Sprint(t.name, ".", len(t.sent))
	t.sent = append(t.sent, text)
	r := message.New(nil)
	r.SetRaw(message.MessageID, wire.AppendUint64(nil, 1))
	r.SetText(message.ReplyTo, "answers")
	r.SetString("operation", "com.microsoft:schedule-message")
	value, err := wire.Append([]byte{0, 0x53, sectionValue}, k.p.inAnHour(text))
	k.p.must(err)
	r.Body = value
	k.transmit(requesting, t.state(), r.AppendBare(nil))
	k.p.note("%d schedules %s", k.number, text)
}

func (k *transactionModelClient) settle(t *modelTxn) {
	if len(k.have) == 0 {
		return
	}
	d := k.have[0]
	k.have = k.have[1:]
	t.settled, t.ids = append(t.settled, d.text), append(t.ids, d.id)
	k.say(k.channel(receiving), &frame.Disposition{Receiver: true, First: d.id, State: t.state()})
	k.p.note("%d completes %s in %s", k.number, d.text, t.name)
}

// spoil adds an operation to a transaction that the server will refuse, so that the transaction cannot be
// committed.
func (k *transactionModelClient) spoil(t *modelTxn) {
	t.spoiled = true
	k.say(k.channel(receiving), &frame.Disposition{Receiver: true, First: 1 << 20, State: t.state()})
	k.p.note("%d spoils %s", k.number, t.name)
}

func (k *transactionModelClient) discharge(t *modelTxn, commit bool) {
	k.open = slices.DeleteFunc(k.open, func(o *modelTxn) bool { return o == t })
	t.asked = commit
	k.waiting[k.transmit(coordinating, nil, requestOf(&frame.Discharge{TxnID: t.id, Fail: !commit}))] = t
	k.p.note("%d asks for the end of %s, commit %v", k.number, t.name, commit)
	if commit && !t.spoiled {
		return
	}
	// What it was to settle is settled right behind it, by another transaction, or outside of any.
	for i, id := range t.ids {
		d := modelDelivery{id, t.settled[i]}
		if k.p.r.IntN(2) == 0 {
			k.have = append(k.have, d)
			continue
		}
		k.say(k.channel(receiving), &frame.Disposition{Receiver: true, First: id, State: &frame.Accepted{}})
		k.p.gone[d.text] = true
		k.p.note("%d completes %s", k.number, d.text)
	}
}

// until receives frames and updates the model by them, until found returns true for one.
func (k *transactionModelClient) until(found func(receivedFrame) bool) {
	for {
		f, ok := k.testClient.next()
		if !ok {
			k.p.t.Fatal("the connection has ended")
		}
		stop := found(f)
		k.take(f)
		if stop {
			return
		}
	}
}

// take updates the model by a received frame.
func (k *transactionModelClient) take(f receivedFrame) {
	switch b := f.body.(type) {
	case *frame.Transfer:
		if b.Handle == receiving {
			m, err := message.Parse(f.payload)
			k.p.must(err)
			if text := textOf(m); strings.HasPrefix(text, "p") {
				k.have = append(k.have, modelDelivery{b.DeliveryID.Value, text})
				k.known[b.DeliveryID.Value] = text
			}
		}
	case *frame.Disposition:
		for id := b.First; ; id++ {
			k.answered(id, b)
			if id == b.Last.Or(b.First) {
				break
			}
		}
	case *frame.Detach, *frame.End, *frame.Close:
		k.p.t.Errorf("%d is told %+v", k.number, b)
	}
}

func (k *transactionModelClient) answered(id uint32, d *frame.Disposition) {
	_, accepted := d.State.(*frame.Accepted)
	if !d.Receiver {
		if d.Settled {
			k.done[id] = true
			if !accepted {
				k.p.t.Errorf("%d: %s is settled by %+v", k.number, k.known[id], d.State)
			}
		}
		return
	}
	if text, ok := k.sends[id]; ok {
		k.p.plain[text] = true
		delete(k.sends, id)
	}
	t := k.waiting[id]
	if t == nil {
		return
	}
	delete(k.waiting, id)
	if accepted == (t.asked && t.spoiled) {
		k.p.t.Errorf("%d: the discharge of %s, commit %v, spoiled %v, is answered %+v", k.number, t.name,
			t.asked,
			t.spoiled, d.State)
	}
	if t.committed = accepted && t.asked; t.committed {
		for i, id := range t.ids {
			if !k.done[id] {
				k.p.t.Errorf("%d: %s is committed and has not settled %s", k.number, t.name, t.settled[i])
			}
		}
	}
}

// sync waits for the outcomes of everything that the client has sent.
func (k *transactionModelClient) sync() {
	for len(k.waiting) > 0 || len(k.sends) > 0 {
		k.until(func(receivedFrame) bool { return true })
	}
	k.p.note("%d has all answers", k.number)
}
