package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestHistories makes random operations on a queue and on a model of it, and compares the two after each
// operation. It also simulates a crash after each operation, and compares what is on disk with the model
// without its locks.
func TestHistories(t *testing.T) {
	t.Parallel()
	const steps = 100
	first := metamorphic.FirstSeed()
	for seed := first; seed < first+metamorphic.QueueHistories; seed++ {
		for _, bySession := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed=%d,sessions=%v", seed, bySession), func(t *testing.T) {
				p := newModelRun(t, seed, bySession)
				for range steps {
					p.step()
					if t.Failed() {
						t.Fatal(strings.Join(p.log, "\n"))
					}
				}
				p.end()
			})
		}
	}
}

// modelRun is one run of TestHistories: a queue, the model of it, and the log of the operations so far.
type modelRun struct {
	*testQueueHost
	r     *rand.Rand
	model *queueModel
	log   []string
	n     int
	lost  []message.UUID // tokens of locks that have ended
	plain *Receiver
}

func newModelRun(t *testing.T, seed uint64, bySession bool) *modelRun {
	p := &modelRun{r: rand.New(rand.NewPCG(seed, 1)), testQueueHost: newTestHost(t, Options{})}
	if seed%2 == 1 { // the reaper works in the background, which must make no difference
		p.auto = true
		p.reopen()
	}
	props := p.props()
	props.RequiresSession, props.RequiresDuplicateDetection = bySession, p.r.IntN(3) == 0
	p.create(entity.Queue, "q", props)
	p.model = newQueueModel(props, start.UnixMilli())
	p.openPlain()
	return p
}

// props returns random values of the properties that can be changed after the queue was created.
func (p *modelRun) props() entity.Properties {
	props := standard()
	props.LockDuration = time.Duration(5+p.r.IntN(20)) * time.Second
	props.MaxDeliveryCount = int32(1 + p.r.IntN(4))
	props.DeadLetterOnExpiration = p.r.IntN(2) == 0
	props.DuplicateDetectionWindow = 20 * time.Second
	if p.r.IntN(2) == 0 {
		props.DefaultTTL = time.Duration(1+p.r.IntN(40)) * time.Second
	}
	return props
}

func (p *modelRun) logf(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format, args...))
}

func (p *modelRun) bySession() bool { return p.model.props.RequiresSession }

func (p *modelRun) openPlain() {
	if p.bySession() {
		return
	}
	var err error
	p.plain, err = p.q.OpenReceiver(p.ctx, entity.Address{Entity: "q"}, ReceiverOptions{})
	p.must(err)
}

// step makes one random operation, and compares the queue with the model.
func (p *modelRun) step() {
	acts := []func(){p.sendSome, p.sendSome, p.sendSome, p.receiveSome, p.receiveSome, p.receiveSome,
		p.settleSome, p.settleSome, p.settleSome, p.renewSome, p.deferredSome, p.cancelSome, p.advanceSome,
		p.advanceSome, p.deleteSome, p.sweepAll, p.deadSome, p.sessionSome, p.sessionSome, p.transact}
	switch p.r.IntN(40) {
	case 0:
		p.changeProperties()
	case 1:
		p.restart()
	default:
		acts[p.r.IntN(len(acts))]()
	}
	p.settleDown()
	p.compare("now", p.testQueueHost, p.model)
	if !p.t.Failed() {
		p.crash()
	}
}

// settleDown makes the changes that are due: locks lapse and scheduled messages become active.
func (p *modelRun) settleDown() {
	m, err := p.q.dataset()
	p.must(err)
	for _, s := range m.allStores() {
		p.must(s.catchUp(p.ctx))
	}
}

func (p *modelRun) end() {
	for _, s := range p.model.sessions {
		s.r.Close()
	}
	if p.plain != nil {
		p.plain.Close()
	}
}

