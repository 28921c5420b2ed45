package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// TestUsageOfServers checks that each of two servers counts the documents correctly while the other purges
// some, even twice in one second.
func TestUsageOfServers(t *testing.T) {
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	b, other := twoServers(t, `"defaultTtl":-1`, clock, [2]ttl.Clock{clock, clock}, unwatched)
	const documents, batch = 20, 4
	for i := range documents {
		b.put(fmt.Sprintf(`{"id":"%d","pk":"p%d","ttl":%d}`, i, i%7, 10))
	}
	want := func(n int64) {
		t.Helper()
		for range 2 { // the second time from memory, if possible
			for name, server := range map[string]*testStore{"first": b, "other": other} {
				if u, err := server.c.Usage(b.ctx); err != nil || u.Documents != n {
					t.Errorf("the %s server counts %d documents, %v; want %d", name, u.Documents, err, n)
				}
			}
		}
	}
	want(documents)
	clock.Advance(20 * time.Second)
	want(documents)
	for left := int64(documents); left > 0; left -= batch {
		n, err := other.c.Reap(b.ctx, batch)
		if err != nil || n != batch {
			t.Fatalf("%d were purged, %v", n, err)
		}
		want(left - batch)
	}
	b.put(`{"id":"new","pk":"p"}`)
	want(1)
}
