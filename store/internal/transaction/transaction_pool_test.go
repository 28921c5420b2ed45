package transaction

import (
	"testing"

	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// TestPutClearsTransaction checks that a transaction that is returned to the pool keeps its buffers but no
// data that it wrote.
func TestPutClearsTransaction(t *testing.T) {
	var p TransactionPool
	tx := p.Get()
	tx.State, tx.Range = &container.State{}, &container.Partition{}
	tx.Blocked, tx.Purged, tx.terms = &BlockingExpiredItem{}, 1, 2
	tx.Written = append(tx.one[:0], &PreparedOperation{})
	tx.feed = append(tx.feed, latestVersionFeedWrite{1, layout.FeedEntry{EPK: []byte("epk")}})
	tx.history = append(tx.history,
		versionFeedWrite{1, layout.AllVersionsFeedEntry{ID: "a", Body: []byte("body")}})
	tx.changed = append(tx.changed, view.KeyValue{Key: []byte("key")})
	tx.value = append(tx.value, "stored"...)
	p.Put(tx)
	switch {
	case tx.State != nil, tx.Range != nil, tx.Blocked != nil, tx.Purged != 0, tx.terms != 0, tx.Written != nil,
		tx.one[0] != nil:
		t.Errorf("the free transaction still has %+v", tx)
	case len(tx.feed) != 0, len(tx.history) != 0, len(tx.changed) != 0, len(tx.value) != 0:
		t.Error("the free transaction still has entries")
	case cap(tx.feed) == 0, cap(tx.history) == 0, cap(tx.changed) == 0, cap(tx.value) == 0:
		t.Error("the free transaction has lost its memory")
	case tx.feed[:1][0].entry.EPK != nil, tx.history[:1][0].entry.Body != nil, tx.changed[:1][0].Key != nil:
		t.Error("the memory of the free transaction refers to what it wrote")
	}
}

// TestPutDropsLargeMemory checks that a transaction in the pool does not keep the large buffers of a large
// item.
func TestPutDropsLargeMemory(t *testing.T) {
	var p TransactionPool
	tx := p.Get()
	tx.value = make([]byte, maxKept+1)
	p.Put(tx)
	if cap(tx.value) > maxKept {
		t.Errorf("the free transaction keeps %d bytes", cap(tx.value))
	}
}
