package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/laboratory"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(2))
	w.container(keyedByPK + `,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/pk/*"}]}`)
	w.fill(12, 3)
	explain := func(members string) *testResponse {
		t.Helper()
		return w.do("POST", "/_mayfly/explain", `{"database":"d","container":"c",`+members+`}`)
	}
	a := explain(`"query":"SELECT * FROM c WHERE c.even = @e ORDER BY c.id","parameters":[{"name":"@e","value":true}],"maxItemCount":4`).want(200)
	var e laboratory.QueryExplanation
	if err := json.Unmarshal(a.body, &e); err != nil {
		t.Fatal(err)
	}
	if e.Rows != 4 || e.Metrics.RowsOutput != 4 || e.Metrics.DocumentsLoaded < 4 ||
		e.Metrics.BytesOutput == 0 || e.Metrics.IndexEntries == 0 || e.Charge <= 2 {
		t.Errorf("%s", a.body)
	}
	if lines := strings.Split(strings.TrimSpace(e.Plan), "\n"); len(lines) < 2 ||
		!strings.Contains(e.Plan, "/id") {
		t.Errorf("plan %q", e.Plan)
	}
	a.has("indexes.potential.single", "[]").has("indexes.utilized.composite",
		"[]").head("x-ms-request-charge", a.at("charge").Raw)
	if used := a.at("indexes.utilized.single").Raw; !strings.Contains(used, `"/even/?"`) ||
		!strings.Contains(used, `"/id/?"`) {
		t.Errorf("indexes used: %s", used)
	}

	// The whole container without a key, results of several ranges merged; one partition with it.
	explain(`"query":"SELECT VALUE COUNT(1) FROM c"`).want(200).has("rows", "1")
	explain(`"query":"SELECT * FROM c","maxItemCount":-1`).want(200).has("rows",
		"12").has("metrics.documentsLoaded", "12")
	explain(`"query":"SELECT * FROM c","partitionKey":["key1"]`).want(200).has("rows",
		"4").has("metrics.documentsLoaded", "4")
	if n := len(strings.Fields(strings.Join(w.pages("Documents", "GET", docs, ""), " "))); n != 12 {
		t.Errorf("%d items afterwards", n)
	}

	for _, bad := range []string{`"query":1`, `"q":"SELECT * FROM c"`,
		`"query":"SELECT * FROM c","explain":true`, `"query":"SELECT * FROM c","parameters":{}`,
		`"query":"SELECT * FROM c","partitionKey":"key1"`, `"query":"SELECT * FROM c","maxItemCount":0`,
		`"query":"SELECT * FROM c","maxItemCount":1.5`, `"query":"SELECT * FROM c","maxItemCount":"1"`, `"query":"SELECT * FROM c","maxItemCount":-2`} {
		explain(bad).fails(400, 0, "")
	}
	explain(`"query":"SELECT * FROM c","partitionKey":["a","b"]`).fails(400, 1001, "")
	explain(`"query":"SELECT * FORM c"`).fails(400, 0, `"code":"SC1001"`)
	for _, bad := range []string{``, `[]`, `{"container":"c","query":"SELECT 1"}`,
		`{"database":"d","query":"SELECT 1"}`, `{"database":"d","container":7,"query":"SELECT 1"}`} {
		w.do("POST", "/_mayfly/explain", bad).fails(400, 0, "")
	}
	w.do("POST", "/_mayfly/explain", `{"database":"x","container":"c","query":"SELECT 1"}`).fails(404, 0, "")
	w.do("POST", "/_mayfly/explain", `{"database":"d","container":"x","query":"SELECT 1"}`).fails(404, 0, "")
	w.do("GET", "/_mayfly/explain", "").fails(405, 0, "")
	w.do("POST", "/_mayfly/explain", `{}`, "Authorization", "Bearer no").fails(401, 0, "")
}
