package queue

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/content"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// Auto-forwarding. A message that arrives in a forwarding store is first stored there, as in any other
// store, so that it is not lost if the server ends between the two steps. It is then moved in a transaction
// over the scopes of both entities, so that it is not duplicated. The call that sends messages also forwards
// them before it returns. If it fails to, or if there are too many messages, the timers forward the rest.

const (
	// maxHops is how many times a message can be forwarded.
	maxHops = 4
	// maxForward is how many messages one forwarding transaction moves.
	maxForward = 64
	// maxForwardSteps is the maximal number of transactions in which a call that sends messages also forwards
	// messages to other entities. Timers forward the messages that are left.
	maxForwardSteps = 64
)

// forwardsTo returns the path of the entity to which the store forwards its messages, or "" if it forwards
// none.
func (s *inMemoryMessageStoreState) forwardsTo() string {
	switch p := s.e.properties.Load(); s.Sub {
	case entity.Main:
		return TargetPath(p.ForwardTo)
	case entity.DeadLetters:
		return TargetPath(p.ForwardDeadLettersTo)
	}
	return ""
}

// sources returns the stores with forwarding in which messages have arrived in this transaction.
func (w *messageTx) sources() (list []*inMemoryMessageStoreState) {
	isArrival := func(e inMemoryMessageStoreChange) bool { return e.kind == arrived }
	for _, p := range w.parts {
		if p.forwardsTo() != "" && slices.ContainsFunc(p.events, isArrival) {
			list = append(list, p.inMemoryMessageStoreState)
		}
	}
	return list
}

