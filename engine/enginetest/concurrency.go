package enginetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// add adds n to the 64-bit integer stored under key, in the transaction tx. An absent key counts as 0.
func add(tx engine.Txn, key string, n int64) error {
	v, err := number(tx, key)
	if err != nil {
		return err
	}
	tx.Set([]byte(key), binary.BigEndian.AppendUint64(nil, uint64(v+n)))
	return nil
}

func number(r engine.Reader, key string) (int64, error) {
	v, err := r.Get([]byte(key))
	if errors.Is(err, engine.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(v)), nil
}

// runConcurrently calls fn(0) to fn(n-1), each on a goroutine of its own, and waits until all have
// returned.
func runConcurrently(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// testNoLostUpdate increments one counter from many goroutines, in transactions that lock its scope "a"
// alone, twice, or together with "b". It checks that the final value counts every committed transaction,
// and none that failed.
func testNoLostUpdate(t *testing.T, s *testedEngine) {
	const writers, rounds = 32, 25
	runConcurrently(writers, func(i int) {
		scopes := [][][]byte{keys("a"), keys("a", "a"), keys("a", "b"), keys("b", "a", "b")}[i%4]
		for n := range rounds {
			_, err := s.Update(ctx, scopes, func(tx engine.Txn) error {
				if err := add(tx, "a/n", 1); err != nil {
					return err
				}
				if n%5 == 4 {
					return errRefused // a refused transaction must not count
				}
				if n%5 == 3 {
					tx.Relax()
				}
				return nil
			})
			if err != nil && !errors.Is(err, errRefused) {
				t.Errorf("writer %d: %v", i, err)
			}
		}
	})
	s.reopen()
	if err := s.View(ctx, func(r engine.Reader) error {
		n, err := number(r, "a/n")
		if want := int64(writers * rounds * 4 / 5); n != want {
			t.Errorf("%d increments are there, want %d", n, want)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// occupy runs a transaction that holds a scope (the keys with one prefix) and writes nothing, so that other
// transactions of the scope wait. release ends the transaction and returns when it has ended.
func (s *testedEngine) occupy(scope string) (release func()) {
	in, out := make(chan bool), make(chan bool)
	var holder sync.WaitGroup
	holder.Go(func() {
		_, err := s.Update(ctx, keys(scope), func(engine.Txn) error {
			in <- true
			<-out
			return nil
		})
		if err != nil {
			s.t.Error(err)
		}
	})
	<-in
	return func() {
		close(out)
		holder.Wait()
	}
}

// testScopesRunSideBySide checks that a transaction in one scope can commit while a transaction in another
// scope is still running.
func testScopesRunSideBySide(t *testing.T, s *testedEngine) {
	release := s.occupy("a")
	for i := range 10 {
		s.set("b", "b/1", fmt.Sprint(i))
	}
	release()
	s.want("b/1", "9")
}

func testTransfersKeepTheSum(t *testing.T, s *testedEngine) {
	const accounts, writers, rounds = 5, 16, 40
	name := func(i int) string { return string(rune('a' + i%accounts)) }
	runConcurrently(writers, func(w int) {
		for n := range rounds {
			from, to := name(w+n), name(w*3+n*7+1)
			scopes := [][]byte{[]byte(from), []byte(to), []byte(name(n))}
			if w%4 == 0 {
				scopes = scopes[:1] // some transactions name one of the scopes alone
				to = from
			}
			_, err := s.Update(ctx, scopes, func(tx engine.Txn) error {
				if err := add(tx, from+"/n", -int64(n)); err != nil {
					return err
				}
				return add(tx, to+"/n", int64(n))
			})
			if err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
			if err := s.View(ctx, func(r engine.Reader) error {
				sum := int64(0)
				for i := range accounts {
					v, err := number(r, name(i)+"/n")
					if err != nil {
						return err
					}
					sum += v
				}
				if sum != 0 {
					t.Errorf("a snapshot shows half a transfer: the sum is %d", sum)
				}
				return nil
			}); err != nil {
				t.Errorf("reader %d: %v", w, err)
			}
		}
	})
}

// panicOf runs fn and returns what it panicked with.
func panicOf(fn func()) (cause any) {
	defer func() { cause = recover() }()
	fn()
	return nil
}

func testPanicIsCarried(t *testing.T, s *testedEngine) {
	for _, scopes := range [][]string{{"a"}, {"a", "b"}} {
		cause := panicOf(func() {
			_, _ = s.Update(ctx, keys(scopes...), func(tx engine.Txn) error {
				tx.Set([]byte("a/1"), []byte("x"))
				tx.NextLSN([]byte("a"))
				panic(errRefused)
			})
		})
		if cause != errRefused {
			t.Errorf("Update panics with %v, want what the closure panicked with", cause)
		}
		s.want("a/1", "-")
		s.set("a", "a/2", "x") // the scopes must be free again
		s.set("b", "b/2", "x")
	}
	if cause := panicOf(func() {
		_ = s.View(ctx,
			func(engine.Reader) error { panic(errRefused) })
	}); cause != errRefused {
		t.Errorf("View panics with %v, want what the closure panicked with", cause)
	}
	s.reopen() // nothing may be held that would block Close
}

// testPanicOfAWaiter lets some of the transactions that wait for a scope panic: each panic must reach its
// own caller and the others must commit.
func testPanicOfAWaiter(t *testing.T, s *testedEngine) {
	const n = 24
	release := s.occupy("a")
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cause := panicOf(func() {
				_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
					tx.Set(fmt.Appendf(nil, "a/%d", i), []byte("x"))
					if i%3 == 0 {
						panic(i)
					}
					return nil
				})
				if err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
			})
			if want := any(i); i%3 == 0 && cause != want || i%3 != 0 && cause != nil {
				t.Errorf("waiter %d panicked with %v", i, cause)
			}
		})
	}
	release()
	wg.Wait()
	for i := range n {
		s.want(fmt.Sprintf("a/%d", i), map[bool]string{true: "-", false: "x"}[i%3 == 0])
	}
}

