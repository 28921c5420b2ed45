package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/view"
	"github.com/mayflydb/mayfly/queue/message"
)

// storedLockManager stores the locks of a store under keys of the engine. It implements messageDeliverer,
// messageLockManager and sessionLockManager. A receive is one transaction, and so is a settlement, on any of
// the servers. The state in memory is used only to notify receivers: it consists of the receivers of this
// server that hold sessions, and the time of the next change.
type storedLockManager struct{ *inMemoryMessageStoreState }

// errDue is returned by a transaction that must not run before the store's lapsed locks have been ended and
// its due scheduled messages have become active.
var errDue = errors.New("queue: changes of the store are due")

// run runs fn in a transaction on the store. Before that it ends the locks that have lapsed and activates the
// scheduled messages that are due. The engine reads the given keys in the same round trip in which it locks
// the store's engine scope.
func (s storedLockManager) run(ctx context.Context, fn func(w *messageTx,
	p *messageStoreTransactionPart) error,
	keys ...[]byte) error {
	keys = append(keys, s.Keys.Family(layout.FamilyCounters))
	for {
		err := s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) error {
			p, err := w.partOf(s.inMemoryMessageStoreState)
			if err != nil {
				return err
			}
			if p.Next != 0 && p.Next <= w.now {
				return errDue
			}
			if err := s.readable(); err != nil {
				return err
			}
			return fn(w, p)
		}, keys...)
		if !errors.Is(err, errDue) {
			return err
		}
		if _, err := s.tick(ctx); err != nil {
			return err
		}
	}
}

func (s storedLockManager) receive(ctx context.Context, r *Receiver, look, max int,
	paid int64) (receiveAttemptResult, error) {
	var got receiveAttemptResult
	var live []storedMessage
	reader := claimedMessageReader{s: s.inMemoryMessageStoreState, state: layout.Active, max: max,
		memory: r.o.Memory,
		paid:   paid}
	err := s.run(ctx, func(w *messageTx, p *messageStoreTransactionPart) error {
		if r.lock != nil {
			if err := w.holdsSession(s.inMemoryMessageStoreState, r.lock); err != nil {
				return err
			}
		}
		seqs, err := view.FirstReady(w, r.readyPrefix(), look)
		if err != nil || len(seqs) == 0 {
			got, live = receiveAttemptResult{}, nil
			reader.releaseMemory()
			return err
		}
		reader.now = w.now
		if live, err = reader.headers(w, operations(seqs)); err == nil {
			live, _, err = reader.bodies(w, live)
		}
		if err == nil {
			err = w.purgeSome(s.inMemoryMessageStoreState, reader.expired)
		}
		if err != nil {
			return err
		}
		got = receiveAttemptResult{need: reader.need, more: len(seqs) == look}
		got.list, err = w.giveOut(p, live, r.o.Mode, r)
		return err
	})
	if err != nil {
		reader.releaseMemory()
		s.endLost(r, err)
		return receiveAttemptResult{}, err
	}
	for i := range got.list {
		if r.o.Memory != nil {
			got.list[i].memory, got.list[i].held = r.o.Memory, live[i].Size
			if reader.large {
				got.list[i].held, got.list[i].large = paid, true
			}
		}
	}
	s.noteHeld(r, got.list)
	return got, nil
}

// operations returns an inMemoryMessageClaim for each of the sequence numbers seqs. Unlike other claims they
// reserve nothing: the running transaction excludes all other operations on the messages.
func operations(seqs []int64) []*inMemoryMessageClaim {
	list := make([]*inMemoryMessageClaim, len(seqs))
	for i, seq := range seqs {
		list[i] = &inMemoryMessageClaim{seq: seq}
	}
	return list
}

// purgeSome purges expired messages, at most maxPurge. While the reaper is paused it purges none.
func (w *messageTx) purgeSome(s *inMemoryMessageStoreState, list []*inMemoryMessageClaim) error {
	if w.m.in.ReaperPaused() {
		return nil
	}
	for _, c := range list[:min(len(list), maxPurge)] {
		if w.moved >= maxMoved {
			return nil
		}
		if _, err := w.purge(s, c.seq); err != nil {
			return err
		}
	}
	return nil
}

// giveOut locks messages for a receiver, which may be nil, or deletes them in ReceiveAndDelete mode.
func (w *messageTx) giveOut(p *messageStoreTransactionPart, list []storedMessage, mode ReceiveMode,
	r *Receiver) ([]Delivery, error) {
	until := saturate(w.now, millis(p.e.properties.Load().LockDuration))
	out := make([]Delivery, len(list))
	if err := w.unlinkAll(p, list); err != nil {
		return nil, err
	}
	for i := range list {
		m := &list[i]
		d, err := p.delivery(m)
		if err != nil {
			return nil, err
		}
		d.Token = tokenOf(m.seq)
		if mode == ReceiveAndDelete {
			err = w.take(p, m.seq, &m.MessageHeader)
		} else {
			l := layout.Lock{Token: d.Token, Until: until}
			d.Broker.LockedUntil = until
			// the lock of the session covers the message, which therefore has no end of its own
			if p.BySession {
				l.Covered, l.Session = true, r.lock.id
				d.Broker.LockedUntil = message.LastMoment
			}
			w.setLock(p, m.seq, &l)
		}
		if err != nil {
			return nil, err
		}
		out[i] = d
		if mode != ReceiveAndDelete {
			out[i].Broker.LockToken = &out[i].Token
		}
	}
	return out, nil
}

