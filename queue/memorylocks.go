package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/view"
	"github.com/mayflydb/mayfly/queue/message"
)

// inMemoryLockManager keeps the locks of a store of messages in memory: the lock of a message is a claim,
// which reserves the message. It implements messageDeliverer, messageLockManager and sessionLockManager.
type inMemoryLockManager struct{ *inMemoryMessageStoreState }

func (s inMemoryLockManager) receive(ctx context.Context, r *Receiver, look, max int,
	paid int64) (receiveAttemptResult, error) {
	claims, err := r.claimNext(ctx, look)
	if err != nil || len(claims) == 0 {
		return receiveAttemptResult{}, err
	}
	list, need, err := r.receive(ctx, claims, max, paid)
	return receiveAttemptResult{list: list, need: need, more: true}, err
}

func (s inMemoryLockManager) receiveNumbers(ctx context.Context, numbers []int64,
	how receiveByNumberOptions) ([]Delivery, error) {
	claims, err := s.claimAll(numbers, &how)
	if err != nil {
		return nil, err
	}
	list, err := s.readNumbers(ctx, claims, &how)
	if err != nil {
		return nil, err
	}
	return s.deliver(ctx, list, how.mode)
}

// claimAll claims the messages with these numbers, or none if one cannot be claimed. The claims belong to
// how.holder, if that is a receiver of this store.
func (s inMemoryLockManager) claimAll(numbers []int64,
	how *receiveByNumberOptions) (list []*inMemoryMessageClaim, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seq := range numbers {
		c := s.claim(seq, s.ownReceiver(how.holder))
		if c == nil {
			for _, c := range list {
				s.unclaim(c)
			}
			return nil, s.MessageNotFound(seq)
		}
		c.deferred = how.state == layout.Deferred
		list = append(list, c)
	}
	return list, nil
}

// readNumbers reads messages that a receive by sequence number has reserved in memory (claims). It fails if
// one of them cannot be received; then it ends all claims.
func (s inMemoryLockManager) readNumbers(ctx context.Context, claims []*inMemoryMessageClaim,
	how *receiveByNumberOptions) ([]storedMessage, error) {
	l := claimedMessageReader{s: s.inMemoryMessageStoreState, now: s.now(), state: how.state,
		all: how.state == layout.Deferred,
		max: len(claims)}
	list, err := l.read(ctx, claims)
	if err != nil {
		return nil, err
	}
	expired := l.expired
	if err = s.refusesNumbers(list, append(l.missing, expired...), how, l.now); err == nil {
		return list, nil
	}
	s.unclaimAll(list)
	if perr := s.purgeMet(ctx, expired); perr != nil {
		return nil, perr
	}
	return nil, err
}

