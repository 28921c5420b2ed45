package postgres

import (
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// TestSetFresh checks SetFresh, which sets keys that the caller expects to be absent. If a key is stored
// nevertheless, its value is replaced as by Set, at the price of more round trips.
func TestSetFresh(t *testing.T) {
	e := newTestSchema(t).open(Options{})
	defer closing(t, e)
	scope := []byte("a")
	update := func(trips uint64, fn func(tx engine.Txn, fresh func(key, value string))) {
		t.Helper()
		before := e.Trips()
		_, err := e.Update(ctx, [][]byte{scope}, func(tx engine.Txn) error {
			tx.NextLSN(scope)
			fn(tx, func(key, value string) {
				tx.(engine.LikelyAbsentKeySetter).SetFresh([]byte(key), []byte(value))
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if n := e.Trips() - before; n != trips {
			t.Errorf("%d trips, want %d", n, trips)
		}
	}
	check := func(key, want string) {
		t.Helper()
		v, _, err := e.Get(ctx, scope, []byte(key))
		if string(v) != want {
			t.Errorf("%s is %q, %v; want %q", key, v, err, want)
		}
	}
	update(3, func(_ engine.Txn, fresh func(key, value string)) {
		fresh("a/1", "one")
		fresh("a/1", "first")
		fresh("a/2", "second")
	})
	check("a/1", "first")
	update(2, func(tx engine.Txn, fresh func(key, value string)) {
		fresh("a/3", "third")
		tx.Set([]byte("a/3"), []byte("3"))
		tx.Delete([]byte("a/1"))
		fresh("a/1", "again") // it is stored
		tx.Set([]byte("a/2"), []byte("2"))
		fresh("a/2", "two") // it is stored
		fresh("a/4", "none")
		tx.Delete([]byte("a/4"))
	})
	check("a/1", "again")
	check("a/2", "two")
	check("a/3", "3")
	check("a/4", "")
	update(4, func(_ engine.Txn, fresh func(key, value string)) {
		fresh("a/1", "stored")
		fresh("a/5", "new")
	})
	check("a/1", "stored")
	check("a/5", "new")
	update(2, func(tx engine.Txn, fresh func(key, value string)) {
		tx.DeleteRange(engine.Prefix([]byte("a/")))
		fresh("a/1", "after")
	})
	check("a/1", "after")
	check("a/5", "")
}
