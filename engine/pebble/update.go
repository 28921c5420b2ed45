package pebble

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
)

// maxGroup is the maximum number of transactions that the goroutine which holds a scope runs, its own and
// those of waiting callers, before it returns to its caller.
const maxGroup = 128

// runningUpdateTxn is the state of one running Update.
type runningUpdateTxn struct {
	ctx    context.Context
	scopes []*lsnScopeState // in byte order, each once
	fn     func(engine.Txn) error
	txn    txn
	marks  []scopeCommitPosition // progress of its scopes when they were released

	// queued is true while the request is in a scope's queue; prev and next are its neighbours there. The
	// scope's mutex guards all three.
	queued     bool
	prev, next *runningUpdateTxn
	ready      chan updateWakeReason // has at most one message

	// follower is the next request of the group of requests that share one sync of the disk. The first one
	// that waits for the disk also syncs for the others.
	follower *runningUpdateTxn

	// err is the error that Update returns. It and the following fields are valid once the request has
	// run.
	err      error
	dirty    bool // the request has read or written data that may not be durable
	panicked bool
	cause    any // value of the panic
	exited   bool
}

// updateWakeReason tells the goroutine of a queued request how to continue.
type updateWakeReason int

const (
	granted  updateWakeReason = iota // the request now holds the scope
	finished                         // the request has its outcome
	// the request must sync the log for itself and its followers, which also sets its result
	appointed
	gaveUp // ctx ended while the request was queued
)

var requests = sync.Pool{New: func() any { return &runningUpdateTxn{ready: make(chan updateWakeReason, 1)} }}

// Update runs fn as one transaction in scopes: see engine.Engine. The order of the steps is described in
// the package documentation.
func (e *Engine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	_ ...[]byte) ([]engine.LSNScopeStatus, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	if len(scopes) == 0 {
		return nil, fmt.Errorf("%w: an Update must name one", engine.ErrScope)
	}
	if err := e.fence.err(); err != nil {
		return nil, err
	}
	e.space.check()
	defer e.compactions.startWaiting()

	r := requests.Get().(*runningUpdateTxn)
	r.ctx, r.fn = ctx, fn
	for _, key := range scopes {
		r.scopes = append(r.scopes, e.scopes.get(key))
	}
	if len(r.scopes) > 1 {
		slices.SortFunc(r.scopes, func(a, b *lsnScopeState) int { return bytes.Compare(a.key, b.key) })
		r.scopes = slices.Compact(r.scopes)
	}
	if r.joins() {
		e.updateOne(r, r.scopes[0])
	} else {
		e.updateMany(r)
	}

	switch {
	case r.panicked:
		panic(r.cause)
	case r.exited:
		runtime.Goexit()
	}
	err := r.err
	var at []engine.LSNScopeStatus
	if r.txn.e != nil {
		at = e.reached(r, scopes)
	}
	r.recycle()
	return at, err
}

// reached returns the position (LSN and mark) of each scope of r, an Update that has run. The LSN is the
// highest one of the scope that is durable. A position is zero if it cannot be read.
func (e *Engine) reached(r *runningUpdateTxn, scopes [][]byte) []engine.LSNScopeStatus {
	at := make([]engine.LSNScopeStatus, len(scopes))
	for i, key := range scopes {
		at[i], _ = e.position(r.scopes[r.txn.index(key)])
	}
	return at
}

// joins reports whether r can be run in one group with other transactions: it names a single scope (the keys
// with one prefix), and the goroutine that holds this scope may run r. r.scopes must contain each scope only
// once. Update and lsnScopeState.join must decide this in the same way.
func (r *runningUpdateTxn) joins() bool { return len(r.scopes) == 1 }

func (r *runningUpdateTxn) recycle() {
	r.txn.recycle()
	clear(r.scopes)
	clear(r.marks)
	*r = runningUpdateTxn{ready: r.ready, scopes: r.scopes[:0], marks: r.marks[:0], txn: r.txn}
	requests.Put(r)
}

// wait waits until r, which is queued at s, receives a signal, or until its ctx ends.
func (r *runningUpdateTxn) wait(s *lsnScopeState) updateWakeReason {
	select {
	case sig := <-r.ready:
		return sig
	case <-r.ctx.Done():
		if s.withdraw(r) {
			r.err = r.ctx.Err()
			return gaveUp
		}
		return <-r.ready
	}
}

