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

// maxGroup is how many functions run in one transaction.
const maxGroup = 64

// request is one Update on its way.
type request struct {
	ctx    context.Context
	scopes [][]byte
	lanes  []*lane
	ahead  [][]byte
	fn     func(engine.Txn) error

	signal chan *txn     // nil: lead; a transaction: run in it
	ran    chan struct{} // the function has run in the leader's transaction
	over   chan struct{} // closed when the outcome is there

	// The outcome.
	err      error
	at       []engine.Position
	started  bool // fn has run, or runs
	wrote    bool
	panicked bool
	cause    any // of the panic
	exited   bool
}

// joins reports whether the leader of a scope may run r in its transaction.
func (r *request) joins() bool { return len(r.lanes) == 1 }

// Update implements engine.Engine.
func (e *Engine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.Position, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	if len(scopes) == 0 {
		return nil, fmt.Errorf("%w: an Update must name one", engine.ErrScope)
	}
	r := &request{ctx: ctx, scopes: scopes, ahead: ahead, fn: fn, signal: make(chan *txn, 1),
		ran: make(chan struct{}, 1), over: make(chan struct{})}
	r.lanes = e.lanes.take(scopes)
	defer e.lanes.leave(r.lanes)
	e.carry(r)
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

// carry sees to it that a request is run, by its own goroutine as the leader or in another one's transaction.
func (e *Engine) carry(r *request) {
	held := 0
	defer func() {
		for _, l := range r.lanes[:held] {
			l.release()
		}
	}()
	for _, l := range r.lanes {
		if !l.acquire(r) && !r.wait(l) {
			return
		}
		held++
	}
	g := &group{e: e, lead: r, members: []*request{r}}
	defer g.finish() // also where the function ends the goroutine
	g.drive()
}

// wait waits at a lane. It reports whether r is the leader there; otherwise it has been run, or has given up.
func (r *request) wait(l *lane) bool {
	select {
	case t := <-r.signal:
		return r.follow(t)
	case <-r.ctx.Done():
		if l.withdraw(r) {
			r.err = r.ctx.Err()
			return false
		}
		return r.follow(<-r.signal)
	}
}

// follow does what the leader says until the outcome is there. nil makes r the leader.
func (r *request) follow(t *txn) bool {
	if t == nil {
		return true
	}
	for {
		r.run(t)
		select {
		case t = <-r.signal:
		case <-r.over:
			return false
		}
	}
}

// run runs the function in a transaction, on the goroutine of its own caller.
func (r *request) run(t *txn) {
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
			r.exited = true // by runtime.Goexit, which goes on after this
			return
		}
		r.panicked = true
		t.a.e.log.Error("a transaction panicked", "cause", r.cause, "stack", string(debug.Stack()))
	}()
	r.err = r.fn(t)
	done = true
}

// ended reports whether r must not run again.
func (r *request) ended() bool { return r.panicked || r.exited }

// group is a leader and those who run in its transaction.
type group struct {
	e       *Engine
	lead    *request
	members []*request // the leader first
	next    int        // the member whose turn it is
	a       *attempt   // nil between two transactions
	tries   int
	since   context.Context // ends when a lost database has been tried for long enough; nil: it is not lost
	stop    context.CancelFunc
	told    bool
}

// drive runs transactions until one of them is over. It can be called again where it was left by the end of
// the leader's goroutine, and goes on behind the leader's function.
func (g *group) drive() {
	for !g.told {
		if g.a == nil && !g.begin() {
			continue
		}
		g.runAll()
		g.settle()
	}
}

// finish drives on where the leader's function has ended the goroutine.
func (g *group) finish() {
	if !g.told {
		g.drive()
	}
	if g.stop != nil {
		g.stop()
	}
}

// begin begins a transaction. Where it cannot and will not be tried again, all are told.
func (g *group) begin() bool {
	ahead := slices.Clone(g.lead.ahead)
	if g.lead.joins() {
		for _, r := range g.lead.lanes[0].waiting(maxGroup - len(g.members)) {
			ahead = append(ahead, r.ahead...)
		}
	}
	for _, r := range g.members[1:] {
		ahead = append(ahead, r.ahead...)
	}
	a, err := g.e.attempt(g.lead, len(g.members) == 1, ahead)
	if err != nil {
		g.again(err)
		return false
	}
	g.a, g.next = a, 0
	return true
}

// runAll has each member run its function, and those who have queued up meanwhile.
func (g *group) runAll() {
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
		joined := g.lead.lanes[0].join(maxGroup - len(g.members))
		if len(joined) == 0 {
			return
		}
		var ahead [][]byte
		for _, r := range joined {
			ahead = append(ahead, r.ahead...)
		}
		g.members = append(g.members, joined...)
		if len(ahead) > 0 {
			_ = g.a.s.find(ahead) // whoever reads them meets the error
		}
	}
}

// runOne runs one function, and undoes what it wrote where it fails.
func (g *group) runOne(r *request) {
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

// settle commits what the members wrote, and tells them.
func (g *group) settle() {
	a := g.a
	g.a = nil
	err := a.s.failed
	if err == nil {
		err = a.commit()
	} else {
		a.abandon()
	}
	if err != nil {
		g.again(err)
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
	g.tell()
}

// again decides whether a transaction that failed is run once more; otherwise all are told why not.
func (g *group) again(err error) {
	var give error
	switch {
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
	g.tell()
}

// tell tells the members that their outcome is there.
func (g *group) tell() {
	g.told = true
	for _, r := range g.members[1:] {
		close(r.over)
	}
}
