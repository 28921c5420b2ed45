package queue

import (
	"context"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// expirySweepProgress holds how far the reaper has read a store's index entries of messages that can expire.
type expirySweepProgress struct {
	own, inherited host.SweepPassPosition // over the families x and w; used only while the reaper sweeps
	again          atomic.Bool
}

// restart makes the reaper's next sweep of the store begin again at the message that expires first.
func (e *expirySweepProgress) restart() { e.again.Store(true) }

// noteArrival must be called after the commit of each message that is added to the store. If the reaper has
// already read past the message's entry in the index of messages that can expire, its next sweep begins again
// at the start of the index; otherwise it would miss the message.
func (e *expirySweepProgress) noteArrival(h *layout.MessageHeader) {
	p, at := &e.own, h.Deadline(host.Never)
	if h.TTL == layout.NoTTL {
		p, at = &e.inherited, h.Enqueued
	}
	if p.IsPast(at) {
		e.again.Store(true)
	}
}

const (
	// lazyAfter is a time in milliseconds. With Options.LazyExpiry, the reaper skips a queue or subscription
	// that has no receivers and from which nothing was received for this time.
	lazyAfter = 60_000
	// maxMoved limits the size of a transaction that moves or copies messages, for example expired ones to
	// the dead-letter queue. Once it has written messages of this total size in bytes, the others are left to
	// another transaction.
	maxMoved = 4 << 20
)

// expiredMessageSweeper implements ttl.Sweeper, through which the reaper purges expired messages and makes
// other changes that are due.
type expiredMessageSweeper struct{ m *loadedEntities }

// Ranges implements ttl.Sweeper: it returns one range for each message store that the reaper must look at.
func (w expiredMessageSweeper) Ranges(ctx context.Context) (list []ttl.SweepRange, err error) {
	for _, e := range w.m.list() {
		for _, s := range e.stores {
			if s != nil && (s.Sub == entity.Main || s.nextWakeup() < host.Never ||
				w.m.shared && s.forwardsTo() != "") {
				list = append(list, ttl.SweepRange{Owner: e.number, Part: uint16(s.Sub)})
			}
		}
	}
	return list, ctx.Err()
}

// Clock implements ttl.Sweeper. It returns nil: all messages expire by the reaper's own clock, the server's.
func (w expiredMessageSweeper) Clock(ttl.SweepRange) ttl.Clock { return nil }

// Sweep implements ttl.Sweeper. It ends lapsed locks, activates scheduled messages that are due, purges
// expired messages, and removes message ids that are older than the duplicate detection window.
func (w expiredMessageSweeper) Sweep(ctx context.Context, rg ttl.SweepRange,
	limit int) (ttl.SweepResult, error) {
	e := w.m.numbered(rg.Owner)
	if e == nil {
		return ttl.SweepResult{Next: host.Never}, nil
	}
	swept, err := e.stores[rg.Part].sweep(ctx, limit)
	if err != nil && entity.ErrorCodeOf(err) == entity.CodeEntityNotFound {
		return ttl.SweepResult{Next: host.Never}, nil
	}
	return swept, err
}

func (s *inMemoryMessageStoreState) sweep(ctx context.Context, limit int) (swept ttl.SweepResult, err error) {
	swept.Next = host.Never
	if s.forwardsTo() != "" && s.active.Load() > 0 {
		s.forwardAt(s.now()) // another server may have ended before it forwarded them
	}
	if swept.More, err = s.tick(ctx); err != nil {
		return swept, err
	}
	next := s.nextWakeup()
	if s.Sub == entity.Main && s.e.kind != entity.Topic && !s.sweepPostponed(ctx) {
		more, at, n, err := s.sweepExpired(ctx, limit)
		if err != nil {
			s.expiry.restart()
			return swept, err
		}
		swept.More, swept.Purged, next = swept.More || more, n, min(next, at)
	}
	if s.Sub == entity.Main && s.e.properties.Load().RequiresDuplicateDetection &&
		!(s.e.m.in.ReaperPaused() && host.Held(ctx)) {
		_, more, at, err := s.forgetSeen(ctx, limit)
		if err != nil {
			return swept, err
		}
		swept.More, next = swept.More || more, min(next, at)
	}
	if next < host.Never {
		swept.Next = (next + 999) / 1000
	}
	return swept, nil
}

// sweepPostponed reports whether the reaper must skip the store in this sweep: it is paused, or expiry is
// lazy and the store has not been received from for a while. A sweep that purges everything in spite of
// pauses and delays (host.Held is false) is never postponed.
func (s *inMemoryMessageStoreState) sweepPostponed(ctx context.Context) bool {
	if !host.Held(ctx) {
		return false
	}
	if s.e.m.in.ReaperPaused() {
		return true
	}
	return s.e.m.opts.LazyExpiry && !s.inUse() && s.now()-s.lastReceived.Load() >= lazyAfter
}

// inUse reports whether the store has receivers.
func (s *inMemoryMessageStoreState) inUse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.receivers) > 0
}

