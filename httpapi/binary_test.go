package httpapi

import (
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/hybridrowtest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/jsondoc/jsonbinary"
)

// Request headers by which clients accept responses in binary JSON only, or in binary JSON and text.
var (
	takesBinary = []string{"x-ms-cosmos-supported-serialization-formats", "CosmosBinary"}
	takesBoth   = []string{"x-ms-cosmos-supported-serialization-formats", "JsonText,CosmosBinary"}
)

// binaryOf converts JSON text to Cosmos DB's binary JSON, as a client sends it.
func binaryOf(text string) string {
	return string(jsonbinary.AppendBinary(nil, jsondoc.Of([]byte(text))))
}

// TestBinaryItems runs each operation on items twice, with JSON text and with binary JSON in request and
// response, and checks that the results are equal.
func TestBinaryItems(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	const body = `{"id":"ID","pk":"a","n":[1,-7,300,70000,5000000000,1.5,1e+300],"type":"Point","s":"é\n\"","o":{"e":{},"l":[]},"long":"LONG"}`
	headers := append(pk(`["a"]`), takesBinary...)
	make := func(id string) string {
		return strings.NewReplacer("ID", id, "LONG", strings.Repeat("x", 70_000)).Replace(body)
	}
	same := func(text, binary *testResponse, code int) {
		t.Helper()
		text.want(code)
		if binary.want(code); !binary.binary || text.binary {
			t.Errorf("%s: binary %v, %v", binary.what, binary.binary, text.binary)
		}
		for _, member := range []string{"pk", "n", "type", "s", "o", "long", "added"} {
			if got, want := binary.at(member).Raw, text.at(member).Raw; got != want {
				t.Errorf("%s: %s is %.60s, want %.60s", binary.what, member, got, want)
			}
		}
		if binary.at("_etag").Str == "" || binary.at("_rid").Str == "" {
			t.Errorf("%s: no system properties: %s", binary.what, binary.body)
		}
	}
	same(w.do("POST", docs, make("t"), pk(`["a"]`)...), w.do("POST", docs, binaryOf(make("b")), headers...),
		201)
	same(w.do("GET", docs+"/t", "", pk(`["a"]`)...), w.do("GET", docs+"/b", "", headers...), 200)
	same(w.do("GET", docs+"/b", "", pk(`["a"]`)...), w.do("GET", docs+"/t", "", headers...), 200)
	upsert := []string{"x-ms-documentdb-is-upsert", "true"}
	same(w.do("POST", docs, make("t2"), append(pk(`["a"]`), upsert...)...),
		w.do("POST", docs, binaryOf(make("b2")), append(headers, upsert...)...), 201)
	same(w.do("PUT", docs+"/t", make("t"), pk(`["a"]`)...),
		w.do("PUT", docs+"/b", binaryOf(make("b")), headers...), 200)
	const patch = `{"operations":[{"op":"add","path":"/added","value":[1]}]}`
	same(w.do("PATCH", docs+"/t", patch, pk(`["a"]`)...),
		w.do("PATCH", docs+"/b", binaryOf(patch), headers...), 200)

	w.do("DELETE", docs+"/b2", "", headers...).want(204)
	if a := w.do("PUT", docs+"/b", binaryOf(make("b")),
		append(headers, "Prefer", "return=minimal")...).want(200); len(a.body) != 0 {
		t.Errorf("a minimal answer has a body: %q", a.body)
	}
	w.do("GET", docs+"/none", "", headers...).fails(404, 0, "Resource Not Found")
}

