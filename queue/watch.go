package queue

import (
	"context"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/alarm"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/record"
)

// sharedEngineChangeWatcher detects the changes that other servers make in a shared engine, for callers of
// this server that wait for messages, for a session, or for a change of an entity. It reads the engine every
// watchEvery milliseconds, with three reads for all entities together. It only wakes callers: each
// transaction itself reads the state that it needs.
type sharedEngineChangeWatcher struct {
	*alarm.Alarm
	m    *loadedEntities
	seen map[uint32]uint64 // LSN of each scope at the last read, by entity
}

// watchEvery is the interval, in milliseconds, at which the watcher reads whether other servers have changed
// the entities for which callers wait.
const watchEvery = int64(time.Second / time.Millisecond)

func newWatcher(m *loadedEntities) *sharedEngineChangeWatcher {
	w := &sharedEngineChangeWatcher{m: m, seen: make(map[uint32]uint64)}
	w.Alarm = alarm.New(m.in.Clock(), w.ring)
	return w
}

// ring looks in the engine for changes that other servers have made. It returns the millisecond at which to
// look again.
func (w *sharedEngineChangeWatcher) ring(ctx context.Context, now int64) (next int64) {
	if err := w.look(ctx); err != nil && ctx.Err() == nil {
		w.m.logger().Warn("changes by other servers were not read", "error", err)
	}
	return now + watchEvery
}

func (w *sharedEngineChangeWatcher) look(ctx context.Context) error {
	if err := w.m.learn(ctx); err != nil {
		return err
	}
	var awaited []*entityState
	for _, e := range w.m.list() {
		if e.isAwaited() {
			awaited = append(awaited, e)
		}
	}
	if len(awaited) == 0 {
		return nil
	}
	var at []engine.LSNScopeStatus
	var counts map[*inMemoryMessageStoreState]layout.MessageStoreCounters
	err := w.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		scopes := make([][]byte, len(awaited))
		for i, e := range awaited {
			scopes[i] = e.scope
		}
		if at, err = r.Positions(scopes); err == nil {
			counts, err = readCounters(r, awaited)
		}
		return err
	})
	if err != nil {
		return err
	}
	return w.wake(ctx, awaited, at, counts)
}

// wake wakes the callers that wait for entities which have changed since the last read.
func (w *sharedEngineChangeWatcher) wake(ctx context.Context, list []*entityState, at []engine.LSNScopeStatus,
	counts map[*inMemoryMessageStoreState]layout.MessageStoreCounters) error {
	outdated := false
	next := make(map[uint32]uint64, len(list))
	for i, e := range list {
		outdated = outdated || at[i].Mark != e.top().version.Load() && at[i].Mark != 0
		if next[e.number] = at[i].LSN; w.seen[e.number] == at[i].LSN {
			continue
		}
		for _, s := range e.stores {
			if c, ok := counts[s]; ok {
				s.noteCounters(&c)
				s.wakeAll()
			}
		}
		e.changes.Notify()
		w.m.q.changes.Notify()
	}
	w.seen = next
	if outdated {
		return wrap(w.m.refresh(ctx))
	}
	return nil
}

// awaitedScopes is the function OpenedTenant.Awaited of the message store: it returns the engine scopes of
// the entities for whose changes callers of this server wait. The host then reports when another server has
// written to one of them.
func (m *loadedEntities) awaitedScopes() (list [][]byte) {
	for _, e := range m.list() {
		if e.isAwaited() {
			list = append(list, e.scope)
		}
	}
	return list
}

// reported is called when another server may have changed entities: it makes the watcher, which looks for
// such changes, read the engine at once. It is the function host.OpenedTenant.Changed.
func (m *loadedEntities) reported([]byte) { m.watcher.WakeUp() }

// readCounters reads the counters of all message stores of entities.
func readCounters(r engine.Reader,
	list []*entityState) (map[*inMemoryMessageStoreState]layout.MessageStoreCounters, error) {
	var stores []*inMemoryMessageStoreState
	var keys [][]byte
	for _, e := range list {
		for _, s := range e.stores {
			if s != nil {
				stores, keys = append(stores, s), append(keys, s.Keys.Family(layout.FamilyCounters))
			}
		}
	}
	counts := make(map[*inMemoryMessageStoreState]layout.MessageStoreCounters, len(stores))
	err := engine.GetEach(r, keys, func(i int, v []byte) (bool, error) {
		if v == nil {
			return true, nil // it was deleted
		}
		c, err := layout.DecodeCounters(v)
		counts[stores[i]] = c
		return true, err
	})
	return counts, err
}

// isAwaited reports whether a caller of this server waits for changes of the entity, or receives from it.
func (e *entityState) isAwaited() bool {
	if e.awaiting.Load() > 0 {
		return true
	}
	for _, s := range e.stores {
		if s != nil && (s.inUse() || s.hasWaiters()) {
			return true
		}
	}
	return false
}

// wakeAll wakes all receivers that wait.
func (s *inMemoryMessageStoreState) wakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursor.Waiters.WakeAll()
	s.free.WakeAll()
	for _, l := range s.sessions {
		l.cursor.Waiters.WakeAll()
	}
}

// isUnknown reports whether a queue or topic is stored but not in memory: another server has created it, and
// the watcher has not found it yet.
func (m *loadedEntities) isUnknown(ctx context.Context, path string) (stored bool, err error) {
	if !m.shared {
		return false, nil
	}
	err = m.in.Engine().View(ctx, func(r engine.Reader) error {
		_, err := r.Get(record.Key(record.KindEntity, 0, path))
		if stored = err == nil; errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		return err
	})
	if stored {
		m.watcher.WakeUp()
	}
	return stored, wrap(err)
}
