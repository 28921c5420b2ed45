package queue

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/metatest"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestHistories plays random histories on a queue and on its twin. After each step a crash is played, too: what is on
// disk then must be the twin without its locks.
func TestHistories(t *testing.T) {
	histories, steps := uint64(12), 120
	if testing.Short() {
		histories, steps = 4, 60
	}
	first := metatest.FirstSeed()
	for seed := first; seed < first+histories; seed++ {
		for _, bySession := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed=%d,sessions=%v", seed, bySession), func(t *testing.T) {
				p := newPlay(t, seed, bySession)
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

// play is one history.
type play struct {
	*world
	r     *rand.Rand
	twin  *twin
	log   []string
	n     int
	lost  []message.UUID // tokens of locks that have ended
	plain *Receiver
}

func newPlay(t *testing.T, seed uint64, bySession bool) *play {
	p := &play{r: rand.New(rand.NewPCG(seed, 1)), world: newWorld(t, Options{})}
	props := p.props()
	props.RequiresSession, props.RequiresDuplicateDetection = bySession, p.r.IntN(3) == 0
	p.must(p.q.StandCreate(p.ctx, Queue, "q", props))
	p.twin = newTwin(props, start.UnixMilli())
	p.openPlain()
	return p
}

// props draws properties that can be changed.
func (p *play) props() Properties {
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

func (p *play) logf(format string, args ...any) { p.log = append(p.log, fmt.Sprintf(format, args...)) }

func (p *play) bySession() bool { return p.twin.props.RequiresSession }

func (p *play) openPlain() {
	if p.bySession() {
		return
	}
	var err error
	p.plain, err = p.q.OpenReceiver(p.ctx, Address{Entity: "q"}, ReceiverOptions{})
	p.must(err)
}

// step does one thing, and compares.
func (p *play) step() {
	acts := []func(){p.sendSome, p.sendSome, p.sendSome, p.receiveSome, p.receiveSome, p.receiveSome, p.settleSome,
		p.settleSome, p.settleSome, p.renewSome, p.deferredSome, p.cancelSome, p.advanceSome, p.advanceSome, p.deleteSome,
		p.sweepAll, p.deadSome, p.sessionSome, p.sessionSome, p.transact}
	switch p.r.IntN(40) {
	case 0:
		p.changeProperties()
	case 1:
		p.restart()
	default:
		acts[p.r.IntN(len(acts))]()
	}
	p.settleDown()
	p.compare("now", p.world, p.twin)
	if !p.t.Failed() {
		p.crash()
	}
}

// settleDown lets happen what is due.
func (p *play) settleDown() {
	m, err := p.q.resident()
	p.must(err)
	for _, s := range m.allStores() {
		p.must(s.catchUp(p.ctx))
	}
}

func (p *play) end() {
	for _, s := range p.twin.sessions {
		s.r.Close()
	}
	if p.plain != nil {
		p.plain.Close()
	}
}

func (p *play) drawn() (*message.Message, twinMessage) {
	p.n++
	text := fmt.Sprint("m", p.n)
	m := msg(text)
	tm := twinMessage{text: text, ttl: noTTL}
	if p.r.IntN(2) == 0 {
		ms := int64(p.r.IntN(30)) * 500
		m.TTL, tm.ttl = &ms, ms
	}
	if p.r.IntN(4) == 0 {
		tm.due = p.twin.now + int64(p.r.IntN(20)-5)*1000
		m.Due = tm.due
	}
	if p.bySession() {
		tm.session = string(rune('a' + p.r.IntN(3)))
		m.Session = tm.session
	}
	if p.twin.props.RequiresDuplicateDetection && p.r.IntN(3) == 0 {
		m.ID = fmt.Sprint("id", p.r.IntN(3))
	}
	return m, tm
}

func (p *play) drawnList() (list []*message.Message, twins []twinMessage) {
	for range 1 + p.r.IntN(3) {
		m, tm := p.drawn()
		list, twins = append(list, m), append(twins, tm)
	}
	return list, twins
}

func (p *play) sendSome() {
	list, twins := p.drawnList()
	p.must(p.q.Send(p.ctx, "q", list, nil))
	for i, tm := range twins {
		p.logf("send %+v id=%s: %d", tm, list[i].ID, p.twin.send(tm, list[i].ID))
	}
}

// receiveSome receives, and compares with what must come.
func (p *play) receiveSome() {
	r, session, holder := p.plain, "", (*twinSession)(nil)
	if p.bySession() {
		for _, s := range p.twin.sessions { // any
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
	want := p.twin.available(session)
	want = want[:min(len(want), most)]
	list, err := r.TryReceive(p.ctx, most)
	p.must(err)
	p.took(list, want, mode, holder)
}

// took compares what was received, and locks it in the twin.
func (p *play) took(list []Delivery, want []*twinMessage, mode Mode, holder *twinSession) {
	p.logf("receive %s in mode %d", texts(list), mode)
	if len(list) != len(want) {
		p.t.Errorf("received %s, not %d messages", texts(list), len(want))
		return
	}
	for i, d := range list {
		m := want[i]
		if d.Broker.SequenceNumber != m.seq || d.Broker.DeliveryCount != m.count || string(d.Message.Body) != m.text {
			p.t.Errorf("received %s %+v, not %+v", d.Message.Body, d.Broker, m)
		}
		switch {
		case mode == ReceiveAndDelete:
			delete(p.twin.msgs, m.seq)
		case holder != nil:
			m.holder, m.token = holder, d.Token
		default:
			m.until, m.token = p.twin.now+p.twin.props.LockDuration.Milliseconds(), d.Token
			if !d.Broker.LockedUntil.Equal(time.UnixMilli(m.until)) {
				p.t.Errorf("locked until %v, not %v", d.Broker.LockedUntil, time.UnixMilli(m.until))
			}
		}
	}
}

func (p *play) lockedOnes() (list []*twinMessage) {
	for _, m := range p.twin.ordered(p.twin.msgs) {
		if m.locked() {
			list = append(list, m)
		}
	}
	return list
}

// settleSome settles one that is locked, or one whose lock is lost.
func (p *play) settleSome() {
	a := Address{Entity: "q"}
	how := Settlement{Outcome: Outcome(p.r.IntN(5))}
	list := p.lockedOnes()
	if len(list) == 0 || len(p.lost) > 0 && p.r.IntN(6) == 0 {
		token := newToken()
		if len(p.lost) > 0 {
			token = p.lost[p.r.IntN(len(p.lost))]
		}
		code := CodeMessageLockLost
		if p.bySession() {
			code = CodeSessionLockLost
		}
		p.fails(p.q.Settle(p.ctx, a, token, how, nil), code)
		return
	}
	m := list[p.r.IntN(len(list))]
	p.logf("settle %d by %d", m.seq, how.Outcome)
	p.must(p.q.Settle(p.ctx, a, m.token, how, nil))
	p.settled(m, how)
}

// settled is what a settlement does to the twin.
func (p *play) settled(m *twinMessage, how Settlement) {
	p.lost = append(p.lost, m.token)
	switch how.Outcome {
	case Complete:
		delete(p.twin.msgs, m.seq)
	case Abandon:
		p.twin.fail(m, p.twin.now, true)
	case Release:
		p.twin.fail(m, p.twin.now, false)
	case Defer:
		m.unlock()
		m.state = deferred
	case DeadLetter:
		p.twin.bury(m, "<nil>")
	}
}

// transact settles and sends in one transaction, or gives that up.
func (p *play) transact() {
	tx, err := p.q.Begin(p.ctx)
	p.must(err)
	locked := p.lockedOnes()
	locked = locked[:min(len(locked), 2)]
	hows := make([]Settlement, len(locked))
	for i, m := range locked {
		hows[i].Outcome = Outcome(p.r.IntN(5))
		p.must(p.q.Settle(p.ctx, Address{Entity: "q"}, m.token, hows[i], tx))
	}
	list, twins := p.drawnList()
	p.must(p.q.Send(p.ctx, "q", list, tx))
	p.crash()
	if p.r.IntN(3) == 0 {
		p.logf("a transaction is given up")
		tx.Rollback()
		return
	}
	p.must(tx.Commit(p.ctx))
	for i, m := range locked {
		p.logf("settle %d by %d in a transaction", m.seq, hows[i].Outcome)
		p.settled(m, hows[i])
	}
	for i, tm := range twins {
		p.logf("send %+v id=%s in a transaction: %d", tm, list[i].ID, p.twin.send(tm, list[i].ID))
	}
}

func (p *play) renewSome() {
	list := p.lockedOnes()
	if p.bySession() || len(list) == 0 {
		return
	}
	m := list[p.r.IntN(len(list))]
	_, err := p.q.RenewLocks(p.ctx, Address{Entity: "q"}, []message.UUID{m.token})
	p.must(err)
	m.until = p.twin.now + p.twin.props.LockDuration.Milliseconds()
	p.logf("renew %d", m.seq)
}

// deferredSome receives a deferred message by its number.
func (p *play) deferredSome() {
	for _, m := range p.twin.ordered(p.twin.msgs) {
		holder := p.twin.sessions[m.session]
		if m.state != deferred || m.locked() || p.bySession() && holder == nil {
			continue
		}
		mode, r := Mode(p.r.IntN(2)), (*Receiver)(nil)
		if holder != nil {
			r = holder.r
		}
		_, err := p.q.ReceiveDeferred(p.ctx, Address{Entity: "q"}, []int64{m.seq, p.twin.last + 1}, mode, r)
		p.fails(err, CodeMessageNotFound)
		list, err := p.q.ReceiveDeferred(p.ctx, Address{Entity: "q"}, []int64{m.seq}, mode, r)
		p.must(err)
		p.took(list, []*twinMessage{m}, mode, holder)
		return
	}
}

func (p *play) cancelSome() {
	for _, m := range p.twin.ordered(p.twin.msgs) {
		if m.state == scheduled {
			p.logf("cancel %d", m.seq)
			p.must(p.q.CancelScheduled(p.ctx, "q", []int64{m.seq}))
			delete(p.twin.msgs, m.seq)
			return
		}
	}
}

func (p *play) advanceSome() {
	ms := int64(p.r.IntN(14)) * 500
	p.logf("advance by %d", ms)
	p.at(time.Duration(p.twin.now+ms-start.UnixMilli()) * time.Millisecond)
	for _, m := range p.lockedOnes() {
		if m.until > 0 && m.until <= p.twin.now+ms || m.holder != nil && m.holder.until <= p.twin.now+ms {
			p.lost = append(p.lost, m.token)
		}
	}
	p.twin.advance(p.twin.now + ms)
}

func (p *play) deleteSome() {
	if p.r.IntN(4) > 0 {
		return
	}
	before := p.twin.now - int64(p.r.IntN(20))*1000
	n, err := p.q.DeleteMessages(p.ctx, Address{Entity: "q"}, time.UnixMilli(before), 4000, nil)
	p.must(err)
	for _, m := range p.twin.ordered(p.twin.msgs) {
		if m.state != scheduled && !m.locked() && !p.twin.expired(m, p.twin.now) && m.enqueued < before {
			delete(p.twin.msgs, m.seq)
		}
	}
	p.logf("delete %d before %d", n, before)
}

func (p *play) sweepAll() {
	p.logf("sweep")
	p.sweep()
	p.twin.purge()
	p.compareDead("after a sweep", p.world, p.twin)
}

// deadSome takes what is dead.
func (p *play) deadSome() {
	p.sweepAll()
	list := p.take(Address{"q", DeadLetters}, ReceiverOptions{Mode: ReceiveAndDelete})
	p.logf("dead letters: %s", texts(list))
	if len(list) != len(p.twin.dead) {
		p.t.Errorf("%d dead letters, not %d", len(list), len(p.twin.dead))
	}
	clear(p.twin.dead)
}

// sessionSome opens a session, renews its lock or closes it.
func (p *play) sessionSome() {
	if !p.bySession() {
		return
	}
	ids := []string{"a", "b", "c"}
	id := ids[p.r.IntN(3)]
	s := p.twin.sessions[id]
	switch {
	case s != nil && p.r.IntN(2) == 0:
		p.logf("close session %s", id)
		s.r.Close()
		p.twin.endSession(s, false)
		return
	case s != nil:
		p.logf("renew session %s", id)
		_, err := s.r.RenewSession(p.ctx)
		p.must(err)
		s.until = p.twin.now + p.twin.props.LockDuration.Milliseconds()
		return
	}
	want := session(id)
	if p.r.IntN(2) == 0 {
		var ok bool
		if id, ok = p.twin.nextSession(); !ok {
			return
		}
		want = nextSession()
	}
	r, err := p.q.OpenReceiver(p.ctx, Address{Entity: "q"}, want)
	p.must(err)
	p.logf("open session %s", id)
	if got, _, _ := r.Session(); got != id {
		p.t.Errorf("got session %s, not %s", got, id)
	}
	p.twin.sessions[id] = &twinSession{id, p.twin.now + p.twin.props.LockDuration.Milliseconds(), r}
}

// changeProperties ends all locks.
func (p *play) changeProperties() {
	p.sweepAll()
	props := p.props()
	props.RequiresSession, props.RequiresDuplicateDetection = p.bySession(), p.twin.props.RequiresDuplicateDetection
	p.logf("change properties: %+v", props)
	p.must(p.q.StandUpdate(p.ctx, "q", props))
	p.loseAll()
	p.twin.props = props
}

func (p *play) loseAll() {
	for _, m := range p.lockedOnes() {
		p.lost = append(p.lost, m.token)
		m.unlock()
	}
	for _, s := range p.twin.sessions {
		<-s.r.Ended()
	}
	clear(p.twin.sessions)
}

func (p *play) restart() {
	p.logf("restart")
	p.reopen()
	p.loseAll()
	p.twin.started = p.twin.now
	p.openPlain()
}

// crash opens what a crash would leave, and compares.
func (p *play) crash() {
	e := p.world
	c := &world{t: p.t, ctx: p.ctx, fs: p.fs.CrashClone(vfs.CrashCloneCfg{}), base: e.base, opts: e.opts}
	c.open()
	defer func() { c.must(c.h.Close()) }()
	after := p.twin.clone()
	p.compare("after a crash", c, after)
	c.sweep()
	after.purge()
	p.compareDead("after a crash and a sweep", c, after)
	c.check()
}

// compare compares the messages of a queue, but for those that have expired.
func (p *play) compare(when string, w *world, tw *twin) {
	p.t.Helper()
	s, err := w.q.store(Address{Entity: "q"})
	w.must(err)
	var got []string
	w.must(s.e.m.in.Engine().View(w.ctx, func(r engine.Reader) error {
		return s.eachHeader(context.Background(), r, 0, func(seq int64, h header) (bool, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.claims[seq] == nil && s.expired(&h, s.now()) {
				return true, nil
			}
			body, err := r.Get(s.key(familyBody, seq))
			if err != nil {
				return false, err
			}
			m, err := message.Decode(bytes.Clone(body))
			if err == nil {
				got = append(got, line(seq, string(m.Body), h.State, h.Count, h.Enqueued, h.TTL, h.Due))
			}
			return true, err
		})
	}))
	if want, _ := tw.lines(); !slices.Equal(got, want) {
		p.t.Errorf("%s the queue has\n%s\nnot\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// compareDead compares the dead letters.
func (p *play) compareDead(when string, w *world, tw *twin) {
	p.t.Helper()
	list, err := w.q.Peek(w.ctx, Address{"q", DeadLetters}, PeekOptions{Max: 10000, MaxBytes: 1 << 30})
	w.must(err)
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%d %s +%d %v", d.Broker.SequenceNumber, d.Message.Body, d.Broker.DeliveryCount,
			d.Message.Properties["DeadLetterReason"]))
	}
	if _, want := tw.lines(); !slices.Equal(got, want) {
		p.t.Errorf("%s the dead letters are\n%s\nnot\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
