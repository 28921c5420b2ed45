//go:build long

package peers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"go.etcd.io/bbolt"
)

var keyTime = flag.Duration("keytime", 3*time.Second, "how long TestKeys measures each store in each row")

// keyValueStore is an embedded key-value store of whole documents by their ids, with durable writes. bbolt
// and badger, unlike Mayfly, do not index the documents and do not expire them.
type keyValueStore struct {
	name  string
	put   func(i int, body []byte) error
	get   func(i int) (bytes int, err error)
	close func() error
}

func openBolt(dir string) (s keyValueStore, err error) {
	db, err := bbolt.Open(filepath.Join(dir, "bolt"), 0o600, nil)
	if err != nil {
		return s, err
	}
	bucket := []byte("docs")
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(bucket)
		return err
	})
	return keyValueStore{"bbolt", func(i int, body []byte) error {
		return db.Batch(func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put([]byte(id(i)), body) })
	}, func(i int) (n int, err error) {
		err = db.View(func(tx *bbolt.Tx) error {
			n = len(slices.Clone(tx.Bucket(bucket).Get([]byte(id(i)))))
			return nil
		})
		return n, err
	}, db.Close}, err
}

func openBadger(dir string) (s keyValueStore, err error) {
	db, err := badger.Open(badger.DefaultOptions(filepath.Join(dir, "badger")).WithSyncWrites(true).WithLogger(nil))
	if err != nil {
		return s, err
	}
	return keyValueStore{"badger", func(i int, body []byte) error {
		return db.Update(func(tx *badger.Txn) error {
			return tx.SetEntry(badger.NewEntry([]byte(id(i)), body).WithTTL(time.Hour))
		})
	}, func(i int) (n int, err error) {
		err = db.View(func(tx *badger.Txn) error {
			item, err := tx.Get([]byte(id(i)))
			if err != nil {
				return err
			}
			body, err := item.ValueCopy(nil)
			n = len(body)
			return err
		})
		return n, err
	}, db.Close}, nil
}

func openMayfly(ctx context.Context, dir string) (s keyValueStore, err error) {
	e, err := openEmbedded(ctx, filepath.Join(dir, "mayfly"))
	if err != nil {
		return s, err
	}
	list := documentSet{1 << 20}
	return keyValueStore{"Mayfly", func(_ int, body []byte) error {
		_, err := e.docs.Upsert(ctx, body)
		return err
	}, func(i int) (int, error) {
		d, err := e.docs.Read(ctx, list.partition(i), id(i))
		return len(d.JSON), err
	}, e.close}, nil
}

// TestKeys measures durable writes and reads by id of Mayfly, bbolt and badger. The stores take turns of a
// short time.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	bolt, err1 := openBolt(dir)
	badgers, err2 := openBadger(dir)
	mayfly, err3 := openMayfly(t.Context(), dir)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	all := []keyValueStore{mayfly, bolt, badgers}
	documents := documentSet{1 << 20}
	written := make([]atomic.Int64, len(all))
	t.Logf("%-24s %12s %12s %12s   operations a second, medians of slices", "", all[0].name, all[1].name, all[2].name)
	for _, row := range []struct {
		name    string
		writers int
		read    bool
	}{{"durable writes, 1", 1, false}, {"durable writes, 64", 64, false}, {"reads, 1", 1, true}, {"reads, 16", 16, true}} {
		rates := make([][]float64, len(all))
		for range 5 {
			for k, s := range all {
				n := slice(t, row.writers, *keyTime/5, func(at int64) error {
					if row.read {
						bytes, err := s.get(int(at*7919) % int(written[k].Load()))
						if err == nil && bytes < docBytes {
							err = fmt.Errorf("%s: a document of %d bytes", s.name, bytes)
						}
						return err
					}
					i := int(written[k].Add(1)) - 1
					return s.put(i, documents.json(i))
				})
				rates[k] = append(rates[k], float64(n)/(*keyTime/5).Seconds())
			}
		}
		line := fmt.Sprintf("%-24s", row.name)
		for _, r := range rates {
			slices.Sort(r)
			line += fmt.Sprintf(" %12.0f", r[len(r)/2])
		}
		t.Log(line)
	}
	for _, s := range all {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

// slice calls do repeatedly in n goroutines until d has passed, and returns the number of calls. at is the
// number of the call, from 1. An error of do fails the test and ends its goroutine.
func slice(t *testing.T, n int, d time.Duration, do func(at int64) error) int64 {
	var next atomic.Int64
	var work sync.WaitGroup
	end := time.Now().Add(d)
	for range n {
		work.Go(func() {
			for time.Now().Before(end) {
				if err := do(next.Add(1)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	return next.Load()
}
