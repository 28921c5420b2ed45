package httpapi

import (
	"net/http"
	"net/url"
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
		{"PATCH", docs + "/1", `[{"op":"set","path":"/a","value":1}]`, ""},
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
