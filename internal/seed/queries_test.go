package seed

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

func withSettings(settings string) string {
	return "databases: [{id: db, containers: [{id: c, partitionKey: /pk, settings: " + settings + "}]}]"
}

// TestSavedQueriesAreMerged checks that the saved queries of a seed are added to those that users of the
// server have saved, replace saved queries of the same name, and that queries: null removes all.
func TestSavedQueriesAreMerged(t *testing.T) {
	w := newTestServer(t)
	w.must(text(t, withSettings("{queries: [{name: b, query: SELECT 1}, {name: a, query: SELECT 2}]}")))
	c := w.container("db", "c")
	_, err := c.ChangeSettings(t.Context(), func(s *store.ContainerSettings) error {
		s.SaveQuery(definition.SavedQuery{Name: "mine", Query: "SELECT 3"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.must(text(t, withSettings(`{queries: [{name: b, query: SELECT @x, `+
		`parameters: [{name: "@x", value: [1]}]}]}`)))
	got, err := json.Marshal(c.Settings().Queries)
	const want = `[{"name":"a","query":"SELECT 2"},` +
		`{"name":"b","query":"SELECT @x","parameters":[{"name":"@x","value":[1]}]},` +
		`{"name":"mine","query":"SELECT 3"}]`
	if string(got) != want || err != nil {
		t.Errorf("%s %v", got, err)
	}
	w.must(text(t, withSettings("{queries: null}")))
	if left := c.Settings().Queries; len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

// TestInvalidSavedQuery checks that an invalid saved query is refused when the seed is read, with its
// position in the file.
func TestInvalidSavedQuery(t *testing.T) {
	for queries, want := range map[string]string{
		"{name: a, query: x}, {name: a, query: y}": "the query 'a' is defined a second time",
		"{name: a}":              "'query' is missing",
		"{name: ' a', query: x}": "no blank at its ends",
		"{name: a, query: ''}":   "has no text",
		"{name: a, query: x, parameters: [{name: n, value: 1}]}": "begins with '@'",
		"{name: a, text: x}": "'text' is not known here",
	} {
		file := fstest.MapFS{"s.yaml": {Data: []byte(withSettings("{queries: [" + queries + "]}"))}}
		if _, err := OpenFS(file, "s.yaml"); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "s.yaml:1:") {
			t.Errorf("%s: %v", queries, err)
		}
	}
}
