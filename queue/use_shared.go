package queue

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/view"
)

// If several servers share an engine, a server must not delete an entity as idle that another server uses.
// Therefore a server that uses an entity stores two times: the time of the use, and the time until which it
// may use the entity again without storing that. The other servers count AutoDeleteOnIdle from the second
// time, which they read in the transaction that deletes the entity. So an entity is deleted up to useAhead
// too late, but never too early.

// useAhead is the length, in milliseconds, of the time for which one stored use of an entity is valid: a
// server that uses the entity stores a time so far in the future, and until then need not store its
// further uses. It is longer than retryIdle, the time between two checks of an entity that is in use, and
// shorter than any AutoDeleteOnIdle.
const useAhead = 3 * retryIdle / 2

// errInUse is returned by a transaction that was to delete an idle entity and found that it is in use.
var errInUse = errors.New("queue: the entity is in use")

// storeUses stores the time of the last use of each entity with AutoDeleteOnIdle, so that other servers do
// not delete it as idle. It skips an entity if the stored time (EntityLastUseRecord.Until) is not earlier
// than the last use.
func (m *loadedEntities) storeUses(ctx context.Context, now int64) error {
	if !m.shared {
		return nil
	}
	for _, e := range m.list() {
		if e.neverIdle() || e.accessed.Load() <= e.covered.Load() {
			continue
		}
		last := e.accessed.Load()
		own := view.EntityLastUseRecord{Server: m.server, Accessed: last, Until: max(now, last) + useAhead}
		err := m.update(ctx, [][]byte{e.scope}, func(w *messageTx) error {
			stored, err := view.ReadUse(w, e.number)
			if err != nil {
				return err
			}
			e.noteUse(stored)
			next := own
			if stored.Server != m.server {
				next.Accessed, next.Until = max(own.Accessed, stored.Accessed), max(own.Until, stored.Until)
			}
			return w.setUse(e, next)
		}, view.UseKey(e.number))
		if entity.ErrorCodeOf(err) == entity.CodeEntityNotFound && err != nil {
			continue
		}
		if err != nil {
			return err
		}
		e.covered.Store(own.Until)
	}
	return nil
}

// noteUse updates the state of the entity in memory from a record, read from the engine, that says when
// another server last used the entity and until when it may still use it. It ignores this server's own
// record.
func (e *entityState) noteUse(u view.EntityLastUseRecord) {
	if u.Server == e.m.server {
		return
	}
	raiseTo(&e.accessed, u.Accessed)
	raiseTo(&e.elsewhere, u.Until)
}

// learnUse reads the times at which other servers have last used an entity. It also reads those of its
// topic and its subscriptions, since the entity is idle only if these are.
func (e *entityState) learnUse(r engine.Reader) error {
	list := append([]*entityState{e}, *e.children.Load()...)
	if e.topic != nil {
		list = append(list, e.topic)
	}
	for _, one := range list {
		u, err := view.ReadUse(r, one.number)
		if err != nil {
			return err
		}
		one.noteUse(u)
	}
	counts, err := readCounters(r, list)
	for s, c := range counts {
		s.scheduled.Store(c.Scheduled)
	}
	return err
}

// isIdle reports whether the idle deadline of an entity has passed.
func (m *loadedEntities) isIdle(ctx context.Context, e *entityState) (bool, error) {
	if !e.idleTooLong(m.in.Clock().Millis()) {
		return false, nil
	}
	if !m.shared {
		return true, nil
	}
	err := m.in.Engine().View(ctx, func(r engine.Reader) error { return e.learnUse(r) })
	return e.idleTooLong(m.in.Clock().Millis()), wrap(err)
}

// checkIdle fails with errInUse if another server uses an entity that is about to be deleted as idle.
func (m *loadedEntities) checkIdle(t *host.CatalogTxn, e *entityState) error {
	if !m.shared {
		return nil
	}
	if err := e.learnUse(t); err != nil {
		return err
	}
	if !e.idleTooLong(m.in.Clock().Millis()) {
		return errInUse
	}
	return nil
}
