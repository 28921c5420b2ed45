package httpapi

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// requestGenerator generates requests, most of them valid, from a string of bytes: each random choice
// consumes a byte, and generation ends with the bytes. It reuses values from earlier responses, such as
// etags, continuation tokens, session tokens, rids and resource tokens.
type requestGenerator struct {
	rest   []byte
	secret []byte
	learn  map[string][]string
}

func newRequestGenerator(choices []byte) *requestGenerator {
	key, err := base64.StdEncoding.DecodeString(EmulatorKey)
	if err != nil {
		panic(err) // it is a constant
	}
	return &requestGenerator{rest: choices, secret: key, learn: map[string][]string{}}
}

// n chooses a number from 0 to max-1 by the next bytes; 0 if there are no more.
func (g *requestGenerator) n(max int) int {
	if len(g.rest) == 0 {
		return 0
	}
	v := int(g.rest[0])
	if g.rest = g.rest[1:]; max > 256 && len(g.rest) > 0 {
		v, g.rest = v<<8|int(g.rest[0]), g.rest[1:]
	}
	return v % max
}

// in makes a random choice: it returns true with probability 1/n. It takes the next byte of the fuzzer's
// input as the random number.
func (g *requestGenerator) in(n int) bool { return g.n(n) == n-1 }

func (g *requestGenerator) of(list ...string) string { return list[g.n(len(list))] }

// known returns one of the values of the kind what, such as "etag", from earlier responses, or other if
// there is none.
func (g *requestGenerator) known(what, other string) string {
	list := g.learn[what]
	if len(list) == 0 {
		return other
	}
	return list[g.n(len(list))]
}

// see remembers the etag, tokens and ids in a response, for use in later requests.
func (g *requestGenerator) see(a *testResponse) {
	add := func(what, value string) {
		if value != "" && len(g.learn[what]) < 40 {
			g.learn[what] = append(g.learn[what], value)
		}
	}
	add("etag", a.header.Get("Etag"))
	add("continuation", a.header.Get("X-Ms-Continuation"))
	add("session", a.header.Get("X-Ms-Session-Token"))
	add("self", strings.TrimSuffix(a.at("_self").Str, "/"))
	add("rid", a.at("_rid").Str)
	add("token", a.at("_token").Str)
	for _, list := range []string{"Offers", "PartitionKeyRanges", "Documents", "Permissions"} {
		for _, r := range a.at(list).Array() {
			add(list, r.Get("id").Str)
			add("self", strings.TrimSuffix(r.Get("_self").Str, "/"))
			add("token", r.Get("_token").Str)
		}
	}
}

// with returns a fuzzedRequest with headers, given as pairs of names and values.
func with(method, path, body string, headers ...string) fuzzedRequest {
	f := fuzzedRequest{method: method, path: path, body: body}
	for i := 0; i < len(headers); i += 2 {
		f.set(headers[i], headers[i+1])
	}
	return f
}

// kinds returns the functions that generate the kinds of requests. A function that is listed several times
// is chosen more often.
func (g *requestGenerator) kinds() []func() fuzzedRequest {
	return []func() fuzzedRequest{g.create, g.replace, g.read, g.patch, g.remove, g.list, g.query, g.plan,
		g.resume,
		g.feed, g.batch, g.rows, g.partition, g.container,
		g.database, g.offer, g.small, g.execute, g.clock, g.split, g.explain, g.own, g.open, g.other,
		g.create, g.create, g.create, g.create, g.read, g.patch, g.patch, g.query, g.feed, g.batch, g.small}
}

// request generates one request of a random kind. Sometimes it signs it, adds arbitrary headers, or makes
// it invalid.
func (g *requestGenerator) request() fuzzedRequest {
	kinds := g.kinds()
	f := kinds[g.n(len(kinds))]()
	if g.in(4) {
		g.sign(&f)
	}
	for g.in(10) {
		f.set(g.anyHeader())
	}
	if g.in(5) {
		g.breakOne(&f)
	}
	return f
}

// sign signs a request as clients do. Later changes of the request make the signature wrong.
func (g *requestGenerator) sign(f *fuzzedRequest) {
	date := start.Format(http.TimeFormat)
	path, _, _ := strings.Cut(f.path, "?")
	resource, link := signed(path)
	f.set("x-ms-date", date)
	f.set("authorization", AuthorizationHeader(Sign(g.secret, f.method, resource, link, date)))
}