// sweepExpired purges at most limit expired messages.
func (s *inMemoryMessageStoreState) sweepExpired(ctx context.Context,
	limit int) (more bool, next int64, n int, err error) {
	now := s.now()
	if s.expiry.again.Swap(false) {
		s.expiry.own.Restart(0)
		s.expiry.inherited.Restart(0)
	}
	def := millis(s.e.properties.Load().DefaultTTL)
	steps := []*host.SweepPassStep{
		{Pass: &s.expiry.own, Prefix: s.Keys.Family(layout.FamilyDeadline), Cutoff: now},
		{Pass: &s.expiry.inherited, Prefix: s.Keys.Family(layout.FamilyEnqueued), Cutoff: -1},
	}
	if def != host.Never {
		steps[1].Cutoff = now - def
	}
	later := []int64{0, def}
	var due []host.DeadlineIndexEntry
	next = host.Never
	for _, step := range steps {
		step.Announce()
	}
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		stopped := false
		for _, step := range steps {
			if stopped && len(due) == limit {
				break
			}
			if due, err = step.Walk(r, due, limit-len(due), s.sweepAction); err != nil {
				return err
			}
			stopped = stopped || step.Stopped()
		}
		if stopped { // another step follows at once
			return nil
		}
		for i, step := range steps {
			ahead, err := step.Ahead(r)
			if err != nil {
				return err
			}
			next = min(next, saturate(ahead, later[i]))
		}
		return nil
	})
	if err != nil {
		return false, 0, 0, wrap(err)
	}
	n, err = s.purgeDue(ctx, due)
	if err != nil {
		return false, 0, 0, err
	}
	for _, step := range steps {
		left, again := step.Finish()
		more, next = more || left, min(next, again)
	}
	return more, next, n, nil
}

// sweepAction returns what the reaper does with a message that has expired: it skips the message if an
// operation or a peek-lock holds it, and purges it otherwise.
func (s *inMemoryMessageStoreState) sweepAction(e host.DeadlineIndexEntry) host.SweepEntryAction {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.claims[int64(e.ID)]; c != nil {
		return host.Wait(c.lapses())
	}
	return host.Take()
}

// purgeDue purges messages that have expired, except those that an operation has claimed (reserved in memory)
// in the meantime.
func (s *inMemoryMessageStoreState) purgeDue(ctx context.Context,
	due []host.DeadlineIndexEntry) (n int, err error) {
	var list []*inMemoryMessageClaim
	s.mu.Lock()
	for _, e := range due {
		if c := s.claim(int64(e.ID), nil); c != nil {
			list = append(list, c)
			continue
		}
		s.expiry.restart() // the reaper must look at the message again
	}
	s.mu.Unlock()
	return s.purge(ctx, list)
}

// purgeMet purges expired messages that a receive has found, at most maxPurge of them, and leaves the others
// to the reaper. While the reaper is paused it purges none.
func (s *inMemoryMessageStoreState) purgeMet(ctx context.Context, list []*inMemoryMessageClaim) error {
	few := list
	if len(few) > maxPurge {
		few = few[:maxPurge]
	}
	s.mu.Lock()
	for _, c := range list[len(few):] {
		s.forget(c)
	}
	if s.e.m.in.ReaperPaused() {
		for _, c := range few {
			s.forget(c)
		}
		few = nil
	}
	s.mu.Unlock()
	_, err := s.purge(ctx, few)
	return err
}

// purge removes expired messages or moves them to the dead-letter queue. The caller has claimed the
// messages (reserved them in memory); purge ends the claims. Messages that have not expired become
// available again, unchanged. n is the number of messages that were purged.
func (s *inMemoryMessageStoreState) purge(ctx context.Context,
	list []*inMemoryMessageClaim) (n int, err error) {
	ended := make([]bool, len(list))
	for done := 0; done < len(list) && err == nil; {
		upto := done
		err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) (err error) {
			for upto = done; upto < len(list) && w.moved < maxMoved; upto++ {
				if ended[upto], err = w.purge(s, list[upto].seq); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			clear(ended[done:])
		}
		done = upto
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range list {
		if ended[i] {
			n++
			s.forget(c)
		} else {
			s.unclaim(c)
		}
	}
	return n, err
}

// purge deletes a message that has expired, or moves it to the dead-letter queue. It does nothing to other
// messages. ended reports that the message is no longer active after the call.
func (w *messageTx) purge(s *inMemoryMessageStoreState, seq int64) (ended bool, err error) {
	p, err := w.partOf(s)
	if err != nil {
		return false, err
	}
	h, ok, err := s.Header(w, seq)
	switch {
	case err != nil:
		return false, err
	case !ok || h.State != layout.Active:
		return true, nil
	case !s.expired(&h, w.now):
		return false, nil
	}
	if free, err := w.isFree(s, seq); !free || err != nil {
		return false, err
	}
	return true, w.lapse(p, seq, &h)
}
