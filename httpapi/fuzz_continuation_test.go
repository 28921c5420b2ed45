package httpapi

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pagedReadTestCase is a request whose results come in pages and in a fixed order, such as a list, a query or
// a change feed, with all rows that are expected.
type pagedReadTestCase struct {
	f        fuzzedRequest
	key      string
	position string // the request header that says where to go on; it comes from the response header next
	next     string
	rows     []string // all of them, in order
	all      []string // those that there would be without OFFSET, TOP and LIMIT
	tokens   []continuationTokenWithRowCount
}

// continuationTokenWithRowCount is a continuation token and the number of rows that precede it.
type continuationTokenWithRowCount struct {
	token string
	rows  int
}

// read reads all pages from a continuation token on ("": from the beginning) and returns their rows. size
// is the page size. ok is false if the server refuses the token. If ends is not nil, each new token is
// appended to it.
func (p *pagedReadTestCase) read(w *serverUnderTest, token string, size int,
	ends *[]continuationTokenWithRowCount) (rows []string, ok bool) {
	w.t.Helper()
	whole := token == ""
	for page := 0; page == 0 || token != ""; page++ {
		f := p.f
		f.set("x-ms-max-item-count", strconv.Itoa(size))
		if token != "" {
			f.set(p.position, token)
		}
		a := w.exchange(f)
		switch {
		case a.code == http.StatusNotModified:
			return rows, true
		case a.code != 200:
			a.fails(400, 0, "")
			if page > 0 && whole {
				w.t.Fatalf("%q: page %d is refused by its own continuation %q: %s", p.f, page, token, a.body)
			}
			return nil, false
		case page > 500:
			w.t.Fatalf("%q: paging does not end", p.f)
		}
		rows = append(rows, a.rows(p.key)...)
		if token = a.header.Get(p.next); token != "" && ends != nil {
			*ends = append(*ends, continuationTokenWithRowCount{token, len(rows)})
		}
	}
	return rows, true
}

// pagedWorld returns a server whose data does not change, and all paged requests that the test makes to
// it. A range of one container has been split.
func pagedWorld(t testing.TB) (*serverUnderTest, []*pagedReadTestCase) {
	t.Helper()
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.ServeCrossPartition = true })
	for i := range 7 {
		w.do("POST", "/dbs", fmt.Sprintf(`{"id":"d%d"}`, i)).want(201)
	}
	for _, id := range []string{"one", "four", "tree"} {
		key, more, n := `{"paths":["/pk"],"version":2}`, "", "4"
		switch id {
		case "one":
			more, n = `,"changeFeedPolicy":{"retentionDuration":10}`, "1"
		case "tree":
			key = `{"paths":["/pk","/n"],"kind":"MultiHash","version":2}`
		}
		in := "/dbs/d0/colls/" + id
		w.do("POST", "/dbs/d0/colls", `{"id":"`+id+`","partitionKey":`+key+more+
			`,"indexingPolicy":{"compositeIndexes":[[{"path":"/n"},{"path":"/id","order":"descending"}]]}}`, "x-mayfly-ranges", n).want(201)
		for i := range 30 {
			w.do("POST", in+"/docs", fmt.Sprintf(`{"id":"%d","pk":"k%d","n":%d,"s":"%s","v":[1,%d]}`, i, i%5,
				i%4, strings.Repeat("s", 290)+strconv.Itoa(i%7), i)).want(201)
		}
		w.do("POST", in+"/udfs", `{"id":"f","body":"function () {}"}`).want(201)
		w.do("POST", in+"/udfs", `{"id":"g","body":"function () {}"}`).want(201)
	}
	w.do("POST", "/_mayfly/dbs/d0/colls/four/split", `{"range":"2"}`).want(200)

	var list []*pagedReadTestCase
	add := func(key string, f fuzzedRequest, all string) {
		p := &pagedReadTestCase{f: f, key: key, position: "x-ms-continuation", next: "X-Ms-Continuation"}
		if f.header("A-IM") != "" {
			p.position, p.next = "If-None-Match", "Etag"
		}
		p.rows, _ = p.read(w, "", 100, nil)
		whole := *p
		if p.all = p.rows; all != "" {
			whole.f.body = queryBody(all, "")
			p.all, _ = whole.read(w, "", 100, nil)
		}
		for _, size := range []int{1, 4} {
			p.read(w, "", size, &p.tokens)
		}
		list = append(list, p)
	}
	add("Databases", with("GET", "/dbs", ""), "")
	add("DocumentCollections", with("GET", "/dbs/d0/colls", ""), "")
	add("PartitionKeyRanges", with("GET", "/dbs/d0/colls/four/pkranges", ""), "")
	add("Databases", with("POST", "/dbs", queryBody("SELECT * FROM c ORDER BY c.id DESC", ""),
		queryHeaders()...), "")
	add("Databases", with("POST", "/dbs", queryBody("SELECT * FROM c", ""), queryHeaders()...), "")
	for _, c := range []struct{ id, last string }{{"one", "0"}, {"four", "5"}, {"tree", "3"}} {
		path := "/dbs/d0/colls/" + c.id
		add("UserDefinedFunctions", with("GET", path+"/udfs", ""), "")
		for _, scope := range [][]string{nil, pk(`["k1"]`), rangeHeader("0"), rangeHeader(c.last),
			{"x-ms-start-epk", "08", "x-ms-end-epk", "2A"}} {
			add("Documents", with("GET", path+"/docs", "", scope...), "")
			add("Documents", with("GET", path+"/docs", "", incremental(scope...)...), "")
			for _, q := range pagedQueries {
				add("Documents", with("POST", path+"/docs", queryBody(q.text, ""), queryHeaders(scope...)...),
					q.all)
			}
		}
	}
	return w, list
}

