package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

const dbClock = "/_mayfly/dbs/d/clock"

// TestDatabaseClock checks the HTTP API of a database's own clock: it can be moved independently of the
// server's clock, but not back before writes and expiries, and DELETE makes the database follow the
// server's clock again.
func TestDatabaseClock(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("GET", dbClock, "").fails(404, 0, "")
	w.container(`"partitionKey":{"paths":["/pk"]},"defaultTtl":10`)
	w.do("POST", "/dbs", `{"id":"e"}`).want(201)
	w.do("GET", dbClock, "").want(200).has("now", `"2027-03-01T12:00:00Z"`).has("own", "false").has("frozen",
		"true").has("virtual", "true")
	w.do("POST", docs, `{"id":"a","pk":"x"}`, pk(`["x"]`)...).want(201)
	w.do("PUT", dbClock, `{"advance":"1d1h"}`).want(200).has("now", `"2027-03-02T13:00:00Z"`).has("own",
		"true")
	w.do("GET", "/_mayfly/clock", "").want(200).has("now", `"2027-03-01T12:00:00Z"`).has("own", "")
	w.do("GET", "/_mayfly/dbs/e/clock", "").want(200).has("now", `"2027-03-01T12:00:00Z"`).has("own", "false")
	w.do("GET", docs+"/a", "", pk(`["x"]`)...).fails(404, 0, "")
	w.do("PUT", dbClock, `{"set":"2027-03-01T12:00:05Z"}`).fails(400, 0,
		"an item expired in d/c at 2027-03-01T12:00:10Z")
	w.do("PUT", dbClock, `{"set":"2027-03-01T11:00:00Z"}`).fails(400, 0,
		"an item was written in d/c at 2027-03-01T12:00:00Z")
	w.do("PUT", dbClock, fmt.Sprintf(`{"set":%d,"rate":60}`, start.Unix()+3600)).want(200).has("rate",
		"60").has("frozen", "false")
	w.do("PUT", dbClock, `{"rate":0}`).want(200).has("frozen", "true")
	w.do("DELETE", dbClock, "").fails(400, 0, "an item expired in d/c")
	w.do("PUT", "/_mayfly/clock", `{"advance":"2d"}`).want(200)
	w.do("DELETE", dbClock, "").want(200).has("now", `"2027-03-03T12:00:00Z"`).has("own", "false")
	for _, bad := range []string{``, `{}`, `{"set":1.5}`, `{"set":"now"}`, `{"rate":"fast"}`, `{"rate":-1}`,
		`{"rate":1e7}`, `{"real":false}`, `{"rate":0,"freeze":false}`, `{"follow":true}`} {
		w.do("PUT", dbClock, bad).fails(400, 0, "")
	}
	w.do("PUT", dbClock+"?speed=1", `{"freeze":true}`).fails(400, 0, "settle=true")
	w.do("PUT", dbClock+"?settle=maybe", `{"freeze":true}`).fails(400, 0, "")
	w.do("GET", dbClock, "").want(200).has("own", "false")
	w.do("POST", dbClock, `{"freeze":true}`).fails(405, 0, "")
}

