package bench

import (
	"os"
	"strings"
	"testing"
)

// TestCompareEngines runs CompareEngines with a few documents, and checks the rows of its table.
func TestCompareEngines(t *testing.T) {
	url := os.Getenv("MAYFLY_POSTGRES")
	if url == "" {
		t.Skip("MAYFLY_POSTGRES names no PostgreSQL")
	}
	var out strings.Builder
	o := EngineComparisonOptions{URL: url, Dir: t.TempDir(), Docs: 300, Seconds: 0.01}
	if err := CompareEngines(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, row := range engineRows {
		if !strings.Contains(out.String(), row.name) {
			t.Errorf("there is no row for %s:\n%s", row.name, out.String())
		}
	}
}
