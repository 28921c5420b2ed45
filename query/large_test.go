package query

import (
	"strconv"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query/internal/exec"
)

// TestLargeQueries checks that queries with thousands of operands, columns, keys or errors need neither a
// deep stack nor much time.
func TestLargeQueries(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	many := func(n int, format, between string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.ReplaceAll(format, "%", strconv.Itoa(i))
		}
		return strings.Join(parts, between)
	}
	info := defaultInfo(t)
	info.Lenient = true
	sources := newPageStateStore(t, info.Index, numbered(5, `{"id":"%","a1":1}`), 1)
	for text, want := range map[string]int{
		"SELECT VALUE c.id FROM c WHERE c.id = 'x' OR " + many(20_000, "c.id = '3'",
			" OR "): 1,
		"SELECT VALUE c.id FROM c WHERE " + many(20_000, "c.a% = 1",
			" OR "): 5,
		"SELECT VALUE c.id FROM c WHERE " + many(20_000, "c.a% = 1",
			" AND "): 0,
		"SELECT VALUE c.id FROM c WHERE c.pk IN (" + many(50_000, "%", ", ") +
			")": 0,
		"SELECT " + many(50_000, "1", ", ") +
			" FROM c": 5,
		"SELECT " + many(10_000, "c.a%", ", ") + " FROM c GROUP BY " + many(10_000, "c.a%",
			", "): 1,
		"SELECT DISTINCT " + many(10_000, "c.a%", ", ") + " FROM c ORDER BY " + many(10_000, "c.a%",
			", "): 1,
		"SELECT " + many(20_000, "MAX(MIN(c.a%))", ", ") +
			" FROM c": -1,
		"SELECT VALUE c.id FROM c WHERE " + strings.Repeat("NOT (", 900) + "c.a1 = 1" +
			strings.Repeat(")", 900): 5,
	} {
		got, err := runAll(text, nil, info, sources, exec.RunOptions{})
		if n := len(got); err == nil && n != want || err != nil && want >= 0 {
			t.Errorf("%.60s...: %d rows, %v, want %d", text, n, err, want)
		}
	}
}
