package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/ttl"
)

// TestReadersOfExpiryLog checks that each of two readers of the log of expiries gets every expiry once,
// in the order of sequence numbers inside a range, while items expire, ranges are split and the reaper is
// paused and resumed.
func TestReadersOfExpiryLog(t *testing.T) {
	t.Parallel()
	b := &testStore{t: t, ctx: context.Background(), clock: ttl.NewManual(time.Unix(1_700_000_000, 0))}
	e, err := testdisk.New(t).Open(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if b.db, err = store.Open(b.ctx, e, store.Options{Clock: b.clock, Ranges: 2}); err != nil {
		t.Fatal(err)
	}
	d, err := b.db.CreateDatabase(b.ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	if b.c, err = d.CreateContainer(b.ctx, specOf(t, `"defaultTtl":2`), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.settings(withEvents(1_000_000))
	const writers, each = 4, 150
	var all sync.WaitGroup
	told := make(chan bool)
	for range 2 {
		all.Go(func() { b.hear(writers*each, told) })
	}
	for w := range writers {
		all.Go(func() {
			for i := range each {
				p := fmt.Sprint("p", i%7)
				if _, _, err := b.c.Create(b.ctx, pk(p), fmt.Appendf(nil, `{"id":"%d-%d","pk":%q}`, w, i, p),
					store.WriteOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for _, id := range b.rangeIDs() {
			b.split(id, "")
		}
		b.settings(withReaper(store.ReaperSettings{Delay: &store.PurgeDelay{Max: 30, Seed: 1}}))
	})
	for listening := 2; listening > 0; { // time goes on until both have heard all
		select {
		case <-told:
			listening--
		default:
			// One read for each half second: the time of a slow store does not outrun the log's retention.
			if _, err := b.c.ExpirationsEnd(b.ctx); err != nil {
				t.Error(err)
			}
			b.clock.Advance(500 * time.Millisecond)
		}
	}
	all.Wait()
}

// hear follows the log of expiries until it has returned n expiries, checks that none is repeated or out
// of order, and then sends on told.
func (b *testStore) hear(n int, told chan<- bool) {
	defer func() { told <- true }()
	heard, last, position := map[string]bool{}, map[string]uint64{}, ""
	for len(heard) < n {
		grown := b.c.ExpirationsChanged()
		page, err := b.c.Expirations(b.ctx, position, 10)
		if err != nil || page.Lost {
			b.t.Error(page.Lost, err)
			return
		}
		for _, e := range page.Expirations {
			if heard[e.Key.ID] || e.Sequence <= last[e.Range] {
				b.t.Errorf("%s at %d of range %s, behind %d; heard before: %t", e.Key.ID, e.Sequence, e.Range,
					last[e.Range], heard[e.Key.ID])
			}
			heard[e.Key.ID], last[e.Range] = true, e.Sequence
		}
		if position = page.Position; len(page.Expirations) == 0 {
			<-grown
		}
	}
}
