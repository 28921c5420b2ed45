package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// TestIndexOnlyAggregatesOfAPartition checks aggregates in a large logical partition, of which some documents
// have expired and are not purged yet: they are computed from index entries, which belong to all partitions,
// without reading a document. In a small partition the documents are read.
func TestIndexOnlyAggregatesOfAPartition(t *testing.T) {
	b := newQueryBench(t, store.Options{}, false, `"defaultTtl":-1`)
	defer b.close()
	const large, small = 1500, 40
	for i := range large {
		life := ""
		if i%3 == 0 {
			life = `,"ttl":10`
		}
		b.put(fmt.Sprintf(`{"id":"%d","pk":"a","n":%d,"team":%d%s}`, i, i, i%4, life))
	}
	for i := range small {
		b.put(fmt.Sprintf(`{"id":"%d","pk":"b","n":%d,"team":9}`, i, i+1000))
	}
	b.clock.Advance(10 * time.Second)
	for _, ask := range []struct{ text, large, small string }{
		{"SELECT VALUE COUNT(1) FROM c WHERE c.n >= 900", "400", "40"},
		{"SELECT VALUE COUNT(1) FROM c WHERE c.n >= 300 AND c.team > 0", "600", "40"},
		{"SELECT VALUE SUM(c.n) FROM c", "750000", "40780"},
		{"SELECT VALUE MIN(c.n) FROM c", "1", "1000"},
		{"SELECT VALUE MAX(c.team) FROM c", "3", "9"},
		{"SELECT c.team AS t, COUNT(1) AS n FROM c GROUP BY c.team",
			`{"t":0,"n":250} {"t":1,"n":250} {"t":2,"n":250} {"t":3,"n":250}`, `{"t":9,"n":40}`},
	} {
		for key, want := range map[string]string{"a": ask.large, "b": ask.small} {
			q := store.QueryRequest{Text: ask.text}
			q.Scope.Partition = pk(key)
			page, _, err := b.c.Query(b.ctx, q)
			if err != nil {
				t.Fatalf("%s: %v", ask.text, err)
			}
			var rows []string
			for _, row := range page.Rows {
				rows = append(rows, string(row))
			}
			if got := strings.Join(rows, " "); got != want {
				t.Errorf("%s in %s: %s, want %s", ask.text, key, got, want)
			}
			if read := page.Stats.Loaded > 0; read != (key == "b") {
				t.Errorf("%s in %s: %d documents are read", ask.text, key, page.Stats.Loaded)
			}
		}
	}
}

// TestIndexOnlyAggregatesOfAKeyPrefix checks an aggregate over a prefix of a hierarchical partition key,
// whose documents have several keys and were written in turns.
func TestIndexOnlyAggregatesOfAKeyPrefix(t *testing.T) {
	for _, ranges := range []int{1, 3} {
		b := newQueryBench(t, store.Options{Ranges: ranges}, true, "")
		defer b.close()
		want := 0
		for i := range 300 {
			b.put(fmt.Sprintf(`{"id":"%d","pk":"p%d","sub":"s%d","n":%d}`, i, i%3/2, i%7, i))
			if i%3 < 2 && i >= 50 {
				want++
			}
		}
		q := store.QueryRequest{Text: "SELECT VALUE COUNT(1) FROM c WHERE c.n >= 50"}
		q.Scope.Partition = pk("p0")
		page, _, err := b.c.Query(b.ctx, q)
		if err != nil || len(page.Rows) != 1 || string(page.Rows[0]) != fmt.Sprint(want) {
			t.Errorf("%d ranges: %s, want %d (%v)", ranges, page.Rows, want, err)
		}
		if ranges == 1 && page.Stats.Loaded > 0 {
			t.Errorf("%d documents are read", page.Stats.Loaded)
		}
	}
}
