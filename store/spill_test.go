package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
)

// TestQueriesWithTemporaryFiles checks queries that need more memory than allowed, with a folder for
// temporary files: they succeed, later pages continue from the stored rows until a write or an expiry
// changes the result, and no file is left.
func TestQueriesWithTemporaryFiles(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	left := filepath.Join(temp, "spill-left.tmp") // by a process that was killed
	if err := os.WriteFile(left, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBenchWith(t, testdisk.New(t), `"defaultTtl":-1,
		"indexingPolicy":{"indexingMode":"consistent","includedPaths":[],"excludedPaths":[{"path":"/*"}]}`,
		store.Options{Ranges: 2, ManualReaper: true, Memory: 1 << 20, Temp: temp, Lenient: true})
	const n = 3000
	long := strings.Repeat("x", 300)
	for i := range n {
		life := ""
		if i >= n-10 {
			life = `,"ttl":100`
		}
		b.put(fmt.Sprintf(`{"id":"%d","pk":"%d","n":%d,"s":"%s%d"%s}`, i, i%7, i, long, i*7919%n, life))
	}
	for _, text := range []string{
		"SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s",
		"SELECT DISTINCT VALUE c.s FROM c",
		"SELECT c.n, c.s FROM c ORDER BY c.n",
	} {
		q := store.QueryRequest{Text: text, ListOptions: store.ListOptions{MaxItems: 100}}
		rows, read, pages := 0, int64(0), 0
		for pages == 0 || q.Continuation != "" {
			page, _, err := b.c.Query(b.ctx, q)
			if err != nil {
				t.Fatal(text, err)
			}
			rows, read, q.Continuation = rows+len(page.Rows), read+page.Stats.Loaded, page.Continuation
			pages++
		}
		if rows != n || read > 3*n+2*int64(pages) {
			t.Errorf("%s: %d rows on %d pages, %d documents read", text, rows, pages, read)
		}
	}
	// a write and deaths between two pages
	q := store.QueryRequest{Text: "SELECT VALUE c.n FROM c ORDER BY c.n",
		ListOptions: store.ListOptions{MaxItems: 500}}
	var got []string
	for pages := 0; pages == 0 || q.Continuation != ""; pages++ {
		page, _, err := b.c.Query(b.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		q.Continuation = page.Continuation
		for _, row := range page.Rows {
			got = append(got, string(row))
		}
		if pages == 2 {
			b.put(`{"id":"new","pk":"1","n":2000.5}`)
		}
		if pages == 3 {
			b.clock.Advance(101 * time.Second)
		}
	}
	if len(got) != n-10+1 || got[2001] != "2000.5" || got[len(got)-1] != fmt.Sprint(n-11) {
		t.Errorf("%d rows, the last is %s", len(got), got[len(got)-1])
	}
	b.close()
	if files, err := os.ReadDir(temp); err != nil || len(files) > 0 {
		t.Error(files, err)
	}
}
