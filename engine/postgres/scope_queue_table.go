package postgres

import (
	"bytes"
	"slices"
	"sync"
)

// scopeUpdateQueue is the queue of this process's Updates that wait for one scope (see package engine). One
// of them, the leader, holds the scope.
type scopeUpdateQueue struct {
	key []byte

	mu    sync.Mutex
	held  bool
	users int // number of requests that hold it or wait for it; guarded by waitingUpdateQueuesByScope.mu
	queue []*runningEngineUpdate
}

// waitingUpdateQueuesByScope holds the queues in which Updates of this process wait for scopes, by the key of
// the scope (the prefix of its keys). Only scopes that an Update uses at the moment have one.
type waitingUpdateQueuesByScope struct {
	mu sync.Mutex
	m  map[string]*scopeUpdateQueue
}

// take returns the queues of scopes in byte order, each once, and counts the caller as a user of each.
func (l *waitingUpdateQueuesByScope) take(scopes [][]byte) []*scopeUpdateQueue {
	sorted := slices.Clone(scopes)
	slices.SortFunc(sorted, bytes.Compare)
	sorted = slices.CompactFunc(sorted, bytes.Equal)
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*scopeUpdateQueue, len(sorted))
	for i, key := range sorted {
		found := l.m[string(key)]
		if found == nil {
			found = &scopeUpdateQueue{key: bytes.Clone(key)}
			l.m[string(key)] = found
		}
		found.users++
		out[i] = found
	}
	return out
}

// leave ends the caller's use of queues and deletes those without users.
func (l *waitingUpdateQueuesByScope) leave(used []*scopeUpdateQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range used {
		if one.users--; one.users == 0 {
			delete(l.m, string(one.key))
		}
	}
}

// acquire makes r the leader, the request that holds the scope, and returns true if nobody holds it.
// Otherwise it appends r to the queue.
func (l *scopeUpdateQueue) acquire(r *runningEngineUpdate) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		l.held = true
		return true
	}
	l.queue = append(l.queue, r)
	return false
}

// withdraw removes r from the queue. It returns false if r is no longer queued.
func (l *scopeUpdateQueue) withdraw(r *runningEngineUpdate) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := slices.Index(l.queue, r)
	if n < 0 {
		return false
	}
	l.queue = slices.Delete(l.queue, n, n+1)
	return true
}

// joiningLocked returns the first requests in the queue that may run in the database transaction of the
// request that holds the scope. The argument most limits their number. The caller holds mu.
func (l *scopeUpdateQueue) joiningLocked(most int) []*runningEngineUpdate {
	n := 0
	for n < len(l.queue) && n < most && l.queue[n].joins() {
		n++
	}
	return slices.Clone(l.queue[:n])
}

// waiting returns the first requests in the queue that could join the running database transaction, at
// most most of them. Unlike join, it leaves them in the queue.
func (l *scopeUpdateQueue) waiting(most int) []*runningEngineUpdate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.joiningLocked(most)
}

// join removes from the queue, and returns, the first requests that may run in the database transaction of
// the leader, the request that holds the scope. The argument most limits their number.
func (l *scopeUpdateQueue) join(most int) []*runningEngineUpdate {
	l.mu.Lock()
	defer l.mu.Unlock()
	joined := l.joiningLocked(most)
	l.queue = slices.Delete(l.queue, 0, len(joined))
	return joined
}

// release passes a scope (the keys with one prefix) on to the first request in its queue. That request
// becomes the leader: it holds the scope and runs the waiting requests in its transaction. If the queue is
// empty, nobody holds the scope any more.
func (l *scopeUpdateQueue) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.held = false
		return
	}
	r := l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	r.signal <- nil
}
