package postgres

import (
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// TestRoundTrips checks that each operation needs no more than a given number of round trips to the database.
func TestRoundTrips(t *testing.T) {
	e := newTestSchema(t).open(Options{})
	defer closing(t, e)
	scope := []byte("a")
	set := func(tx engine.Txn) error {
		tx.NextLSN(scope)
		for i := range 5 {
			tx.Set(fmt.Append(nil, "a/", i), []byte("x"))
		}
		return nil
	}
	view := func(fn func(engine.Reader) error) func() error {
		return func() error { return e.View(ctx, fn) }
	}
	for _, test := range []struct {
		name string
		most uint64
		run  func() error
	}{
		{"the first use of a scope", 3, func() error { _, err := e.Update(ctx, [][]byte{scope}, set); return err }},
		{"an update", 2, func() error { _, err := e.Update(ctx, [][]byte{scope}, set); return err }},
		{"an update that reads what is known ahead", 2, func() error {
			_, err := e.Update(ctx, [][]byte{scope}, func(tx engine.Txn) error {
				if _, err := tx.Get([]byte("a/1")); err != nil {
					return err
				}
				return set(tx)
			}, []byte("a/1"))
			return err
		}},
		{"a read", 1, func() error { _, _, err := e.Get(ctx, scope, []byte("a/1")); return err }},
		{"the same key twice in a view", 1, view(func(r engine.Reader) error {
			if _, err := r.Get([]byte("a/1")); err != nil {
				return err
			}
			_, err := r.Get([]byte("a/1"))
			return err
		})},
		{"keys that are read together", 1, view(func(r engine.Reader) error {
			_, err := r.GetMany([][]byte{[]byte("a/1"), []byte("a/2"), []byte("a/9")})
			return err
		})},
		{"a walk, and a seek in its page", 1, view(func(r engine.Reader) error {
			it := r.Scan(engine.Prefix([]byte("a/")), false)
			for it.Next() {
				continue
			}
			it.SeekGE([]byte("a/3"))
			return it.Close()
		})},
	} {
		before := e.Trips()
		if err := test.run(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if n := e.Trips() - before; n > test.most {
			t.Errorf("%s: %d trips, at most %d are needed", test.name, n, test.most)
		}
	}
}
