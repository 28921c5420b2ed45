package enginetest

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

func testRaiseLSN(t *testing.T, s *testedEngine) {
	const first = 1 << 35
	// Another scope's transaction raises it before its first use; a lower value has no effect.
	s.update([]string{"parent"}, func(tx engine.Txn) error {
		tx.RaiseLSN([]byte("child 1"), first)
		tx.RaiseLSN([]byte("child 1"), first-1)
		if c, err := engine.Ceiling(tx, []byte("child 1")); c != first || err != nil {
			t.Errorf("the ceiling of child 1 is %d, %v", c, err)
		}
		return nil
	})
	// One transaction raises and uses the scope, as a split does that moves items.
	s.update([]string{"parent", "child 2"}, func(tx engine.Txn) error {
		tx.RaiseLSN([]byte("child 2"), first)
		if lsn := tx.NextLSN([]byte("child 2")); lsn != first {
			t.Errorf("child 2 starts at %d", lsn)
		}
		return nil
	})
	// A failed transaction raises nothing.
	_, err := s.Update(ctx, keys("parent"), func(tx engine.Txn) error {
		tx.RaiseLSN([]byte("child 3"), first)
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		t.Error(err)
	}
	if h := s.Horizon([]byte("child 1")); h != first-1 {
		t.Errorf("the horizon of child 1 is %d before its first use", h)
	}
	for scope, want := range map[string]uint64{"child 1": first, "child 2": first + 1} {
		if lsn := s.next(scope); lsn != want {
			t.Errorf("%s goes on at %d, want %d", scope, lsn, want)
		}
	}
	if lsn := s.next("child 3"); lsn >= first {
		t.Errorf("child 3 starts at %d", lsn)
	}
	s.reopen()
	if a, b := s.next("child 1"), s.next("child 2"); a != first+1 || b != first+2 {
		t.Errorf("after reopening the children go on at %d and %d", a, b)
	}
}

// testRaiseLSNOfAUsedScope calls RaiseLSN for a scope that has already issued LSNs. Raising it to its last or
// its next LSN has no effect; raising it further fails with ErrScope. Raising an unused scope above all LSNs
// fails with ErrCorrupt.
func testRaiseLSNOfAUsedScope(t *testing.T, s *testedEngine) {
	lsn := s.next("a")
	s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.RaiseLSN([]byte("a"), lsn)
		tx.RaiseLSN([]byte("a"), lsn+1)
		return nil
	})
	_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		tx.Set([]byte("a/1"), nil)
		tx.RaiseLSN([]byte("a"), lsn+100)
		return nil
	})
	if !errors.Is(err, engine.ErrScope) {
		t.Errorf("raised above what it has issued: %v, want ErrScope", err)
	}
	if _, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		tx.RaiseLSN([]byte("b"), engine.MaxLSN+2)
		return nil
	}); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("raised above all LSNs: %v, want ErrCorrupt", err)
	}
	s.want("a/1", "-")
	if got := s.next("a"); got != lsn+1 {
		t.Errorf("it goes on at %d, want %d", got, lsn+1)
	}
}

// testCorruptCeiling stores invalid bytes as the ceiling of a scope, the upper bound of the LSNs that the
// scope may issue. Every use of these LSNs must fail with ErrCorrupt.
func testCorruptCeiling(t *testing.T, s *testedEngine) {
	s.update([]string{"parent"}, func(tx engine.Txn) error {
		tx.Set(engine.CeilingKey([]byte("bad 1")), []byte("short"))
		tx.Set(engine.CeilingKey([]byte("bad 2")), binary.BigEndian.AppendUint64(nil, engine.MaxLSN+2))
		return nil
	})
	for _, scope := range []string{"bad 1", "bad 2"} {
		for name, use := range map[string]func(tx engine.Txn){
			"NextLSN":  func(tx engine.Txn) { tx.NextLSN([]byte(scope)) },
			"RaiseLSN": func(tx engine.Txn) { tx.RaiseLSN([]byte(scope), 5) },
		} {
			_, err := s.Update(ctx, keys(scope), func(tx engine.Txn) error { use(tx); return nil })
			if !errors.Is(err, engine.ErrCorrupt) {
				t.Errorf("%s of %s: %v, want ErrCorrupt", name, scope, err)
			}
		}
		if err := s.View(ctx, func(r engine.Reader) error {
			_, err := r.Positions(keys(scope))
			return err
		}); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("the position of %s: %v, want ErrCorrupt", scope, err)
		}
	}
}

