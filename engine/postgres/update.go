package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/mayflydb/mayfly/engine"
)

// maxGroup is the maximum number of Updates whose functions run in one database transaction.
const maxGroup = 64

// runningEngineUpdate is the state of one running Update.
type runningEngineUpdate struct {
	ctx    context.Context
	scopes [][]byte
	queues []*scopeUpdateQueue
	ahead  [][]byte
	fn     func(engine.Txn) error

	signal chan *txn     // nil: become the leader; otherwise run in this transaction
	ran    chan struct{} // receives when the function has run in the leader's transaction
	done   chan struct{} // closed when the outcome is set

	// err and at are the outcome of the Update: its error, and the positions of its scopes after it.
	err      error
	at       []engine.LSNScopeStatus
	started  bool // fn has run or is running
	wrote    bool
	panicked bool
	cause    any // value of the panic
	exited   bool
}

// joins reports whether r names only one scope (key range that it locks). Such a request may run in the
// database transaction of another request that holds this scope.
func (r *runningEngineUpdate) joins() bool { return len(r.queues) == 1 }

// Update runs fn as one transaction in scopes: see engine.Engine.
func (e *Engine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	if err := e.calls.Begin(); err != nil {
		return nil, err
	}
	defer e.calls.End()
	if len(scopes) == 0 {
		return nil, fmt.Errorf("%w: an Update must name one", engine.ErrScope)
	}
	r := &runningEngineUpdate{ctx: ctx, scopes: scopes, ahead: ahead, fn: fn, signal: make(chan *txn, 1),
		ran: make(chan struct{}, 1), done: make(chan struct{})}
	r.queues = e.queues.take(scopes)
	defer e.queues.leave(r.queues)
	e.runRequest(r)
	switch {
	case r.panicked:
		panic(r.cause)
	case r.exited:
		runtime.Goexit()
	}
	if !r.started {
		return nil, r.err
	}
	return r.at, r.err
}

// runRequest runs a request, either as the leader, which holds the scopes, or in the transaction of another
// leader.
func (e *Engine) runRequest(r *runningEngineUpdate) {
	held := 0
	defer func() {
		for _, l := range r.queues[:held] {
			l.release()
		}
	}()
	for _, l := range r.queues {
		if !l.acquire(r) && !r.wait(l) {
			return
		}
		held++
	}
	g := &groupCommit{e: e, lead: r, members: []*runningEngineUpdate{r}}
	defer g.finish() // also if the function ends the goroutine
	g.runUntilDone()
}

// wait waits in the queue of a scope (the keys with one prefix) until the leader, the request that holds the
// scope, has run r in its own transaction, or until r becomes the leader itself. It returns true if r is now
// the leader, and false if r has been run or its ctx has ended.
func (r *runningEngineUpdate) wait(l *scopeUpdateQueue) bool {
	select {
	case t := <-r.signal:
		return r.follow(t)
	case <-r.done: // r has joined a group that failed before it ran r
		return false
	case <-r.ctx.Done():
	}
	if l.withdraw(r) {
		r.err = r.ctx.Err()
		return false
	}
	select {
	case t := <-r.signal:
		return r.follow(t)
	case <-r.done:
		return false
	}
}

// follow runs r's function in the database transactions of the leader, the request that holds the scope, once
// in each transaction, until r's outcome is final, and returns false. t is the first transaction. If t is
// nil, r has become the leader itself: follow runs nothing and returns true.
func (r *runningEngineUpdate) follow(t *txn) bool {
	if t == nil {
		return true
	}
	for {
		r.run(t)
		select {
		case t = <-r.signal:
		case <-r.done:
			return false
		}
	}
}

// run runs the function of the Update r in the transaction t. It is called on the goroutine that has called
// Update.
func (r *runningEngineUpdate) run(t *txn) {
	defer func() { r.ran <- struct{}{} }()
	if !r.started {
		if r.err = r.ctx.Err(); r.err != nil {
			return
		}
	}
	r.started = true
	done := false
	defer func() {
		if done {
			return
		}
		if r.cause = recover(); r.cause == nil {
			r.exited = true // by runtime.Goexit, which continues after this function
			return
		}
		r.panicked = true
		t.a.e.log.Error("a transaction panicked", "cause", r.cause, "stack", string(debug.Stack()))
	}()
	r.err = r.fn(t)
	done = true
}

// ended reports whether the function of r has panicked or ended its goroutine, so that it must not run
// again.
func (r *runningEngineUpdate) ended() bool { return r.panicked || r.exited }

