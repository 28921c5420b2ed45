package postgres

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// TestManyKeys checks that GetMany needs several statements for many keys and for values that are too
// large to be read together, and returns the right values.
func TestManyKeys(t *testing.T) {
	e := newTestSchema(t).open(Options{})
	defer closing(t, e)
	scope := []byte("a")
	for _, test := range []struct {
		keys, size int
		trips      uint64
	}{{65, 10, 1}, {1000, 10, 1}, {maxKeysPerRead + 1, 1, 2}, {100, 500_000, 12},
		{10, engine.ManyBytes, 10}} {
		keys := make([][]byte, test.keys)
		for i := range keys {
			keys[i] = fmt.Appendf(nil, "a/%d/%d", test.size, i)
		}
		step := max(1, 16<<20/test.size)
		there := func(i int) bool { return i%3 != 1 }
		for i := 0; i < len(keys); i += step {
			_, err := e.Update(ctx, [][]byte{scope}, func(tx engine.Txn) error {
				tx.Enlarge()
				for n := i; n < min(i+step, len(keys)); n++ {
					if there(n) {
						tx.Set(keys[n], bytes.Repeat([]byte{byte(n)}, test.size))
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		before, seen := e.Trips(), 0
		err := e.View(ctx, func(r engine.Reader) error {
			return engine.GetEach(r, keys, func(i int, value []byte) (bool, error) {
				seen++
				var want []byte
				if there(i) {
					want = bytes.Repeat([]byte{byte(i)}, test.size)
				}
				if !bytes.Equal(value, want) || (value == nil) != (want == nil) {
					t.Errorf("%+v: key %d has %d bytes", test, i, len(value))
				}
				return true, nil
			})
		})
		if err != nil || seen != test.keys {
			t.Errorf("%d keys: %d were read, %v", test.keys, seen, err)
		}
		if n := e.Trips() - before; n > test.trips {
			t.Errorf("%+v: %d trips", test, n)
		}
	}
}

// TestUpdateReadsKeysInAdvance passes many keys to Update to be read in advance, whose values are too large
// together, so that only the first ones are. It checks all values and the number of round trips.
func TestUpdateReadsKeysInAdvance(t *testing.T) {
	e := newTestSchema(t).open(Options{})
	defer closing(t, e)
	scope, size := []byte("a"), engine.ManyBytes/40
	keys := make([][]byte, 100)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "a/%d", i)
	}
	keys = append(keys, keys[5]) // twice
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i % 100)}, size) }
	_, err := e.Update(ctx, [][]byte{scope}, func(tx engine.Txn) error {
		tx.NextLSN(scope)
		for i := 0; i < 100; i += 2 {
			tx.Set(keys[i], value(i))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before := e.Trips()
	_, err = e.Update(ctx, [][]byte{scope}, func(tx engine.Txn) error {
		return engine.GetEach(tx, keys, func(i int, v []byte) (bool, error) {
			if i == 100 {
				i = 5
			}
			if want := value(i); i%2 == 0 && !bytes.Equal(v, want) || i%2 == 1 && v != nil {
				t.Errorf("key %d has %d bytes", i, len(v))
			}
			return true, nil
		})
	}, keys...)
	if err != nil {
		t.Fatal(err)
	}
	if n := e.Trips() - before; n != 2 {
		t.Errorf("%d trips, want 2: the values of 40 keys with the lock, then the others", n)
	}
}
