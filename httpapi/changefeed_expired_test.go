package httpapi

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/ttl"
)

// steppingClock is a wall clock that stands still until step is set. From then on, each call of Now
// advances it by step.
type steppingClock struct {
	ttl.Clock
	step, past atomic.Int64
}

func (h *steppingClock) Now() time.Time { return start.Add(time.Duration(h.past.Add(h.step.Load()))) }

// TestChangeFeedOverExpiredItems checks that a page of the change feed ends with 200 and no items if its time
// limit is reached while it skips expired items. The client continues from its etag; 304 comes only at the
// end of the feed.
func TestChangeFeedOverExpiredItems(t *testing.T) {
	t.Parallel()
	wall := &steppingClock{Clock: ttl.SystemClock{}}
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.store.Wall = wall })
	w.feedContainer(`,"defaultTtl":-1`)
	for n := range 1200 {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"a","ttl":10}`, n), pk(`["a"]`)...).want(201)
	}
	w.clock.Advance(time.Minute)
	wall.step.Store(int64(2 * time.Second))
	defer wall.step.Store(0)
	first := w.do("GET", docs, "", "a-im", "Incremental feed").want(200)
	if n := first.header.Get("x-ms-item-count"); n != "0" || first.header.Get("etag") == "" {
		t.Errorf("%s items, etag %s", n, first.header.Get("etag"))
	}
	next := first
	// With a database, the renewal of leases also moves the clock, so that pages end sooner.
	for n := 0; next.code == 200 && (n == 0 || testdisk.Postgres(t)); n++ {
		next = w.do("GET", docs, "", "a-im", "Incremental feed", "if-none-match", next.header.Get("etag"))
	}
	next.want(304)
}
