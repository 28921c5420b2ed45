package httpapi

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pass advances the clock of the data.
func (w *serverUnderTest) pass(seconds int) { w.clock.Advance(time.Duration(seconds) * time.Second) }

// expiring creates the container c with a default TTL, written as JSON; "": the container has none.
func (w *serverUnderTest) expiring(defaultTTL string) {
	w.t.Helper()
	settings := keyedByPK
	if defaultTTL != "" {
		settings += `,"defaultTtl":` + defaultTTL
	}
	w.container(settings)
}

// setDefault replaces the definition of the container c by one with another default TTL.
func (w *serverUnderTest) setDefault(defaultTTL string) *testResponse {
	w.t.Helper()
	body := `{"id":"c",` + keyedByPK
	if defaultTTL != "" {
		body += `,"defaultTtl":` + defaultTTL
	}
	return w.do("PUT", coll, body+"}")
}

const keyedByPK = `"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}`

// put creates an item with the partition key a and a ttl, written as JSON; "": the item has none.
func (w *serverUnderTest) put(id, ttl string) *testResponse {
	w.t.Helper()
	return w.do("POST", docs, item(id, ttl), pk(`["a"]`)...)
}

func item(id, ttl string) string {
	if ttl == "" {
		return `{"id":"` + id + `","pk":"a"}`
	}
	return `{"id":"` + id + `","pk":"a","ttl":` + ttl + `}`
}

// alive checks that an item is returned by read, query and list if want is set, and by none of them
// otherwise.
func (w *serverUnderTest) alive(id string, want bool) {
	w.t.Helper()
	code, rows := 404, "0"
	if want {
		code, rows = 200, "1"
	}
	w.do("GET", docs+"/"+id, "", pk(`["a"]`)...).want(code)
	w.do("POST", docs, `{"query":"SELECT * FROM c WHERE c.id = '`+id+`'"}`,
		queryHeaders(pk(`["a"]`)...)...).want(200).has("_count", rows)
	listed := false
	for _, one := range strings.Fields(w.do("GET", docs, "").want(200).ids("Documents")) {
		listed = listed || one == id
	}
	if listed != want {
		w.t.Errorf("%s listed: %t", id, listed)
	}
}

// TestExpiryMatrix checks all combinations of a container's default TTL and an item's own ttl, to the
// second.
func TestExpiryMatrix(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		defaultTTL, own string
		life            int // seconds; 0 never ends
	}{
		{"", "", 0}, {"", "-1", 0}, {"", "5", 0},
		{"null", "", 0}, {"null", "5", 0},
		{"-1", "", 0}, {"-1", "-1", 0}, {"-1", "5", 5}, {"-1", "1", 1},
		{"10", "", 10}, {"10", "-1", 0}, {"10", "5", 5}, {"10", "20", 20}, {"10", "6e1", 60}, {"10", "7.0",
			7},
		{"1", "", 1}, {"2147483647", "", 2147483647}, {"10", "2147483647", 2147483647},
	} {
		t.Run(fmt.Sprintf("default %s own %s", m.defaultTTL, m.own), func(t *testing.T) {
			w := newServerUnderTest(t)
			w.expiring(m.defaultTTL)
			// numbers are told in their shortest spelling
			told := map[string]string{"6e1": "60", "7.0": "7"}[m.own]
			if told == "" {
				told = m.own
			}
			w.put("1", m.own).want(201).has("ttl", told)
			w.alive("1", true)
			if m.life == 0 {
				w.pass(2147483647)
				w.alive("1", true)
				return
			}
			w.pass(m.life - 1)
			w.alive("1", true)
			w.pass(1)
			w.alive("1", false)
		})
	}
}

