package postgres

import (
	"bytes"
	"slices"
	"sync"
)

// scopeQueue is this process's queue for one scope.
type scopeQueue struct {
	key []byte

	mu    sync.Mutex
	held  bool
	users int // number of requests that hold it or wait for it; guarded by the mutex of scope queues
	queue []*request
}

// scopeQueues holds the queues of the scopes that are in use.
type scopeQueues struct {
	mu sync.Mutex
	m  map[string]*scopeQueue
}

// take returns the scope queues of scopes in byte order, each once, and counts the caller as a user.
func (l *scopeQueues) take(scopes [][]byte) []*scopeQueue {
	sorted := slices.Clone(scopes)
	slices.SortFunc(sorted, bytes.Compare)
	sorted = slices.CompactFunc(sorted, bytes.Equal)
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*scopeQueue, len(sorted))
	for i, key := range sorted {
		found := l.m[string(key)]
		if found == nil {
			found = &scopeQueue{key: bytes.Clone(key)}
			l.m[string(key)] = found
		}
		found.users++
		out[i] = found
	}
	return out
}

// leave ends the caller's use of scope queues and deletes scope queues without users.
func (l *scopeQueues) leave(used []*scopeQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range used {
		if one.users--; one.users == 0 {
			delete(l.m, string(one.key))
		}
	}
}

// acquire makes r the leader if the scope queue is free and returns true. Otherwise it appends r to the
// queue.
func (l *scopeQueue) acquire(r *request) bool {
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
func (l *scopeQueue) withdraw(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := slices.Index(l.queue, r)
	if n < 0 {
		return false
	}
	l.queue = slices.Delete(l.queue, n, n+1)
	return true
}

// joiningLocked returns the first requests in the queue that may join the leader, most at the most.
func (l *scopeQueue) joiningLocked(most int) []*request {
	n := 0
	for n < len(l.queue) && n < most && l.queue[n].joins() {
		n++
	}
	return slices.Clone(l.queue[:n])
}

// waiting returns the first requests in the queue that may join the leader. It leaves them in the queue.
func (l *scopeQueue) waiting(most int) []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.joiningLocked(most)
}

// join removes those requests from the queue and returns them.
func (l *scopeQueue) join(most int) []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	joined := l.joiningLocked(most)
	l.queue = slices.Delete(l.queue, 0, len(joined))
	return joined
}

// release passes the scope queue to the first request in the queue, or frees it.
func (l *scopeQueue) release() {
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
