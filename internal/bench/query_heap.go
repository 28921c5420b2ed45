package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
)

// heapCache is the size of the block cache, in bytes, while measureHeap measures the memory of queries. The
// cache is part of the heap, unless cgo is used.
const heapCache = 64 << 20

// heapPages is the number of result pages that the benchmark reads of a query that sorts without an index.
// It is small because each page reads all documents.
const heapPages = 3

// measureHeap measures how much memory is in use during paged queries that read all documents: one that sorts
// without an index, and one with many groups.
func (b *BenchmarkRun) measureHeap(ctx context.Context, sets []queryBenchmarkDataSet) (err error) {
	set := sets[len(sets)-1]
	db, c, err := b.queryContainer(ctx,
		storeOpenOptions{engine: pebble.Options{Dir: set.dir, CacheBytes: heapCache},
			store: store.Options{Lenient: true}}, querySpec())
	if err != nil {
		return err
	}
	defer closing(db, &err)
	b.report.begin("query", fmt.Sprintf(
		"memory in use as garbage collections find it, one every tenth of the heap, for nine tenths of the "+
			"time at most, while %s are paged; before, the store had its block cache of %s and no query",
		set, byteCount.text(heapCache)), "before")
	for _, q := range []struct {
		name, text string
		pages      int
	}{
		{fmt.Sprintf("ORDER BY without an index, %d pages of %s", heapPages, thousands(1000)),
			`SELECT * FROM c ORDER BY c.weight DESC`, heapPages},
		{"GROUP BY the partition key, all pages", `SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk`, -1},
	} {
		if err := readPages(ctx, c, q.text, 1); err != nil { // fill the cache
			return err
		}
		held, before, err := b.heapWithin(ctx, func() error { return readPages(ctx, c, q.text, q.pages) })
		if err != nil {
			return err
		}
		against := float64(before)
		b.report.add(Measurement{Name: q.name, Value: float64(held), Unit: byteCount, Against: &against})
	}
	return nil
}

// readPages reads pages of a query, all pages if pages is negative.
func readPages(ctx context.Context, c *store.Container, text string, pages int) error {
	r := store.QueryRequest{Text: text, ListOptions: store.ListOptions{MaxItems: -1}}
	for more := true; more && pages != 0; pages-- {
		page, _, err := c.Query(ctx, r)
		if err != nil {
			return err
		}
		r.Continuation = page.Continuation
		more = r.Continuation != ""
	}
	return nil
}

// heapWithin runs work and returns how many bytes of the heap were in use, as found by garbage collections.
// held is the value that was not exceeded for nine tenths of the time of work; before is the value before
// work. A collection counts memory allocated while it runs as in use, which on a busy machine is sometimes
// a lot; so the maximum would be too high.
func (b *BenchmarkRun) heapWithin(ctx context.Context, work func() error) (held, before uint64, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	before = liveHeap()
	var seen []uint64
	stop := background(ctx, 1, func(int) error {
		seen = append(seen, liveHeap())
		after, release := b.clock.After(time.Millisecond)
		defer release()
		<-after
		return nil
	})
	err = errors.Join(work(), stop())
	seen = append(seen, liveHeap())
	slices.Sort(seen)
	return seen[len(seen)*9/10], before, err
}

// liveHeap returns the bytes in use that the last garbage collection has found.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