// groupCommit is an Update that holds a scope, the leader, together with the Updates that run in its database
// transaction.
type groupCommit struct {
	e         *Engine
	lead      *runningEngineUpdate
	members   []*runningEngineUpdate // the leader first
	next      int                    // index of the next member to run
	a         *txnAttempt            // nil between two transactions
	tries     int
	upsert    bool            // SetFresh is the same as Set: see errStored
	since     context.Context // ends after outageLimit of retries; nil: the database is available
	stop      context.CancelFunc
	announced bool
}

// runUntilDone runs database transactions until one is committed or the group of Updates fails. If the
// function of the leader, the first Update, ends its goroutine, finish calls runUntilDone again, which
// continues after that function.
func (g *groupCommit) runUntilDone() {
	for !g.announced {
		if g.a == nil && !g.begin() {
			continue
		}
		g.runAll()
		g.settle()
	}
}

// finish is deferred by the leader, the Update that runs all Updates of the group in its transaction. If the
// leader's function has ended its goroutine (runtime.Goexit), finish runs the rest of the group, so that the
// other members get a result.
func (g *groupCommit) finish() {
	if !g.announced {
		g.runUntilDone()
	}
	if g.stop != nil {
		g.stop()
	}
}

// begin begins the database transaction of the group. If that fails and is not retried, all Updates of the
// group get the error. It returns false if no transaction has begun.
func (g *groupCommit) begin() bool {
	ahead := slices.Clone(g.lead.ahead)
	if g.lead.joins() {
		for _, r := range g.lead.queues[0].waiting(maxGroup - len(g.members)) {
			ahead = append(ahead, r.ahead...)
		}
	}
	for _, r := range g.members[1:] {
		ahead = append(ahead, r.ahead...)
	}
	a, err := g.e.attempt(g.lead, len(g.members) == 1, ahead)
	if err != nil {
		g.retryOrFail(err)
		return false
	}
	a.upsert = g.upsert
	g.a, g.next = a, 0
	return true
}

// runAll runs the function of each member, including members that join while it runs.
func (g *groupCommit) runAll() {
	for {
		for g.next < len(g.members) && g.a.s.failed == nil {
			r := g.members[g.next]
			g.next++
			if r.ended() {
				continue
			}
			g.runOne(r)
		}
		if g.a.s.failed != nil || !g.lead.joins() || g.tries > 0 {
			return
		}
		joined := g.lead.queues[0].join(maxGroup - len(g.members))
		if len(joined) == 0 {
			return
		}
		var ahead [][]byte
		for _, r := range joined {
			ahead = append(ahead, r.ahead...)
		}
		g.members = append(g.members, joined...)
		if len(ahead) > 0 {
			_ = g.a.s.find(ahead) // an error is returned by the read of the key
		}
	}
}

// runOne runs the function of one Update of the group, whose Updates share a database transaction. If the
// function fails, runOne undoes its writes only.
func (g *groupCommit) runOne(r *runningEngineUpdate) {
	t := newTxn(g.a, r.ctx)
	ok := false
	defer func() { r.wrote = t.end(r, ok) }()
	if r == g.lead {
		r.run(t)
		<-r.ran
	} else {
		r.signal <- t
		<-r.ran
	}
	ok = true
}

// settle commits the database transaction with the writes of all members, and gives each member its outcome.
func (g *groupCommit) settle() {
	a := g.a
	g.a = nil
	err := a.s.failed
	if err == nil {
		err = a.commit()
	} else {
		a.abandon()
	}
	if err != nil {
		g.retryOrFail(err)
		return
	}
	for _, r := range g.members {
		if r.started {
			r.at = a.positions(r.scopes)
		}
		if r.wrote {
			g.e.commits.Add(1)
		}
	}
	g.announce()
}

// retryOrFail decides whether a failed transaction is run once more. If not, all Updates of the group get
// the error.
func (g *groupCommit) retryOrFail(err error) {
	var give error
	switch {
	case errors.Is(err, errStored):
		g.tries++
		g.upsert = true
		return
	case errors.Is(err, errCollision):
		if g.tries++; g.tries <= reruns {
			pause(context.Background(), backoff(g.tries))
			return
		}
		give = fmt.Errorf("%w: it collided with others %d times", engine.ErrUnavailable, reruns)
	case errors.Is(err, engine.ErrUnavailable):
		if g.since == nil {
			g.since, g.stop = context.WithTimeout(context.Background(), outageLimit)
		}
		g.tries++
		if g.since.Err() == nil && g.lead.ctx.Err() == nil {
			pause(g.since, backoff(g.tries))
			return
		}
		give = err
	default:
		give = err
	}
	for _, r := range g.members {
		if !r.ended() {
			r.err, r.at, r.started = give, nil, false
		}
	}
	g.announce()
}

// announce wakes the goroutines of the group's members, whose results are set: it closes their channels.
func (g *groupCommit) announce() {
	g.announced = true
	for _, r := range g.members[1:] {
		close(r.done)
	}
}