// TestBinaryResponseNegotiation checks for which request headers a response is binary JSON: only if the
// client does not accept JSON text as well, and never for a read feed.
func TestBinaryResponseNegotiation(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	const content = "x-ms-documentdb-content-serialization-format"
	for _, c := range []struct {
		headers []string
		binary  bool
	}{
		{nil, false}, {takesBinary, true}, {takesBoth, false},
		{[]string{takesBinary[0], "cosmosbinary"},
			true}, {[]string{takesBinary[0], "CosmosBinary, HybridRow"}, true},
		{[]string{takesBinary[0], "CosmosBinary, JsonText"}, false}, {[]string{takesBinary[0], "HybridRow"},
			false},
		{[]string{content, "CosmosBinary"}, true}, {[]string{content, "JsonText"}, false},
		{append(takesBoth, content, "CosmosBinary"), true}, {append(takesBinary, content, "JsonText"), false},
	} {
		for _, a := range []*testResponse{
			w.do("GET", docs+"/1", "", append(pk(`["a"]`), c.headers...)...),
			w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(c.headers...)...),
			w.do("POST", docs, binaryOf(
				`{"query":"SELECT * FROM c WHERE c.id = @i","parameters":[{"name":"@i","value":"1"}]}`), queryHeaders(c.headers...)...),
		} {
			if a.want(200); a.binary != c.binary {
				t.Errorf("%s with %q: %q", a.what, c.headers, a.body)
			}
			if id := a.at("id").Str + a.at("Documents.0.id").Str; id != "1" {
				t.Errorf("%s with %q: %s", a.what, c.headers, a.body)
			}
		}
	}
	// Read feeds and what is no item stay text.
	for _, path := range []string{docs, "/dbs", "/dbs/d/colls", "/dbs/d/colls/c"} {
		if a := w.do("GET", path, "", takesBinary...).want(200); a.binary {
			t.Errorf("%s is binary", path)
		}
	}
}

func TestBinaryBatches(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	const create = `{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}}`
	w.do("POST", docs, binaryOf(`[`+create+`]`), atomicBatch(`["a"]`)...).results(200, "201")

	row := func(kind byte, id string, body string) []byte {
		has := byte(0x43) // operation type, resource type, body
		if id != "" {
			has |= 0x10
		}
		row := append([]byte{0x81, 0x70, 0x54, 0xe1, 0x7f}, has, kind, 0, 0, 0, 2, 0, 0, 0)
		if id != "" {
			row = append(append(row, byte(len(id))), id...)
		}
		return hybridrowtest.Record(append(append(row, byte(len(body))), body...))
	}
	stream := hybridrowtest.Bytes(t, hybridrowtest.Segment)
	stream = append(stream, row(0, "", binaryOf(`{"id":"2","pk":"a","n":1}`))...)
	stream = append(stream, row(1, "2", binaryOf(`{"operations":[{"op":"incr","path":"/n","value":1}]}`))...)
	if code, rows := w.rowAnswer(stream, atomicBatch(`["a"]`)...); code != 200 {
		t.Errorf("%d %q", code, rows)
	}
	w.do("GET", docs+"/2", "", pk(`["a"]`)...).want(200).has("n", "2")

	stream = append(hybridrowtest.Bytes(t, hybridrowtest.Segment), row(0, "", "\x80\xC0")...)
	if code, rows := w.rowAnswer(stream, atomicBatch(`["a"]`)...); code != 207 || len(rows) != 1 ||
		rows[0] != "400/0 false false" {
		t.Errorf("%d %q", code, rows)
	}
}

func TestBadBinary(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for _, body := range []string{"\x80", "\x80\xFF", "\x80\x40", "\x80\xE4\xFF\xFF\xFF\x7F", "\x80\xD0",
		"\x80\xE8\xE8", "\x80" + strings.Repeat("\xE1", 100_000)} {
		w.do("POST", docs, body, append(pk(`["a"]`), takesBinary...)...).fails(400, 0, "")
	}
	deep := binaryOf(`{"id":"1","pk":"a","d":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`)
	w.do("POST", docs, deep, pk(`["a"]`)...).fails(400, 0, "128 levels")
	// A string of 64 KB that is referred to a thousand times.
	bomb := []byte("\x80\xE4\x00\x00\x00\x00\xC1\xFF\xFF" + strings.Repeat("a", 0xFFFF) +
		strings.Repeat("\xC3\x06", 1000))
	n := len(bomb) - 6
	bomb[2], bomb[3], bomb[4] = byte(n), byte(n>>8), byte(n>>16)
	w.do("POST", docs, string(bomb), pk(`["a"]`)...).fails(413, 0, "Request size is too large")
}
