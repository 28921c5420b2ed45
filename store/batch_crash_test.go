package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// TestAtomicBatchAfterCrash checks that after a crash each atomic batch has taken effect
// completely or not at all, and completely if it was acknowledged.
func TestAtomicBatchAfterCrash(t *testing.T) {
	t.Parallel()
	const writers, rounds, crashes = 3, 40, 12
	ctx, fs := context.Background(), testdisk.NewCrashable(t)
	db, err := openAt(ctx, slowly(fs), ttl.NewManual(time.Unix(1_700_000_000, 0)))
	if err != nil {
		t.Fatal(err)
	}
	d, err := db.CreateDatabase(ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.CreateContainer(ctx, specOf(t, ""), definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	var told [writers]atomic.Int64 // the last batch that was answered
	var all sync.WaitGroup
	step := make(chan struct{})
	for w := range writers {
		all.Go(func() {
			for i := range rounds {
				if err := crashBatch(ctx, c, w, i+1); err != nil {
					t.Error(err)
				}
				told[w].Store(int64(i + 1))
				step <- struct{}{}
			}
		})
	}
	r := rand.New(rand.NewPCG(7, 7))
	for i := range writers * rounds {
		<-step
		if i%(writers*rounds/crashes) != 0 {
			continue
		}
		var least [writers]int64
		for w := range least {
			least[w] = told[w].Load()
		}
		wreck := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[r.IntN(3)], RNG: r})
		checkBatchWreck(t, wreck, least[:])
	}
	all.Wait()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// crashBatch runs the n-th atomic batch of the writer w. It sets the number in two items of the writer's
// partition to n, and creates a third item if n is odd or deletes it if n is even.
func crashBatch(ctx context.Context, c *store.Container, w, n int) error {
	p := fmt.Sprint("w", w)
	ops := []store.ItemOperation{
		{Kind: store.OperationUpsert, Body: fmt.Appendf(nil, `{"id":"a","pk":%q,"n":%d}`, p, n)},
		{Kind: store.OperationCreate, Body: fmt.Appendf(nil, `{"id":"odd","pk":%q,"n":%d}`, p, n)},
		{Kind: store.OperationUpsert, Body: fmt.Appendf(nil, `{"id":"b","pk":%q,"n":%d}`, p, n)},
	}
	if n%2 == 0 {
		ops[1] = store.ItemOperation{Kind: store.OperationDelete, ID: "odd"}
	}
	out, _, err := c.Batch(ctx, pk(p), ops, store.BatchOptions{Atomic: true})
	if err == nil && out.Mixed {
		err = fmt.Errorf("batch %d of %s: %s", n, p, codes(out))
	}
	return err
}

// checkBatchWreck opens the store on a disk as a crash has left it, and fails if a batch has taken effect
// only in part. least holds the number of the last acknowledged batch of each writer.
func checkBatchWreck(t *testing.T, fs *testdisk.EngineStorage, least []int64) {
	t.Helper()
	ctx := context.Background()
	db, err := openAt(ctx, fs, ttl.NewManual(time.Unix(1_700_000_000, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		checkClean(t, db)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	d, err := db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Container("c")
	if err != nil {
		t.Fatal(err)
	}
	n := func(p, id string) int64 {
		it, _, err := c.Read(ctx, pk(p), id, store.ReadOptions{})
		if err != nil && !is(err, fault.CodeNotFound) {
			t.Error(err)
		}
		return int64(jsondoc.Of(it.Body()).Member("n").Num())
	}
	for w := range least {
		p := fmt.Sprint("w", w)
		a, b, odd := n(p, "a"), n(p, "b"), n(p, "odd")
		if want := a * (a % 2); a != b || odd != want || a < least[w] {
			t.Errorf("%s: a is at %d, b at %d, odd at %d; %d was answered", p, a, b, odd, least[w])
		}
	}
}
