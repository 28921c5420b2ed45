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
// counts as use calls touch. An update counts as use as well, but only the time of the update is recorded.
// An entity also is in use as long as a receiver waits for messages or a message is scheduled. In the second
// case the use ends when the last scheduled message becomes active. A start of the server counts as use of
// all entities, because nobody could use them while the server was down.

// recordUse records that the entity is used at a millisecond. A use of a subscription also is a use of its
// topic.
func (e *entityState) recordUse(ms int64) {
	for ; e != nil; e = e.topic {
		raiseTo(&e.accessed, ms)
		if e.m.shared && ms > e.covered.Load() && !e.neverIdle() {
			e.m.idler.WakeUp() // to store it
		}
	}
}

// raiseTo sets at to ms if at is lower.
func raiseTo(at *atomic.Int64, ms int64) {
	for last := at.Load(); last < ms && !at.CompareAndSwap(last, ms); last = at.Load() {
	}
}

// idleDeadline returns the millisecond at which the entity is deleted unless it is used before. It returns
// host.Never if the entity is never deleted, or is in use now.
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

// neverIdle reports whether AutoDeleteOnIdle has no effect on the entity. An entity that forwards its
// messages is never idle, since the server always receives from it.
func (e *entityState) neverIdle() bool {
	p := e.properties.Load()
	return p.AutoDeleteOnIdle == entity.Forever || p.ForwardTo != ""
}

// busy reports whether the entity or one of its subscriptions is in use now.
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

// bringDue makes scheduled messages active that are due, in all entities that AutoDeleteOnIdle can delete, so
// that the beginning of their idle time is recorded.
func (m *loadedEntities) bringDue(ctx context.Context) error {
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

// recordAwaitedUse records a use if a receiver of the store is waiting, so that the idle time of the entity
// begins when the receiver stops waiting.
func (e *entityState) recordAwaitedUse(s *inMemoryMessageStoreState, now int64) {
	if s.hasWaiters() {
		e.recordUse(now)
	}
}

// idleTooLong reports whether the idle deadline of the entity or of its topic has passed.
func (e *entityState) idleTooLong(now int64) bool {
	return e.idleDeadline(now) <= now || e.topic != nil && e.topic.idleDeadline(now) <= now
}

// idleEntityDeleter deletes entities that have been idle for longer than their AutoDeleteOnIdle.
type idleEntityDeleter struct {
	*alarm.Alarm
	m *loadedEntities
}

func newIdler(m *loadedEntities) *idleEntityDeleter {
	i := &idleEntityDeleter{m: m}
	i.Alarm = alarm.New(m.in.Clock(), i.look)
	return i
}

// retryIdle is how long, in milliseconds, the idleEntityDeleter waits before it tries again: after an error,
// or if an entity that is due for deletion is in use.
const retryIdle = int64(time.Minute / time.Millisecond)

// look deletes the entities whose idle deadline has passed. It returns the millisecond at which it must be
// called again.
func (i *idleEntityDeleter) look(ctx context.Context, now int64) (next int64) {
	next = host.Never
	overdue := false
	for _, e := range i.m.list() {
		if e.neverIdle() {
			continue
		}
		at := e.idleDeadline(now)
		if at == host.Never {
			at = now + retryIdle // in use: there is no notification of the end of the use
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
	return now // call look again for the remaining entities
}

// DeleteIdle deletes the entities that have been idle for longer than their AutoDeleteOnIdle. Without this
// call they are deleted in the background, soon after their time. Operations do not find them in any case.
func (q *Queues) DeleteIdle(ctx context.Context) error {
	m, err := q.dataset()
	if err != nil {
		return err
	}
	return wrap(m.idler.delete(ctx))
}

func (i *idleEntityDeleter) delete(ctx context.Context) error {
	return host.RetryMoved(func() error {
		if err := i.m.in.Catalog().Lock(ctx); err != nil {
			return err
		}
		defer i.m.in.Catalog().Unlock()
		return i.m.sweepIdle(ctx)
	})
}

// sweepIdle deletes all entities whose idle deadline has passed. The caller holds the catalog's lock.
func (m *loadedEntities) sweepIdle(ctx context.Context) error {
	if err := m.bringDue(ctx); err != nil {
		return err
	}
	now := m.in.Clock().Millis()
	for _, e := range m.list() {
		if !e.idleTooLong(now) || m.numbered(e.number) != e {
			continue
		}
		err := m.drop(ctx, e, func(t *host.CatalogTxn) error { return m.checkIdle(t, e) })
		if err != nil && !errors.Is(err, errInUse) {
			return err
		}
	}
	return nil
}
