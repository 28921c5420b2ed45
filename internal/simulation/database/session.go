package database

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// txnState is the state of a transaction at the database.
type txnState int

const (
	open txnState = iota
	aborted
	committed
)

// databaseSideTransaction is one transaction at the database.
type databaseSideTransaction struct {
	d      *Database
	n      uint64 // sessions are numbered in the order of their beginnings
	server string
	scopes [][]byte // in byte order, each once

	// state says whether the transaction is open, aborted or committed. It and the following fields are
	// guarded by the database's mutex.
	state  txnState
	busy   bool // a statement is running: the transaction is not idle
	held   []*scopeLock
	ended  chan struct{} // closed when the transaction ends
	disarm func()        // stops the timer of idleLimit
}

// scopeLock is the exclusive lock that a transaction takes on a scope, with the sessions that wait for it.
type scopeLock struct {
	scope   string
	owner   *databaseSideTransaction
	waiting []*lockWaiter
}

// lockWaiter is an entry in the queue of a lock: a session that waits for it.
type lockWaiter struct {
	s       *databaseSideTransaction
	granted chan struct{}
}

// compare orders transactions by the time at which they began.
func (s *databaseSideTransaction) compare(other *databaseSideTransaction) int {
	return cmp.Compare(s.n, other.n)
}

// start begins a transaction.
func (d *Database) start(server string, scopes [][]byte) *databaseSideTransaction {
	s := &databaseSideTransaction{d: d, server: server, scopes: scopes, ended: make(chan struct{}),
		busy: true}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.started++
	s.n = d.started
	d.sessions[s] = true
	return s
}

// lockAll takes the locks of the transaction's scopes, in their order. It fails with errLost if the
// transaction ends meanwhile, and with the error of ctx if ctx does.
func (s *databaseSideTransaction) lockAll(ctx context.Context, giveUp <-chan struct{}) error {
	if s.d.o.Defects.NoScopeLocks {
		return nil
	}
	for _, scope := range s.scopes {
		w := s.ask(string(scope))
		if w == nil {
			continue
		}
		select {
		case <-w.granted:
		case <-s.ended:
		case <-giveUp:
		case <-ctx.Done():
		}
		switch { // in this order, if several have happened
		case isClosed(w.granted):
		case isClosed(s.ended), isClosed(giveUp):
			return errLost
		default:
			return ctx.Err()
		}
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ask requests the lock of a scope. If the lock is free, it takes it and returns nil. Otherwise it returns
// the new entry in the queue of those that wait for the lock.
func (s *databaseSideTransaction) ask(scope string) *lockWaiter {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	w := &lockWaiter{s: s, granted: make(chan struct{})}
	if s.state != open {
		return w // the transaction has ended, so ended is closed
	}
	l := d.locks[scope]
	if l == nil {
		l = &scopeLock{scope: scope}
		d.locks[scope] = l
	}
	if l.owner == nil {
		l.owner = s
		s.held = append(s.held, l)
		return nil
	}
	l.waiting = append(l.waiting, w)
	return w
}

// endLocked ends the transaction and gives its locks to the next sessions in their queues. The caller holds
// the database's mutex.
func (s *databaseSideTransaction) endLocked(as txnState) {
	if s.state != open {
		return
	}
	s.state = as
	close(s.ended)
	if s.disarm != nil {
		s.disarm()
	}
	delete(s.d.sessions, s)
	for _, l := range s.held {
		s.d.passOn(l)
	}
	for _, l := range s.d.locksWaitedFor(s) {
		l.waiting = slices.DeleteFunc(l.waiting, func(w *lockWaiter) bool { return w.s == s })
	}
	s.held = nil
}

// locksWaitedFor returns the locks that a session waits for. The caller holds mu.
func (d *Database) locksWaitedFor(s *databaseSideTransaction) (list []*scopeLock) {
	for _, scope := range s.scopes {
		if l := d.locks[string(scope)]; l != nil && l.owner != s {
			list = append(list, l)
		}
	}
	return list
}

// passOn gives a lock to the first session that waits for it. The caller holds mu.
func (d *Database) passOn(l *scopeLock) {
	l.owner = nil
	for len(l.waiting) > 0 {
		w := l.waiting[0]
		l.waiting = l.waiting[1:]
		if w.s.state != open {
			continue
		}
		l.owner = w.s
		w.s.held = append(w.s.held, l)
		close(w.granted)
		return
	}
	delete(d.locks, l.scope)
}

// abort rolls the transaction back.
func (s *databaseSideTransaction) abort() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.endLocked(aborted)
}

// enter begins a statement of the transaction. It returns errLost if the transaction has ended.
func (s *databaseSideTransaction) enter() error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.state != open {
		return errLost
	}
	s.busy = true
	if s.disarm != nil {
		s.disarm()
		s.disarm = nil
	}
	return nil
}

