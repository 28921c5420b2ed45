package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/crashdisk"
)

var scopeA = [][]byte{[]byte("a")}

// waiting returns the number of requests in the queue of the scope.
func (s *lsnScopeState) waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := s.head; r != nil; r = r.next {
		n++
	}
	return n
}

// behind runs a transaction with the function holder in the scope "a". While it runs, behind starts a
// transaction for each of the waiters, which queue up in their order. It returns the errors of all, the
// holder's first.
func behind(t *testing.T, e *Engine, holder func(engine.Txn) error,
	waiters ...func(engine.Txn) error) []error {
	t.Helper()
	return behindIn(t, e, scopeA, holder, waiters...)
}

// behindIn runs a transaction with the function holder in the scope "a". While it runs, behindIn starts a
// transaction in the given scopes for each of the waiters, which queue up in their order. It returns the
// errors of all, the holder's first. "a" must be the lowest of the scopes.
func behindIn(t *testing.T, e *Engine, scopes [][]byte, holder func(engine.Txn) error,
	waiters ...func(engine.Txn) error) []error {
	t.Helper()
	errs := make([]error, 1+len(waiters))
	in, out := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, errs[0] = e.Update(ctx, scopeA, func(tx engine.Txn) error {
			in <- true
			<-out
			return holder(tx)
		})
	})
	<-in
	for i, w := range waiters {
		wg.Go(func() { _, errs[1+i] = e.Update(ctx, scopes, w) })
		for e.scopes.find(scopeA[0]).waiting() <= i {
			runtime.Gosched()
		}
	}
	close(out)
	wg.Wait()
	return errs
}

func TestGroupCommitSharesSync(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Options{Memory: true})
	defer mustClose(t, e)
	one := func(relaxed bool, err error) func(engine.Txn) error {
		return func(tx engine.Txn) error {
			tx.Set(fmt.Appendf(nil, "a/%d", tx.NextLSN([]byte("a"))), nil)
			if relaxed {
				tx.Relax()
			}
			return err
		}
	}
	durable, relaxed, failing := one(false, nil), one(true, nil), one(false, errTest)
	reads := func(engine.Txn) error { return nil }
	if _, err := e.Update(ctx, scopeA, durable); err != nil { // the scope's first ceiling has a sync of its own
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		holder   func(engine.Txn) error
		waiters  []func(engine.Txn) error
		barriers uint64
		commits  uint64
		settled  bool
	}{
		{"all wait", durable, []func(engine.Txn) error{durable, durable, durable, durable}, 1, 5, true},
		{"nobody waits", relaxed, []func(engine.Txn) error{relaxed, relaxed}, 0, 3, false},
		{"the holder does not wait", relaxed, []func(engine.Txn) error{relaxed, durable, durable}, 1, 4, true},
		{"the holder alone waits", durable, []func(engine.Txn) error{relaxed, relaxed}, 1, 3, true},
		{"nothing to wait for", reads, []func(engine.Txn) error{reads, failing}, 0, 0, true},
		{"a failure behind a commit", relaxed, []func(engine.Txn) error{failing}, 1, 1, true},
		{"a read behind a commit", relaxed, []func(engine.Txn) error{reads}, 1, 1, true},
	} {
		before := e.Metrics()
		for i, err := range behind(t, e, test.holder, test.waiters...) {
			if err != nil && !errors.Is(err, errTest) {
				t.Errorf("%s: member %d: %v", test.name, i, err)
			}
		}
		after, s := e.Metrics(), e.scopes.find(scopeA[0])
		if b, c := after.Barriers-before.Barriers, after.Commits-before.Commits; b != test.barriers || c != test.commits {
			t.Errorf("%s: %d barriers for %d commits, want %d for %d", test.name, b, c, test.barriers, test.commits)
		}
		if settled := s.horizon.Load() == s.next-1 && !s.dirty(); settled != test.settled {
			t.Errorf("%s: all durable is %v, want %v", test.name, settled, test.settled)
		}
		if _, err := e.Update(ctx, scopeA, reads); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGroupCommitSizeLimit checks that if more than maxGroup transactions wait for a scope, its holder runs
// maxGroup of them and the next holder runs the rest.
func TestGroupCommitSizeLimit(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Options{Memory: true})
	defer mustClose(t, e)
	add := func(tx engine.Txn) error {
		tx.Set(fmt.Appendf(nil, "a/%d", tx.NextLSN([]byte("a"))), nil)
		return nil
	}
	if _, err := e.Update(ctx, scopeA, add); err != nil {
		t.Fatal(err)
	}
	waiters := make([]func(engine.Txn) error, 2*maxGroup)
	for i := range waiters {
		waiters[i] = add
	}
	before := e.Metrics()
	for _, err := range behind(t, e, add, waiters...) {
		if err != nil {
			t.Error(err)
		}
	}
	after := e.Metrics()
	if c, b := after.Commits-before.Commits, after.Barriers-before.Barriers; c != 2*maxGroup+1 || b != 3 {
		t.Errorf("%d commits and %d barriers, want %d and 3", c, b, 2*maxGroup+1)
	}
}