// headerValues are all request headers with a meaning, each with values that are valid in some request.
var headerValues = [][]string{
	{"authorization", "Bearer x", "type%3Dmaster%26ver%3D1.0%26sig%3DAAAA",
		"type=aad&ver=1.0&sig=e30.e30.e30", "type=resource&ver=1&sig=AAAA;AAAA;", "%zz"},
	{"x-ms-date", "Mon, 01 Mar 2027 12:00:00 GMT", "x"}, {"x-ms-version", "2020-07-15", "2001-01-01", "x"},
	{"x-ms-activity-id", "0dd2a0c0-0000-4000-8000-000000000001",
		"x\x00"}, {"x-ms-cosmos-correlated-activityid", "0dd2a0c0-0000-4000-8000-000000000001"},
	{"x-ms-consistency-level", "Session", "Strong", "x"}, {"x-ms-session-token", "0:-1#3", "0:1#2#3=4",
		"0:-1#99999", "x"},
	{"x-ms-documentdb-partitionkey", `["k0"]`, `["k0",0,"s0"]`, `[{}]`, `[`, `["\q"]`,
		"[\"\xff\"]"}, {"x-ms-documentdb-partitionkeyrangeid", "0", "9", ","},
	{"x-ms-start-epk", "10", "zz"}, {"x-ms-end-epk", "20", "1"}, {"x-ms-read-key-type",
		"EffectivePartitionKeyRange"}, {"x-ms-cosmos-intended-collection-rid", "AQAAAIAAAAI=", "x"},
	{"x-ms-documentdb-is-upsert", "true", "x"}, {"If-Match", "*", `"x"`}, {"If-None-Match", "*",
		`"5"`}, {"If-Modified-Since", "Mon, 01 Mar 2027 12:00:00 UTC", "x"},
	{"A-IM", "Incremental feed", "Full-Fidelity Feed", "x"}, {"x-ms-cosmos-changefeed-wire-format-version",
		"2021-09-15", "x"}, {"Prefer", "return=minimal"},
	{"x-ms-max-item-count", "1", "-1", "0", "2147483647"}, {"x-ms-continuation", "x", "Databases:01",
		"AQ"}, {"x-ms-documentdb-responsecontinuationtokenlimitinkb", "1", "0"},
	{"x-ms-documentdb-isquery", "true"}, {"x-ms-documentdb-query", "True"}, {crossing, "true",
		"x"}, {"x-mayfly-serve-cross-partition", "true"}, {"x-ms-documentdb-populatequerymetrics", "true"},
	{"x-ms-cosmos-populateindexmetrics", "true"}, {"x-ms-cosmos-is-query-plan-request",
		"true"}, {"x-ms-cosmos-supported-query-features", "OrderBy", ","},
	{"x-ms-cosmos-query-optimisticdirectexecute", "true"}, {"x-ms-documentdb-content-serialization-format",
		"JsonText", "CosmosBinary"}, {"x-ms-cosmos-is-batch-request", "true"},
	{"x-ms-cosmos-batch-atomic", "true"}, {"x-ms-cosmos-batch-continue-on-error",
		"true"}, {"x-ms-indexing-directive", "Exclude", "x"},
	{"x-ms-documentdb-pre-trigger-include", "pre", "none", ","}, {"x-ms-documentdb-post-trigger-include",
		"post", "pre"}, {"x-ms-documentdb-script-enable-logging", "true"},
	{"x-ms-documentdb-expiry-seconds", "600", "1"}, {"x-ms-offer-throughput", "400", "20000",
		"x"}, {"x-ms-offer-type", "S1", "x"}, {
		"x-ms-cosmos-offer-autopilot-settings", `{"maxThroughput":1000}`, "{"},
	{"x-mayfly-ranges", "3", "0"}, {"Content-Type", "application/query+json", "application/sql",
		"application/json", "x"}, {"Transfer-Encoding", "chunked"}, {"Expect", "100-continue"},
}

func (g *requestGenerator) anyHeader() (name, value string) {
	if g.in(5) {
		if g.in(2) {
			return "authorization", g.known("token", "Bearer x")
		}
		return g.of("x-ms-continuation", "If-Match", "x-ms-session-token",
				"x-ms-cosmos-intended-collection-rid"), g.known(g.of("continuation", "etag", "session",
				"rid"), "x")
	}
	h := headerValues[g.n(len(headerValues))]
	return h[0], h[1+g.n(len(h)-1)]
}

// breakOne changes one random part of a request, so that it is usually invalid.
func (g *requestGenerator) breakOne(f *fuzzedRequest) {
	switch g.n(7) {
	case 0:
		f.method = g.of("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW")
	case 1:
		at := g.n(len(f.path))
		f.path = f.path[:at] + g.of("/", "", "%2F", "%", "%FF", "?", "//", "x", "..") + f.path[at:]
	case 2: // a part of the path is left out
		parts := strings.Split(f.path, "/")
		at := g.n(len(parts))
		f.path = "/" + strings.Join(append(parts[:at:at], parts[at+1:]...), "/")
	case 3: // a header is left out, or has another value
		lines := strings.Split(f.headers, "\n")
		at := g.n(len(lines))
		name, value, _ := strings.Cut(lines[at], ":")
		lines[at] = g.of("", name+": ", name+":"+value+"x", name+": "+strings.Repeat("9", 30), name+": \xff",
			name+":"+value[:len(value)/2])
		f.headers = strings.Join(lines, "\n")
	default:
		g.breakBody(f)
	}
}

func (g *requestGenerator) breakBody(f *fuzzedRequest) {
	if f.body == "" {
		f.body = g.of("x", "{}", "[]", "\x81", strings.Repeat("[", 3000))
		return
	}
	at := g.n(len(f.body))
	switch g.n(4) {
	case 0:
		f.body = f.body[:at]
	case 1:
		b := []byte(f.body)
		b[at] ^= byte(1 << g.n(8))
		f.body = string(b)
	case 2:
		f.body = f.body[:at] + g.of("\"", "{", "]", ",", "\x00", "\xff", `"id":"x",`) + f.body[at:]
	default: // a value becomes another
		colon := strings.IndexByte(f.body[at:], ':')
		if colon < 0 {
			f.body = g.of("null", "[]", "{}", `""`, "7")
			return
		}
		at += colon + 1
		old := gjson.Parse(f.body[at:]).Raw
		f.body = f.body[:at] + g.of("null", "[]", "{}", `""`, "-1", "1e400", "1e300", "9007199254740993",
			`"x"`, "true", `"\ud800"`, `[[[[]]]]`, `{"a":{}}`, jsonString(strings.Repeat("y", 2100))) +
			f.body[at+len(old):]
	}
}
