package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

const (
	// leaseTime is how long a lease is valid after its last renewal, by the clock of the database.
	leaseTime  = 10 * time.Second
	leaseRenew = 3 * time.Second
)

// errLease is returned by an Engine that has lost its lease of the database.
var errLease = fmt.Errorf("%w: another server has taken over the database", engine.ErrFailed)

const (
	getLease = `INSERT INTO mayfly_lease(owner, until) VALUES ($1, now() + make_interval(secs => $2))
		ON CONFLICT (one) DO UPDATE SET owner = excluded.owner, until = excluded.until
		WHERE mayfly_lease.until < now()`
	renewLease = `UPDATE mayfly_lease SET until = now() + make_interval(secs => $2) WHERE owner = $1`
	endLease   = `DELETE FROM mayfly_lease WHERE owner = $1`
	// checkLease is part of each transaction, so an Engine that was stopped for longer than its lease writes
	// nothing afterwards.
	checkLease = `SELECT true FROM mayfly_lease WHERE owner = $1`
)

// lease is the exclusive right to write to a database. One goroutine renews it until the Engine is closed.
type lease struct {
	owner   []byte
	stop    context.CancelFunc
	stopped chan struct{}
}

// takeLease takes the lease. If another Engine has it, that one may have been killed: takeLease waits as long
// as a lease is valid, and then fails with engine.ErrLocked.
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

// renew renews the lease until ctx ends. If a renewal fails, the checks in the transactions find out whether
// the lease is still held.
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

// end stops the renewal and deletes the lease.
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
