package store

import (
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/scan"
)

// TestPlanCache checks that the store caches two kinds of plans of a query: one for the types of its
// parameters, and one for each set of their values. It also checks that a query with a cached plan reads the
// right documents.
func TestPlanCache(t *testing.T) {
	t.Parallel()
	_, _, c := openCounting(t)
	for i := range 5 {
		putNumber(t, c, i, i)
	}
	for _, ask := range []struct {
		value      string
		rows, kept int
	}{{"1", 1, 2}, {"2", 1, 3}, {"2", 1, 3}, {"77", 0, 4}, {`"1"`, 0, 6}, {"3", 1, 7}} {
		q := QueryRequest{Text: `SELECT VALUE c.id FROM c WHERE c.n = @n`,
			Parameters: []QueryParameter{{Name: "@n", Value: jsondoc.Of([]byte(ask.value))}}}
		page, _, err := c.Query(t.Context(), q)
		if err != nil || len(page.Rows) != ask.rows {
			t.Errorf("%s: %d rows, want %d; %v", ask.value, len(page.Rows), ask.rows, err)
		}
		if page.Stats.Loaded != int64(ask.rows) {
			t.Errorf("%s: %d documents are read", ask.value, page.Stats.Loaded)
		}
		if n := c.plans.Latest.Len(); n != ask.kept {
			t.Errorf("after %s %d plans are kept, want %d", ask.value, n, ask.kept)
		}
	}
}

// TestEntriesCountIsCached checks that the number of index entries of a value is cached after it was
// counted, until a document changes.
func TestEntriesCountIsCached(t *testing.T) {
	_, db, c := openCounting(t)
	for i := range 300 {
		putNumber(t, c, i, i%2)
	}
	wanted := func(want int64, when string) {
		t.Helper()
		for _, ask := range []string{"SELECT VALUE COUNT(1) FROM c WHERE c.n = 1",
			"SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n"} {
			for range 2 {
				page, _, err := c.Query(t.Context(), QueryRequest{Text: ask})
				if err != nil || page.Stats.Loaded != 0 || page.Stats.IndexEntries < want {
					t.Errorf("%s: %s: %+v, %v", when, ask, page.Stats, err)
				}
			}
		}
		inSources(t, c, func(s *scan.DocumentSource) {
			key, _ := s.Index().Term(index.Path{{Name: "n"}}, jsondoc.NumberValue(1))
			n, ok := s.KnownEntries(key, append(key, 0xFF))
			if ok != (want > 0) || n != want {
				t.Errorf("%s: %d entries are known (%v), want %d", when, n, ok, want)
			}
		})
	}
	wanted(150, "at first")
	putNumber(t, c, 300, 1)
	inSources(t, c, func(s *scan.DocumentSource) {
		key, _ := s.Index().Term(index.Path{{Name: "n"}}, jsondoc.NumberValue(1))
		if n, ok := s.KnownEntries(key, append(key, 0xFF)); ok {
			t.Errorf("after a write %d entries are still known", n)
		}
	})
	wanted(151, "after a write")
	if err := db.Check(t.Context(), func(err error) bool { t.Error(err); return true }); err != nil {
		t.Error(err)
	}
}

// inSources runs fn with the data source (scan.DocumentSource) of each range of a container.
func inSources(t *testing.T, c *Container, fn func(*scan.DocumentSource)) {
	t.Helper()
	err := c.withSources(t.Context(), KeyOrRange{},
		func(_ *scan.ResolvedKeyOrRange, sources []*scan.DocumentSource,
			_ []*container.Partition) error {
			for _, s := range sources {
				fn(s)
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
}