// TestInvalidTTL checks that an invalid ttl is refused whatever the container's default TTL is, with an
// error that quotes the value, and that nothing is written.
func TestInvalidTTL(t *testing.T) {
	t.Parallel()
	for _, defaultTTL := range []string{"", "-1", "10"} {
		w := newServerUnderTest(t)
		w.expiring(defaultTTL)
		w.do("POST", docs, item("kept", ""), pk(`["a"]`)...).want(201)
		before := w.do("GET", docs+"/kept", "", pk(`["a"]`)...).want(200)
		for _, token := range []string{"null", "0", "-2", "-10", "1.5", "2147483648", "10000000000", `"60"`,
			`"-1"`, `""`, "true", "false", "{}", "[]", `[60]`, "-1.5", "0.1"} {
			text := "The input ttl '" + token +
				"' is invalid. Ensure to provide a nonzero positive integer less than or equal to '2147483647', or '-1' which means never expire."
			a := w.put("1", token).fails(400, 0, "")
			if want := `Message: {"Errors":[` + jsonString(text); !strings.HasPrefix(a.at("message").Str,
				unescapeHTML(want)) {
				t.Errorf("%s: message %s\nwant %s", token, a.at("message").Str, want)
			}
			a.has("code", `"BadRequest"`)
			w.do("POST", docs, item("1", token), append(pk(`["a"]`), "x-ms-documentdb-is-upsert",
				"true")...).fails(400, 0, "The input ttl")
			w.do("PUT", docs+"/kept", item("kept", token), pk(`["a"]`)...).fails(400, 0, "The input ttl")
		}
		w.do("GET", docs+"/1", "", pk(`["a"]`)...).fails(404, 0, "")
		if after := w.do("GET", docs+"/kept", "", pk(`["a"]`)...); string(after.body) != string(before.body) {
			t.Errorf("a refused write left %s", after.body)
		}
		// Only the lower-case name at the top level means anything.
		w.do("POST", docs, `{"id":"2","pk":"a","TTL":0,"Ttl":"x","in":{"ttl":0}}`, pk(`["a"]`)...).want(201)
	}
}

// unescapeHTML replaces the escapes that encoding/json makes of <, > and &, and that the server does not
// make.
func unescapeHTML(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(s)
}

func TestDefaultTTL(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	for _, bad := range []string{"0", "-2", "-10", "1.5", "2147483648", `"60"`, "true", "{}", "[]"} {
		w.do("POST", colls, `{"id":"c",`+keyedByPK+`,"defaultTtl":`+bad+`}`).fails(400, 0, "")
	}
	w.do("GET", coll, "").fails(404, 0, "")
	w.do("POST", colls, `{"id":"c",`+keyedByPK+`,"ttlPropertyPath":"/t"}`).fails(400, 0, "")
	for good, echoed := range map[string]string{"null": "", "-1": "-1", "1": "1",
		"2147483647": "2147483647"} {
		w.do("POST", colls, `{"id":"c",`+keyedByPK+`,"defaultTtl":`+good+`}`).want(201).has("defaultTtl",
			echoed)
		w.do("GET", coll, "").want(200).has("defaultTtl", echoed)
		for _, bad := range []string{"0", "-10", `"60"`} {
			w.setDefault(bad).fails(400, 0, "")
		}
		w.do("GET", coll, "").want(200).has("defaultTtl", echoed)
		w.do("DELETE", coll, "").want(204)
	}
}

// TestTTLPropertyPath checks a container's ttlPropertyPath, the path of the property from which the times to
// live of its items count: it determines when items expire, can be set and removed, and is used in dry runs
// and explanations.
func TestTTLPropertyPath(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	const def = `{"id":"c",` + keyedByPK + `,"defaultTtl":100`
	for _, bad := range []string{`"base"`, `""`, "5", "{}"} {
		w.do("POST", colls, def+`,"ttlPropertyPath":`+bad+`}`).fails(400, 0, "")
	}
	w.do("POST", colls, def+`,"ttlPropertyPath":"/base"}`).want(201).has("ttlPropertyPath", `"/base"`)
	now := w.clock.Now().Unix()
	put := func(id string, base int64) *testResponse {
		body := fmt.Sprintf(`{"id":%q,"pk":"a","base":%d}`, id, base)
		return w.do("POST", docs, body, pk(`["a"]`)...).want(201)
	}
	put("later", now+50)
	put("sooner", now-50)
	put("never", now-100)
	read := func(id string) *testResponse { return w.do("GET", docs+"/"+id, "", pk(`["a"]`)...) }
	read("never").fails(404, 0, "")
	put("milliseconds", now*1000).head("x-mayfly-lint", "ttl-base-milliseconds")
	w.do("POST", own+"explain-item", `{"id":"later","partitionKey":["a"]}`).want(200).
		has("expiresIn", "150").has("ttlBase", strconv.FormatInt(now+50, 10)).
		has("policy.ttlPropertyPath", `"/base"`)
	w.do("POST", own+"ttl-dry-run", `{"defaultTtl":100,"ttlPropertyPath":""}`).want(200).
		has("fromPath", `"/base"`).has("toPath", "").has("effects.diesLater.count", "1").
		has("effects.diesSooner.count", "2")
	w.clock.Advance(101 * time.Second)
	read("later").want(200)
	read("sooner").fails(404, 0, "")
	w.do("PUT", coll, def+"}").want(200).has("ttlPropertyPath", "")
	read("later").fails(404, 0, "") // 101 seconds old by its _ts
	w.do("PUT", coll, def+`,"ttlPropertyPath":"/base"}`).want(200).has("ttlPropertyPath", `"/base"`)
	read("later").fails(404, 0, "") // expiry is final
}

