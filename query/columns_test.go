package query_test

import (
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/query"
)

// TestColumns checks that Columns returns the names that Cosmos DB gives to the columns, in the order of
// the select list.
func TestColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"SELECT c.z, c.a.b, c[\"two words\"] FROM c":               {"z", "b", "two words"},
		"SELECT o.status, o.to.land AS country, COUNT(1) n FROM o": {"status", "country", "n"},
		"SELECT c.n + 1, c, c.list[0], c.a = 1 FROM c":             {"$1", "c", "$2", "$3"},
		"SELECT DISTINCT TOP 5 c.b, c.a FROM c":                    {"b", "a"},
		"SELECT VALUE {z: c.z, \"a b\": {n: 1}} FROM c":            {"z", "a b"},
		"SELECT VALUE c.n FROM c":                                  nil,
		"SELECT * FROM c":                                          nil,
		"SELECT c. FROM":                                           nil,
	} {
		if got := query.Columns(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}
