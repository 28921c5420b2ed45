package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

const (
	// leaseTime is how long a lease lasts that is not renewed, by the clock of the database.
	leaseTime  = 10 * time.Second
	leaseRenew = 3 * time.Second
)

// errLease is returned by an Engine that has the database no longer.
var errLease = fmt.Errorf("%w: another server has taken over the database", engine.ErrFailed)

const (
	getLease = `INSERT INTO mayfly_lease(owner, until) VALUES ($1, now() + make_interval(secs => $2))
		ON CONFLICT (one) DO UPDATE SET owner = excluded.owner, until = excluded.until
		WHERE mayfly_lease.until < now()`
	renewLease = `UPDATE mayfly_lease SET until = now() + make_interval(secs => $2) WHERE owner = $1`
	endLease   = `DELETE FROM mayfly_lease WHERE owner = $1`
	// checkLease is a part of each transaction: who has been stopped for longer than a lease writes nothing
	// after.
	checkLease = `SELECT true FROM mayfly_lease WHERE owner = $1`
)

// lease is the right to write to a database alone. One goroutine renews it until the Engine is closed.
type lease struct {
	owner   []byte
	stop    context.CancelFunc
	stopped chan struct{}
}

// takeLease takes the lease. Where another Engine has it, that one may have been killed: takeLease waits for as long as
// a lease lasts, and fails with engine.ErrLocked then.
func (e *Engine) takeLease(ctx context.Context, patience time.Duration) error {
	l := &lease{owner: random(), stopped: make(chan struct{})}
	taken := false
	get := func(own context.Context) error {
		tag, err := e.writers.Exec(own, getLease, l.owner, leaseTime.Seconds())
		taken = tag.RowsAffected() == 1
		return err
	}
	err := under(ctx, openLimit, get)
	for waited := time.Duration(0); err == nil && !taken && waited < patience; waited += time.Second {
		pause(ctx, time.Second)
		err = under(ctx, openLimit, get)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return toEngine(err)
	case !taken:
		return fmt.Errorf(
			"%w: another server has the database; a lease that nobody renews ends after %v",
			engine.ErrLocked,
			leaseTime,
		)
	}
	var running context.Context
	running, l.stop = context.WithCancel(context.Background())
	e.lease = l
	go l.renew(running, e)
	return nil
}

// renew renews the lease until ctx ends. Where it cannot, the transactions find out who has the database.
func (l *lease) renew(ctx context.Context, e *Engine) {
	defer close(l.stopped)
	for {
		if pause(ctx, leaseRenew); ctx.Err() != nil {
			return
		}
		err := under(ctx, leaseRenew, func(own context.Context) error {
			_, err := e.writers.Exec(own, renewLease, l.owner, leaseTime.Seconds())
			return err
		})
		if err != nil && ctx.Err() == nil {
			e.log.Warn("the lease of the database could not be renewed", "error", err)
		}
	}
}

// end gives the lease back.
func (l *lease) end(e *Engine) {
	if l == nil {
		return
	}
	l.stop()
	<-l.stopped
	own, cancel := context.WithTimeout(context.Background(), connectLimit)
	defer cancel()
	if _, err := e.writers.Exec(own, endLease, l.owner); err != nil {
		e.log.Warn("the lease of the database could not be given back", "error", err)
	}
}
