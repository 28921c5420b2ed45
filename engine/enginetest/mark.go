package enginetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// mark returns the mark of a scope, the number set by engine.TxnLSNAndCommitControl.SetMark, as a View
// reports it.
func (s *testedEngine) mark(scope string) (mark uint64) {
	s.t.Helper()
	if err := s.View(ctx, func(r engine.Reader) error {
		at, err := r.Positions(keys(scope))
		if err == nil {
			mark = at[0].Mark
		}
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return mark
}

func (s *testedEngine) wantMark(scope string, want uint64) {
	s.t.Helper()
	if got := s.mark(scope); got != want {
		s.t.Errorf("the mark of %s is %d, want %d", scope, got, want)
	}
}

func testMarks(t *testing.T, s *testedEngine) {
	s.wantMark("a", 0)
	at := s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.SetMark([]byte("a"), 7)
		tx.SetMark([]byte("new"), 1) // a scope that has not been used
		if m := tx.Mark([]byte("a")); m != 7 {
			t.Errorf("in the transaction the mark is %d", m)
		}
		return nil
	})
	if at[0].Mark != 7 {
		t.Errorf("the Update tells the mark %d", at[0].Mark)
	}
	_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		tx.SetMark([]byte("a"), 8)
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		t.Error(err)
	}
	if _, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		tx.Mark([]byte("b"))
		return nil
	}); !errors.Is(err, engine.ErrScope) {
		t.Errorf("the mark of a scope that the Update does not name: %v", err)
	}
	s.update([]string{"b"}, func(tx engine.Txn) error {
		tx.SetMark([]byte("b"), 9)
		return nil
	})
	s.update([]string{"b"}, func(tx engine.Txn) error {
		tx.SetMark([]byte("b"), 0)
		if _, err := tx.Get(engine.MarkKey([]byte("b"))); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("a mark that was taken away: %v", err)
		}
		return nil
	})
	for range 2 {
		s.wantMark("a", 7)
		s.wantMark("new", 1)
		s.wantMark("b", 0)
		s.reopen()
	}
}

// testMarksAreNotBehind checks that the mark of a scope (a number that transactions set by
// TxnControl.SetMark) is never older than the data of the scope that the engine returns together with it.
func testMarksAreNotBehind(t *testing.T, s *testedEngine) {
	stop := make(chan bool)
	var readers sync.WaitGroup
	getter, _ := s.Engine.(engine.Getter)
	look := func(fast bool) (value []byte, mark uint64, err error) {
		if fast && getter != nil {
			var at engine.LSNScopeStatus
			value, at, err = getter.Get(ctx, []byte("a"), []byte("a/1"))
			return value, at.Mark, err
		}
		err = s.View(ctx, func(r engine.Reader) error {
			at, err := r.Positions(keys("a"))
			if err == nil {
				mark = at[0].Mark
				value, err = r.Get([]byte("a/1"))
			}
			return err
		})
		return value, mark, err
	}
	for _, fast := range []bool{false, true} {
		readers.Go(func() {
			for {
				v, mark, err := look(fast)
				if err == nil && uint64(v[0]) > mark || err != nil && !errors.Is(err, engine.ErrNotFound) {
					t.Errorf("%x with the mark %d, %v", v, mark, err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for n := range byte(200) {
		s.update([]string{"a"}, func(tx engine.Txn) error {
			tx.SetMark([]byte("a"), uint64(n)+1)
			tx.Set([]byte("a/1"), []byte{n + 1})
			return nil
		})
	}
	close(stop)
	readers.Wait()
}