func (p *modelRun) drawn() (*message.Message, modelMessage) {
	p.n++
	text := fmt.Sprint("m", p.n)
	m := msg(text)
	tm := modelMessage{text: text, ttl: layout.NoTTL}
	if p.r.IntN(2) == 0 {
		ms := int64(p.r.IntN(30)) * 500
		tm.ttl = ms
		m.SetOwnTTL(ms, 0)
	}
	if p.r.IntN(4) == 0 {
		tm.due = p.model.now + int64(p.r.IntN(20)-5)*1000
		m.SetScheduled(tm.due)
	}
	if p.bySession() {
		tm.session = string(rune('a' + p.r.IntN(3)))
		of(tm.session)(m)
	}
	if p.model.props.RequiresDuplicateDetection && p.r.IntN(3) == 0 {
		m.SetText(message.MessageID, fmt.Sprint("id", p.r.IntN(3)))
	}
	return m, tm
}

func (p *modelRun) drawnList() (list []*message.Message, twins []modelMessage) {
	for range 1 + p.r.IntN(3) {
		m, tm := p.drawn()
		list, twins = append(list, m), append(twins, tm)
	}
	return list, twins
}

func (p *modelRun) sendSome() {
	list, twins := p.drawnList()
	p.must(p.q.Send(p.ctx, address("q"), list, nil))
	p.sent(list, twins)
}

// sent records in the model that the messages in list were sent. twins are the same messages in the model's
// form.
func (p *modelRun) sent(list []*message.Message, twins []modelMessage) {
	for i, tm := range twins {
		id := list[i].Text(message.MessageID)
		p.logf("send %+v id=%s: %d", tm, id, p.model.send(tm, id))
	}
}

// receiveSome receives messages, and compares them with those that the model says are available.
func (p *modelRun) receiveSome() {
	r, session, holder := p.plain, "", (*modelSession)(nil)
	if p.bySession() {
		for _, s := range p.model.sessions { // any
			r, session, holder = s.r, s.id, s
		}
		if holder == nil {
			return
		}
	}
	most := 1 + p.r.IntN(4)
	mode := PeekLock
	if p.r.IntN(4) == 0 {
		mode = ReceiveAndDelete
	}
	r.o.Mode = mode
	want := p.model.available(session)
	want = want[:min(len(want), most)]
	list, err := r.TryReceive(p.ctx, most)
	p.must(err)
	p.took(list, want, mode, holder)
}

// took compares the received messages list with those of the model, want, and locks these in the model or,
// in ReceiveAndDelete mode, deletes them.
func (p *modelRun) took(list []Delivery, want []*modelMessage, mode ReceiveMode, holder *modelSession) {
	p.logf("receive %s in mode %d", texts(list), mode)
	if len(list) != len(want) {
		p.t.Errorf("received %s, not %d messages", texts(list), len(want))
		return
	}
	for i, d := range list {
		m := want[i]
		b := d.Broker
		if b.SequenceNumber != m.seq || b.DeliveryCount != uint32(m.count) || textOf(d) != m.text {
			p.t.Errorf("received %s %+v, not %+v", d.Message.Body, d.Broker, m)
		}
		if scheduled := m.state == layout.Active && m.due > 0; scheduled != (b.State == message.Scheduled) {
			p.t.Errorf("received %+v in state %d", m, b.State)
		}
		switch {
		case mode == ReceiveAndDelete:
			delete(p.model.msgs, m.seq)
		case holder != nil:
			m.holder, m.token = holder, d.Token
			if b.LockedUntil != message.LastMoment {
				p.t.Errorf("in a session, locked until %d", b.LockedUntil)
			}
		default:
			m.until, m.token = p.model.now+p.model.props.LockDuration.Milliseconds(), d.Token
			if d.Broker.LockedUntil != m.until {
				p.t.Errorf("locked until %d, not %d", d.Broker.LockedUntil, m.until)
			}
		}
	}
}

func (p *modelRun) lockedOnes() (list []*modelMessage) {
	for _, m := range p.model.ordered(p.model.msgs) {
		if m.locked() {
			list = append(list, m)
		}
	}
	return list
}

