package store_test

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestQueriesShareMemoryBudget checks that queries take the memory for grouping, sorting and DISTINCT from
// the store's budget and return it. If other requests use the budget, a query fails but may be retried;
// one that needs more than a tenth of it always fails.
func TestQueriesShareMemoryBudget(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Ranges: 1, ManualReaper: true, Memory: 10 << 20})
	defer b.close()
	long := strings.Repeat("x", 1000)
	for n := range 1500 {
		b.put(fmt.Sprintf(`{"id":"%d","pk":"a","n":%d,"s":"%s%d"}`, n, n, long, n))
	}
	m := b.db.Memory()
	if m.Size() != 10<<20 || m.Share() != 1<<20 {
		t.Fatalf("%d, %d", m.Size(), m.Share())
	}
	texts := []string{
		"SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s",
		"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.s FROM c)",
		"SELECT VALUE c.n FROM c ORDER BY c.s",
	}
	for _, text := range texts {
		if !m.TryTake(m.Size()) {
			t.Fatalf("%s: memory is missing", text)
		}
		q := store.QueryRequest{Text: text, ListOptions: store.ListOptions{MaxItems: -1}}
		_, _, err := b.c.Query(b.ctx, q)
		var wait *store.ThrottledError
		var busy *query.MemoryUnavailableError
		if !is(err, fault.CodeThrottled) || !errors.As(err, &wait) || !errors.As(err, &busy) {
			t.Errorf("%s: %v", text, err)
		}
		m.Give(m.Size())
		_, _, err = b.c.Query(b.ctx, q)
		var much *query.MemoryError
		if large := strings.Contains(text, "DISTINCT"); large &&
			(!errors.As(err, &much) || much.Max != 1<<20) || !large && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if !m.TryTake(m.Size()) {
		t.Error("a query has kept memory")
	}
}

// TestDefaultMemoryBudget checks that the default memory budget is a quarter of GOMEMLIMIT if that is set.
func TestDefaultMemoryBudget(t *testing.T) {
	former := debug.SetMemoryLimit(400 << 20)
	defer debug.SetMemoryLimit(former)
	if m := store.NewMemoryBudget(0); m.Size() != 100<<20 || m.Share() != 10<<20 {
		t.Errorf("%d, %d", m.Size(), m.Share())
	}
	if m := store.NewMemoryBudget(50 << 20); m.Size() != 50<<20 {
		t.Errorf("%d", m.Size())
	}
}
