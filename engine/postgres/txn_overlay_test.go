package postgres

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// TestOverlay applies random writes to a txnOverlay and to a map, and checks that both return the same for
// each key, also copies of an earlier state.
func TestOverlay(t *testing.T) {
	const keys = 40
	key := func(n int) []byte { return fmt.Appendf(nil, "%02d", n) }
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		o, model := newOverlay(), map[string]string{} // "" for a key that is deleted
		var kept []txnOverlay
		var models []map[string]string
		for step := range 60 {
			switch a, b := rng.IntN(keys), rng.IntN(keys+1); rng.IntN(4) {
			case 0:
				o.set(key(a), fmt.Append(nil, step))
				model[string(key(a))] = fmt.Sprint(step)
			case 1:
				o.delete(key(a))
				model[string(key(a))] = ""
			case 2:
				r := engine.Range{Start: key(a), End: key(b)}
				if b == keys {
					r.End = nil
				}
				o.deleteRange(r)
				for n := range keys {
					if within(r, key(n)) {
						model[string(key(n))] = ""
					}
				}
			default:
				kept, models = append(kept, o.copy()), append(models, maps.Clone(model))
			}
		}
		kept, models = append(kept, o), append(models, model)
		for i, o := range kept {
			for n := range keys {
				value, deleted, decided := o.get(key(n))
				want, known := models[i][string(key(n))]
				if decided != known || known && (deleted != (want == "") || string(value) != want) {
					t.Fatalf(
						"seed %d, copy %d, key %d: %q, %v, %v; want %q, %v",
						seed,
						i,
						n,
						value,
						deleted,
						decided,
						want,
						known,
					)
				}
			}
		}
		for i, r := range o.ranges[:max(0, len(o.ranges)-1)] {
			if r.End == nil || bytes.Compare(r.End, o.ranges[i+1].Start) >= 0 {
				t.Fatalf("seed %d: ranges %q are not disjoint", seed, o.ranges)
			}
		}
	}
}

// TestLongKeys checks that a key longer than PostgreSQL's index allows is decoded unchanged from its
// stored form, and that an invalid stored form is rejected.
func TestLongKeys(t *testing.T) {
	for _, n := range []int{1, longKey - 1, longKey, longKey + 1, 5000} {
		key := bytes.Repeat([]byte{0xFE}, n)
		k, v := storedKey(key), storedValue(key, []byte("value"))
		if len(k) > 2700 {
			t.Errorf("%d bytes are stored as a key of %d", n, len(k))
		}
		r, ok := load(k, v)
		if !ok || !bytes.Equal(r.key, key) || string(r.value) != "value" {
			t.Errorf("%d bytes: %v, %d, %q", n, ok, len(r.key), r.value)
		}
	}
	for _, v := range [][]byte{nil, {0xFF}, {5, 1, 2}} {
		if _, ok := load(make([]byte, longKey), v); ok {
			t.Errorf("%x is taken for the value of a long key", v)
		}
	}
}

// TestLongKeysStored checks long keys in a database: reads, scans in both directions, and ranges that
// begin and end at long keys.
func TestLongKeysStored(t *testing.T) {
	e := newTestSchema(t).open(Options{})
	defer closing(t, e)
	rng := rand.New(rand.NewPCG(1, 2))
	var keys [][]byte
	for i := range 40 {
		key := make([]byte, 2000+rng.IntN(2000))
		for n := range key {
			key[n] = byte(rng.Uint32())
		}
		copy(key, fmt.Sprintf("a/%02d/", i))
		keys = append(keys, key)
	}
	put(t, e, func(tx engine.Txn) {
		for i, key := range keys {
			tx.Set(key, fmt.Append(nil, i))
		}
	})
	walk := func(r engine.Range, reverse bool) (found []string) {
		err := e.View(ctx, func(v engine.Reader) error {
			it := v.Scan(r, reverse)
			for it.Next() {
				found = append(found, string(it.Value()))
			}
			return it.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	all := walk(engine.Prefix([]byte("a/")), false)
	back := walk(engine.Prefix([]byte("a/")), true)
	slices.Reverse(back)
	if len(all) != 40 || all[7] != "7" || !slices.Equal(all, back) {
		t.Errorf("forwards %q, backwards %q", all, back)
	}
	if got := walk(engine.Range{Start: keys[10], End: keys[20]}, false); len(got) != 10 || got[0] != "10" {
		t.Errorf("from the 10th to the 20th: %q", got)
	}
	put(t, e, func(tx engine.Txn) {
		tx.DeleteRange(engine.Range{Start: keys[10], End: keys[20]})
		tx.Delete(keys[39])
	})
	if got := walk(engine.Prefix([]byte("a/")), false); len(got) != 29 || got[10] != "20" {
		t.Errorf("after deleting: %q", got)
	}
}

func put(t *testing.T, e *Engine, fn func(engine.Txn)) {
	t.Helper()
	if _, err := e.Update(ctx, [][]byte{[]byte("a")}, func(tx engine.Txn) error { fn(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

func closing(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