func (s inMemoryLockManager) settle(ctx context.Context, list []pendingSettlement) {
	var held []pendingSettlement
	now := s.now()
	s.mu.Lock()
	for i := range list {
		st := &list[i]
		if st.claim, st.err = s.beginSettle(st.token, now); st.err == nil {
			held = append(held, *st)
		}
	}
	s.mu.Unlock()
	run := func(_ []pendingSettlement, fn func(w *messageTx) error) error {
		return s.e.m.update(ctx, [][]byte{s.e.scope}, fn)
	}
	settleTogether(held, run, func(w *messageTx, st *pendingSettlement) (err error) {
		st.outcome, err = w.settleClaim(s.inMemoryMessageStoreState, st.claim, &st.SettlementRequest)
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range held {
		s.endSettle(held[i].claim, held[i].outcome, held[i].err)
	}
	for i := range list {
		if list[i].err == nil {
			list[i].err, held = held[0].err, held[1:]
		}
	}
}

func (s inMemoryLockManager) enlist(_ context.Context, token message.UUID, st *SettlementRequest,
	tx *Transaction) error {
	now := s.now()
	s.mu.Lock()
	c, err := s.beginSettle(token, now)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	step := &memoryLockSettlementTransactionStep{s: s, claim: c, settlement: *st}
	if err := tx.add(1, 0, step); err != nil {
		step.end(err)
		return err
	}
	return nil
}

// beginSettle marks a lock as busy, so that until endSettle it cannot lapse or be settled a second time. The
// caller holds the mutex.
func (s inMemoryLockManager) beginSettle(token message.UUID, now int64) (*inMemoryMessageClaim, error) {
	c := s.held(token, now)
	if c == nil {
		return nil, s.LockLost()
	}
	c.busy = true
	return c, nil
}

// endSettle ends the busy state that beginSettle has set. If err is nil, the settlement has succeeded: the
// lock ends, and the message becomes available again or not, according to what. Otherwise the holder keeps
// the lock. The caller holds the mutex.
func (s inMemoryLockManager) endSettle(c *inMemoryMessageClaim, what messageStateAfterLock, err error) {
	c.busy = false
	lost := c.session != nil && c.session.lost
	switch {
	case err == nil && what == messageReady:
		s.unclaim(c)
	case err == nil:
		s.forget(c)
	case s.ended != nil || lost || c.stale:
		s.unclaim(c)
	case c.session == nil:
		s.rearm(&c.lockDeadline, c.lockDeadline.until)
	}
}

// memoryLockSettlementTransactionStep is the settlement of a locked message, as a step of a transaction.
// Until the transaction ends, the lock is busy: it cannot lapse, and no other operation can settle the
// message.
type memoryLockSettlementTransactionStep struct {
	s          inMemoryLockManager
	claim      *inMemoryMessageClaim
	settlement SettlementRequest
	outcome    messageStateAfterLock
}

func (s *memoryLockSettlementTransactionStep) entities() []*entityState { return []*entityState{s.s.e} }

func (s *memoryLockSettlementTransactionStep) apply(w *messageTx) (err error) {
	s.outcome, err = w.settleClaim(s.s.inMemoryMessageStoreState, s.claim, &s.settlement)
	return err
}

func (s *memoryLockSettlementTransactionStep) end(err error) {
	if err != nil {
		s.outcome = messageReady
	}
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	s.s.endSettle(s.claim, s.outcome, err)
}

// settleClaim settles a message that is claimed, that is, reserved in memory for one operation. It uses the
// header that was read when the message was handed out, since no other operation can change a claimed
// message.
func (w *messageTx) settleClaim(s *inMemoryMessageStoreState, c *inMemoryMessageClaim,
	st *SettlementRequest) (messageStateAfterLock, error) {
	p, err := w.partOf(s)
	if err != nil {
		return messageRemoved, err
	}
	return w.settleHeader(p, c.seq, c.header, st)
}

func (s inMemoryLockManager) renew(_ context.Context, tokens []message.UUID) (until time.Time, err error) {
	now := s.now()
	at := saturate(now, millis(s.e.properties.Load().LockDuration))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range tokens {
		if s.held(token, now) == nil {
			return until, s.LockLost()
		}
	}
	for _, token := range tokens {
		s.rearm(&s.tokens[token].lockDeadline, at)
	}
	return moment(at), nil
}

func (s inMemoryLockManager) find(_ context.Context, token message.UUID) (seq int64, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.held(token, s.now())
	if c == nil {
		return 0, false, nil
	}
	return c.seq, true, nil
}

func (s inMemoryLockManager) lockSession(_ context.Context, r *Receiver, id string) (bool, error) {
	until := saturate(s.now(), millis(s.e.properties.Load().LockDuration))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] != nil || s.ended != nil {
		return false, nil
	}
	s.holdSession(r, id, until)
	return true, nil
}

func (s inMemoryLockManager) renewSession(_ context.Context, r *Receiver) (until int64, err error) {
	now := s.now()
	at := saturate(now, millis(s.e.properties.Load().LockDuration))
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.lock.lost || r.lock.until <= now {
		return 0, s.SessionLost()
	}
	s.rearm(&r.lock.lockDeadline, at)
	return at, nil
}

func (s inMemoryLockManager) release(_ context.Context, r *Receiver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.lock != nil {
		if !r.lock.lost {
			s.endSession(r.lock)
		}
		return
	}
	for _, c := range r.held {
		if !c.busy {
			s.unclaim(c)
		}
	}
}

func (s inMemoryLockManager) advance(ctx context.Context) (more bool, err error) {
	if more, err = s.endLocks(ctx); err != nil {
		return more, err
	}
	s.mu.Lock()
	due := s.ended == nil && s.activates <= s.now()
	s.mu.Unlock()
	if due {
		err = s.activate(ctx)
	}
	return more, err
}

func (s inMemoryLockManager) inspect(_ engine.Reader, sessions []string,
	messages []int64) (view.MessageAndSessionLocks, error) {
	found := view.MessageAndSessionLocks{Sessions: make(map[string]layout.Lock),
		Messages: make(map[int64]int64)}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range sessions {
		if l := s.sessions[id]; l != nil && !l.lost {
			found.Sessions[id] = layout.Lock{Until: l.until, Holder: l.holder.o.Name}
		}
	}
	for _, seq := range messages {
		if c := s.claims[seq]; c != nil && c.locked && c.lapses() > now {
			found.Messages[seq] = c.lapses()
		}
	}
	return found, nil
}

// ownReceiver returns r if it receives from this store, and nil otherwise.
func (s *inMemoryMessageStoreState) ownReceiver(r *Receiver) *Receiver {
	if r == nil || r.s != s {
		return nil
	}
	return r
}

// refusesNumbers checks the messages of a receive by sequence numbers. It fails with CodeMessageNotFound if
// missing, the list of missing and expired messages, is not empty, or if a message belongs to another session
// or is an expired one that must not be received.
func (s *inMemoryMessageStoreState) refusesNumbers(list []storedMessage, missing []*inMemoryMessageClaim,
	how *receiveByNumberOptions,
	now int64) error {
	if len(missing) > 0 {
		return s.MessageNotFound(missing[len(missing)-1].seq)
	}
	refuses := s.e.m.opts.RefuseExpiredDeferred && s.Sub == entity.Main
	def := millis(s.e.properties.Load().DefaultTTL)
	for i := range list {
		h := &list[i].MessageHeader
		if refuses && h.Deadline(def) <= now || s.BySession && h.Session != how.holder.lock.id {
			return s.MessageNotFound(list[i].seq)
		}
	}
	return nil
}
