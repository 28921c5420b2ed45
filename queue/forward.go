package queue

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// Auto-forwarding. What arrives in a store whose messages go on is stored there first, as in any other store:
// so nothing is lost when the server ends between two steps. Then it is moved, in transactions over the
// scopes of both entities: so nothing is doubled. Whoever has brought a message moves it on before they are
// told that it is stored. What they leave undone, because something fails or there is much of it, the timers
// do.

const (
	// maxHops is how often a message is forwarded.
	maxHops = 4
	// maxForward is how many messages one transaction moves on.
	maxForward = 64
	// maxForwardSteps is how many such transactions somebody waits for who has brought messages.
	maxForwardSteps = 64
)

// forwardsTo is the path of the entity that the store's messages go on to; "": they stay.
func (s *messageStore) forwardsTo() string {
	switch p := s.e.properties.Load(); s.sub {
	case entity.Main:
		return TargetPath(p.ForwardTo)
	case entity.DeadLetters:
		return TargetPath(p.ForwardDeadLettersTo)
	}
	return ""
}

// sources are the stores in which messages have arrived that go on.
func (w *work) sources() (list []*messageStore) {
	isArrival := func(e event) bool { return e.kind == arrived }
	for _, p := range w.parts {
		if p.forwardsTo() != "" && slices.ContainsFunc(p.events, isArrival) {
			list = append(list, p.messageStore)
		}
	}
	return list
}

// forward moves the messages of stores on, and those of the stores in which they arrive.
func (m *dataset) forward(ctx context.Context, list []*messageStore) {
	for steps := 0; len(list) > 0; steps++ {
		s := list[0]
		if steps >= maxForwardSteps || ctx.Err() != nil {
			s.forwardAt(s.now())
			list = list[1:]
			continue
		}
		more, next, err := s.forward(ctx)
		if err != nil && ctx.Err() == nil {
			m.logger().Warn("forwarding failed", "entity", s.name(), "error", err)
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

// forwardAt has the timers move messages on when a moment has come.
func (s *messageStore) forwardAt(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustForward(at)
}

// mustForward is forwardAt for who holds the mutex.
func (s *messageStore) mustForward(at int64) {
	s.forwards = min(s.forwards, at)
	s.e.m.timers.arm(s, at)
}

// forward moves as many messages on as one transaction takes. more reports that there are others, and sources
// are the stores that they have arrived in, and do not stay in.
func (s *messageStore) forward(ctx context.Context) (more bool, sources []*messageStore, err error) {
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
	if to != nil {
		scopes = append(scopes, to.scope)
	}
	done := 0
	w, err := s.e.m.transact(ctx, scopes, func(w *work) error {
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
		to.touch(s.now())
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
		s.forwards = host.Never // the caller knows better when
		return false, nil, err
	}
	return done < len(claims) || len(claims) == maxForward, w.sources(), nil
}

// claimForward claims the messages of one forwarding transaction. Messages of one session keep their order.
func (s *messageStore) claimForward(ctx context.Context) (list []*claim, err error) {
	if !s.bySession() {
		return (&Receiver{s: s}).claimNext(ctx, maxForward)
	}
	err = s.e.m.in.Engine().View(ctx, func(v engine.Reader) error {
		heads := v.Scan(engine.Prefix(s.keys.Family(layout.FamilyHead)), false)
		for len(list) < maxForward && ctx.Err() == nil && heads.Next() {
			rg := engine.Prefix(s.readyPrefix(string(heads.Value())))
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

// forward moves one message on; to is nil where the entity is gone. Where that does not take it the message
// is a dead letter of where it is.
func (w *work) forward(s *messageStore, seq int64, to *entityState) error {
	p, err := w.in(s)
	if err != nil {
		return err
	}
	h, ok, err := s.header(w, seq)
	if err != nil || !ok || h.State != layout.Active {
		return err
	}
	at := w.now
	// It has gone on when it came, or when somebody wanted that, or was there to do it.
	if s.sub == entity.Main {
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
	if s.sub == entity.DeadLetters {
		h.Source = strings.ToLower(s.e.path) // the service lowercases it
	}
	return w.deliver(to, &h, body)
}

// refusal is why an entity does not take a message that is forwarded to it; nil: it does. to is nil where it
// is gone.
func (w *work) refusal(to *entityState, h *layout.Header, size int64) (*reason, error) {
	if h.Hops >= maxHops {
		why := newReason("MaxTransferHopCountExceeded",
			"The message was forwarded as often as it can be: the allowed hop count is 4.")
		return &why, nil
	}
	err := w.takesForwarded(to, size)
	var no *entity.Error
	if errors.As(err, &no) {
		why := newReason(exceptionOf(no.Code), no.Message)
		return &why, nil
	}
	return nil, err
}

func (w *work) takesForwarded(to *entityState, size int64) error {
	if to == nil {
		return &entity.Error{Code: entity.CodeEntityNotFound,
			Message: "The entity that messages are forwarded to could not be found."}
	}
	if _, err := w.in(to.stores[entity.Main]); err != nil {
		return err
	}
	s := to.stores[entity.Main]
	if no := s.refusesSenders(); no != nil {
		return no
	}
	if size > int64(to.properties.Load().MaxMessageKB)<<10 {
		return s.tooLarge()
	}
	return w.room(to, size)
}

// exceptionOf is what the service calls an error among the reasons of dead letters.
func exceptionOf(c entity.Code) string {
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

// deliver stores a message that comes from elsewhere in an entity that takes it. A duplicate is dropped.
func (w *work) deliver(e *entityState, h *layout.Header, body []byte) error {
	p, err := w.in(e.stores[entity.Main])
	if err != nil {
		return err
	}
	m, err := parseStored(body)
	if err != nil {
		return err
	}
	if dup, err := w.duplicate(p, e.idOf(m)); dup || err != nil {
		return err
	}
	_, err = w.store(p, h, m, body)
	return err
}
