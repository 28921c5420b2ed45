package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	raw "github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
)

const (
	feedDocs    = 20_000
	feedReaders = 8
	feedPage    = 1000 // changes
)

// measureFeed compares readers that each read a whole change feed with as many scans of the same values in
// bare Pebble.
func (b *BenchmarkRun) measureFeed(ctx context.Context) (err error) {
	n := min(feedDocs, b.docs())
	dir, copied := b.path("feed"), b.path("feed-raw")
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
	b.report.begin("feed", fmt.Sprintf("change feed of %s documents, from its beginning, in pages of %d, "+
		"%d readers; against as many scans that copy the documents",
		thousands(int64(n)), feedPage, feedReaders), "raw scans")
	ours, err := b.newFanOut(n, func(most int) (int, error) { return readFeed(ctx, c, most) })
	if err != nil {
		return err
	}
	theirs, err := b.newFanOut(n, func(most int) (int, error) { return scanDocuments(bare, most) })
	if err != nil {
		return err
	}
	d, err := b.compare(ctx, "reading the feed", ours.slice(ctx), theirs.slice(ctx))
	if err != nil {
		return err
	}
	b.report.add(d.rate("changes", nil).with(d.costs()))
	return nil
}

// feedFanOutComparison is the state of one comparison of measureFeed: Mayfly's readers of a change feed
// against scans of bare Pebble. In each slice of the measurement both read as many documents as fit into
// its time.
type feedFanOutComparison struct {
	b    *BenchmarkRun
	read func(most int) (int, error)
	most int // documents that each reader reads
}

func (b *BenchmarkRun) newFanOut(n int, read func(most int) (int, error)) (*feedFanOutComparison, error) {
	got, err := read(n) // this read also fills the caches
	if err == nil && got != n {
		err = fmt.Errorf("%d of %d documents were read", got, n)
	}
	return &feedFanOutComparison{b, read, n}, err
}

func (f *feedFanOutComparison) slice(ctx context.Context) comparisonWorkSliceFunc {
	return func() (int, time.Duration, error) {
		var ops atomic.Int64
		began := f.b.clock.Now()
		var err error
		for err == nil && (ops.Load() == 0 || f.b.clock.Now().Sub(began) < f.b.sliceTime()) {
			err = workers(ctx, feedReaders, 0, feedReaders, func(int) error {
				n, err := f.read(f.most)
				ops.Add(int64(n))
				return err
			})
		}
		return int(ops.Load()), f.b.clock.Now().Sub(began), err
	}
}

// readFeed reads up to most changes from the beginning.
func readFeed(ctx context.Context, c *store.Container, most int) (n int, err error) {
	r := store.ChangesRequest{MaxItems: feedPage}
	for n < most {
		page, _, err := c.Changes(ctx, r)
		if err != nil {
			return n, err
		}
		for _, change := range page.Changes {
			if len(change.Item.Body()) == 0 {
				return n, errors.New("a change has no document")
			}
		}
		if n += len(page.Changes); len(page.Changes) == 0 {
			return n, nil
		}
		r.Start = store.ChangesStart{After: page.Position}
	}
	return n, nil
}

// scanDocuments reads up to most documents in bare Pebble.
func scanDocuments(bare *raw.DB, most int) (n int, err error) {
	it, err := bare.NewIter(nil)
	if err != nil {
		return 0, err
	}
	defer closing(it, &err)
	var copied []byte // a change is a copy of its document too
	for it.First(); it.Valid() && n < most; it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return n, err
		}
		if len(value) >= benchDocBytes {
			copied = append(copied[:0], value...)
			n++
		}
	}
	return n, nil
}