func testPositions(t *testing.T, s *testedEngine) {
	// Keys passed as ahead have no effect on the result, whether they are read, written or neither.
	lsn := s.next("a")
	at, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		tx.Set([]byte("a/2"), []byte("x"))
		if got := read(t, tx, "a/last") + read(t, tx, "a/2") + read(t, tx, "a/3"); got != "\x01x-" {
			t.Errorf("in the transaction: %q", got)
		}
		return nil
	}, keys("a/last", "a/2", "a/2", "a/4")...)
	if want := (engine.LSNScopeStatus{LSN: lsn, Settled: true}); err != nil || len(at) != 1 ||
		timeless(at[0]) != want {
		t.Errorf("%v, %v; want %v", at, err, want)
	}
	// A relaxed commit may be visible without being settled.
	var relaxed uint64
	at = s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.Relax()
		relaxed = tx.NextLSN([]byte("a"))
		tx.Set([]byte("a/1"), []byte("x"))
		return nil
	})
	if at[0].Settled && at[0].LSN != relaxed {
		t.Errorf("%v is settled without %d", at[0], relaxed)
	}
	at = s.update([]string{"a"}, func(tx engine.Txn) error {
		before, err := tx.Positions(keys("a", "b"))
		if err != nil || len(before) != 2 || before[0].LSN > relaxed {
			t.Errorf("in the transaction: %v, %v", before, err)
		}
		return nil
	})
	if want := (engine.LSNScopeStatus{LSN: relaxed, Settled: true}); timeless(at[0]) != want {
		t.Errorf("after a barrier: %v, want %v", at[0], want)
	}
}

// testPositionsOfAFailure makes an Update fail after another one has committed without waiting for the
// disk (TxnControl.Relax). The position that the failed Update returns must say that the data which it
// read are durable.
func testPositionsOfAFailure(t *testing.T, s *testedEngine) {
	var lsn uint64
	s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.Relax()
		lsn = tx.NextLSN([]byte("a"))
		tx.Set([]byte("a/1"), []byte("x"))
		return nil
	})
	at, err := s.Update(ctx, keys("b", "a"), func(tx engine.Txn) error { return errRefused })
	if want := (engine.LSNScopeStatus{LSN: lsn, Settled: true}); err != errRefused || len(at) != 2 ||
		timeless(at[1]) != want {
		t.Errorf("%v, %v; want %v", at, err, want)
	}
}

// testPositionsOfAView checks the positions that a View returns after a commit that is visible but may not be
// durable: if the position of a scope has Settled set, the View shows no data above its LSN. It also checks
// that a View does not change while later transactions commit.
func testPositionsOfAView(t *testing.T, s *testedEngine) {
	for range 20 {
		s.next("a")
		var lsn uint64
		s.update([]string{"a"}, func(tx engine.Txn) error {
			tx.Relax()
			lsn = tx.NextLSN([]byte("a"))
			tx.Set([]byte("a/1"), binary.BigEndian.AppendUint64(nil, lsn))
			return nil
		})
		if err := s.View(ctx, func(r engine.Reader) error {
			at, err := r.Positions(keys("a", "b", "a"))
			if err != nil {
				return err
			}
			n, err := number(r, "a/1")
			if err != nil {
				return err
			}
			if len(at) != 3 || at[0].Settled && at[0].LSN < uint64(n) {
				t.Errorf("%v is settled, and shows %d", at, n)
			}
			later := s.next("a")
			if m, err := number(r, "a/1"); m != n || err != nil {
				t.Errorf("the view has changed, %v", err)
			}
			if at, err = r.Positions(keys("a")); err != nil || at[0].LSN > later {
				t.Errorf("later: %v, %v", at, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
