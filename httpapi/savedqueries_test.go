package httpapi

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/testdisk"
)

// TestSavedQueriesInSnapshots checks that snapshots, and databases forked from them, include the
// saved queries of containers.
func TestSavedQueriesInSnapshots(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "snapshots")
	w := newServerUnderTest(t)
	w.container(keyedByPK)
	const list, one = own + "queries", own + "queries/all"
	w.do("PUT", one, `{"query":"SELECT * FROM c"}`).want(200)
	w.do("POST", "/_mayfly/snapshots", `{"name":"s"}`).want(201)
	w.do("DELETE", one, "").want(204)
	w.do("POST", "/_mayfly/snapshots/s/fork", `{"database":"d","as":"e"}`).want(201)
	w.do("GET", "/_mayfly/dbs/e/colls/c/queries", "").want(200).has("queries.0.query", `"SELECT * FROM c"`)
	w.do("GET", list, "").want(200).has("queries", "[]")
	w.do("POST", "/_mayfly/snapshots/s/restore", `{"database":"d"}`).want(200)
	w.do("GET", list, "").want(200).has("queries.0.name", `"all"`)
}
