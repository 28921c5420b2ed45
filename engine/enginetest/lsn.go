package enginetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

func testLSNs(t *testing.T, s *testedEngine) {
	a := s.next("a")
	if a == 0 {
		t.Error("an LSN is 0")
	}
	at := s.update([]string{"b", "a"}, func(tx engine.Txn) error {
		tx.Set([]byte("a/1"), nil)
		for i := range uint64(5) {
			if got := tx.NextLSN([]byte("a")); got != a+1+i {
				t.Errorf("the LSNs of one transaction are not consecutive: %d, want %d", got, a+1+i)
			}
		}
		return nil
	})
	if len(at) != 2 || timeless(at[1]) != (engine.LSNScopeStatus{LSN: a + 5, Settled: true}) {
		t.Errorf("positions %v, want the second at %d", at, a+5)
	}
	if got := s.next("a"); got != a+6 {
		t.Errorf("the next transaction got LSN %d, want %d", got, a+6)
	}
}

// testLSNsOfOneTransaction takes two LSNs in one transaction and checks that no reader gets a position
// whose LSN lies between them: both become visible together.
func testLSNsOfOneTransaction(t *testing.T, s *testedEngine) {
	scope := []byte("a")
	first := s.next("a")
	stop := make(chan bool)
	var watcher sync.WaitGroup
	between := func(lsn uint64) {
		if (lsn-first)%2 != 0 {
			t.Errorf("a position at %d, with transactions of two LSNs behind %d", lsn, first)
		}
	}
	watcher.Go(func() {
		for {
			between(s.Horizon(scope))
			err := s.View(ctx, func(r engine.Reader) error {
				at, err := r.Positions([][]byte{scope})
				if err == nil {
					between(at[0].LSN)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	runConcurrently(8, func(w int) {
		for n := range 40 {
			at, err := s.Update(ctx, [][]byte{scope}, func(tx engine.Txn) error {
				tx.NextLSN(scope)
				if n%5 == 4 {
					return errRefused
				}
				tx.NextLSN(scope)
				tx.Set(fmt.Appendf(nil, "a/%d", w), nil)
				if n%3 == 0 {
					tx.Relax()
				}
				return nil
			})
			if err != nil && !errors.Is(err, errRefused) {
				t.Error(err)
			}
			for _, p := range at {
				between(p.LSN)
			}
		}
	})
	close(stop)
	watcher.Wait()
}

func testLSNsGivenBack(t *testing.T, s *testedEngine) {
	a := s.next("a")
	take := func(tx engine.Txn) uint64 {
		tx.Set([]byte("a/x"), nil)
		tx.NextLSN([]byte("a"))
		return tx.NextLSN([]byte("a"))
	}
	_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error { take(tx); return errRefused })
	if !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	panicOf(func() {
		_, _ = s.Update(ctx, keys("a", "b"), func(tx engine.Txn) error { take(tx); panic(errRefused) })
	})
	_, err = s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		take(tx)
		tx.Set(make([]byte, engine.MaxTxnBytes), nil)
		return nil
	})
	if !errors.Is(err, engine.ErrTooLarge) {
		t.Fatal(err)
	}
	if got := s.next("a"); got != a+1 {
		t.Errorf("after three failures the next LSN is %d, want %d", got, a+1)
	}
	if h := s.Horizon([]byte("a")); h != a+1 {
		t.Errorf("horizon %d, want %d", h, a+1)
	}
	// The first transaction of a scope may fail.
	_, _ = s.Update(ctx, keys("c"), func(tx engine.Txn) error { tx.NextLSN([]byte("c")); return errRefused })
	c := s.next("c")
	if h := s.Horizon([]byte("c")); h != c {
		t.Errorf("horizon %d, want %d", h, c)
	}
}

func testLSNsAcrossReopen(t *testing.T, s *testedEngine) {
	last := map[string]uint64{}
	for round := range 4 {
		for _, scope := range []string{"a", "b"} {
			if h := s.Horizon([]byte(scope)); round > 0 && h != last[scope] {
				t.Errorf("round %d: before its first use the horizon of %s is %d, want %d", round, scope, h,
					last[scope])
			}
			for range round + 1 {
				lsn := s.next(scope)
				if round > 0 && lsn != last[scope]+1 {
					t.Errorf("round %d: %s goes on with LSN %d, want %d", round, scope, lsn, last[scope]+1)
				}
				last[scope] = lsn
			}
		}
		s.reopen()
	}
}

func testLSNsOfManyScopes(t *testing.T, s *testedEngine) {
	const n = 200
	firsts := make([]uint64, n)
	runConcurrently(8, func(w int) {
		for i := w; i < n; i += 8 {
			scope := fmt.Appendf(nil, "scope %d", i)
			_, err := s.Update(ctx, [][]byte{scope}, func(tx engine.Txn) error {
				firsts[i] = tx.NextLSN(scope)
				tx.Set(append(scope, '/'), nil)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	s.reopen()
	for i, first := range firsts {
		if got := s.next(fmt.Sprintf("scope %d", i)); got != first+1 {
			t.Errorf("scope %d goes on with %d, want %d", i, got, first+1)
		}
	}
}

// testLSNsInCommitOrder checks that a snapshot which shows an LSN shows all lower LSNs too.
func testLSNsInCommitOrder(t *testing.T, s *testedEngine) {
	const writers, rounds = 8, 40
	key := func(lsn uint64) []byte { return binary.BigEndian.AppendUint64([]byte("a/"), lsn) }
	first := s.Horizon([]byte("a")) + 1
	stop := make(chan bool)
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			err := s.View(ctx, func(r engine.Reader) error {
				it, want := r.Scan(engine.Prefix([]byte("a/")), false), first
				for it.Next() {
					if lsn := binary.BigEndian.Uint64(it.Key()[2:]); lsn != want {
						t.Errorf("a snapshot shows LSN %d, but %d is missing", lsn, want)
						want = lsn
					}
					want++
				}
				return it.Close()
			})
			if err != nil {
				t.Error(err)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	runConcurrently(writers, func(w int) {
		for n := range rounds {
			_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
				for range 1 + n%3 {
					tx.Set(key(tx.NextLSN([]byte("a"))), nil)
				}
				if n%4 == 3 {
					return errRefused
				}
				return nil
			})
			if err != nil && !errors.Is(err, errRefused) {
				t.Error(err)
			}
		}
	})
	close(stop)
	reader.Wait()
}

// testScopeEmptied checks that LSNs continue after a transaction that deletes all keys of its own scope,
// including the stored upper bound of the scope's LSNs, and then writes to it: the next LSN after a reopen is
// that of the transaction plus 1.
func testScopeEmptied(t *testing.T, s *testedEngine) {
	s.next("a/")
	var lsn uint64
	s.update([]string{"a/"}, func(tx engine.Txn) error {
		lsn = tx.NextLSN([]byte("a/"))
		tx.DeleteRange(engine.Prefix([]byte("a/")))
		tx.Set([]byte("a/1"), nil)
		return nil
	})
	s.reopen()
	if got := s.next("a/"); got != lsn+1 {
		t.Errorf("after the scope was emptied it goes on at %d, want %d", got, lsn+1)
	}
}

// testScopeDropped deletes a scope from a transaction that does not name it: nothing of the scope may remain.
func testScopeDropped(t *testing.T, s *testedEngine) {
	s.next("a/")
	s.update([]string{"catalog"}, func(tx engine.Txn) error {
		tx.DeleteRange(engine.Prefix([]byte("a/")))
		return nil
	})
	s.reopen()
	if err := s.View(ctx, func(r engine.Reader) error {
		if left := scan(t, r, engine.Prefix([]byte("a/")), false); len(left) > 0 {
			t.Errorf("a dropped scope has left %q", left)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func testHorizon(t *testing.T, s *testedEngine) {
	unused := s.Horizon([]byte("a"))
	first := s.next("a")
	if unused != first-1 {
		t.Errorf("the horizon of an unused scope is %d, its first LSN %d", unused, first)
	}
	for range 5 {
		lsn := s.next("a")
		if h := s.Horizon([]byte("a")); h != lsn {
			t.Errorf("horizon %d after LSN %d was acknowledged", h, lsn)
		}
	}
	if h := s.Horizon([]byte("b")); h != unused {
		t.Errorf("the horizon of another unused scope is %d, want %d", h, unused)
	}
}

// testHorizonNeverAhead runs transactions of one and of two scopes. It checks that an acknowledged LSN is not
// above the horizon (the highest durable LSN of its scope), that the horizon is not above the issued LSNs,
// and that the horizon never decreases.
func testHorizonNeverAhead(t *testing.T, s *testedEngine) {
	scopes := keys("a", "b")
	var mu sync.Mutex
	issued := map[string]uint64{}
	stop := make(chan bool)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		last := map[string]uint64{}
		for {
			for _, scope := range scopes {
				h := s.Horizon(scope)
				mu.Lock()
				top := issued[string(scope)]
				mu.Unlock()
				if h > top && top > 0 {
					t.Errorf("the horizon of %s is %d, but only %d was issued", scope, h, top)
				}
				if h < last[string(scope)] {
					t.Errorf("the horizon of %s fell from %d to %d", scope, last[string(scope)], h)
				}
				last[string(scope)] = h
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	runConcurrently(8, func(w int) {
		for n := range 40 {
			mine := scopes[w%2:][:1]
			if n%4 == 0 {
				mine = scopes
			}
			relaxed, own := n%3 == 0, [2]uint64{}
			at, err := s.Update(ctx, mine, func(tx engine.Txn) error {
				for i, scope := range mine {
					lsn := tx.NextLSN(scope)
					own[i] = lsn
					mu.Lock()
					issued[string(scope)] = max(lsn, issued[string(scope)])
					mu.Unlock()
					tx.Set(fmt.Appendf(nil, "%s/%d", scope, w), nil)
				}
				if relaxed {
					tx.Relax()
				}
				return nil
			})
			if err != nil {
				t.Error(err)
				continue
			}
			for i, scope := range mine {
				if h := s.Horizon(scope); !relaxed && (at[i].LSN < own[i] || h < at[i].LSN) {
					t.Errorf("LSN %d of %s was acknowledged at %d, its horizon is %d", own[i], scope, at[i].LSN, h)
				}
			}
		}
	})
	close(stop)
	watcher.Wait()
}

// testRelax commits transactions with Relax, which does not wait until they are durable, and checks that they
// are durable as soon as a later commit is.
func testRelax(t *testing.T, s *testedEngine) {
	s.next("a")
	var lsn uint64
	relaxed := func() {
		s.update([]string{"a"}, func(tx engine.Txn) error {
			tx.Relax()
			lsn = tx.NextLSN([]byte("a"))
			tx.Set([]byte("a/1"), fmt.Appendf(nil, "%d", lsn))
			return nil
		})
		s.want("a/1", fmt.Sprint(lsn)) // visible at once
	}
	relaxed()
	s.update([]string{"a"}, func(engine.Txn) error { return nil })
	if h := s.Horizon([]byte("a")); h != lsn {
		t.Errorf("after an empty Update the horizon is %d, want %d", h, lsn)
	}
	relaxed()
	_, _ = s.Update(ctx, keys("a"), func(engine.Txn) error { return errRefused })
	if h := s.Horizon([]byte("a")); h != lsn {
		t.Errorf("a failure tells of what it read: the horizon is %d, want %d", h, lsn)
	}
	relaxed()
	s.update([]string{"b", "a"}, func(engine.Txn) error { return nil })
	if h := s.Horizon([]byte("a")); h != lsn {
		t.Errorf("after a barrier over two scopes the horizon is %d, want %d", h, lsn)
	}
	relaxed()
	s.reopen()
	s.want("a/1", fmt.Sprint(lsn))
	if got := s.next("a"); got != lsn+1 {
		t.Errorf("after reopening the next LSN is %d, want %d", got, lsn+1)
	}
}

func testMetrics(t *testing.T, s *testedEngine) {
	before := s.Metrics()
	for range 10 {
		s.next("a")
	}
	after := s.Metrics()
	if n := after.Commits - before.Commits; n != 10 {
		t.Errorf("%d commits counted, want 10", n)
	}
	if after.Barriers == before.Barriers {
		t.Error("no barrier counted")
	}
}
