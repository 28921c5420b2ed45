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

// lsnScopeState is the engine's state of one scope: a key prefix with its own sequence of LSNs, whose
// transactions run one after another. It takes about 200 bytes and is kept as long as the engine is open.
type lsnScopeState struct {
	key []byte

	mu         sync.Mutex
	held       bool
	head, tail *runningUpdateTxn // queue of the waiting requests, first in first out

	// next and the following three fields are accessed only by the goroutine that holds the scope (the keys
	// with one prefix) for a transaction.
	next           uint64 // the next LSN to issue; 0 until the ceiling has been read
	ceiling        uint64 // durable: the first LSN that must not be issued yet
	pendingCeiling uint64 // a higher ceiling that is committed, but may not be durable; 0: none
	pendingCommit  uint64 // number of the commit that contains the pending ceiling

	// begun, applied and durable are numbers of commits since Open. A commit is counted in begun before it
	// is visible, in applied when it is, and in durable when it is synced. The holder of the scope counts
	// the first two.
	begun, applied, durable atomic.Uint64

	issued  atomic.Uint64 // the last LSN of the applied commits
	horizon atomic.Uint64 // highest durable LSN
	known   atomic.Bool   // horizon has been set from the ceiling

	marked atomic.Uint64 // the mark plus one; 0 until the mark has been read
}

// acquire makes r the holder of the scope if no other request holds it, and returns true. Otherwise it
// appends r to the scope's queue. Only the goroutine of the holder runs transactions in the scope.
func (s *lsnScopeState) acquire(r *runningUpdateTxn) bool {
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

// withdraw removes r from the queue. It returns false if r is no longer queued.
func (s *lsnScopeState) withdraw(r *runningUpdateTxn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.queued {
		return false
	}
	s.unlink(r)
	return true
}

// join removes the first request from the queue and returns it; the transaction that holds the scope commits
// it together with its own writes. It returns nil if the queue is empty or the request names several scopes.
func (s *lsnScopeState) join() *runningUpdateTxn {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.head
	if r == nil || !r.joins() {
		return nil
	}
	s.unlink(r)
	return r
}

// release ends the exclusive use of the scope, a key prefix with its own sequence of LSNs: it passes the
// scope to the first waiting request, or marks it as free.
func (s *lsnScopeState) release() {
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

func (s *lsnScopeState) unlink(r *runningUpdateTxn) {
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

// dirty reports whether readers of the scope (a key prefix with its own sequence of LSNs) can see commits
// that may not be durable yet. Only the request that holds the scope may call it.
func (s *lsnScopeState) dirty() bool { return s.applied.Load() > s.durable.Load() }

// mayShowUnsynced reports whether a reader of the scope may see commits that a power cut could still undo.
// Any goroutine may call it.
func (s *lsnScopeState) mayShowUnsynced() bool { return s.begun.Load() > s.durable.Load() }

// scopeCommitPosition is a point in the history of a scope (a key prefix with its own sequence of LSNs): the
// number of commits applied until then and the last LSN that the scope has issued.
type scopeCommitPosition struct {
	scope   *lsnScopeState
	applied uint64
	last    uint64 // the last LSN
}

func (s *lsnScopeState) mark() scopeCommitPosition {
	m := scopeCommitPosition{scope: s, applied: s.applied.Load()}
	if s.next > 0 {
		m.last = s.next - 1
	}
	return m
}

// reached returns the number of commits applied in a scope and its last issued LSN; the caller need not hold
// the scope. It loads the LSN after the number, so that the LSN includes all counted commits.
func (s *lsnScopeState) reached() scopeCommitPosition {
	applied := s.applied.Load()
	return scopeCommitPosition{scope: s, last: s.issued.Load(), applied: applied}
}

// settle records that everything in the scope up to this point is durable. It may be called for the points of
// a scope in any order. It raises the horizon (the highest durable LSN) before the number of durable commits,
// so that a reader of that number finds the matching horizon.
func (m scopeCommitPosition) settle() {
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

// start makes the scope issue LSNs from the stored ceiling on. LSNs below it may have been issued before the
// engine was opened, and must not be issued again.
func (s *lsnScopeState) start(ceiling uint64) {
	s.next, s.ceiling = ceiling, ceiling
	raise(&s.horizon, ceiling-1)
	s.known.Store(true)
}

// promote raises the ceiling of the scope's LSNs (the first LSN that must not be issued yet) to the pending
// ceiling, if the commit that stores the latter has become durable.
func (s *lsnScopeState) promote() {
	if s.pendingCeiling != 0 && s.durable.Load() >= s.pendingCommit {
		s.ceiling, s.pendingCeiling = s.pendingCeiling, 0
	}
}

// setMark makes a new mark of the scope (see engine.TxnLSNAndCommitControl.SetMark) visible before its
// transaction commits. So a reader that sees the commit also sees the new mark.
func (s *lsnScopeState) setMark(mark uint64) { s.marked.Store(mark + 1) }

// readMark returns the scope's mark, a number by which callers notice that their caches are outdated. The
// first call reads it with get.
func (s *lsnScopeState) readMark(get func([]byte) ([]byte, error)) (uint64, error) {
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
	s.marked.CompareAndSwap(0, mark+1) // unless a mark has been set since
	return s.marked.Load() - 1, nil
}

// storedCeiling returns the highest stored bound below which the scope may issue LSNs, including one whose
// commit is not durable yet.
func (s *lsnScopeState) storedCeiling() uint64 { return max(s.ceiling, s.pendingCeiling) }

// readCeiling reads the stored ceiling of a scope: the first LSN that must not be issued yet. It returns
// first if no ceiling is stored.
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

// lsnScopeStates holds the states of the scopes (key prefixes with their own sequences of LSNs) that have
// been used since Open. A state is created at the first use and kept until Close, since it issues LSNs.
type lsnScopeStates struct {
	mu sync.RWMutex
	m  map[string]*lsnScopeState
}

// find returns the state of the scope whose keys begin with key. It returns nil if the scope has not been
// used since Open.
func (t *lsnScopeStates) find(key []byte) *lsnScopeState {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.m[string(key)]
}

func (t *lsnScopeStates) get(key []byte) *lsnScopeState {
	if s := t.find(key); s != nil {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.m[string(key)]
	if s == nil {
		s = &lsnScopeState{key: bytes.Clone(key)}
		t.m[string(key)] = s
	}
	return s
}