// TestSettleAfterClockChange checks that a change of a clock with ?settle=true returns only after the reaper
// has purged everything that has expired, in that database or in all databases that follow the server's
// clock.
func TestSettleAfterClockChange(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(`"partitionKey":{"paths":["/pk"]},"defaultTtl":10`)
	purged := func(want uint64) {
		t.Helper()
		if m, err := w.db.Metrics(t.Context()); err != nil || m.Purged != want {
			t.Errorf("%d purged, not %d: %v", m.Purged, want, err)
		}
	}
	write := func() {
		for i := range 40 {
			w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"x"}`, i), pk(`["x"]`)...).want(201)
		}
	}
	write()
	w.do("PUT", "/_mayfly/clock", `{"advance":"9s"}`).want(200)
	w.do("PUT", "/_mayfly/clock?settle=true", `{"advance":"0s"}`).want(200)
	purged(0)
	w.do("PUT", "/_mayfly/clock?settle=true", `{"advance":"1s"}`).want(200)
	purged(40)
	write()
	w.do("PUT", dbClock+"?settle=true", `{"advance":"10s"}`).want(200)
	purged(80)
	write()
	w.do("PUT", "/_mayfly/clock?settle=true", `{"advance":"1h"}`).want(200)
	purged(80)
	w.do("DELETE", dbClock+"?settle=true", "").want(200)
	purged(120)
}

// TestImportHeaders checks the headers that let a create or an upsert import a document with a given age,
// last write time or time until expiry.
func TestImportHeaders(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(`"partitionKey":{"paths":["/pk"]},"defaultTtl":3600`)
	put := func(headers ...string) *testResponse {
		return w.do("POST", docs, `{"id":"a","pk":"x"}`,
			append(append(pk(`["x"]`), "x-ms-documentdb-is-upsert", "true"), headers...)...)
	}
	ts := func(ago int) string { return fmt.Sprint(start.Unix() - int64(ago)) }
	put("x-mayfly-age", "50m").want(201).has("_ts", ts(3000))
	put("x-mayfly-timestamp", ts(7)).want(200).has("_ts", ts(7))
	put("x-mayfly-expires-in", "5m").want(200).has("_ts", ts(3300))
	put().want(200).has("_ts", ts(0))
	w.do("POST", docs, `{"id":"b","pk":"x"}`,
		append(pk(`["x"]`), "x-mayfly-age", "29d")...).want(201).has("_ts", ts(29*24*3600))
	w.do("GET", docs+"/b", "", pk(`["x"]`)...).fails(404, 0, "")
	for name, value := range map[string]string{"x-mayfly-age": "old", "x-mayfly-expires-in": "-5m",
		"x-mayfly-timestamp": "yesterday"} {
		put(name, value).fails(400, 0, "")
	}
	put("x-mayfly-expires-in", "2h").fails(400, 0, "longer")
	put("x-mayfly-timestamp", ts(-1)).fails(400, 0, "future")
	put("x-mayfly-age", "1h", "x-mayfly-expires-in", "1h").fails(400, 0, "not several")
	w.do("PUT", docs+"/a", `{"id":"a","pk":"x"}`, append(pk(`["x"]`), "x-mayfly-age", "1h")...).fails(400, 0,
		"create or an upsert")
	w.do("DELETE", docs+"/a", "", append(pk(`["x"]`), "x-mayfly-age", "1h")...).fails(400, 0,
		"create or an upsert")
	w.do("GET", docs+"/a", "", pk(`["x"]`)...).want(200).has("_ts", ts(0))

	w.do("POST", "/dbs/d/users", `{"id":"u"}`).want(201)
	token := w.permission("p", "All", "dbs/d/colls/c", "")
	mine := append(pk(`["x"]`), "x-ms-documentdb-is-upsert", "true", "Authorization", token)
	w.do("POST", docs, `{"id":"a","pk":"x"}`, mine...).want(200)
	w.do("POST", docs, `{"id":"a","pk":"x"}`, append(mine, "x-mayfly-age", "1h")...).fails(403, 0,
		"master key")
}

// TestImportRoute checks the route that imports many documents in one request. Each document can state its
// own age, last write time or time until expiry.
func TestImportRoute(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(3))
	w.container(`"partitionKey":{"paths":["/pk"]},"defaultTtl":3600`)
	const path = "/_mayfly/dbs/d/colls/c/import"
	now := start.Unix()
	w.do("POST", path, `{"documents":[{"id":"1","pk":"a"},{"id":"2","pk":"b","_ts":`+fmt.Sprint(now-100)+`},{"id":"3","pk":"c","_mayfly":{"age":"50m"},"_ts":5},
		{"id":"4","_mayfly":{"expiresIn":"1m"}}]}`).want(200).has("#", "4").has("#.statusCode", "[201,201,201,201]")
	for id, want := range map[string]int64{"1": now, "2": now - 100, "3": now - 3000, "4": now + 60 - 3600} {
		header := map[string]string{"1": `["a"]`, "2": `["b"]`, "3": `["c"]`, "4": `[{}]`}[id]
		w.do("GET", docs+"/"+id, "", pk(header)...).want(200).has("_ts", fmt.Sprint(want)).has("_mayfly", "")
	}
	w.do("POST", path, `{"create":true,"documents":[{"id":"1","pk":"a"},{"id":"5","pk":"a"},{"pk":"a"},5,{"id":"6","_mayfly":{"age":5}},{"id":"7","_ts":9999999999}]}`).
		want(207).has("#.statusCode", "[409,201,400,400,400,400]").has("4.message",
		`"'age' must be a duration such as \"90s\", \"12h\" or \"29d\"."`)
	for _, bad := range []string{``, `{}`, `[]`, `{"documents":{}}`, `{"documents":[]}`,
		`{"documents":[],"upsert":true}`, `{"documents":[],"create":1}`} {
		w.do("POST", path, bad).fails(400, 0, "")
	}
	w.do("POST", path, `{"documents":[`+strings.Repeat("{},", 100)+`{}]}`).fails(400, 0,
		"more operations than what is supported")
	w.do("POST", "/_mayfly/dbs/d/colls/none/import", `{"documents":[{"id":"1"}]}`).fails(404, 1003, "")
}
