package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mayflydb/mayfly/ttl"
)

// requestTestCase is a request, and the expected status of its response.
type requestTestCase struct {
	method, path, body string
	headers            []string
	status             int
}

// kindsOfAnswers returns requests that lead to every kind of response if they are sent in this order. etag
// is that of an existing item.
func kindsOfAnswers(etag string) []requestTestCase {
	a := pk(`["a"]`)
	query := []string{"Content-Type", "application/query+json", "x-ms-documentdb-isquery", "True",
		"x-ms-documentdb-query-enablecrosspartition", "True"}
	cross := `{"query":"SELECT VALUE COUNT(1) FROM c"}`
	return []requestTestCase{
		{"GET", "/", "", nil, 200},
		{"OPTIONS", docs, "", []string{"Origin", "http://localhost", "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "x"}, 204},
		{"GET", "/dbs/d", "", []string{"Origin", "http://localhost"}, 200},
		{"GET", "/dbs", "", []string{"x-ms-max-item-count", "1"}, 200},
		{"GET", coll, "", []string{"x-ms-documentdb-populatequotainfo", "True"}, 200},
		{"GET", coll + "/pkranges", "", nil, 200},
		{"GET", "/offers", "", nil, 200},
		{"POST", "/offers", `{"query":"SELECT * FROM root"}`, query, 200},
		{"POST", docs, `{"id":"2","pk":"a"}`, a, 201},
		{"POST", docs, `{"id":"2","pk":"a"}`, a, 409},
		{"POST", docs, `{"id":`, a, 400},
		{"POST", docs, `{"id":"2","pk":"a"}`, append(a, "x-ms-documentdb-is-upsert", "True"), 200},
		{"GET", docs + "/1", "", append(a, "x-ms-cosmos-correlated-activityid",
			"00000000-0000-4000-8000-000000000001", "x-mayfly-explain-ttl", "true"), 200},
		{"GET", docs + "/1", "", append(a, "If-None-Match", etag), 304},
		{"GET", docs + "/none", "", a, 404},
		{"PUT", docs + "/1", `{"id":"1","pk":"a","n":1}`, append(a, "If-Match", `"no"`), 412},
		{"PATCH", docs + "/1", `{"operations":[{"op":"add","path":"/n","value":1}]}`, a, 200},
		{"DELETE", docs + "/2", "", a, 204},
		{"GET", docs, "", []string{"x-ms-max-item-count", "1"}, 200},
		{"GET", docs, "", []string{"A-IM", "Incremental feed"}, 200},
		{"GET", docs, "", []string{"A-IM", "Incremental feed", "If-None-Match", "*"}, 304},
		{"POST", docs, `{"query":"SELECT * FROM c"}`, append(query, "x-ms-documentdb-populatequerymetrics",
			"True",
			"x-ms-cosmos-populateindexmetrics", "True", "x-ms-max-item-count", "1"), 200},
		{"POST", docs, cross, query, 400},
		{"POST", docs, `{"query":"SELECT"}`, query, 400},
		{"POST", docs, cross, append(query, "x-ms-cosmos-is-query-plan-request", "True",
			"x-ms-cosmos-supported-query-features", "Aggregate"), 200},
		{"POST", docs, `[{"operationType":"Read","id":"1"}]`, atomicBatch(`["a"]`), 200},
		{"POST", docs, `[{"operationType":"Read","id":"none"},{"operationType":"Read","id":"1"}]`,
			atomicBatch(`["a"]`), 207},
		{"POST", coll + "/sprocs", `{"id":"p","body":"function () { console.log(1); }"}`, nil, 201},
		{"POST", coll + "/sprocs/p", "[]", append(a, "x-ms-documentdb-script-enable-logging", "true"), 200},
		{"POST", "/dbs/d/users", `{"id":"u"}`, nil, 201},
		{"GET", coll + "/conflicts", "", nil, 200},
		{"GET", "/dbs/none", "", nil, 404},
		{"GET", "/nowhere", "", nil, 404},
		{"GET", docs, "", []string{"Authorization", "Bearer no"}, 401},
		{"GET", docs, "", []string{"x-ms-max-item-count", "x"}, 400},
		{"GET", "/_mayfly/livez", "", nil, 200},
		{"GET", "/_mayfly/cert.pem", "", nil, 200},
		{"GET", "/_mayfly/clock", "", nil, 200},
		{"GET", "/_mayfly/metrics", "", nil, 200},
		{"GET", "/_mayfly/", "", nil, 200},
		{"GET", "/_mayfly/openapi.json", "", nil, 200},
		{"GET", own + "events", "", nil, 200},
		{"GET", own + "events", "", []string{"Accept", "text/event-stream"}, 200},
		{"HEAD", coll, "", nil, 200},
	}
}

// TestHeaderNamesInLowerCase checks that the header names of every kind of response are in lower case, since
// clients compare them bytewise. Headers that net/http adds or uses itself may differ over HTTP/1.1.
func TestHeaderNamesInLowerCase(t *testing.T) {
	t.Parallel()
	for version, send := range map[string]func(*testing.T, string, requestTestCase) (int,
		[]string){"HTTP1": rawHTTP1,
		"HTTP2": rawHTTP2} {
		t.Run(version, func(t *testing.T) {
			w := newServerUnderTest(t, ranges(2),
				func(s *serverUnderTestOptions) { s.server.CertPEM = []byte("certificate") })
			w.expiringContainer()
			etag := w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201).at("_etag").Str
			base, _ := w.listen()
			addr := strings.TrimPrefix(base, "http://")
			kinds := kindsOfAnswers(etag)
			if version == "HTTP1" { // over HTTP/2 so large a body needs more than these frames
				kinds = append(kinds, requestTestCase{"POST", docs, strings.Repeat(" ", maxDrain+1),
					pk(`["a"]`),
					413})
			}
			for _, q := range kinds {
				if !slices.Contains(q.headers, "Authorization") {
					q.headers = append([]string{"Authorization", "Bearer " + EmulatorKey}, q.headers...)
				}
				q.headers = append(q.headers, "x-ms-version", "2020-07-15")
				status, names := send(t, addr, q)
				what := fmt.Sprintf("%s %s %v", q.method, q.path, q.headers[2:])
				if status != q.status {
					t.Errorf("%s: %d, want %d", what, status, q.status)
				}
				checkNames(t, what, version, names)
			}
		})
	}
}

func checkNames(t *testing.T, what, version string, names []string) {
	t.Helper()
	for _, name := range []string{"x-ms-activity-id", "x-ms-request-charge", "x-ms-request-duration-ms"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s: no %s among %q", what, name, names)
		}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("%s: %s twice", what, name)
		}
		free := []string{"Content-Type", "Content-Length", "Date", "Connection", "Transfer-Encoding"}
		if name != strings.ToLower(name) && (version != "HTTP1" || !slices.Contains(free, name)) {
			t.Errorf("%s: the name %q is not in lower case", what, name)
		}
	}
}