// TestTTLWithoutIndex checks that a container cannot have both a default TTL and the indexing mode "none",
// whichever comes first.
func TestTTLWithoutIndex(t *testing.T) {
	t.Parallel()
	const text = "Indexing mode value cannot be 'none' when 'defaultTtl' is specified in the collection"
	const none = `,"indexingPolicy":{"indexingMode":"none"}`
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	w.do("POST", colls, `{"id":"c",`+keyedByPK+none+`,"defaultTtl":10}`).fails(400, 0, text)
	w.do("POST", colls, `{"id":"c",`+keyedByPK+none+`,"defaultTtl":-1}`).fails(400, 0, text)
	w.do("POST", colls, `{"id":"c",`+keyedByPK+none+`}`).want(201)
	w.do("PUT", coll, `{"id":"c",`+keyedByPK+none+`,"defaultTtl":10}`).fails(400, 0, text)
	w.setDefault("10").want(200)
	w.do("PUT", coll, `{"id":"c",`+keyedByPK+none+`,"defaultTtl":10}`).fails(400, 0, text)
	w.do("PUT", coll, `{"id":"c",`+keyedByPK+none+`}`).want(200).has("defaultTtl", "")
	w.do("PUT", coll, `{"id":"c",`+keyedByPK+
		`,"defaultTtl":10,"indexingPolicy":{"indexingMode":"consistent","includedPaths":[],"excludedPaths":[{"path":"/*"}]}}`).want(200)
}

// TestGhosts checks that an item which has expired but has not been purged yet is invisible to all
// operations.
func TestGhosts(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(keyedByPK + `,"defaultTtl":10,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`)
	key := pk(`["a"]`)
	with := func(more ...string) []string { return append(append([]string{}, key...), more...) }
	unique := func(id string) string { return `{"id":"` + id + `","pk":"a","u":"` + id + `"}` }
	ghost := func(id string) (etag string) {
		t.Helper()
		etag = w.do("POST", docs, unique(id), key...).want(201).header.Get("Etag")
		w.pass(10)
		return etag
	}
	etag := ghost("1")
	w.do("GET", docs+"/1", "", with("If-None-Match", etag)...).fails(404, 0, "Resource Not Found")
	w.do("PUT", docs+"/1", unique("1"), key...).fails(404, 0, "Resource Not Found")
	w.do("PUT", docs+"/1", unique("1"), with("If-Match", etag)...).fails(404, 0, "Resource Not Found")
	w.do("PUT", docs+"/1", unique("1"), with("If-Match", `"other"`)...).fails(404, 0, "Resource Not Found")
	w.do("DELETE", docs+"/1", "", key...).fails(404, 0, "Resource Not Found")
	w.do("DELETE", docs+"/1", "", with("If-Match", etag)...).fails(404, 0, "Resource Not Found")
	again := w.do("POST", docs, unique("1"), key...).want(201)
	if again.header.Get("Etag") == etag {
		t.Error("an item over a ghost has its etag")
	}
	ghost("2")
	w.do("POST", docs, unique("2"), with("x-ms-documentdb-is-upsert", "true")...).want(201)
	ghost("3")
	w.do("POST", docs, unique("3"), with("x-ms-documentdb-is-upsert", "true", "If-Match",
		`"other"`)...).want(201)
	ghost("4")
	w.do("POST", docs, unique("4"), with("x-ms-documentdb-is-upsert", "true", "If-None-Match",
		`*`)...).want(201)
	ghost("5")
	w.do("POST", docs, `{"id":"6","pk":"a","u":"5"}`, key...).want(201) // its unique key is free, too
	w.do("GET", docs, "").want(200).has("_count", "1")
	if purged, err := w.db.SweepNow(t.Context()); err != nil || purged != 4 {
		t.Errorf("purged %d, %v", purged, err)
	}
	w.do("GET", docs, "").want(200).has("_count", "1")
}

