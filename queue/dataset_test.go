package queue

import (
	"fmt"
	"slices"
	"testing"
)

// TestOrderOfEntities checks that background work visits entities in a fixed order.
func TestOrderOfEntities(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	for n := range 20 {
		w.queue(fmt.Sprintf("q%d", n))
	}
	m, err := w.q.dataset()
	w.must(err)
	ranges, err := expiredMessageSweeper{m}.Ranges(w.ctx)
	w.must(err)
	var owners []uint32
	for _, r := range ranges {
		owners = append(owners, r.Owner)
	}
	if !slices.IsSorted(owners) || len(owners) != 20 {
		t.Error(owners)
	}
}