// rawHTTP1 sends a request over HTTP/1.1 and returns the response's status and its header names as sent.
func rawHTTP1(t *testing.T, addr string, q requestTestCase) (status int, names []string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(ttl.SystemClock{}.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n",
		q.method, q.path, len(q.body))
	for i := 0; i < len(q.headers); i += 2 {
		head += q.headers[i] + ": " + q.headers[i+1] + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"+q.body); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("%s %s: %v", q.method, q.path, err)
		}
		line = strings.TrimSuffix(line, "\r\n")
		switch name, _, _ := strings.Cut(line, ": "); {
		case line == "":
			return status, names
		case status == 0:
			if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil {
				t.Fatal(err)
			}
		default:
			names = append(names, name)
		}
	}
}

// rawHTTP2 sends a request over HTTP/2 and returns the response's status and its header names as sent.
func rawHTTP2(t *testing.T, addr string, q requestTestCase) (status int, names []string) {
	t.Helper()
	r, _ := dial2(t, addr)
	defer r.conn.Close()
	lower := slices.Clone(q.headers)
	for i := 0; i < len(lower); i += 2 {
		lower[i] = strings.ToLower(lower[i])
	}
	lower = append(lower, "content-length", strconv.Itoa(len(q.body)))
	stream, err := r.request(q.method, q.path, q.body == "", lower...)
	if err != nil {
		t.Fatal(err)
	}
	// As much as a client may send before the server has read; of a body that is too large the server has
	// then seen enough.
	const part, window = 16 << 10, 65535
	for rest, sent := q.body, 0; rest != "" && sent < window; {
		n := min(part, len(rest), window-sent)
		if err := r.framer.WriteData(stream, n == len(rest), []byte(rest[:n])); err != nil {
			t.Fatal(err)
		}
		rest, sent = rest[n:], sent+n
	}
	decoder := hpack.NewDecoder(4096, nil)
	if err := r.until(func(f http2.Frame) bool {
		h, ok := f.(*http2.HeadersFrame)
		if !ok || h.StreamID != stream {
			return false
		}
		fields, err := decoder.DecodeFull(h.HeaderBlockFragment())
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			if field.Name != ":status" {
				names = append(names, field.Name)
				continue
			}
			if _, err := fmt.Sscan(field.Value, &status); err != nil {
				t.Fatal(err)
			}
		}
		return true
	}); err != nil {
		t.Fatalf("%s %s: %v", q.method, q.path, err)
	}
	return status, names
}