// changeProperties gives the queue random properties, which ends all locks.
func (p *modelRun) changeProperties() {
	p.sweepAll()
	props := p.props()
	props.RequiresSession = p.bySession()
	props.RequiresDuplicateDetection = p.model.props.RequiresDuplicateDetection
	p.logf("change properties: %+v", props)
	p.change("q", props)
	p.loseAll()
	p.model.props = props
}

func (p *modelRun) loseAll() {
	for _, m := range p.lockedOnes() {
		p.lost = append(p.lost, m.token)
		m.unlock()
	}
	for _, s := range p.model.sessions {
		<-s.r.Ended()
	}
	clear(p.model.sessions)
}

func (p *modelRun) restart() {
	p.logf("restart")
	if storedLocksTested(p.t) { // the locks of messages stay
		p.end()
		for _, s := range p.model.sessions {
			p.model.endSession(s, false)
		}
		p.reopen()
	} else {
		p.reopen()
		p.loseAll()
	}
	p.model.started = p.model.now
	p.openPlain()
}

// crash opens a copy of the disk, as after a crash of the server, and compares it with the model. On
// PostgreSQL, where a copy takes long, it does so only once in ten calls.
func (p *modelRun) crash() {
	if testdisk.Postgres(p.t) && p.r.IntN(10) > 0 {
		return
	}
	e := p.testQueueHost
	c := &testQueueHost{t: p.t, ctx: p.ctx, fs: p.fs.CrashClone(vfs.CrashCloneCfg{}), base: e.base,
		opts: e.opts}
	c.open()
	defer func() { c.must(c.h.Close()) }()
	after := p.model.clone(storedLocksTested(p.t))
	p.compare("after a crash", c, after)
	c.sweep()
	after.purge()
	p.compareDead("after a crash and a sweep", c, after)
	c.check()
}

// compare compares the messages of the queue with those of the model, except expired ones. when is a text
// for the error message.
func (p *modelRun) compare(when string, w *testQueueHost, tw *queueModel) {
	p.t.Helper()
	s, err := w.q.store(w.ctx, entity.Address{Entity: "q"})
	w.must(err)
	var got []string
	w.must(s.e.m.in.Engine().View(w.ctx, func(r engine.Reader) error {
		return s.EachHeader(context.Background(), r, 0, func(seq int64, h layout.MessageHeader) (bool,
			error) {
			state, err := s.table.inspect(r, nil, []int64{seq})
			if err != nil {
				return false, err
			}
			if _, locked := state.Messages[seq]; !locked && s.expired(&h, s.now()) {
				return true, nil
			}
			body, err := r.Get(s.Keys.Key(layout.FamilyBody, seq))
			if err != nil {
				return false, err
			}
			m, err := message.ParseStored(body)
			if err == nil {
				text := textOf(Delivery{Message: m})
				got = append(got, line(seq, text, h.State, h.Count, h.Enqueued, h.TTL, h.Due))
			}
			return true, err
		})
	}))
	if want, _ := tw.lines(); !slices.Equal(got, want) {
		p.t.Errorf("%s the queue has\n%s\nnot\n%s", when, lined(got), lined(want))
	}
}

// compareDead compares the dead letters of the queue with those of the model. when is a text for the error
// message.
func (p *modelRun) compareDead(when string, w *testQueueHost, tw *queueModel) {
	p.t.Helper()
	list, err := w.q.Peek(
		w.ctx,
		entity.Address{Entity: "q", Sub: entity.DeadLetters},
		PeekOptions{Max: 10000, MaxBytes: 1 << 30},
	)
	w.must(err)
	var got []string
	for _, d := range list {
		b := d.Broker
		got = append(got, fmt.Sprintf("%d %s +%d %s", b.SequenceNumber, textOf(d), b.DeliveryCount,
			propertyOf(d, "DeadLetterReason")))
	}
	if _, want := tw.lines(); !slices.Equal(got, want) {
		p.t.Errorf("%s the dead letters are\n%s\nnot\n%s", when, lined(got), lined(want))
	}
}