// TestTransactionWithRepeatedScope checks that a transaction that names a scope more than once runs once, and
// that one that names only a single scope, even twice, runs in the group of the scope's holder.
func TestTransactionWithRepeatedScope(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scopes   []string
		barriers uint64
	}{
		{[]string{"a"}, 1},
		{[]string{"a", "a"}, 1},
		{[]string{"a", "a", "a"}, 1},
		{[]string{"b", "a", "b"}, 4}, // each waits for the disk by itself
	} {
		e := mustOpen(t, Options{Memory: true})
		var running atomic.Int32
		lengthen := func(tx engine.Txn) error {
			if running.Add(1) != 1 {
				t.Errorf("%v: two closures run in one scope", test.scopes)
			}
			defer running.Add(-1)
			v, err := tx.Get([]byte("a/n"))
			if err != nil && !errors.Is(err, engine.ErrNotFound) {
				return err
			}
			tx.Set([]byte("a/n"), append(bytes.Clone(v), 'x'))
			return nil
		}
		var scopes [][]byte
		for _, name := range test.scopes {
			scopes = append(scopes, []byte(name))
		}
		for i, err := range behindIn(t, e, scopes, lengthen, lengthen, lengthen, lengthen) {
			if err != nil {
				t.Errorf("%v: member %d: %v", test.scopes, i, err)
			}
		}
		if v, _, err := e.Get(ctx, scopeA[0], []byte("a/n")); err != nil || len(v) != 4 {
			t.Errorf("%v: 4 transactions have written %q (%v)", test.scopes, v, err)
		}
		if m := e.Metrics(); m.Commits != 4 || m.Barriers != test.barriers {
			t.Errorf("%v: %d commits and %d barriers, want 4 and %d", test.scopes, m.Commits, m.Barriers, test.barriers)
		}
		mustClose(t, e)
	}
}

// TestGoexit checks that a scope is released if a transaction's function calls runtime.Goexit, as a
// failing test does, and that the transaction is discarded.
func TestGoexit(t *testing.T) {
	e := mustOpen(t, Options{Memory: true, Strict: true})
	exit := func(tx engine.Txn) error {
		tx.Set([]byte("a/exit"), nil)
		tx.NextLSN([]byte("a"))
		runtime.Goexit()
		return nil
	}
	write := func(tx engine.Txn) error { tx.Set([]byte("a/kept"), nil); return nil }
	// Who runs a closure that exits goes with it, so there is no error to look at.
	behind(t, e, write, exit, write)
	behind(t, e, exit, write)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = e.Update(ctx, [][]byte{[]byte("a"), []byte("b")}, exit) })
	wg.Wait()
	mustPut(t, e, "a/kept", nil)
	if _, _, err := e.Get(ctx, scopeA[0], []byte("a/exit")); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("what a closure wrote that did not return: %v", err)
	}
	mustClose(t, e)
}

func TestStrictIterators(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{true, false} {
		e := mustOpen(t, Options{Memory: true, Strict: strict})
		_, err := e.Update(ctx, scopeA, func(tx engine.Txn) error {
			tx.Set([]byte("a/1"), nil)
			tx.Scan(engine.Range{}, false)
			return nil
		})
		if errors.Is(err, errLeak) != strict {
			t.Errorf("strict %v: Update: %v", strict, err)
		}
		err = e.View(ctx, func(r engine.Reader) error { r.Scan(engine.Range{}, true); return nil })
		if errors.Is(err, errLeak) != strict {
			t.Errorf("strict %v: View: %v", strict, err)
		}
		mustClose(t, e)
	}
}

// TestCloseIsDurable checks that Close makes relaxed commits durable: after it, a crash that discards
// everything not synced loses none.
func TestCloseIsDurable(t *testing.T) {
	t.Parallel()
	mem := crashdisk.New()
	o := Options{Dir: "data", FS: mem}
	e := mustOpen(t, o)
	var last uint64
	if _, err := e.Update(ctx, scopeA, func(tx engine.Txn) error {
		tx.Relax()
		last = tx.NextLSN([]byte("a"))
		tx.Set([]byte("a/1"), nil)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	o.FS = mem.CrashClone(vfs.CrashCloneCfg{})
	e = mustOpen(t, o)
	defer mustClose(t, e)
	if _, _, err := e.Get(ctx, scopeA[0], []byte("a/1")); err != nil {
		t.Errorf("what was relaxed before Close: %v", err)
	}
	if h := e.Horizon([]byte("a")); h != last {
		t.Errorf("the horizon after a clean restart is %d, want %d", h, last)
	}
}