// pagedQueries are queries whose rows have a fixed order. If text has OFFSET, TOP or LIMIT, all is the same
// query without them: a query with a manipulated continuation token may return any of its rows. Otherwise all
// is empty.
var pagedQueries = []struct{ text, all string }{
	{"SELECT c.id FROM c", ""},
	{"SELECT c.id, c.n FROM c ORDER BY c.n", ""},
	{"SELECT c.id, c.n FROM c ORDER BY c.n DESC", ""},
	{"SELECT c.id, c.n FROM c ORDER BY c.n, c.id DESC", ""},
	{"SELECT c.id FROM c ORDER BY c.s", ""},
	{"SELECT VALUE {id: c.id, v: v} FROM c JOIN v IN c.v WHERE c.n > 0", ""},
	{"SELECT TOP 9 c.id FROM c", "SELECT c.id FROM c"},
	{"SELECT c.id FROM c ORDER BY c.n OFFSET 3 LIMIT 11", "SELECT c.id FROM c ORDER BY c.n"},
	{"SELECT DISTINCT c.pk FROM c", ""},
	{"SELECT c.pk, COUNT(1) AS k FROM c GROUP BY c.pk", ""},
}

// innerToken matches the first token of a single range in the JSON of a gateway's continuation token.
var innerToken = regexp.MustCompile(`"token":"([^"]*)"`)

// forge returns a continuation token for p: an unchanged or randomly changed token of p or of another
// request in list. from and end say which token it was made from.
func (g *requestGenerator) forge(list []*pagedReadTestCase,
	p *pagedReadTestCase) (token string, from *pagedReadTestCase, end continuationTokenWithRowCount) {
	from = p
	if g.in(3) {
		from = list[g.n(len(list))]
	}
	if len(from.tokens) == 0 {
		return "AQAAAA", from, continuationTokenWithRowCount{}
	}
	end = from.tokens[g.n(len(from.tokens))]
	token = end.token
	inner := token
	// of the gateway: what it wraps is a continuation as well
	if found := innerToken.FindStringSubmatch(token); found != nil {
		inner = found[1]
	}
	raw, err := base64.RawURLEncoding.DecodeString(inner)
	if err != nil {
		raw = nil
	}
	for n := g.n(4); n > 0; n-- {
		switch at := g.n(len(token) + 1); g.n(6) {
		case 0:
			token = token[:at]
		case 1:
			token = token[:at] + g.of("A", "_", "0", "F", ":", ",", "=", " ", "\"", "{", "]", "9999999999") +
				token[at:]
		case 2:
			other := g.known("token", token)
			token = token[:at] + other[min(at, len(other)):]
		default:
			if len(raw) == 0 {
				token = strings.Replace(token, g.of("0", "1", "2", "3", "4"),
					g.of("0", "1", "7", "00", "FF", "-1"), 1)
				continue
			}
			switch b := g.n(len(raw)); g.n(4) {
			case 0:
				raw[b] ^= byte(1 << g.n(8))
			case 1:
				raw[b] = byte(g.n(256))
			case 2:
				raw = slices.Delete(raw, b, b+1)
			default:
				raw = slices.Insert(raw, b, byte(g.n(256)))
			}
			changed := base64.RawURLEncoding.EncodeToString(raw)
			token, inner = strings.Replace(token, inner, changed, 1), changed
		}
	}
	return token, from, end
}

// FuzzContinuation sends continuation tokens and change feed positions that were changed or belong to
// other requests. The server must refuse them or return existing rows in order. Unchanged tokens must lead
// to all remaining rows.
func FuzzContinuation(f *testing.F) {
	random := rand.New(rand.NewPCG(fuzzSeed(), 1))
	for range 10 * fuzzSeries {
		f.Add(randomBytes(random, 20))
	}
	w, list := pagedWorld(f)
	f.Fuzz(func(t *testing.T, choices []byte) {
		one := *w
		one.t = t
		g := newRequestGenerator(choices)
		p := list[g.n(len(list))]
		other := list[g.n(len(list))]
		for _, end := range other.tokens {
			g.learn["token"] = append(g.learn["token"], end.token)
		}
		token, from, end := g.forge(list, p)
		if token == "" {
			return
		}
		got, ok := p.read(&one, token, 1+g.n(9), nil)
		switch {
		case from == p && token == end.token:
			if want := p.rows[end.rows:]; !ok || !slices.Equal(got, want) {
				t.Fatalf("%q from its own %q:\ngot  %q\nwant %q", p.f, token, got, want)
			}
		case ok && !subsequence(got, p.all):
			t.Fatalf("%q from %q, which was %q of %q:\ngot %q\nof  %q", p.f, token, end.token, from.f, got,
				p.all)
		case ok && token == end.token && p.position != "If-None-Match" && p.f.path != from.f.path:
			t.Fatalf("%q takes %q of %q: %q", p.f, token, from.f, got)
		}
	})
}

// subsequence reports whether all contains rows in the same order, possibly with others between them.
func subsequence(rows, all []string) bool {
	for _, r := range rows {
		i := slices.Index(all, r)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}