func TestGhostByRID(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.expiring("10")
	self := "/" + w.put("1", "").want(201).at("_self").Str
	w.do("GET", self, "", pk(`["a"]`)...).want(200)
	w.pass(10)
	w.do("GET", self, "", pk(`["a"]`)...).fails(404, 0, "Resource Not Found")
	w.do("DELETE", self, "", pk(`["a"]`)...).fails(404, 0, "Resource Not Found")
}

// TestWritesRestartTTL checks that replace and upsert restart the time until an item's expiry, and
// that reads do not.
func TestWritesRestartTTL(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.expiring("10")
	for _, id := range []string{"untouched", "read", "replaced", "upserted"} {
		w.put(id, "").want(201)
	}
	w.pass(6)
	w.do("GET", docs+"/read", "", pk(`["a"]`)...).want(200)
	w.do("PUT", docs+"/replaced", item("replaced", ""), pk(`["a"]`)...).want(200)
	w.do("POST", docs, item("upserted", ""), append(pk(`["a"]`), "x-ms-documentdb-is-upsert",
		"true")...).want(200)
	w.pass(4)
	w.alive("untouched", false)
	w.alive("read", false)
	w.alive("replaced", true)
	w.alive("upserted", true)
	w.pass(6)
	w.alive("replaced", false)
	w.alive("upserted", false)
}

// TestChangedDefault checks that a new default TTL takes effect at once, also for older items, and that
// items which have expired already stay expired.
func TestChangedDefault(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.expiring("")
	w.put("old", "").want(201)
	w.put("own", "30").want(201)
	w.put("never", "-1").want(201)
	w.pass(20)
	w.put("young", "").want(201)
	w.setDefault("10").want(200)
	w.alive("old", false)
	w.alive("own", true)
	w.alive("young", true)
	w.setDefault("1000").want(200) // raised: the dead stay dead
	w.alive("old", false)
	w.pass(9)
	w.alive("young", true)
	w.setDefault("null").want(200).has("defaultTtl", "")
	w.pass(100)
	w.alive("old", false)
	w.alive("young", true)
	w.alive("own", true) // its end came while TTL was off
	w.setDefault("-1").want(200)
	w.alive("own", false)
	w.alive("young", true)
	w.alive("never", true)
	w.setDefault("").want(200)
	w.alive("own", false)
	w.put("own", "5").want(201)
	w.pass(5)
	w.alive("own", true)
	w.setDefault("5").want(200)
	w.alive("own", false)
	w.alive("young", false)
	w.alive("never", true)
}

// TestResponsesBeforeAndAfterPurge checks that responses are the same before and after expired items are
// purged, except for the count of documents in the container's usage.
func TestResponsesBeforeAndAfterPurge(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.expiring("10")
	for i := range 5 {
		w.put(fmt.Sprint(i), "").want(201)
	}
	w.put("long", "100").want(201)
	w.pass(10)
	usage := func() string {
		return w.do("GET", coll, "", "x-ms-documentdb-populatequotainfo",
			"true").want(200).header.Get("X-Ms-Resource-Usage")
	}
	before := w.do("GET", docs, "").want(200)
	if u := usage(); !strings.Contains(u, "documentsCount=6;") {
		t.Errorf("before the purge: %s", u)
	}
	if n, err := w.db.SweepNow(t.Context()); n != 5 || err != nil {
		t.Fatalf("purged %d, %v", n, err)
	}
	if after := w.do("GET", docs, "").want(200); string(after.body) != string(before.body) {
		t.Errorf("after the purge: %s\nbefore: %s", after.body, before.body)
	}
	if u := usage(); !strings.Contains(u, "documentsCount=1;") {
		t.Errorf("after the purge: %s", u)
	}
}
