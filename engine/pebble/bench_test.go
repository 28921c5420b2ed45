package pebble

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
)

// document calls set for the keys of one small document, as the store would write them: its body and about a
// dozen of short keys.
func document(id uint64, set func(key, value []byte)) {
	var key [32]byte
	binary.BigEndian.PutUint64(key[1:], id*0x9E3779B97F4A7C15)
	key[0] = 'd'
	set(key[:9], body)
	for i := range byte(13) {
		key[0] = 'e' + i
		set(key[:25], nil)
	}
}

var body = make([]byte, 1000)

// BenchmarkWrite compares durable transactions of the engine, all in one scope (so one after another),
// with durable Pebble batches of the same keys.
func BenchmarkWrite(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d/raw", writers), func(b *testing.B) {
			e := mustOpen(b, Options{Dir: b.TempDir()})
			spread(b, writers, func(id uint64) error {
				batch := e.db.NewBatch()
				document(id, func(k, v []byte) { _ = batch.Set(k, v, nil) })
				return batch.Commit(pebble.Sync)
			})
			mustClose(b, e)
		})
		b.Run(fmt.Sprintf("writers=%d/engine", writers), func(b *testing.B) {
			e := mustOpen(b, Options{Dir: b.TempDir()})
			spread(b, writers, func(id uint64) error {
				_, err := e.Update(ctx, scopeA, func(tx engine.Txn) error {
					tx.NextLSN(scopeA[0])
					document(id, tx.Set)
					return nil
				})
				return err
			})
			m := e.Metrics()
			b.ReportMetric(float64(m.Commits)/float64(m.Barriers), "commits/barrier")
			mustClose(b, e)
		})
	}
}

// spread runs fn b.N times, distributed among n goroutines, each time with another id.
func spread(b *testing.B, n int, fn func(id uint64) error) {
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for id := next.Add(1); id <= uint64(b.N); id = next.Add(1) {
				if err := fn(id); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// BenchmarkRead compares the ways to read one cached key.
func BenchmarkRead(b *testing.B) {
	const n = 20_000
	e := mustOpen(b, Options{Dir: b.TempDir()})
	defer mustClose(b, e)
	for id := uint64(0); id < n; id += 100 {
		if _, err := e.Update(ctx, scopeA, func(tx engine.Txn) error {
			for i := range uint64(100) {
				document(id+i, tx.Set)
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.db.Flush(); err != nil {
		b.Fatal(err)
	}
	var key [9]byte
	at := func(i int) []byte {
		key[0] = 'd'
		binary.BigEndian.PutUint64(key[1:], uint64(i%n)*0x9E3779B97F4A7C15)
		return key[:]
	}
	for name, read := range map[string]func(key []byte) error{
		"raw": func(key []byte) error {
			v, closer, err := e.db.Get(key)
			if err != nil {
				return err
			}
			_ = append([]byte(nil), v...)
			return closer.Close()
		},
		"Get": func(key []byte) error {
			_, _, err := e.Get(ctx, scopeA[0], key)
			return err
		},
		"View": func(key []byte) error {
			return e.View(ctx, func(r engine.Reader) error { _, err := r.Get(key); return err })
		},
		"Update": func(key []byte) error {
			_, err := e.Update(ctx, scopeA, func(tx engine.Txn) error { _, err := tx.Get(key); return err })
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if err := read(at(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadMany compares a hundred calls of Get with one call of GetMany for a hundred keys, in a View
// and in an Update.
func BenchmarkReadMany(b *testing.B) {
	const n, page = 20_000, 100
	e := mustOpen(b, Options{Dir: b.TempDir()})
	defer mustClose(b, e)
	for id := uint64(0); id < n; id += page {
		if _, err := e.Update(ctx, scopeA, func(tx engine.Txn) error {
			for i := range uint64(page) {
				document(id+i, tx.Set)
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.db.Flush(); err != nil {
		b.Fatal(err)
	}
	keys := make([][]byte, page)
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint64([]byte{'d'}, uint64(i*n/page)*0x9E3779B97F4A7C15)
	}
	each := func(r engine.Reader) error {
		for _, key := range keys {
			if _, err := r.Get(key); err != nil {
				return err
			}
		}
		return nil
	}
	many := func(r engine.Reader) error { _, err := r.GetMany(keys); return err }
	for name, fn := range map[string]func(engine.Reader) error{"Get": each, "GetMany": many} {
		b.Run("View/"+name, func(b *testing.B) {
			for range b.N {
				if err := e.View(ctx, fn); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Update/"+name, func(b *testing.B) {
			for range b.N {
				if _, err := e.Update(ctx, scopeA, func(tx engine.Txn) error { return fn(tx) }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