// updateOne runs a transaction of one scope (a key prefix whose transactions run one after another). If the
// scope is free, the transaction runs in the caller's goroutine. Otherwise it is queued and usually runs in
// the goroutine of the request that holds the scope.
func (e *Engine) updateOne(r *runningUpdateTxn, s *lsnScopeState) {
	if !s.acquire(r) {
		switch r.wait(s) {
		case appointed:
			e.barrier(r, r)
			return
		case finished, gaveUp:
			return
		}
	}
	e.hold(r, s)
}

// hold runs r, which has acquired the scope s, and up to maxGroup-1 requests from the queue of s. Then it
// releases s and syncs the log once for all of them. The last two steps are deferred, so that they happen
// even if a transaction's function ends the goroutine.
func (e *Engine) hold(r *runningUpdateTxn, s *lsnScopeState) {
	last := r
	defer func() {
		m := s.mark()
		s.release()
		e.signalGroup(r, m)
	}()
	e.run(r)
	for range maxGroup - 1 {
		next := s.join()
		if next == nil {
			return
		}
		last.follower = next
		last = next
		e.run(next)
	}
}

// signalGroup ends a group of requests that were executed together, beginning with r, after their scope was
// released. It wakes the requests that need not wait for the disk, and makes the first of the others sync the
// log for all of these. m is the position of the scope that becomes durable by this sync.
func (e *Engine) signalGroup(r *runningUpdateTxn, m scopeCommitPosition) {
	var first, last *runningUpdateTxn
	for q := r; q != nil; {
		next := q.follower
		q.follower = nil
		switch {
		case !q.dirty:
			if q != r {
				q.ready <- finished
			}
		case first == nil:
			first, last = q, q
		default:
			last.follower = q
			last = q
		}
		q = next
	}
	if first == nil {
		return
	}
	first.marks = append(first.marks, m)
	if first == r {
		e.barrier(r, r)
	} else {
		first.ready <- appointed
	}
}

// updateMany runs a transaction of several scopes. It acquires them in byte order.
func (e *Engine) updateMany(r *runningUpdateTxn) {
	held := 0
	defer func() {
		for _, s := range r.scopes[:held] {
			r.marks = append(r.marks, s.mark())
			s.release()
		}
		if r.dirty {
			e.barrier(r, r)
		}
	}()
	for _, s := range r.scopes {
		if !s.acquire(r) && r.wait(s) != granted {
			return // ctx ended
		}
		held++
	}
	e.run(r)
}

// barrier syncs the log for first and the requests in its list of followers, stores the error of the sync
// in each of them, and wakes their goroutines. self is the request of the caller, which is not woken.
func (e *Engine) barrier(first, self *runningUpdateTxn) {
	err := e.sync()
	if err == nil {
		for _, m := range first.marks {
			m.settle()
		}
	}
	for q := first; q != nil; {
		next := q.follower
		q.follower = nil
		if err != nil {
			q.err = err
		}
		if q != self {
			q.ready <- finished
		}
		q = next
	}
}

// sync waits until all that has been applied is durable. Without a log it has nothing to do.
func (e *Engine) sync() error {
	if err := e.fence.err(); err != nil {
		return err
	}
	e.barriers.Add(1)
	if e.noLog {
		return nil
	}
	err := e.db.LogData(nil, pebble.Sync)
	if failed := e.fence.err(); failed != nil {
		return failed
	}
	if err != nil {
		e.fence.trip(err)
		return e.fence.err()
	}
	return nil
}

// run runs r's closure while its scopes are held, and applies what it wrote.
func (e *Engine) run(r *runningUpdateTxn) {
	if r.err = r.ctx.Err(); r.err != nil {
		return
	}
	if r.err = e.fence.err(); r.err != nil {
		return
	}
	done := false
	defer func() {
		if !done {
			if r.cause = recover(); r.cause != nil {
				r.panicked = true
				e.log.Error("a transaction panicked", "cause", r.cause, "stack", string(debug.Stack()))
			} else {
				r.exited = true // by runtime.Goexit, which continues after this function
			}
			if r.txn.committing {
				e.fence.trip(fmt.Errorf("the store panicked: %v", r.cause))
			}
			r.txn.rollback()
		}
		r.dirty = !r.txn.relaxed && slices.ContainsFunc(r.scopes, (*lsnScopeState).dirty)
	}()
	r.txn.begin(r.ctx, e, r.scopes)
	r.err = r.txn.end(r.fn(&r.txn))
	done = true
}
