package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	raw "github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
)

const (
	// coldDocs is a multiple of the number of keys whose locations a store caches. If all documents are read
	// in turn, each key has to be looked up again.
	coldDocs = 200_000
	// hotDocs is a number of documents that fit in all caches.
	hotDocs = 1000
	// readCache is the size in bytes of the engine's cache in the measurements of reads. It is large enough
	// for coldDocs documents with all their keys.
	readCache = 512 << 20
)

// measureReads compares point reads with Gets of the same stored value in bare Pebble, on a copy of the same
// folder.
func (b *BenchmarkRun) measureReads(ctx context.Context) (err error) {
	n := min(coldDocs, 2*b.docs())
	dir, copied := b.path("read"), b.path("read-raw")
	defer drop(dir, copied)
	if err := b.makeReadData(ctx, n, dir, copied); err != nil {
		return err
	}
	db, c, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir, CacheBytes: readCache}})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	bare, err := openRaw(copied, readCache)
	if err != nil {
		return err
	}
	defer closing(bare, &err)
	stored, err := findRawKeys(bare, n)
	if err != nil {
		return err
	}
	ours, theirs := storeReader(ctx, c), rawReader(bare, stored)
	order := newOrder(n)
	if err := errors.Join(ours.readAll(order), theirs.readAll(order)); err != nil { // fill the caches
		return err
	}

	b.report.begin("read", fmt.Sprintf(
		"point reads in this process, one reader, all in the block cache, compacted; against Get of the same value (%s cold keys in random order, %s repeated ones)",
		thousands(int64(n)), thousands(hotDocs)), "raw Get")
	before, err := db.Metrics(ctx)
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		name  string
		keys  int
		limit *measurementThreshold
	}{{"cold key", n, ratioAtLeast(0.45)}, {"repeated key", min(hotDocs, n), ratioAtLeast(0.8)}} {
		keys := order[:kind.keys]
		d, err := b.compare(ctx, "reading: "+kind.name, b.repeat(ours.turn(keys), ours.read),
			b.repeat(theirs.turn(keys), theirs.read))
		if err != nil {
			return err
		}
		b.report.add(d.speed(kind.name, kind.limit).with(d.costs()))
	}
	after, err := db.Metrics(ctx)
	if err != nil {
		return err
	}
	if missed := after.Engine.CacheMisses - before.Engine.CacheMisses; missed > 0 {
		b.report.note("%s blocks were not in the cache", thousands(missed))
	}
	return nil
}

// makeReadData creates a compacted store of n documents, and a copy of it.
func (b *BenchmarkRun) makeReadData(ctx context.Context, n int, dir, copied string) (err error) {
	db, c, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir}})
	if err != nil {
		return err
	}
	b.progress.Start("filling the store to read from", n)
	if err := errors.Join(b.load(ctx, c, 0, n), db.Close()); err != nil {
		return err
	}
	b.progress.Start("compacting", 1)
	if err := compactFolder(ctx, dir); err != nil {
		return err
	}
	return copyFolder(copied, dir)
}

// readOrder is the order in which Mayfly and bare Pebble read the documents: a list of document numbers.
type readOrder []uint32

func newOrder(n int) readOrder {
	o := make(readOrder, n)
	for at, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		o[at] = uint32(i)
	}
	return o
}

// readWorkload holds the functions that read documents in rounds. The keys of a round are built before the
// round starts, so that building them is not measured. Keys for all documents at once would give the garbage
// collector more work than the reads themselves.
type readWorkload struct {
	prepare func(k, i int)    // prepares the k-th read of the next round, of the i-th document
	read    func(k int) error // runs the k-th read of the round
}

// turn returns a function that prepares the next round of reads: the next documents in the order o, which
// begins again at its end.
func (r readWorkload) turn(o readOrder) (prepare func()) {
	at := 0
	return func() {
		for k := range round {
			r.prepare(k, int(o[at]))
			at = (at + 1) % len(o)
		}
	}
}

// readAll reads every document at least once.
func (r readWorkload) readAll(o readOrder) error {
	prepare := r.turn(o)
	for range len(o)/round + 1 {
		prepare()
		for k := range round {
			if err := r.read(k); err != nil {
				return err
			}
		}
	}
	return nil
}

func storeReader(ctx context.Context, c *store.Container) readWorkload {
	var keys [round]store.ItemKey
	return readWorkload{
		prepare: func(k, i int) {
			d := newDocument(i)
			keys[k] = store.ItemKey{Partition: d.key(), ID: d.id}
		},
		read: func(k int) error {
			_, _, err := c.Read(ctx, keys[k].Partition, keys[k].ID, store.ReadOptions{})
			return err
		},
	}
}

func rawReader(bare *raw.DB, stored *storedDocumentKeys) readWorkload {
	var keys [round][]byte
	return readWorkload{
		prepare: func(k, i int) { keys[k] = append(keys[k][:0], stored.key(i)...) },
		read: func(k int) error {
			_, closer, err := bare.Get(keys[k])
			if err != nil {
				return err
			}
			return closer.Close()
		},
	}
}

// storedDocumentKeys are the keys of the stored documents. They are in one slice, so that the garbage
// collector has little work.
type storedDocumentKeys struct {
	text []byte
	at   [][2]uint32 // begin and end of the i-th document's key
}

func (r *storedDocumentKeys) key(i int) []byte { return r.text[r.at[i][0]:r.at[i][1]] }

// eachRawDocument calls fn with the number and the key of each stored document, in key order. The key is
// valid until fn returns.
func eachRawDocument(bare *raw.DB, fn func(i int, key []byte)) (err error) {
	it, err := bare.NewIter(nil)
	if err != nil {
		return err
	}
	defer closing(it, &err)
	for it.First(); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if i, ok := numberIn(value); ok {
			fn(i, it.Key())
		}
	}
	return nil
}

// findRawKeys finds the keys of n documents by reading the values.
func findRawKeys(bare *raw.DB, n int) (keys *storedDocumentKeys, err error) {
	keys = &storedDocumentKeys{at: make([][2]uint32, n)}
	found := 0
	err = eachRawDocument(bare, func(i int, key []byte) {
		if i < n && keys.at[i][1] == 0 {
			from := len(keys.text)
			keys.text = append(keys.text, key...)
			keys.at[i] = [2]uint32{uint32(from), uint32(len(keys.text))}
			found++
		}
	})
	if err != nil {
		return nil, err
	}
	if found != n {
		return nil, fmt.Errorf("%d of %d documents were found in the bare folder", found, n)
	}
	return keys, nil
}
