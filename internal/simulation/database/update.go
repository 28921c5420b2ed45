package database

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

// pendingUpdate is a call of Update that has not returned yet.
type pendingUpdate struct {
	ctx   context.Context
	given [][]byte // scopes as the caller named them
	ahead [][]byte
	fn    func(engine.Txn) error

	lead chan struct{} // receives when the request is the first in a queue; capacity 1
	done chan struct{} // closed when another request has run this one

	// err and the following fields are the outcome of the call: err is what Update returns, nil after a
	// commit.
	err      error
	at       []engine.LSNScopeStatus
	started  bool
	wrote    bool
	panicked bool
	cause    any // value of the panic
}

// lsnScopeUpdateQueue is the queue of one server's Updates of a scope.
type lsnScopeUpdateQueue struct {
	scope   []byte
	users   int
	held    bool
	waiting []*pendingUpdate
}

// Update runs fn as one transaction in scopes: see engine.Engine. A panic of fn reaches the caller of
// Update. fn must not end its goroutine.
func (e *Engine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	if err := e.calls.Begin(); err != nil {
		return nil, err
	}
	defer e.calls.End()
	if len(scopes) == 0 {
		return nil, fmt.Errorf("%w: an Update must name one", engine.ErrScope)
	}
	sorted := slices.Clone(scopes)
	slices.SortFunc(sorted, bytes.Compare)
	sorted = slices.CompactFunc(sorted, bytes.Equal)
	r := &pendingUpdate{ctx: ctx, given: scopes, ahead: ahead, fn: fn, lead: make(chan struct{}, 1),
		done: make(chan struct{})}
	e.lead(r, sorted)
	switch {
	case r.panicked:
		panic(r.cause)
	case !r.started:
		return nil, r.err
	}
	return r.at, r.err
}

// lead waits until r is first in the queues of all its scopes, and then runs it in a group with later
// requests. It returns earlier if the group of another request has run r.
func (e *Engine) lead(r *pendingUpdate, sorted [][]byte) {
	var held []*lsnScopeUpdateQueue
	defer func() {
		for _, q := range held {
			e.release(q)
		}
	}()
	for _, scope := range sorted {
		q, free := e.acquire(r, scope)
		if !free && !e.waitFor(r, q) {
			return
		}
		held = append(held, q)
	}
	var joinable *lsnScopeUpdateQueue
	if len(held) == 1 {
		joinable = held[0]
	}
	e.runGroup(r, sorted, joinable)
}

func (e *Engine) acquire(r *pendingUpdate, scope []byte) (q *lsnScopeUpdateQueue, free bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q = e.queues[string(scope)]
	if q == nil {
		q = &lsnScopeUpdateQueue{scope: scope}
		e.queues[string(scope)] = q
	}
	q.users++
	if q.held {
		q.waiting = append(q.waiting, r)
		return q, false
	}
	q.held = true
	return q, true
}

// waitFor waits in a queue until r is the first in it, and then returns true. It returns false if another
// request has run r, or if the context of r has ended.
func (e *Engine) waitFor(r *pendingUpdate, q *lsnScopeUpdateQueue) bool {
	select {
	case <-r.lead:
		return true
	case <-r.done:
		e.forget(q)
		return false
	case <-r.ctx.Done():
	}
	e.mu.Lock()
	n := slices.Index(q.waiting, r)
	if n >= 0 {
		q.waiting = slices.Delete(q.waiting, n, n+1)
	}
	e.mu.Unlock()
	if n >= 0 {
		r.err = r.ctx.Err()
		e.forget(q)
		return false
	}
	select {
	case <-r.lead:
		return true
	case <-r.done:
		e.forget(q)
		return false
	}
}

// forget is called when a request does not use a lsnScopeUpdateQueue any more. It removes the queue if no
// other request uses it.
func (e *Engine) forget(q *lsnScopeUpdateQueue) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(e.queues, string(q.scope))
	}
}

// release lets the next request in a queue continue.
func (e *Engine) release(q *lsnScopeUpdateQueue) {
	e.mu.Lock()
	if q.held = len(q.waiting) > 0; q.held {
		q.waiting[0].lead <- struct{}{}
		q.waiting = slices.Delete(q.waiting, 0, 1)
	}
	e.mu.Unlock()
	e.forget(q)
}

// join removes up to most requests from the head of a queue and returns them. It stops at the first request
// that names more than this scope.
func (e *Engine) join(q *lsnScopeUpdateQueue, most int) (list []*pendingUpdate) {
	if q == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(q.waiting) > 0 && len(list) < most {
		r := q.waiting[0]
		other := slices.ContainsFunc(r.given, func(s []byte) bool { return !bytes.Equal(s, q.scope) })
		if other {
			break
		}
		list = append(list, r)
		q.waiting = slices.Delete(q.waiting, 0, 1)
	}
	return list
}

