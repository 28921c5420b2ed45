package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rows returns the elements of the array key in the body as JSON text.
func (a *testResponse) rows(key string) (rows []string) {
	for _, r := range a.at(key).Array() {
		rows = append(rows, r.Raw)
	}
	return rows
}

func (w *serverUnderTest) ask(path, text string, headers ...string) *testResponse {
	w.t.Helper()
	return w.do("POST", path, `{"query":`+jsonString(text)+`}`, queryHeaders(headers...)...)
}

func TestResourceQueryResults(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	for _, id := range []string{"one", "two", "three"} {
		w.do("POST", "/dbs", `{"id":"`+id+`"}`).want(201)
	}
	listed := w.do("GET", "/dbs", "").want(200)
	// SELECT * gives what reading gives, byte for byte, and system properties are those of the text.
	all := w.ask("/dbs", "SELECT * FROM c").want(200)
	if !slices.Equal(all.rows("Databases"), listed.rows("Databases")) || all.at("_rid").Raw != `""` {
		t.Errorf("%s\n%s", all.body, listed.body)
	}
	one := listed.at("Databases.0")
	for text, want := range map[string]string{
		`SELECT VALUE COUNT(1) FROM c`: `[3]`,
		`SELECT VALUE c._self FROM c WHERE c._rid = "` + one.Get("_rid").Str + `"`: `[` +
			one.Get("_self").Raw + `]`,
		`SELECT VALUE c._ts FROM c WHERE c.id = "one"`: `[` + one.Get("_ts").Raw +
			`]`,
		`SELECT VALUE c._etag FROM c WHERE c.id = "one"`: `[` +
			one.Get("_etag").Raw + `]`,
		`SELECT c._attachments, c._lsn, c._colls FROM c WHERE c.id = "one"`: `[{"_colls":"colls/"}]`,
		`SELECT VALUE c FROM c WHERE c.id = "one"`:                          `[` + one.Raw + `]`,
		`SELECT VALUE [c.id, c] FROM c WHERE c.id = "one"`: `[["one",` + one.Raw +
			`]]`,
		`SELECT c.id AS name, LENGTH(c.id) AS n FROM c WHERE c.id > "p"`:           `[{"name":"two","n":3},{"name":"three","n":5}]`,
		`SELECT LENGTH(c.id) AS n, COUNT(1) AS k FROM c GROUP BY LENGTH(c.id)`:     `[{"n":3,"k":2},{"n":5,"k":1}]`,
		`SELECT VALUE c.id FROM c OFFSET 1 LIMIT 1`:                                `["two"]`,
		`SELECT DISTINCT VALUE LENGTH(c.id) FROM c`:                                `[3,5]`,
		`SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, "T", true) OR c.nope = 1`: `["two","three"]`,
		`SELECT VALUE MAX(c.id) FROM c`:                                            `["two"]`,
		`SELECT VALUE 1`:                                                           `[1]`,
		`SELECT VALUE c.id FROM c WHERE GetCurrentTimestamp() = ` + millis(w) + ``: `["one","two","three"]`,
	} {
		if got := w.ask("/dbs", text).want(200).at("Databases").Raw; got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	w.ask("/dbs", "SELECT * FROM c JOIN d IN c.a").fails(400, 0,
		`'SELECT *' is only valid with a single input set.`)
	w.ask("/dbs", "SELECT udf.f(c) FROM c").fails(400, 0, "")
	w.container("")
	if got := w.ask(colls, `SELECT VALUE c.partitionKey.paths[0] FROM c WHERE c.indexingPolicy.automatic`).want(200).at("DocumentCollections").Raw; got != `["/pk"]` {
		t.Errorf("containers: %s", got)
	}
	if got := w.ask("/offers", `SELECT VALUE c.content.offerThroughput FROM c`).want(200).at(
		"Offers").Raw; got != `[400]` {
		t.Errorf("offers: %s", got)
	}
	w.ask("/dbs/nowhere/colls", "SELECT * FROM c").fails(404, 1003, "")
}

// millis returns the time of the data's clock in milliseconds since 1970.
func millis(w *serverUnderTest) string { return fmt.Sprint(w.db.Now().UnixMilli()) }

func TestResourceQueryPaging(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	for i := range 20 {
		w.do("POST", "/dbs", fmt.Sprintf(`{"id":"db%02d"}`, i)).want(201)
	}
	// A continuation is there only where another row follows, whatever the query.
	for _, c := range []struct {
		text  string
		size  int
		pages int
		rows  int
	}{
		{"SELECT * FROM c", 5, 4, 20},
		{"SELECT * FROM c", 20, 1, 20},
		{"SELECT * FROM c", 7, 3, 20},
		{"SELECT * FROM c WHERE c.id < 'db05'", 5, 1, 5},
		{"SELECT * FROM c WHERE c.id = 'db07'", 1, 1, 1},
		{"SELECT TOP 12 * FROM c", 6, 2, 12},
		{"SELECT c.id FROM c OFFSET 2 LIMIT 9", 4, 3, 9},
	} {
		pages := w.pages("Databases", "POST", "/dbs", `{"query":"`+c.text+`"}`,
			queryHeaders("x-ms-max-item-count", fmt.Sprint(c.size))...)
		ids := strings.Fields(strings.Join(pages, " "))
		slices.Sort(ids)
		if len(pages) != c.pages || len(slices.Compact(ids)) != c.rows {
			t.Errorf("%s by %d: %d pages of %q", c.text, c.size, len(pages), pages)
		}
	}

	const ordered = "SELECT * FROM c WHERE c._ts > 0"
	first := w.ask("/dbs", ordered, "x-ms-max-item-count", "5").want(200)
	token := first.header.Get("X-Ms-Continuation")
	for _, id := range []string{"db02", "db04", "db06"} { // the last one of the page among them
		w.do("DELETE", "/dbs/"+id, "").want(204)
	}
	w.do("POST", "/dbs", `{"id":"db045"}`).want(201)
	if got := w.ask("/dbs", ordered, "x-ms-max-item-count", "3", "x-ms-continuation",
		token).want(200).ids("Databases"); got != "db05 db07 db08" {
		t.Errorf("after deletions: %s", got)
	}
	listed := w.do("GET", "/dbs", "", "x-ms-max-item-count", "5").want(200).header.Get("X-Ms-Continuation")
	for text, tokens := range map[string][]string{
		ordered:               {listed, "x", token + "AA", token[:len(token)-4]},
		"SELECT * FROM c":     {listed, token},
		ordered + " AND true": {token},
	} {
		for _, bad := range tokens {
			w.ask("/dbs", text, "x-ms-continuation", bad).fails(400, 0, "Invalid Continuation Token")
		}
	}
	w.do("GET", "/dbs", "", "x-ms-continuation", token).fails(400, 0, "Invalid Continuation Token")
	// Nor is one good for the containers of another database.
	for _, db := range []string{"db00", "db01"} {
		for i := range 2 {
			w.do("POST", "/dbs/"+db+"/colls", fmt.Sprintf(`{"id":"c%d",%s}`, i, keyedByPK)).want(201)
		}
	}
	token = w.ask("/dbs/db00/colls", "SELECT * FROM c", "x-ms-max-item-count",
		"1").want(200).header.Get("X-Ms-Continuation")
	w.ask("/dbs/db00/colls", "SELECT * FROM c", "x-ms-continuation", token).want(200).has("_count", "1")
	w.ask("/dbs/db01/colls", "SELECT * FROM c", "x-ms-continuation", token).fails(400, 0,
		"Invalid Continuation Token")
}