// forward forwards the messages of stores. If messages arrive in stores that forward in turn, it forwards
// them further.
func (m *loadedEntities) forward(ctx context.Context, list []*inMemoryMessageStoreState) {
	for steps := 0; len(list) > 0; steps++ {
		s := list[0]
		if steps >= maxForwardSteps || ctx.Err() != nil {
			s.forwardAt(s.now())
			list = list[1:]
			continue
		}
		more, next, err := s.forward(ctx)
		if err != nil && ctx.Err() == nil {
			m.logger().Warn("forwarding failed", "entity", s.Name(), "error", err)
		}
		if err != nil {
			s.forwardAt(s.now() + retryTimer)
		}
		if !more {
			list = list[1:]
		}
		for _, n := range next {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
}

// forwardAt schedules the forwarding of the store's messages for the millisecond at, unless it is scheduled
// for an earlier time already.
func (s *inMemoryMessageStoreState) forwardAt(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forwardAtLocked(at)
}

// forwardAtLocked schedules the forwarding of the store's messages for the millisecond at, unless it is
// scheduled for an earlier time already. The caller holds the mutex.
func (s *inMemoryMessageStoreState) forwardAtLocked(at int64) {
	s.forwards = min(s.forwards, at)
	s.e.m.timers.arm(s, at)
}

// forward moves as many messages as fit into one transaction. more reports whether messages are left.
// sources are the stores that have received messages and forward them further.
func (s *inMemoryMessageStoreState) forward(ctx context.Context) (more bool,
	sources []*inMemoryMessageStoreState,
	err error) {
	if err := s.forwarding.Lock(ctx); err != nil {
		return false, nil, wrap(err)
	}
	defer s.forwarding.Unlock()
	s.mu.Lock()
	s.forwards = host.Never
	ended := s.ended != nil
	s.mu.Unlock()
	path := s.forwardsTo()
	if path == "" || ended {
		return false, nil, nil
	}
	claims, err := s.claimForward(ctx)
	if err != nil || len(claims) == 0 {
		return false, nil, err
	}
	scopes := [][]byte{s.e.scope}
	to, _ := s.e.m.find(entity.Address{Entity: path})
	if to == nil {
		if unknown, err := s.e.m.isUnknown(ctx, path); unknown || err != nil {
			s.unforward(claims)
			s.forwardAt(s.now() + retryTimer)
			return false, nil, err
		}
	}
	if to != nil {
		scopes = append(scopes, to.scope)
	}
	done := 0
	w, err := s.e.m.transact(ctx, scopes, func(w *messageTx) error {
		for done = 0; done < len(claims) && w.moved < maxMoved; done++ {
			if err := w.forward(s, claims[done].seq, to); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		done = 0
	} else if to != nil {
		to.recordUse(s.now())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range claims {
		if i < done || s.ended != nil {
			s.forget(c)
			continue
		}
		s.unclaim(c)
	}
	if err != nil {
		s.forwards = host.Never // the caller schedules the retry
		return false, nil, err
	}
	return done < len(claims) || len(claims) == maxForward, w.sources(), nil
}

// unforward ends the claims on messages that could not be forwarded (see inMemoryMessageClaim), so that the
// next attempt finds the messages again.
func (s *inMemoryMessageStoreState) unforward(list []*inMemoryMessageClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range list {
		s.unclaim(c)
	}
}

// claimForward claims (reserves in memory) the next messages to forward, at most maxForward, for one
// transaction. Messages of the same session stay in order.
func (s *inMemoryMessageStoreState) claimForward(ctx context.Context) (list []*inMemoryMessageClaim,
	err error) {
	if !s.BySession {
		return (&Receiver{s: s}).claimNext(ctx, maxForward)
	}
	err = s.e.m.in.Engine().View(ctx, func(v engine.Reader) error {
		heads := v.Scan(engine.Prefix(s.Keys.Family(layout.FamilyHead)), false)
		for len(list) < maxForward && ctx.Err() == nil && heads.Next() {
			rg := engine.Prefix(s.ReadyPrefix(string(heads.Value())))
			it := engine.Expect(v.Scan(rg, false), maxForward-len(list))
			for len(list) < maxForward && it.Next() {
				s.mu.Lock()
				if c := s.claim(layout.SeqOf(it.Key()), nil); c != nil {
					list = append(list, c)
				}
				s.mu.Unlock()
			}
			if err := it.Close(); err != nil {
				return errors.Join(err, heads.Close())
			}
		}
		return heads.Close()
	})
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range list {
			s.unclaim(c)
		}
		return nil, wrap(err)
	}
	return list, nil
}

// forward forwards one message to an entity; to is nil if the entity does not exist. If the target does not
// accept the message, the message is moved to the dead-letter queue of its source.
func (w *messageTx) forward(s *inMemoryMessageStoreState, seq int64, to *entityState) error {
	p, err := w.partOf(s)
	if err != nil {
		return err
	}
	h, ok, err := s.Header(w, seq)
	if err != nil || !ok || h.State != layout.Active {
		return err
	}
	if free, err := w.isFree(s, seq); !free || err != nil {
		return err
	}
	at := w.now
	// The message counts as forwarded at the latest of three times: its arrival, the entity's last update
	// and the server's start.
	if s.Sub == entity.Main {
		at = min(at, max(h.Enqueued, s.e.updated.Load(), w.m.started))
	}
	if s.expired(&h, at) {
		return w.lapse(p, seq, &h)
	}
	body, err := w.body(p, seq)
	if err != nil {
		return err
	}
	no, err := w.refusal(to, &h, int64(len(body)))
	if err != nil {
		return err
	}
	if no != nil {
		return w.deadLetter(p, seq, &h, *no)
	}
	if err := w.take(p, seq, &h); err != nil {
		return err
	}
	h.Hops, h.Count, h.Enqueued, h.Due = h.Hops+1, 0, at, 0
	if h.Origin == 0 {
		h.Origin = seq
	}
	if s.Sub == entity.DeadLetters {
		h.Source = strings.ToLower(s.e.path) // the service lowercases it
	}
	return w.deliver(to, &h, body)
}

// refusal returns why an entity does not accept a message forwarded to it, or nil if it does. to is nil if
// the entity does not exist.
func (w *messageTx) refusal(to *entityState, h *layout.MessageHeader,
	size int64) (*content.DeadLetterReason, error) {
	if h.Hops >= maxHops {
		why := content.NewReason("MaxTransferHopCountExceeded",
			"The message was forwarded as often as it can be: the allowed hop count is 4.")
		return &why, nil
	}
	err := w.takesForwarded(to, size)
	var no *entity.Error
	if errors.As(err, &no) {
		why := content.NewReason(exceptionOf(no.Code), no.Message)
		return &why, nil
	}
	return nil, err
}

func (w *messageTx) takesForwarded(to *entityState, size int64) error {
	if to == nil {
		return &entity.Error{Code: entity.CodeEntityNotFound,
			Message: "The entity that messages are forwarded to could not be found."}
	}
	if _, err := w.partOf(to.stores[entity.Main]); err != nil {
		return err
	}
	s := to.stores[entity.Main]
	if no := s.sendError(); no != nil {
		return no
	}
	if size > int64(to.properties.Load().MaxMessageKB)<<10 {
		return s.TooLarge()
	}
	return w.checkQuota(to, size)
}

// exceptionOf returns the name of the .NET exception that Service Bus writes into the reason of a dead letter
// for an error code.
func exceptionOf(c entity.ErrorCode) string {
	switch c {
	case entity.CodeEntityNotFound:
		return "MessagingEntityNotFoundException"
	case entity.CodeEntityDisabled:
		return "MessagingEntityDisabledException"
	case entity.CodeMessageTooLarge:
		return "MessageSizeExceededException"
	}
	return "QuotaExceededException"
}

// deliver stores a forwarded message in an entity. If duplicate detection recognizes the message, it is
// dropped.
func (w *messageTx) deliver(e *entityState, h *layout.MessageHeader, body []byte) error {
	p, err := w.partOf(e.stores[entity.Main])
	if err != nil {
		return err
	}
	m, err := content.Parse(body)
	if err != nil {
		return err
	}
	if dup, err := w.duplicate(p, e.idOf(m)); dup || err != nil {
		return err
	}
	_, err = w.store(p, h, m, body)
	return err
}
