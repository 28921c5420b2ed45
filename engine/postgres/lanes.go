package postgres

import (
	"bytes"
	"slices"
	"sync"
)

// lane is the queue of this process at one scope.
type lane struct {
	key []byte

	mu    sync.Mutex
	held  bool
	users int // under the mutex of lanes: who holds it or waits for it
	queue []*request
}

// lanes are the queues of the scopes that are in use.
type lanes struct {
	mu sync.Mutex
	m  map[string]*lane
}

// take finds the lanes of scopes, in the order of their bytes, each once.
func (l *lanes) take(scopes [][]byte) []*lane {
	sorted := slices.Clone(scopes)
	slices.SortFunc(sorted, bytes.Compare)
	sorted = slices.CompactFunc(sorted, bytes.Equal)
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*lane, len(sorted))
	for i, key := range sorted {
		found := l.m[string(key)]
		if found == nil {
			found = &lane{key: bytes.Clone(key)}
			l.m[string(key)] = found
		}
		found.users++
		out[i] = found
	}
	return out
}

// leave lets go of lanes; those that nobody uses are forgotten.
func (l *lanes) leave(used []*lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range used {
		if one.users--; one.users == 0 {
			delete(l.m, string(one.key))
		}
	}
}

// acquire makes r the leader if the lane is free, or else the last in the queue.
func (l *lane) acquire(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		l.held = true
		return true
	}
	l.queue = append(l.queue, r)
	return false
}

// withdraw takes r out of the queue; false means that it is no longer in it.
func (l *lane) withdraw(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := slices.Index(l.queue, r)
	if n < 0 {
		return false
	}
	l.queue = slices.Delete(l.queue, n, n+1)
	return true
}

// waiting are the first in the queue that may join the leader, who stay in it.
func (l *lane) waiting(most int) []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.queue) && n < most && l.queue[n].joins() {
		n++
	}
	return slices.Clone(l.queue[:n])
}

// join takes those out of the queue.
func (l *lane) join(most int) []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.queue) && n < most && l.queue[n].joins() {
		n++
	}
	joined := slices.Clone(l.queue[:n])
	l.queue = slices.Delete(l.queue, 0, n)
	return joined
}

// release hands the lane to the first in the queue, or leaves it free.
func (l *lane) release() {
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
