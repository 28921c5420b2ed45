package store

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// TestPlansAreKept: a plan is kept for the values that a query was asked with, and one for their types.
func TestPlansAreKept(t *testing.T) {
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
			Parameters: []Parameter{{Name: "@n", Value: jsondoc.Of([]byte(ask.value))}}}
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
