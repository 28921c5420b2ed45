package httpapi

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/racetest"
)

// FuzzRequest sends arbitrary requests to the whole server. It checks that there is no panic and no
// internal error, that each response has the protocol's form, and that the store is consistent, and
// unchanged by reads and errors.
func FuzzRequest(f *testing.F) {
	for _, r := range seedRequests() {
		f.Add(r.method, r.path, r.body, r.headers)
	}
	f.Fuzz(func(t *testing.T, method, path, body, headers string) {
		w := fuzzWorld(t)
		w.try(fuzzedRequest{method, path, body, headers}, w.dump())
	})
}

// seedRequests returns four random requests of each kind that a requestGenerator makes, as seeds of the
// fuzzing.
func seedRequests() (list []fuzzedRequest) {
	random := rand.New(rand.NewPCG(1, 0))
	for kind := range newRequestGenerator(nil).kinds() {
		for range 4 {
			g := newRequestGenerator(randomBytes(random, 100))
			list = append(list, g.kinds()[kind]())
		}
	}
	return list
}

func randomBytes(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// FuzzSeries checks what FuzzRequest checks, for sequences of requests in which later requests use values
// from earlier responses. The bytes choose the productions of a grammar; each sequence has its own server.
func FuzzSeries(f *testing.F) {
	random := rand.New(rand.NewPCG(fuzzSeed(), 0))
	for range racetest.Fewer(fuzzSeries, 6) {
		f.Add(randomBytes(random, 400))
	}
	f.Fuzz(runSeries)
}

func runSeries(t *testing.T, choices []byte) {
	series(t, choices, func(fuzzedRequest, *testResponse) {})
}

// series makes a server, sends it the requests that choices generate, and calls fn with each request and
// response.
func series(t *testing.T, choices []byte, fn func(fuzzedRequest, *testResponse)) {
	g := newRequestGenerator(choices)
	variant := g.n(8)
	w := fuzzWorld(t, func(s *serverUnderTestOptions) {
		s.server.ServeCrossPartition, s.server.Strict, s.store.Lenient = variant&1 != 0, variant&2 != 0, variant&4 != 0
	})
	// What clients know from the start.
	for _, path := range []string{"/offers", coll + "/pkranges", users + "/u/permissions", docs,
		colls + "/four/docs"} {
		g.see(w.do("GET", path, "", "x-ms-max-item-count", "3").want(200))
	}
	dump := w.dump()
	for len(g.rest) > 0 {
		var a *testResponse
		if g.in(8) {
			w.sweep(dump)
		}
		f := g.request()
		if a, dump = w.try(f, dump); a != nil {
			g.see(a)
			fn(f, a)
		}
	}
}

// TestRequestGenerator checks that for each HTTP method at least a quarter of the requests that a
// requestGenerator makes succeed, because fuzzing finds little if all fail.
func TestRequestGenerator(t *testing.T) {
	racetest.Sequential(t)
	random := rand.New(rand.NewPCG(2, 0))
	sent, done := map[string]int{}, map[string]int{}
	rounds := racetest.Campaign(40, 15)
	for range rounds {
		series(t, randomBytes(random, 400), func(f fuzzedRequest, a *testResponse) {
			sent[f.method]++
			if a.code < 300 || a.code == http.StatusNotModified {
				done[f.method]++
			}
		})
	}
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if share := float64(done[method]) / float64(sent[method]); sent[method] < rounds*3/4 || share < 0.25 {
			t.Errorf("%s: %d of %d come through", method, done[method], sent[method])
		}
	}
}

// FuzzQuery sends arbitrary queries over a container and over the databases. It checks that every failure
// has a suitable status, and that the pages of any size together have the rows of the whole result.
func FuzzQuery(f *testing.F) {
	for _, seed := range []struct {
		text, params, continuation string
		size                       uint8
	}{
		{"SELECT * FROM c", `[]`, "", 1},
		{"SELECT * FROM c WHERE c.even = @e ORDER BY c.n DESC", `[{"name":"@e","value":true}]`, "", 2},
		{"SELECT c.n, COUNT(1) AS k, SUM(c.id) FROM c GROUP BY c.n", `null`, "", 1},
		{"SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n", `[{"name":"@e"}]`, "", 1},
		{"SELECT TOP 5 c.id, t FROM c JOIN t IN [1, 2, c.n] WHERE t > 0 OFFSET 1 LIMIT 7", ``, "", 3},
		{"SELECT VALUE {a: c.n ?? 'x', b: [c.id, c._rid], c: ARRAY(SELECT VALUE x FROM x IN [1, c.n])} FROM c ORDER BY c.id", `[]`, "", 4},
		{"SELECT VALUE c.id FROM c WHERE c.pk IN ('key1', 'key2') AND c.id LIKE '%1%' ESCAPE '!' OR NOT IS_DEFINED(c.n)", `[]`, "", 0},
		{"SELECT * FORM c", `[{"name":"@x","value":1},{"name":"@x","value":2}]`, "AQABAgMEBQYHCA", 1},
		{"SELECT * FROM c ORDER BY c.n, c.id", `[]`, "Databases:00000001", 1},
		{"SELECT udf.f(c), MAX(MIN(c.n)) FROM c", `7`, "", 1},
		{"SELECT VALUE SUBSTRING(c.id, -1, 1e300) FROM c WHERE RegexMatch(c.id, '(a+)+$')", `[]`, "\x00", 1},
		{"SELECT * FROM (SELECT VALUE c.n FROM c) d WHERE ST_DISTANCE(d, {'type':'Point','coordinates':[1,2]}) < 1", `[]`, "", 1},
	} {
		f.Add(seed.text, seed.params, seed.continuation, seed.size)
	}
	w := newServerUnderTest(f, ranges(3), func(s *serverUnderTestOptions) { s.server.NoAuth = true })
	w.container(keyedByPK + `,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/pk/*"}],"compositeIndexes":[[{"path":"/n"},{"path":"/id"}]]}`)
	w.fillOrdered(12)
	f.Fuzz(func(t *testing.T, text, params, continuation string, size uint8) {
		one := *w
		one.t, one.seen = t, make(map[string]bool)
		body := `{"query":` + jsonString(text)
		if params != "" {
			body += `,"parameters":` + params
		}
		for _, of := range []struct{ path, key string }{{docs, "Documents"}, {"/dbs", "Databases"}} {
			path := of.path
			ask := func(size int, token string) *testResponse {
				h := queryHeaders(served[0], served[1], "x-ms-max-item-count", fmt.Sprint(size))
				if token != "" {
					h = append(h, "x-ms-continuation", token)
				}
				a := one.do("POST", path, body+"}", h...)
				if a.code != 200 && a.code != 400 && a.code != 413 {
					t.Fatalf("%s %q %q: %d %s", path, body, token, a.code, a.body)
				}
				return a
			}
			ask(int(size)+1, continuation)
			whole := ask(-1, "")
			if whole.code != 200 || strings.Contains(strings.ToUpper(text), "RAND") {
				continue
			}
			var rows []string
			token := ""
			for n := 0; n == 0 || token != ""; n++ {
				a := ask(int(size)+1, token).want(200)
				rows = append(rows, a.rows(of.key)...)
				if token = a.header.Get("X-Ms-Continuation"); n > 10_000 {
					t.Fatalf("%s %q: paging does not end", path, body)
				}
			}
			if want := whole.rows(of.key); whole.header.Get("X-Ms-Continuation") == "" &&
				!slices.Equal(rows, want) {
				t.Fatalf("%s %q by %d:\ngot  %q\nwant %q", path, body, int(size)+1, rows, want)
			}
		}
	})
}
