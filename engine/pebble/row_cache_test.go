package pebble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// lookup reads a key through the row cache, as a caller of engine.RowCacher does, and reports whether the
// value was in the cache. The value of an absent key is nil.
func lookup(t *testing.T, r engine.Reader, key string) (value []byte, cached bool) {
	t.Helper()
	rows := r.(engine.RowCacher)
	if v, ok := rows.Cached([]byte(key)); ok {
		return v, true
	}
	v, err := r.Get([]byte(key))
	if errors.Is(err, engine.ErrNotFound) {
		return nil, false
	}
	if err != nil {
		t.Fatal(err)
	}
	rows.Cache([]byte(key), v)
	return v, false
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// openMemory returns an engine in memory that is closed after the test.
func openMemory(t *testing.T, cache int64) *Engine {
	t.Helper()
	e, err := Open(t.Context(), Options{Memory: true, Strict: true, CacheBytes: cache})
	if err != nil {
		t.Fatal(err)
	}
	e.CacheRows(func(key []byte) bool { return !bytes.HasPrefix(key, []byte("un")) })
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

var rowScope = [][]byte{[]byte("scope")}

// update runs a transaction in the single scope of these tests, and fails the test if it returns an error.
func update(t *testing.T, e *Engine, fn func(engine.Txn)) {
	t.Helper()
	_, err := e.Update(t.Context(), rowScope, func(txn engine.Txn) error { fn(txn); return nil })
	if err != nil {
		t.Error(err)
	}
}

// TestRowCacheChanges: a value is cached when it is read for the second time, and every kind of change
// removes it.
func TestRowCacheChanges(t *testing.T) {
	e := openMemory(t, 1<<20)
	for key, change := range map[string]func(engine.Txn){
		"a": func(txn engine.Txn) { txn.Set([]byte("a"), number(2)) },
		"b": func(txn engine.Txn) { txn.Delete([]byte("b")) },
		"c": func(txn engine.Txn) { txn.DeleteRange(engine.Prefix([]byte("c"))) },
	} {
		update(t, e, func(txn engine.Txn) { txn.Set([]byte(key), number(1)) })
		for i := range 4 {
			view(t, e, func(r engine.Reader) {
				lookup(t, r, "none") // takes the snapshot
				v, cached := lookup(t, r, key)
				if string(v) != string(number(1)) || i == 0 && cached || i > 1 && !cached {
					t.Errorf("%s: read %d: %x, cached: %t", key, i, v, cached)
				}
				if i == 3 {
					update(t, e, change)
					if v, cached = lookup(t, r, key); string(v) != string(number(1)) || cached {
						t.Errorf("%s: the same snapshot after the change: %x, cached: %t", key, v, cached)
					}
				}
			})
		}
		view(t, e, func(r engine.Reader) {
			want, _ := r.Get([]byte(key))
			if v, cached := lookup(t, r, key); string(v) != string(want) || cached {
				t.Errorf("%s: a new snapshot: %x, cached: %t", key, v, cached)
			}
		})
	}
}

// view runs fn over a snapshot.
func view(t *testing.T, e *Engine, fn func(engine.Reader)) {
	t.Helper()
	if err := e.View(t.Context(), func(r engine.Reader) error { fn(r); return nil }); err != nil {
		t.Error(err)
	}
}

// TestRowCacheLimit checks that the cache does not use more memory than its limit, and does not keep large
// values.
func TestRowCacheLimit(t *testing.T) {
	c := newRowCache(64 << 10)
	all := func([]byte) bool { return true }
	c.holds.Store(&all)
	put := func(key, value []byte) {
		hash, _ := c.hash(key)
		c.put(hash, key, value, 0)
	}
	get := func(key []byte) bool {
		hash, _ := c.hash(key)
		_, ok := c.get(hash, key, 0)
		return ok
	}
	for i := range 5000 {
		key, value := []byte(fmt.Sprint("key", i)), make([]byte, i%400)
		put(key, value)
		put(key, value)
		get(fmt.Append(nil, "key", i/2))
	}
	put([]byte("large"), make([]byte, maxCachedRow+1))
	put([]byte("large"), make([]byte, maxCachedRow+1))
	if get([]byte("large")) {
		t.Error("a large value is cached")
	}
	rows := 0
	for i := range c.shards {
		s, size := &c.shards[i], int64(0)
		for at, row := range s.ring {
			if size += row.size(); row.at != at || s.rows[row.hash] != row {
				t.Errorf("shard %d: row %d is %q at %d", i, at, row.key, row.at)
			}
		}
		if size != s.size || size > s.limit || len(s.ring) != len(s.rows) {
			t.Errorf("shard %d: %d bytes counted as %d of %d; %d and %d rows", i, size, s.size, s.limit,
				len(s.ring), len(s.rows))
		}
		rows += len(s.ring)
	}
	if rows == 0 {
		t.Error("the cache is empty")
	}
}

// TestRowCacheGets: while a writer raises the number in each key, or deletes the key, Gets return what the
// last commit before the Get has written, or a later commit.
func TestRowCacheGets(t *testing.T) {
	const keys, rounds = 4, 4000
	e := openMemory(t, 1<<20)
	var committed [keys]atomic.Uint64 // the highest number of a commit that has ended, by key
	var written atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer written.Store(true)
		for n := uint64(1); n <= rounds; n++ {
			k := n % keys
			key := []byte{'k', byte(k)}
			update(t, e, func(txn engine.Txn) {
				if n%32 < keys {
					txn.Delete(key)
				}
				if n%64 >= keys {
					txn.Set(key, number(n))
				}
			})
			if n%64 >= keys {
				committed[k].Store(n)
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			for k := 0; !written.Load(); k = (k + 1) % keys {
				least := committed[k].Load()
				v, _, err := e.Get(t.Context(), rowScope[0], []byte{'k', byte(k)})
				if err != nil && !errors.Is(err, engine.ErrNotFound) {
					t.Error(err)
				}
				if err == nil && binary.BigEndian.Uint64(v) < least {
					t.Errorf("a Get returned %d after the commit of %d", binary.BigEndian.Uint64(v), least)
				}
			}
		})
	}
	wg.Wait()
	for k := range byte(keys) {
		for range 3 {
			if _, _, err := e.Get(t.Context(), rowScope[0], []byte{'k', k}); err != nil {
				t.Error(err)
			}
		}
		hash, _ := e.rows.hash([]byte{'k', k})
		if _, ok := e.rows.get(hash, []byte{'k', k}, e.rows.epoch.Load()); !ok {
			t.Errorf("Gets have not cached the value of key %d", k)
		}
	}
}

// TestRowCacheSnapshots: while transactions set a group of keys to the same number, or delete them all, every
// snapshot shows one number in all of them, as without a cache.
func TestRowCacheSnapshots(t *testing.T) {
	const keys, writers, rounds = 6, 2, 1000
	e := openMemory(t, 1<<20)
	key := func(i int) string { return fmt.Sprint("key", i) }
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				n := r.Uint64()
				update(t, e, func(txn engine.Txn) {
					if n%8 == 0 {
						txn.DeleteRange(engine.Prefix([]byte("key")))
						return
					}
					for i := range keys {
						if n%8 == 1 {
							txn.Delete([]byte(key(i)))
						} else {
							txn.Set([]byte(key(i)), number(n))
						}
					}
				})
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()
	hits := 0
	read := func(r engine.Reader) {
		first, _ := r.Get([]byte(key(0)))
		for k := range 3 * keys {
			v, cached := lookup(t, r, key(k%keys))
			if string(v) != string(first) {
				t.Errorf("%s is %x, not %x; cached: %t", key(k%keys), v, first, cached)
			}
			if cached {
				hits++
			}
		}
	}
	for more := true; more; {
		select {
		case <-written:
			more = false
		default:
		}
		view(t, e, read)
	}
	update(t, e, func(txn engine.Txn) {
		for i := range keys {
			txn.Set([]byte(key(i)), number(1))
		}
	})
	hits = 0
	view(t, e, read)
	if hits == 0 {
		t.Error("nothing was read from the cache")
	}
}
