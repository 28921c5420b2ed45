package pebble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
)

// scope is what the engine remembers of one scope for as long as it is open: some 200 bytes.
type scope struct {
	key []byte

	mu         sync.Mutex
	held       bool
	head, tail *request // who waits for the scope, first come first served

	// The holder's own.
	next     uint64 // the next LSN to issue; 0 until the ceiling has been read
	ceiling  uint64 // durable: the first LSN that must not be issued yet
	promised uint64 // a higher ceiling that is committed, not yet known to be durable; 0 for none
	due      uint64 // the commit that promised it

	// Commits so far: begun, before anybody can see them; applied; durable. The holder counts the first two.
	begun, applied, durable atomic.Uint64

	issued  atomic.Uint64 // the last LSN of the commits that are applied
	horizon atomic.Uint64 // highest durable LSN
	known   atomic.Bool   // horizon has been set from the ceiling

	marked atomic.Uint64 // the mark and one; 0 until it has been read
}

// acquire makes r the holder of the scope if it is free, or else the last in the queue.
func (s *scope) acquire(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held {
		s.held = true
		return true
	}
	r.queued, r.prev, r.next = true, s.tail, nil
	if s.tail == nil {
		s.head = r
	} else {
		s.tail.next = r
	}
	s.tail = r
	return false
}

// withdraw takes r out of the queue; false means that r is no longer in it.
func (s *scope) withdraw(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.queued {
		return false
	}
	s.unlink(r)
	return true
}

// join takes the first in the queue into the holder's group, unless that one wants several scopes.
func (s *scope) join() *request {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.head
	if r == nil || !r.joins() {
		return nil
	}
	s.unlink(r)
	return r
}

// release hands the scope to the first in the queue, or leaves it free.
func (s *scope) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.head
	if r == nil {
		s.held = false
		return
	}
	s.unlink(r)
	r.ready <- granted
}

func (s *scope) unlink(r *request) {
	if r.prev == nil {
		s.head = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		s.tail = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.queued, r.prev, r.next = false, nil, nil
}

// dirty reports whether the scope shows commits that may not be durable. Only the holder may ask.
func (s *scope) dirty() bool { return s.applied.Load() > s.durable.Load() }

// shows reports whether the scope may show commits that are not durable. Anybody may ask.
func (s *scope) shows() bool { return s.begun.Load() > s.durable.Load() }

// mark is how far a scope had come when its holder left.
type mark struct {
	scope   *scope
	applied uint64
	last    uint64 // the last LSN
}

func (s *scope) mark() mark {
	m := mark{scope: s, applied: s.applied.Load()}
	if s.next > 0 {
		m.last = s.next - 1
	}
	return m
}

// reached is how far a scope has come for somebody who does not hold it. The LSN is asked for last: it is not
// behind the commits.
func (s *scope) reached() mark {
	applied := s.applied.Load()
	return mark{scope: s, last: s.issued.Load(), applied: applied}
}

// settle records that all before the mark is durable. Marks may arrive in any order. Who finds the commits
// durable finds the horizon there too.
func (m mark) settle() {
	raise(&m.scope.horizon, m.last)
	raise(&m.scope.durable, m.applied)
}

func raise(a *atomic.Uint64, v uint64) {
	for old := a.Load(); old < v; old = a.Load() {
		if a.CompareAndSwap(old, v) {
			return
		}
	}
}

// start begins at the ceiling that is stored, as nothing below it may be issued any more.
func (s *scope) start(ceiling uint64) {
	s.next, s.ceiling = ceiling, ceiling
	raise(&s.horizon, ceiling-1)
	s.known.Store(true)
}

// promote makes a promised ceiling usable once it is durable.
func (s *scope) promote() {
	if s.promised != 0 && s.durable.Load() >= s.due {
		s.ceiling, s.promised = s.promised, 0
	}
}

// setMark makes a mark known that is about to be committed: whoever reads what is committed with it finds it.
func (s *scope) setMark(mark uint64) { s.marked.Store(mark + 1) }

// readMark is the scope's mark, which get reads where nobody has yet.
func (s *scope) readMark(get func([]byte) ([]byte, error)) (uint64, error) {
	if n := s.marked.Load(); n != 0 {
		return n - 1, nil
	}
	mark := uint64(0)
	v, err := get(engine.MarkKey(s.key))
	switch {
	case errors.Is(err, engine.ErrNotFound):
	case err != nil:
		return 0, err
	default:
		if mark, err = engine.ParseMark(v); err != nil {
			return 0, fmt.Errorf("scope %x: %w", s.key, err)
		}
	}
	s.marked.CompareAndSwap(0, mark+1) // unless it has been set meanwhile
	return s.marked.Load() - 1, nil
}

// storedCeiling is the highest ceiling that is, or is about to be, on disk.
func (s *scope) storedCeiling() uint64 { return max(s.ceiling, s.promised) }

// readCeiling reads a scope's ceiling; a scope without one starts at first.
func readCeiling(get func([]byte) ([]byte, error), scope []byte, first uint64) (uint64, error) {
	v, err := get(engine.CeilingKey(scope))
	if errors.Is(err, engine.ErrNotFound) {
		return first, nil
	}
	if err != nil {
		return 0, err
	}
	c, err := engine.ParseCeiling(v)
	if err != nil {
		return 0, fmt.Errorf("scope %x: %w", scope, err)
	}
	return c, nil
}

func ceilingValue(c uint64) []byte { return binary.BigEndian.AppendUint64(nil, c) }

// scopes holds the scopes that are in use. They are made at first use and stay until Close: their LSNs must.
type scopes struct {
	mu sync.RWMutex
	m  map[string]*scope
}

// find returns the scope if it is in use.
func (t *scopes) find(key []byte) *scope {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.m[string(key)]
}

func (t *scopes) get(key []byte) *scope {
	if s := t.find(key); s != nil {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.m[string(key)]
	if s == nil {
		s = &scope{key: bytes.Clone(key)}
		t.m[string(key)] = s
	}
	return s
}
