package enginetest

import (
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

func testTooLarge(t *testing.T, s *testedEngine) {
	half := make([]byte, engine.MaxTxnBytes/2-4)
	write := func(more string) error {
		_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
			tx.Set([]byte("a/1"), half)
			tx.Set([]byte("a/2"), half)
			tx.Delete([]byte(more))
			return nil
		})
		return err
	}
	if err := write("a/3"); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("a byte too much: %v, want ErrTooLarge", err)
	}
	s.want("a/1", "-")
	if err := write("a/"); err != nil {
		t.Errorf("the largest transaction: %v", err)
	}
	if v := s.get("a/2"); len(v) != len(half) {
		t.Errorf("the largest transaction stored %d bytes of %d", len(v), len(half))
	}
}

// testEnlarge checks that an enlarged transaction may write more, and that the next one has the usual limit
// again.
func testEnlarge(t *testing.T, s *testedEngine) {
	value := make([]byte, 2*engine.MaxTxnBytes)
	write := func(large bool) error {
		_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
			if large {
				tx.Enlarge()
			}
			tx.Set([]byte("a/1"), value)
			return nil
		})
		return err
	}
	for _, large := range []bool{false, true, false} {
		if err := write(large); errors.Is(err, engine.ErrTooLarge) == large || large && err != nil {
			t.Errorf("enlarged %v: %v", large, err)
		}
	}
	if v := s.get("a/1"); len(v) != len(value) {
		t.Errorf("%d bytes of %d are stored", len(v), len(value))
	}
	if _, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		tx.Enlarge()
		tx.Set([]byte("a/2"), make([]byte, engine.MaxLargeTxnBytes))
		return nil
	}); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("more than the most: %v", err)
	}
}

func testEmptyKey(t *testing.T, s *testedEngine) {
	for name, write := range map[string]func(engine.Txn){
		"Set":    func(tx engine.Txn) { tx.Set(nil, []byte("x")) },
		"Delete": func(tx engine.Txn) { tx.Delete([]byte{}) },
	} {
		_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
			tx.Set([]byte("a/1"), []byte("x"))
			write(tx)
			return nil
		})
		if !errors.Is(err, engine.ErrEmptyKey) {
			t.Errorf("%s: %v, want ErrEmptyKey", name, err)
		}
	}
	s.want("a/1", "-")
	s.want("", "-")
}
