package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
)

// An entity with AutoDeleteOnIdle is deleted when nobody has used it for so long. What is use, and what is
// not, is decided where it happens, by touch; an update is use, too, and noted as such alone. Two things are
// use as long as they last: somebody waits for messages, and a message is scheduled; the second one ends
// with the moment in which the last one arrives. After a start all entities have just been used: while the
// server was not there nobody could.

// touch notes that the entity was used. Whoever uses a subscription uses its topic.
func (e *entityState) touch(ms int64) {
	for ; e != nil; e = e.topic {
		for last := e.accessed.Load(); last < ms &&
			!e.accessed.CompareAndSwap(last, ms); last = e.accessed.Load() {
		}
	}
}

// idleDeadline returns the millisecond from which on the entity does not exist, if it is not used before:
// host.Never for one that is kept, or in use now.
func (e *entityState) idleDeadline(now int64) int64 {
	if e.neverIdle() || e.busy(now) {
		return host.Never
	}
	last := max(e.accessed.Load(), e.updated.Load(), e.m.started)
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
		if s != nil && (s.awaited() || s.hasScheduled()) {
			e.touchAwaited(s, now)
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

// bringDue brings the scheduled messages that are due in entities which can be idle: it is known then since
// when they are.
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

// touchAwaited notes the use by somebody who waits, so that it counts when he has gone.
func (e *entityState) touchAwaited(s *messageStore, now int64) {
	if s.awaited() {
		e.touch(now)
	}
}

// idleTooLong reports whether the entity has been idle for too long, or its topic has.
func (e *entityState) idleTooLong(now int64) bool {
	return e.idleDeadline(now) <= now || e.topic != nil && e.topic.idleDeadline(now) <= now
}

// idler deletes entities that have been idle for too long.
type idler struct {
	*alarm
	m *dataset
}

func newIdler(m *dataset) *idler {
	i := &idler{m: m}
	i.alarm = newAlarm(m, i.look)
	return i
}

// retryIdle is after how long the idler tries again where it has failed, or where an entity is in use.
const retryIdle = int64(time.Minute / time.Millisecond)

// look deletes what is due and reports when to look again.
func (i *idler) look(ctx context.Context, now int64) (next int64) {
	next = host.Never
	overdue := false
	for _, e := range i.m.list() {
		if e.neverIdle() {
			continue
		}
		at := e.idleDeadline(now)
		if at == host.Never {
			at = now + retryIdle // in use: by whom nobody reports when that ends
		}
		overdue = overdue || at <= now
		next = min(next, at)
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
	return now // look again at what is left
}

func (i *idler) delete(ctx context.Context) error {
	if err := i.m.in.Catalog().Lock(ctx); err != nil {
		return err
	}
	defer i.m.in.Catalog().Unlock()
	return i.m.sweepIdle(ctx)
}

// sweepIdle deletes all entities that have been idle for too long. The catalog's lock is held.
func (m *dataset) sweepIdle(ctx context.Context) error {
	if err := m.bringDue(ctx); err != nil {
		return err
	}
	for _, e := range m.list() {
		if m.numbered(e.number) != e || !e.idleTooLong(m.in.Clock().Millis()) {
			continue
		}
		if err := m.drop(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
