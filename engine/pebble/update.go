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

// maxGroup bounds how many closures a holder runs before it sees to its own caller.
const maxGroup = 128

// request is one Update on its way.
type request struct {
	ctx    context.Context
	scopes []*scope // in byte order, each once
	fn     func(engine.Txn) error
	txn    txn
	marks  []mark // how far its scopes had come when they were given away

	// In a scope's queue, guarded by the scope's mutex.
	queued     bool
	prev, next *request
	ready      chan signal // one message at most is under way

	// In a group. The first member that waits for the disk carries the others.
	follower *request

	// The outcome.
	err      error
	dirty    bool // it read or wrote what may not be durable
	panicked bool
	cause    any // of the panic
	exited   bool
}

// signal is what a waiting request is told.
type signal int

const (
	granted  signal = iota // the scope is yours
	finished               // your outcome is there
	// your outcome is there once you have run the barrier for yourself and your followers
	appoint
	gaveUp // ctx was done first
)

var requests = sync.Pool{New: func() any { return &request{ready: make(chan signal, 1)} }}

// Update implements engine.Engine. See the package's introduction for the order of things.
func (e *Engine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	_ ...[]byte) ([]engine.Position, error) {
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
	defer e.compactions.nudge()

	r := requests.Get().(*request)
	r.ctx, r.fn = ctx, fn
	for _, key := range scopes {
		r.scopes = append(r.scopes, e.scopes.get(key))
	}
	if len(r.scopes) > 1 {
		slices.SortFunc(r.scopes, func(a, b *scope) int { return bytes.Compare(a.key, b.key) })
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
	var at []engine.Position
	if r.txn.e != nil {
		at = e.reached(r, scopes)
	}
	r.recycle()
	return at, err
}

// reached is how far the scopes of a request have come that has run. Where a horizon cannot be read it is 0:
// nothing is known to be durable.
func (e *Engine) reached(r *request, scopes [][]byte) []engine.Position {
	at := make([]engine.Position, len(scopes))
	for i, key := range scopes {
		at[i], _ = e.position(r.scopes[r.txn.index(key)])
	}
	return at
}

// joins reports whether a scope's holder may run r in its group. Both sides go by it: join, and Update, since
// only updateOne knows how to be told that its closure has been run. It holds once each scope is in r.scopes
// only once.
func (r *request) joins() bool { return len(r.scopes) == 1 }

func (r *request) recycle() {
	r.txn.recycle()
	clear(r.scopes)
	clear(r.marks)
	*r = request{ready: r.ready, scopes: r.scopes[:0], marks: r.marks[:0], txn: r.txn}
	requests.Put(r)
}

// wait waits until r, which is queued at s, is told something, or gives up with its ctx.
func (r *request) wait(s *scope) signal {
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

// updateOne runs a transaction of one scope, in its own hands or in those of the scope's holder.
func (e *Engine) updateOne(r *request, s *scope) {
	if !s.acquire(r) {
		switch r.wait(s) {
		case appoint:
			e.barrier(r, r)
			return
		case finished, gaveUp:
			return
		}
	}
	e.hold(r, s)
}

// hold runs r and whoever has queued up behind it, gives the scope away, and sees to it that the group
// becomes durable. That happens on the way out, so that a closure that ends the goroutine leaves nothing
// behind that is held.
func (e *Engine) hold(r *request, s *scope) {
	last := r
	defer func() {
		m := s.mark()
		s.release()
		e.disperse(r, m)
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

// disperse tells those of r's group who need not wait for the disk, and has one of the others wait for all.
func (e *Engine) disperse(r *request, m mark) {
	var first, last *request
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
		first.ready <- appoint
	}
}

// updateMany runs a transaction of several scopes, which it takes in byte order.
func (e *Engine) updateMany(r *request) {
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
			return // it gave up
		}
		held++
	}
	e.run(r)
}

// barrier makes durable all that is applied so far, for first and its followers, and tells them. self, which
// calls it, need not be told.
func (e *Engine) barrier(first, self *request) {
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

// sync waits until all that has been applied is durable.
func (e *Engine) sync() error {
	if err := e.fence.err(); err != nil {
		return err
	}
	e.barriers.Add(1)
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
func (e *Engine) run(r *request) {
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
				r.exited = true // by runtime.Goexit, which goes on after this
			}
			if r.txn.committing {
				e.fence.trip(fmt.Errorf("the store panicked: %v", r.cause))
			}
			r.txn.rollback()
		}
		r.dirty = !r.txn.relaxed && slices.ContainsFunc(r.scopes, (*scope).dirty)
	}()
	r.txn.begin(r.ctx, e, r.scopes)
	r.err = r.txn.end(r.fn(&r.txn))
	done = true
}
