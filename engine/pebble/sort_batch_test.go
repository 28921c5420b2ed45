package pebble

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// TestManyWritesOfOneTransaction checks that if a transaction sets and deletes many keys in any order, the
// last write of each key takes effect.
func TestManyWritesOfOneTransaction(t *testing.T) {
	e, err := Open(t.Context(), Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r := rand.New(rand.NewPCG(1, 2))
	scope := []byte("scope")
	model := map[string]string{}
	for range 50 {
		_, err := e.Update(t.Context(), [][]byte{scope}, func(txn engine.Txn) error {
			for n := range 2 * sortedBatchKeys {
				key := fmt.Sprint(r.IntN(200))
				if r.IntN(2) > 0 {
					key = "the longer common prefix " + key
				}
				switch value := fmt.Sprint(n); r.IntN(8) {
				case 0, 1:
					txn.Delete([]byte(key))
					delete(model, key)
				case 2: // a read after a write
					if got, _ := txn.Get([]byte(key)); string(got) != model[key] {
						t.Errorf("%s is %q, not %q", key, got, model[key])
					}
				default:
					txn.Set([]byte(key), []byte(value))
					model[key] = value
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	err = e.View(t.Context(), func(reader engine.Reader) error {
		it := reader.Scan(engine.Range{}, false)
		for it.Next() {
			want, ok := model[string(it.Key())]
			if !ok || string(it.Value()) != want {
				t.Errorf("%s is %q, not %q", it.Key(), it.Value(), want)
			}
			found++
		}
		return it.Close()
	})
	if err != nil || found != len(model) {
		t.Errorf("%d of %d keys: %v", found, len(model), err)
	}
}

func TestOrderOfWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		writes := make([]batchWrite, r.IntN(40))
		for i := range writes {
			key := make([]byte, r.IntN(12))
			for j := range key {
				key[j] = byte(r.IntN(2)) * byte(r.IntN(256))
			}
			writes[i].key = append([]byte("same"), key...)
		}
		order := orderOf(writes)
		for i := 1; i < len(order); i++ {
			a, b := order[i-1].n, order[i].n
			if c := bytes.Compare(writes[a].key, writes[b].key); c > 0 || c == 0 && a > b {
				t.Fatalf("%x (%d) is before %x (%d)", writes[a].key, a, writes[b].key, b)
			}
		}
	}
}
