package enginetest

import (
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// testEnlarge: a transaction that is enlarged may write more, and the next one no more than any.
func testEnlarge(t *testing.T, s *subject) {
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