// runGroup runs the request lead, and requests of the queue q that join its transaction, until they have an
// outcome. It runs the transaction again if the response to its commit is lost, for at most outageLimit.
func (e *Engine) runGroup(lead *pendingUpdate, scopes [][]byte, q *lsnScopeUpdateQueue) {
	members := []*pendingUpdate{lead}
	began := e.d.clock.Now()
	for try := 0; ; try++ {
		ctx := lead.ctx
		if try > 0 && lead.started {
			ctx = context.Background()
		}
		var err error
		members, err = e.try(ctx, members, scopes, q, try == 0)
		if errors.Is(err, errLost) && !e.killed() && e.d.clock.Now().Sub(began) < outageLimit {
			pause(context.Background(), e.d.clock, min(time.Millisecond<<min(try, 10), 500*time.Millisecond))
			continue
		}
		if errors.Is(err, errLost) {
			err = fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
		}
		for _, r := range members {
			if err != nil && !r.panicked {
				r.err, r.at, r.started = err, nil, false
			}
			if r != lead {
				close(r.done)
			}
		}
		return
	}
}

// try runs the functions of several requests (members) in one transaction. If first is set, further requests
// of the queue may join them. It returns all requests that have taken part.
func (e *Engine) try(ctx context.Context, members []*pendingUpdate, scopes [][]byte, q *lsnScopeUpdateQueue,
	first bool) ([]*pendingUpdate, error) {
	if err := ctx.Err(); err != nil {
		return members, err
	}
	var ahead [][]byte
	for _, r := range members {
		ahead = append(ahead, r.ahead...)
	}
	a, err := e.begin(ctx, scopes, ahead)
	if err != nil {
		return members, err
	}
	for n := 0; n < len(members) && a.lost == nil; n++ {
		members[n].run(a)
		if first && n == len(members)-1 {
			joined := e.join(q, maxGroup-len(members))
			for _, r := range joined {
				for _, key := range r.ahead {
					a.fetched[string(key)] = true
				}
			}
			members = append(members, joined...)
		}
	}
	if a.lost != nil {
		a.drop()
		return members, errLost
	}
	if err := a.commit(); err != nil {
		return members, err
	}
	for _, r := range members {
		if r.started {
			r.at = a.positions(r.given)
		}
		if r.wrote {
			e.mu.Lock()
			e.commits++
			e.mu.Unlock()
		}
	}
	return members, nil
}

// run runs the function of a request in a transaction.
func (r *pendingUpdate) run(a *groupCommitTxn) {
	if r.panicked {
		return
	}
	if !r.started {
		if r.err = r.ctx.Err(); r.err != nil {
			return
		}
	}
	r.started, r.wrote = true, false
	t := a.txn(r.ctx)
	returned := false
	defer func() {
		if !returned {
			r.panicked, r.cause = true, recover()
			t.end(false)
		}
	}()
	r.err = r.fn(t)
	if returned = true; r.err == nil {
		r.err = t.err
	}
	r.wrote = t.end(r.err == nil)
}

// commit commits the writes of all functions that have run in the transaction.
func (a *groupCommitTxn) commit() error {
	if len(a.writes) == 0 {
		a.s.abort()
		return nil
	}
	e, d := a.e, a.e.d
	if d.chance(e.draws("late commit", a.s.scopes),
		func(n NetworkConditions) float64 { return n.LateCommit }) {
		return a.commitLate()
	}
	err := e.exchange(NetworkExchange{Operation: ExchangeCommit, Keys: a.s.scopes}, commitLimit,
		func(<-chan struct{}) error { return a.s.commit(a.writes, a.issued()) })
	if errors.Is(err, errLost) {
		return a.resolve()
	}
	e.mu.Lock()
	e.groups++
	e.mu.Unlock()
	return err
}

// commitLate breaks the connection after the commit was sent. The database executes the commit later.
func (a *groupCommitTxn) commitLate() error {
	d := a.e.d
	d.count(func(s *Stats) { s.Lost++ })
	if a.s.enter() != nil {
		return errLost
	}
	d.late.Go(func() {
		pause(context.Background(), d.clock, lateBy)
		if d.arrive() != nil || a.s.commit(a.writes, a.issued()) != nil {
			a.s.abort()
		}
	})
	return a.resolve()
}

// resolve determines the outcome of a commit whose response was lost. It returns errLost if the transaction
// was rolled back.
func (a *groupCommitTxn) resolve() error {
	e, d := a.e, a.e.d
	began := d.clock.Now()
	if !e.killed() {
		a.drop() // the database notices that the connection is broken, unless the commit runs before
	}
	for try := 0; ; try++ {
		state := open
		x := NetworkExchange{Operation: ExchangeOutcome, Keys: a.s.scopes}
		err := e.exchange(x, beginLimit, func(giveUp <-chan struct{}) error {
			if !d.o.Defects.StampWithCommit {
				select {
				case <-a.s.ended:
				case <-giveUp:
					return errLost
				}
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			state = a.s.state
			return nil
		})
		switch {
		case err == nil && state == committed:
			return nil
		case err == nil:
			return errLost
		case e.killed() || d.clock.Now().Sub(began) >= outageLimit:
			d.count(func(s *Stats) { s.Unknown++ })
			return engine.ErrUnknownOutcome
		}
		pause(context.Background(), d.clock, min(time.Millisecond<<min(try, 10), 500*time.Millisecond))
	}
}
