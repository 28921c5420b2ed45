package queue

import (
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// settleSome settles a random locked message in a random way, or checks that a lock token that has ended
// is refused.
func (p *modelRun) settleSome() {
	a := entity.Address{Entity: "q"}
	how := SettlementRequest{Outcome: SettlementOutcome(p.r.IntN(5))}
	list := p.lockedOnes()
	if len(list) == 0 || len(p.lost) > 0 && p.r.IntN(6) == 0 {
		token := newToken()
		if len(p.lost) > 0 {
			token = p.lost[p.r.IntN(len(p.lost))]
		}
		code := entity.CodeMessageLockLost
		if p.bySession() {
			code = entity.CodeSessionLockLost
		}
		p.fails(p.q.Settle(p.ctx, a, token, how, nil), code)
		return
	}
	m := list[p.r.IntN(len(list))]
	p.logf("settle %d by %d", m.seq, how.Outcome)
	p.must(p.q.Settle(p.ctx, a, m.token, how, nil))
	p.settled(m, how)
}

// settled applies a settlement to the model.
func (p *modelRun) settled(m *modelMessage, how SettlementRequest) {
	p.lost = append(p.lost, m.token)
	switch how.Outcome {
	case Complete:
		delete(p.model.msgs, m.seq)
	case Abandon:
		p.model.fail(m, p.model.now, true)
	case Release:
		p.model.fail(m, p.model.now, false)
	case Defer:
		p.model.deferred(m)
	case DeadLetter:
		p.model.deadLetter(m, "<nil>")
	}
}

// transact settles and sends messages in one transaction, and commits it or rolls it back.
func (p *modelRun) transact() {
	tx, err := p.q.Begin(p.ctx)
	p.must(err)
	locked := p.lockedOnes()
	locked = locked[:min(len(locked), 2)]
	hows := make([]SettlementRequest, len(locked))
	for i, m := range locked {
		hows[i].Outcome = SettlementOutcome(p.r.IntN(5))
		p.must(p.q.Settle(p.ctx, entity.Address{Entity: "q"}, m.token, hows[i], tx))
	}
	list, twins := p.drawnList()
	p.must(p.q.Send(p.ctx, address("q"), list, tx))
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
	p.sent(list, twins)
}

func (p *modelRun) renewSome() {
	list := p.lockedOnes()
	if p.bySession() || len(list) == 0 {
		return
	}
	m := list[p.r.IntN(len(list))]
	_, err := p.q.RenewLocks(p.ctx, entity.Address{Entity: "q"}, []message.UUID{m.token})
	p.must(err)
	m.until = p.model.now + p.model.props.LockDuration.Milliseconds()
	p.logf("renew %d", m.seq)
}

// deferredSome receives a deferred message by its sequence number, and compares it with the model.
func (p *modelRun) deferredSome() {
	for _, m := range p.model.ordered(p.model.msgs) {
		holder := p.model.sessions[m.session]
		if m.state != layout.Deferred || m.locked() || p.bySession() && holder == nil {
			continue
		}
		mode, r := ReceiveMode(p.r.IntN(2)), (*Receiver)(nil)
		if holder != nil {
			r = holder.r
		}
		_, err := p.q.ReceiveDeferred(
			p.ctx,
			entity.Address{Entity: "q"},
			[]int64{m.seq, p.model.last + 1},
			mode,
			r,
		)
		p.fails(err, entity.CodeMessageNotFound)
		list, err := p.q.ReceiveDeferred(p.ctx, entity.Address{Entity: "q"}, []int64{m.seq}, mode, r)
		p.must(err)
		p.took(list, []*modelMessage{m}, mode, holder)
		return
	}
}

func (p *modelRun) cancelSome() {
	for _, m := range p.model.ordered(p.model.msgs) {
		if m.state == layout.Scheduled {
			p.logf("cancel %d", m.seq)
			p.must(p.q.CancelScheduled(p.ctx, address("q"), []int64{m.seq}, nil))
			delete(p.model.msgs, m.seq)
			return
		}
	}
}

func (p *modelRun) advanceSome() {
	ms := int64(p.r.IntN(14)) * 500
	p.logf("advance by %d", ms)
	p.at(time.Duration(p.model.now+ms-start.UnixMilli()) * time.Millisecond)
	for _, m := range p.lockedOnes() {
		if m.until > 0 && m.until <= p.model.now+ms || m.holder != nil && m.holder.until <= p.model.now+ms {
			p.lost = append(p.lost, m.token)
		}
	}
	p.model.advance(p.model.now + ms)
}

func (p *modelRun) deleteSome() {
	if p.r.IntN(4) > 0 {
		return
	}
	before := p.model.now - int64(p.r.IntN(20))*1000
	n, err := p.q.DeleteMessages(p.ctx, entity.Address{Entity: "q"}, time.UnixMilli(before), 4000, nil)
	p.must(err)
	for _, m := range p.model.ordered(p.model.msgs) {
		if m.state != layout.Scheduled && !m.locked() && !p.model.expired(m, p.model.now) &&
			m.enqueued < before {
			delete(p.model.msgs, m.seq)
		}
	}
	p.logf("delete %d before %d", n, before)
}

func (p *modelRun) sweepAll() {
	p.logf("sweep")
	p.sweep()
	p.model.purge()
	p.compareDead("after a sweep", p.testQueueHost, p.model)
}

// deadSome runs the reaper, receives all dead letters, and compares their number with the model.
func (p *modelRun) deadSome() {
	p.sweepAll()
	list := p.take(
		entity.Address{Entity: "q", Sub: entity.DeadLetters},
		ReceiverOptions{Mode: ReceiveAndDelete},
	)
	p.logf("dead letters: %s", texts(list))
	if len(list) != len(p.model.dead) {
		p.t.Errorf("%d dead letters, not %d", len(list), len(p.model.dead))
	}
	clear(p.model.dead)
}

// sessionSome opens a session, renews its lock, or closes it.
func (p *modelRun) sessionSome() {
	if !p.bySession() {
		return
	}
	ids := []string{"a", "b", "c"}
	id := ids[p.r.IntN(3)]
	s := p.model.sessions[id]
	switch {
	case s != nil && p.r.IntN(2) == 0:
		p.logf("close session %s", id)
		s.r.Close()
		p.model.endSession(s, false)
		return
	case s != nil:
		p.logf("renew session %s", id)
		_, err := s.r.RenewSession(p.ctx)
		p.must(err)
		s.until = p.model.now + p.model.props.LockDuration.Milliseconds()
		return
	}
	want := session(id)
	if p.r.IntN(2) == 0 {
		var ok bool
		if id, ok = p.model.nextSession(); !ok {
			return
		}
		want = nextSession()
	}
	r, err := p.q.OpenReceiver(p.ctx, entity.Address{Entity: "q"}, want)
	p.must(err)
	p.logf("open session %s", id)
	if got, _, _ := r.Session(); got != id {
		p.t.Errorf("got session %s, not %s", got, id)
	}
	p.model.sessions[id] = &modelSession{id, p.model.now + p.model.props.LockDuration.Milliseconds(), r}
}
