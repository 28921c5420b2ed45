package queue

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/alarm"
)

// An entity with AutoDeleteOnIdle is deleted after it has been idle for that long. Each operation that
// counts as use calls touch. An update is use, too, but is recorded only as the time of the update. Two
// conditions are use for as long as they last: a receiver waits for messages, or a message is scheduled.
// The second one ends when the last scheduled message becomes active. A start of the server counts as use
// of all entities, because nobody could use them while the server was down.

// recordUse records a use of the entity at a millisecond. A use of a subscription is a use of its topic.
func (e *entityState) recordUse(ms int64) {
	for ; e != nil; e = e.topic {
		raiseTo(&e.accessed, ms)
		if e.m.shared && ms > e.covered.Load() && !e.neverIdle() {
			e.m.idler.WakeUp() // to store it
		}
	}
}

// raiseTo makes at at least ms.
func raiseTo(at *atomic.Int64, ms int64) {
	for last := at.Load(); last < ms && !at.CompareAndSwap(last, ms); last = at.Load() {
	}
}

// idleDeadline returns the millisecond at which the entity ceases to exist unless it is used before. It
// returns host.Never if the entity is never deleted, or is in use now.
func (e *entityState) idleDeadline(now int64) int64 {
	if e.neverIdle() || e.busy(now) {
		return host.Never
	}
	last := max(e.accessed.Load(), e.elsewhere.Load(), e.updated.Load(), e.m.started)
	for _, c := range *e.children.Load() {
		last = max(last, c.updated.Load())
	}
	return last + millis(e.properties.Load().AutoDeleteOnIdle)
}

// neverIdle reports whether AutoDeleteOnIdle has no effect. An entity that forwards its messages always has a
// receiver: the server.
func (e *entityState) neverIdle() bool {
	p := e.properties.Load()
	return p.AutoDeleteOnIdle == entity.Forever || p.ForwardTo != ""
}

// busy reports whether the entity, or a subscription of it, is in use now.
func (e *entityState) busy(now int64) bool {
	for _, s := range e.stores {
		if s != nil && (s.hasWaiters() || s.hasScheduled()) {
			e.recordAwaitedUse(s, now)
			return true
		}
	}
	for _, c := range *e.children.Load() {
		if c.busy(now) {
			return true
		}
	}
	return false
}

// bringDue activates due scheduled messages in all entities that AutoDeleteOnIdle can delete, so that the
// beginning of their idle time is recorded.
func (m *dataset) bringDue(ctx context.Context) error {
	now := m.in.Clock().Millis()
	for _, e := range m.list() {
		if e.neverIdle() {
			continue
		}
		for _, s := range e.stores {
			if s != nil && s.nextWakeup() <= now {
				if err := s.catchUp(ctx); err != nil {
					return wrap(err)
				}
			}
		}
	}
	return nil
}

// recordAwaitedUse records a use if a receiver is waiting, so that the idle time begins when it stops
// waiting.
func (e *entityState) recordAwaitedUse(s *messageStore, now int64) {
	if s.hasWaiters() {
		e.recordUse(now)
	}
}

// idleTooLong reports whether the idle deadline of the entity or of its topic has passed.
func (e *entityState) idleTooLong(now int64) bool {
	return e.idleDeadline(now) <= now || e.topic != nil && e.topic.idleDeadline(now) <= now
}

// idler deletes entities that have been idle for too long.
type idler struct {
	*alarm.Alarm
	m *dataset
}

func newIdler(m *dataset) *idler {
	i := &idler{m: m}
	i.Alarm = alarm.New(m.in.Clock(), i.look)
	return i
}

// retryIdle is the number of milliseconds until the idler looks again after an error, or while an entity is
// in use.
const retryIdle = int64(time.Minute / time.Millisecond)

// look deletes entities whose deadline has passed, and returns the millisecond of the next call.
func (i *idler) look(ctx context.Context, now int64) (next int64) {
	next = host.Never
	overdue := false
	for _, e := range i.m.list() {
		if e.neverIdle() {
			continue
		}
		at := e.idleDeadline(now)
		if at == host.Never {
			at = now + retryIdle // in use: the end of the use is not reported
		}
		overdue = overdue || at <= now
		next = min(next, at)
	}
	if err := i.m.storeUses(ctx, now); err != nil {
		if ctx.Err() == nil {
			i.m.logger().Warn("the last use of an entity was not stored", "error", err)
		}
		return now + retryTimer
	}
	if !overdue {
		return next
	}
	if err := i.delete(ctx); err != nil {
		if ctx.Err() == nil {
			i.m.logger().Warn("deleting what is idle failed", "error", err)
		}
		return now + retryIdle
	}
	return now // look again at the remaining entities
}

// DeleteIdle deletes the entities that have been idle for too long, which otherwise happens soon after their
// time in the background. Operations do not find them in any case.
func (q *Queues) DeleteIdle(ctx context.Context) error {
	m, err := q.dataset()
	if err != nil {
		return err
	}
	return wrap(m.idler.delete(ctx))
}

func (i *idler) delete(ctx context.Context) error {
	return again(func() error {
		if err := i.m.in.Catalog().Lock(ctx); err != nil {
			return err
		}
		defer i.m.in.Catalog().Unlock()
		return i.m.sweepIdle(ctx)
	})
}

// sweepIdle deletes all entities whose idle deadline has passed. The caller holds the catalog's lock.
func (m *dataset) sweepIdle(ctx context.Context) error {
	if err := m.bringDue(ctx); err != nil {
		return err
	}
	for _, e := range m.list() {
		if m.numbered(e.number) != e || !e.idleTooLong(m.in.Clock().Millis()) {
			continue
		}
		err := m.drop(ctx, e, func(t *host.Change) error { return m.checkIdle(t, e) })
		if err != nil && !errors.Is(err, errInUse) {
			return err
		}
	}
	return nil
}