func testContext(t *testing.T, s *testedEngine) {
	done, cancel := context.WithCancel(ctx)
	cancel()
	never := func() { t.Error("a closure ran after its context was done") }
	for _, scopes := range [][]string{{"a"}, {"a", "b"}} {
		_, err := s.Update(done, keys(scopes...), func(engine.Txn) error { never(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Update: %v", err)
		}
	}
	if err := s.View(done, func(engine.Reader) error { never(); return nil }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("View: %v", err)
	}
	// Once fn runs, ctx no longer matters: the commit succeeds.
	running, cancel := context.WithCancel(ctx)
	if _, err := s.Update(running, keys("a"), func(tx engine.Txn) error {
		tx.Set([]byte("a/1"), []byte("x"))
		cancel()
		return nil
	}); err != nil {
		t.Errorf("Update, cancelled while it ran: %v", err)
	}
	s.want("a/1", "x")
}

// testContextWhileWaiting cancels the contexts of transactions that wait for a scope. They must return while
// the scope is still held, and the transactions behind them in the queue must still run.
func testContextWhileWaiting(t *testing.T, s *testedEngine) {
	release := s.occupy("b")
	waiting, cancel := context.WithCancel(ctx)
	var cancelled, patient sync.WaitGroup
	for i := range 12 {
		scopes := [][][]byte{keys("b"), keys("a", "b"), keys("b", "c")}[i%3]
		cancelled.Go(func() {
			_, err := s.Update(waiting, scopes, func(engine.Txn) error {
				t.Error("a closure ran after its context was done")
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled waiter got %v", err)
			}
		})
		patient.Go(func() {
			_, err := s.Update(ctx, scopes, func(tx engine.Txn) error { return add(tx, "b/n", 1) })
			if err != nil {
				t.Errorf("a patient waiter got %v", err)
			}
		})
	}
	cancel()
	cancelled.Wait() // while the scope is held
	release()
	patient.Wait()
	if err := s.View(ctx, func(r engine.Reader) error {
		n, err := number(r, "b/n")
		if n != 12 {
			t.Errorf("%d of 12 patient waiters have written", n)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