// rest ends a statement. If the server sends no other one within idleLimit, the database ends the
// transaction.
func (s *databaseSideTransaction) rest() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.busy = false
	if s.state == open && s.d.timed() {
		s.disarm = ttl.AfterFunc(s.d.clock, idleLimit, s.idle)
	}
}

func (s *databaseSideTransaction) idle() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if !s.busy {
		s.endLocked(aborted)
	}
}

// timed reports whether the requests and responses between servers and the simulated database take time. If
// they do not, there are no time limits either.
func (d *Database) timed() bool { return d.o.Network.MaxDelay > 0 }

// commit makes the writes of the transaction durable and visible.
func (s *databaseSideTransaction) commit(writes []txnWrite, issued []LSNRange) error {
	d := s.d
	if err := s.enter(); err != nil {
		return err
	}
	writes, err := s.settleRanges(writes)
	if err != nil {
		return err
	}
	d.work(d.o.Load.Trip + d.o.Load.Row*time.Duration(len(writes)))
	pause(context.Background(), d.clock, d.o.Load.Commit)
	if d.o.Defects.TornCommits && len(writes) > 1 {
		d.mu.Lock()
		if s.state == open {
			d.applyLocked(writes[:len(writes)/2])
		}
		d.mu.Unlock()
		pause(context.Background(), d.clock, d.between(0, d.o.Network.MaxDelay))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.state != open {
		return errLost
	}
	d.applyLocked(writes)
	s.endLocked(committed)
	d.stats.Commits++
	d.stats.Rows += uint64(len(writes))
	if d.o.Committed != nil {
		d.o.Committed(CommitRecord{Server: s.server, At: d.clock.Now(), LSNs: issued})
	}
	d.reportLocked(s.scopes)
	return nil
}

// applyLocked applies writes to the data. The caller holds mu.
func (d *Database) applyLocked(writes []txnWrite) {
	if d.o.Defects.LoseOnFail > 0 {
		now := d.clock.Now()
		d.recent = append(d.recent, dataSnapshot{now, d.rows.Copy()})
		for len(d.recent) > 1 && d.recent[1].at.Before(now.Add(-d.o.Defects.LoseOnFail)) {
			d.recent = d.recent[1:]
		}
	}
	for _, w := range writes {
		w.apply(d.rows)
	}
	d.version++
}

// settleRanges replaces the deletions of ranges by deletions of the keys that exist now, and then waits for
// the transactions that have locked one of these keys.
func (s *databaseSideTransaction) settleRanges(writes []txnWrite) ([]txnWrite, error) {
	if !slices.ContainsFunc(writes, func(w txnWrite) bool { return w.within != nil }) {
		return writes, nil
	}
	d := s.d
	d.mu.Lock()
	own := d.rows.Copy()
	var out []txnWrite
	for _, w := range writes {
		if w.within == nil {
			out = append(out, w)
		} else {
			for _, key := range keysIn(own, *w.within) {
				out = append(out, txnWrite{key: key, deleted: true})
			}
		}
		w.apply(own)
	}
	var holders []*databaseSideTransaction
	for scope, l := range d.locks {
		key := engine.CeilingKey([]byte(scope))
		touched := slices.ContainsFunc(writes, func(w txnWrite) bool {
			return w.within != nil && contains(*w.within, key)
		})
		if l.owner != nil && l.owner != s && touched {
			holders = append(holders, l.owner)
		}
	}
	d.mu.Unlock()
	return out, s.waitFor(holders)
}

// waitFor waits until other transactions have ended. If that takes too long, because two transactions may
// be waiting for each other, it returns errLost.
func (s *databaseSideTransaction) waitFor(others []*databaseSideTransaction) error {
	var deadlock <-chan time.Time
	if s.d.timed() {
		alarm, stop := s.d.clock.After(deadlockTime)
		defer stop()
		deadlock = alarm
	}
	for _, other := range others {
		select {
		case <-other.ended:
		case <-s.ended:
			return errLost
		case <-deadlock:
			s.abort()
			return errLost
		}
	}
	return nil
}

func contains(r engine.Range, key []byte) bool {
	return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}

// ceiling encodes the next LSN of a scope, the value that is stored under engine.CeilingKey.
func ceiling(next uint64) []byte { return binary.BigEndian.AppendUint64(nil, next) }
