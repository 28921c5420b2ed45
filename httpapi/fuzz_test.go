package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzRequest sends anything to the whole server, past its authentication: no panic, no internal error, and each
// answer in the protocol's shape.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "/", "", ""},
		{"POST", "/dbs", `{"id":"x"}`, ""},
		{"POST", "/dbs", `{"query":"SELECT * FROM c WHERE c.id = @x","parameters":[{"name":"@x","value":1}]}`, "x-ms-documentdb-isquery: true"},
		{"GET", "/dbs", "", "x-ms-max-item-count: 1\nx-ms-continuation: Databases:00000001"},
		{"POST", colls, `{"id":"x","partitionKey":{"paths":["/pk"]},"defaultTtl":5,"indexingPolicy":{"includedPaths":[{"path":"/*"}]}}`, "x-ms-offer-throughput: 21000"},
		{"PUT", coll, `{"id":"c","defaultTtl":-1}`, "If-Match: *"},
		{"GET", coll + "/pkranges", "", "A-IM: Incremental feed\nx-ms-max-item-count: -1"},
		{"POST", docs, `{"id":"1","pk":"a","ttl":5}`, "x-ms-documentdb-partitionkey: [\"a\"]\nPrefer: return=minimal"},
		{"POST", docs, `{"id":"1","pk":1e5}`, "x-ms-documentdb-is-upsert: True"},
		{"GET", docs + "/1", "", "x-ms-documentdb-partitionkey: [\"\\U0001f600\"]\nx-ms-session-token: 0:-1#5"},
		{"GET", docs, "", "x-ms-start-epk: 30\nx-ms-end-epk: 10"},
		{"GET", docs, "", "x-ms-documentdb-partitionkeyrangeid: 3\nx-ms-start-epk: 1\nx-ms-continuation: AQAAAAA"},
		{"DELETE", docs + "/a%2Fb", "", "x-ms-documentdb-partitionkey: [{}]"},
		{"POST", coll + "/operations/partitionkeydelete", "", "x-ms-documentdb-partitionkey: [null]"},
		{"PUT", "/offers/AgAA", `{"content":{"offerThroughput":500}}`, ""},
		{"PUT", "/_mayfly/clock", `{"advance":"1s"}`, ""},
		{"POST", users, `{"id":"u"}`, "x-ms-documentdb-is-upsert: true"},
		{"POST", users + "/u/permissions", `{"id":"p","permissionMode":"All","resource":"dbs/d/colls/c","resourcePartitionKey":["a"]}`, "x-ms-documentdb-expiry-seconds: 600"},
		{"PUT", coll + "/triggers/t", `{"id":"t","body":"x","triggerType":"Pre","triggerOperation":"All"}`, ""},
		{"PATCH", docs + "/1", `[{"op":"set","path":"/a","value":1}]`, ""},
		{"PATCH", docs + "/1", `{"condition":"FROM c","operations":[{"op":"incr","path":"/n","value":1}]}`, "x-ms-documentdb-partitionkey: [\"a\"]"},
		{"POST", docs, `[{"operationType":"Upsert","resourceBody":{"id":"1","pk":"a"}},{"operationType":"Read","id":"1"}]`,
			"x-ms-documentdb-partitionkey: [\"a\"]\nx-ms-cosmos-is-batch-request: True\nx-ms-cosmos-batch-atomic: True"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	w := newWorld(f, ranges(4), func(s *setup) { s.server.NoAuth = true })
	f.Fuzz(func(t *testing.T, method, path, body, headers string) {
		r := &http.Request{Method: method, RequestURI: path, Header: http.Header{}, Body: http.NoBody, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "localhost:8081"}
		var err error
		if r.URL, err = url.ParseRequestURI(path); err != nil || method == "" || strings.ContainsAny(method, " \r\n\t") {
			return // no HTTP server lets this through
		}
		for _, line := range strings.Split(headers, "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && name != "" {
				r.Header.Set(name, strings.TrimSpace(value))
			}
		}
		if body != "" {
			r.Body, r.ContentLength = readCloser{strings.NewReader(body)}, int64(len(body))
		}
		one := *w
		one.t, one.seen = t, make(map[string]bool)
		one.do("POST", "/dbs", `{"id":"d"}`) // an earlier request may have deleted them
		one.do("POST", colls, `{"id":"c",`+keyedByPK+`}`)
		if a := one.send(r.WithContext(t.Context())); a.code == http.StatusInternalServerError {
			t.Fatalf("%s %q %q %q: %s", method, path, body, headers, a.body)
		}
	})
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// FuzzQuery asks anything of a container, and of the databases: each failure has a status of its own, and pages of any
// length, one after the other, hold the rows of the whole.
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
	w := newWorld(f, ranges(3), func(s *setup) { s.server.NoAuth = true })
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
			ask := func(size int, token string) *answer {
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
			if want := whole.rows(of.key); whole.header.Get("X-Ms-Continuation") == "" && !slices.Equal(rows, want) {
				t.Fatalf("%s %q by %d:\ngot  %q\nwant %q", path, body, int(size)+1, rows, want)
			}
		}
	})
}