// tokenOf returns a new token for the lock of a message. It contains a random number and the message's
// sequence number, so that a settlement finds the message.
func tokenOf(seq int64) message.UUID {
	t := newToken()
	binary.BigEndian.PutUint64(t[8:], uint64(seq))
	return t
}

func seqOfToken(t message.UUID) int64 { return int64(binary.BigEndian.Uint64(t[8:])) }

func (s storedLockManager) receiveNumbers(ctx context.Context, numbers []int64,
	how receiveByNumberOptions) (list []Delivery,
	err error) {
	reader := claimedMessageReader{s: s.inMemoryMessageStoreState, state: how.state,
		all: how.state == layout.Deferred,
		max: len(numbers)}
	err = s.run(ctx, func(w *messageTx, p *messageStoreTransactionPart) error {
		if s.BySession {
			if err := w.holdsSession(s.inMemoryMessageStoreState, how.holder.lock); err != nil {
				return err
			}
		}
		w.bringLocks(p, numbers)
		reader.now = w.now
		live, err := reader.headers(w, operations(numbers))
		if err == nil {
			err = s.refusesNumbers(live, append(reader.missing, reader.expired...), &how, w.now)
		}
		if err == nil {
			live, _, err = reader.bodies(w, live)
		}
		seen := make(map[int64]bool)
		for i := 0; err == nil && i < len(numbers); i++ {
			var free bool
			free, err = w.isFree(s.inMemoryMessageStoreState, numbers[i])
			if err == nil && (!free || seen[numbers[i]]) {
				err = s.MessageNotFound(numbers[i])
			}
			seen[numbers[i]] = true
		}
		if err == nil {
			list, err = w.giveOut(p, live, how.mode, how.holder)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if how.mode == PeekLock {
		s.noteHeld(s.ownReceiver(how.holder), list)
	}
	return list, nil
}

// noteHeld records the locks of the messages in list that the receiver has just received, if they must end
// when the receiver is closed.
func (s storedLockManager) noteHeld(r *Receiver, list []Delivery) {
	if r == nil || r.o.Mode != PeekLock || !r.dropsLocks() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		c := &inMemoryMessageClaim{seq: list[i].Broker.SequenceNumber, token: list[i].Token, locked: true,
			holder: r}
		c.lockDeadline = lockDeadline{index: -1, claim: c}
		if old := r.held[c.seq]; old != nil { // that lock has ended on another server
			s.forget(old)
		}
		s.tokens[c.token], r.held[c.seq] = c, c
	}
}

// forgetHeld removes a lock that has ended from its receiver.
func (s storedLockManager) forgetHeld(token message.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.tokens[token]; c != nil {
		s.forget(c)
	}
}

// ahead returns the keys that a transaction will read for the messages with the given lock tokens: each
// message and its lock. With them the engine can read all these keys in one round trip.
func (s storedLockManager) ahead(tokens ...message.UUID) (keys [][]byte) {
	for _, token := range tokens {
		seq := seqOfToken(token)
		keys = append(keys, s.Keys.Key(layout.FamilyLock, seq), s.Keys.Key(layout.FamilyMessage, seq))
	}
	return keys
}

func (s storedLockManager) settle(ctx context.Context, list []pendingSettlement) {
	run := func(part []pendingSettlement, fn func(w *messageTx) error) error {
		tokens := make([]message.UUID, len(part))
		for i := range part {
			tokens[i] = part[i].token
		}
		return s.run(ctx, func(w *messageTx, _ *messageStoreTransactionPart) error { return fn(w) },
			s.ahead(tokens...)...)
	}
	settleTogether(list, run, func(w *messageTx, st *pendingSettlement) error {
		p, err := w.partOf(s.inMemoryMessageStoreState)
		if err != nil {
			return err
		}
		seq, l, err := w.heldLock(p, st.token)
		if st.err = err; isLockLost(err) { // nothing is written for this message
			return nil
		}
		if err == nil {
			err = w.settleStored(p, seq, &l, &st.SettlementRequest)
		}
		return err
	})
	for i := range list {
		if list[i].err == nil {
			s.forgetHeld(list[i].token)
		}
	}
}

// isLockLost reports whether an error says that the lock of a message or of its session is lost.
func isLockLost(err error) bool {
	code := entity.ErrorCodeOf(err)
	return err != nil && (code == entity.CodeMessageLockLost || code == entity.CodeSessionLockLost)
}

func (s storedLockManager) inspect(r engine.Reader, sessions []string,
	messages []int64) (view.MessageAndSessionLocks, error) {
	return s.StoredLocks(r, sessions, messages)
}

func (s storedLockManager) renew(ctx context.Context, tokens []message.UUID) (until time.Time, err error) {
	err = s.run(ctx, func(w *messageTx, p *messageStoreTransactionPart) error {
		at := saturate(w.now, millis(s.e.properties.Load().LockDuration))
		until = moment(at)
		for _, token := range tokens {
			seq, l, err := w.heldLock(p, token)
			if err != nil {
				return err
			}
			w.dropLock(p, seq, &l)
			l.Until = at
			w.setLock(p, seq, &l)
		}
		return nil
	}, s.ahead(tokens...)...)
	return until, err
}

func (s storedLockManager) find(ctx context.Context, token message.UUID) (seq int64, ok bool, err error) {
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		state, err := s.StoredLocks(r, nil, []int64{seqOfToken(token)})
		if err != nil {
			return err
		}
		l, there, err := s.LockOf(r, seqOfToken(token))
		seq = seqOfToken(token)
		ok = there && l.Token == token && l.Busy <= s.now() && state.Messages[seq] > s.now()
		return err
	})
	return seq, ok, wrap(err)
}
