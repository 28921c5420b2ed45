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

// TestHistories plays random histories on a queue and on its model. After each step a crash is played, too:
// what is on disk then must be the model without its locks.
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

// modelRun is one history.
type modelRun struct {
	*testHost
	r     *rand.Rand
	model *queueModel
	log   []string
	n     int
	lost  []message.UUID // tokens of locks that have ended
	plain *Receiver
}

func newModelRun(t *testing.T, seed uint64, bySession bool) *modelRun {
	p := &modelRun{r: rand.New(rand.NewPCG(seed, 1)), testHost: newTestHost(t, Options{})}
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

// props draws properties that can be changed.
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

// step does one thing, and compares.
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
	p.compare("now", p.testHost, p.model)
	if !p.t.Failed() {
		p.crash()
	}
}

// settleDown lets happen what is due.
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

// sent is what sending does to the model.
func (p *modelRun) sent(list []*message.Message, twins []modelMessage) {
	for i, tm := range twins {
		id := list[i].Text(message.MessageID)
		p.logf("send %+v id=%s: %d", tm, id, p.model.send(tm, id))
	}
}

// receiveSome receives, and compares with what must come.
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

// took compares what was received, and locks it in the model.
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

// changeProperties ends all locks.
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

// crash opens what a crash would leave, and compares. A copy of a database takes long: one of ten crashes is
// enough there.
func (p *modelRun) crash() {
	if testdisk.Postgres(p.t) && p.r.IntN(10) > 0 {
		return
	}
	e := p.testHost
	c := &testHost{t: p.t, ctx: p.ctx, fs: p.fs.CrashClone(vfs.CrashCloneCfg{}), base: e.base, opts: e.opts}
	c.open()
	defer func() { c.must(c.h.Close()) }()
	after := p.model.clone(storedLocksTested(p.t))
	p.compare("after a crash", c, after)
	c.sweep()
	after.purge()
	p.compareDead("after a crash and a sweep", c, after)
	c.check()
}

// compare compares the messages of a queue, but for those that have expired.
func (p *modelRun) compare(when string, w *testHost, tw *queueModel) {
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

// compareDead compares the dead letters.
func (p *modelRun) compareDead(when string, w *testHost, tw *queueModel) {
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
