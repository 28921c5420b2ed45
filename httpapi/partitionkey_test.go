package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

// TestPartitionKeyByRID checks that a request which addresses an item by its rid must have the item's
// partition key. A wrong key leads to the same error as with an id, and the item is unchanged.
func TestPartitionKeyByRID(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	w.do("POST", colls, `{"id":"c","partitionKey":{"paths":["/pk"],"version":2}}`).want(201)
	w.do("POST", colls, `{"id":"h","partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}}`).want(201)
	w.do("POST", colls, `{"id":"i","partitionKey":{"paths":["/id"],"version":2}}`).want(201)
	body := `{"id":"1","pk":"x","a":"x","b":"y"}`
	patch := `{"operations":[{"op":"add","path":"/v","value":1}]}`
	for _, tt := range []struct {
		coll string
		key  string // empty: none is sent
		code int
		sub  int
	}{
		{"c", `["y"]`, 404, 0}, {"c", `["2"]`, 404, 0}, {"c", `[]`, 400, 1001}, {"c", `["x","y"]`, 400,
			1001}, {"c", "", 400, 0},
		{"h", `["x"]`, 400, 1001}, {"h", `["x","z"]`, 404, 0}, {"h", `["x","y","z"]`, 400, 1001}, {"h", "",
			400, 0},
		{"i", `["x"]`, 404, 0},
	} {
		at := colls + "/" + tt.coll + "/docs"
		made := w.do("POST", at, body).want(201)
		self := "/" + made.at("_self").Str
		var key []string
		if tt.key != "" {
			key = pk(tt.key)
		}
		for _, path := range []string{self, at + "/1"} {
			w.do("GET", path, "", key...).fails(tt.code, tt.sub, "")
			w.do("PATCH", path, patch, key...).fails(tt.code, tt.sub, "")
			w.do("DELETE", path, "", key...).fails(tt.code, tt.sub, "")
			if put := w.do("PUT", path, body, key...); put.code < 400 && tt.key != "" {
				t.Errorf("%s: PUT %s with the key %s: %d", tt.coll, path, tt.key, put.code)
			}
		}
		right := map[string][]string{"c": pk(`["x"]`), "h": pk(`["x","y"]`), "i": nil}[tt.coll]
		if now := w.do("GET", self, "", right...).want(200); tt.key != "" &&
			now.at("_etag").Raw != made.at("_etag").Raw {
			t.Errorf("%s: the key %s has changed the item: %s", tt.coll, tt.key, now.body)
		}
		if tt.coll != "i" { // nor can a document take the item along to another partition
			w.do("PUT", self, `{"id":"1","pk":"other","a":"x","b":"other"}`).fails(400, 1001,
				"Partition key provided")
		}
		w.do("DELETE", self, "", right...).want(204)
		w.do("GET", self, "", key...).fails(map[bool]int{true: 400, false: 404}[tt.code == 400], tt.sub, "")
	}
}

func TestPartitionKeyForms(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for i, f := range []struct{ document, header string }{
		{`,"pk":"a"`, `["a"]`}, {`,"pk":1`, `[1]`}, {`,"pk":1`, `[1.0]`}, {`,"pk":true`, `[true]`}, {`,"pk":false`, `[false]`},
		{`,"pk":null`, `[null]`}, {``, `[{}]`}, {`,"pk":{"a":1}`, `[{}]`}, {`,"pk":[1]`, `[{}]`}, {`,"pk":""`, `[""]`},
		{`,"pk":"é"`, `["\u00e9"]`}, {`,"pk":"é"`, `["é"]`}, {`,"pk":"😀"`, `["\U0001f600"]`}, {`,"pk":"\u0007"`, `["\a"]`}, {`,"pk":"1"`, `["1"]`},
	} {
		doc := fmt.Sprintf(`{"id":"%d"%s}`, i, f.document)
		w.do("POST", docs, doc, pk(f.header)...).want(201)
		w.do("GET", fmt.Sprintf("%s/%d", docs, i), "", pk(f.header)...).want(200)
		extracted := strings.Replace(doc, `{"id":"`, `{"id":"x`, 1)
		w.do("POST", docs, extracted).want(201)
		w.do("GET", fmt.Sprintf("%s/x%d", docs, i), "", pk(f.header)...).want(200)
	}
	// Undefined, null, the empty string and the string of a number are keys of their own.
	for _, other := range []string{`[null]`, `[""]`, `["0"]`, `[0]`} {
		w.do("GET", docs+"/6", "", pk(other)...).fails(404, 0, "")
	}
	w.do("POST", docs, `{"id":"m","pk":"a"}`, pk(`["b"]`)...).fails(400, 1001, "Partition key provided either doesn't correspond to definition in the collection")
	w.do("POST", docs, `{"id":"m","pk":"a"}`, pk(`[{}]`)...).fails(400, 1001, "")
	w.do("POST", docs, `{"id":"m","pk":"a"}`, pk(`["a","b"]`)...).fails(400, 1001, "")
	for _, bad := range []string{`"a"`, `a`, `[`, `["a"`, `["a",]`, `[{"x":1}]`, `[["a"]]`, `["\q"]`, `[NaN]`} {
		w.do("POST", docs, `{"id":"m","pk":"a"}`, pk(bad)...).fails(400, 0, "")
	}
	w.do("GET", docs+"/m", "", pk(`["a"]`)...).fails(404, 0, "")
}

func TestContainerKeyedByID(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(`"partitionKey":{"paths":["/id"],"kind":"Hash","version":2}`)
	w.do("POST", docs, `{"id":"1"}`).want(201)
	w.do("GET", docs+"/1", "").want(200)
	w.do("PUT", docs+"/1", `{"id":"1","v":1}`).want(200)
	w.do("DELETE", docs+"/1", "").want(204)
}

func TestContainerWithoutKey(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	w.do("POST", colls, `{"id":"c"}`).want(201).has("partitionKey.systemKey", "true")
	w.do("POST", docs, `{"id":"1"}`).want(201)
	for _, key := range [][]string{nil, pk(`[]`), pk(`[{}]`)} {
		w.do("GET", docs+"/1", "", key...).want(200)
	}
}

// TestContainerWithoutKeyBefore2018 checks that a client with an x-ms-version before 2018-12-31 sees a
// container without a partition key, and reads, queries and replaces without sending one. It does not reach
// items to which newer clients gave a value of the system key. A container with a partition key is the same
// in all versions.
func TestContainerWithoutKeyBefore2018(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(2))
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	const query = `{"query":"SELECT VALUE c.id FROM c ORDER BY c.id"}`
	ask := func(headers ...string) *testResponse {
		return w.do("POST", docs, query, queryHeaders(append(headers, crossing, "False")...)...)
	}
	for _, v := range []string{"2018-09-17", "2018-06-18", "2015-12-16"} {
		old := []string{"x-ms-version", v}
		made := w.do("POST", colls, `{"id":"c"}`, old...).want(201)
		read := w.do("GET", coll, "", old...).want(200)
		listed := w.do("GET", colls, "", old...).want(200).at("DocumentCollections.0")
		if made.at("partitionKey").Exists() || read.at("partitionKey").Exists() ||
			listed.Get("partitionKey").Exists() {
			t.Errorf("%s: the container has the partition key %s", v, read.at("partitionKey").Raw)
		}
		w.do("GET", coll, "").want(200).has("partitionKey.systemKey", "true")
		w.do("PUT", coll, read.at("@this").Raw, old...).want(200)
		w.do("POST", docs, `{"id":"1"}`, old...).want(201)
		w.do("POST", docs, `{"id":"2"}`).want(201)
		w.do("POST", docs, `{"id":"3","_partitionKey":"a"}`, pk(`["a"]`)...).want(201)
		if got := ask(old...).want(200).at("Documents").Raw; got != `["1","2"]` {
			t.Errorf("%s: the query has %s", v, got)
		}
		if got := w.do("GET", docs, "", old...).want(200).ids("Documents"); strings.TrimSpace(got) != "1 2" {
			t.Errorf("%s: the list has %s", v, got)
		}
		ask().fails(400, 0, "Cross partition query is required but disabled.")
		w.do("DELETE", docs+"/1", "", old...).want(204)
		w.do("DELETE", coll, "").want(204)
	}
	old := []string{"x-ms-version", "2018-06-18"}
	w.do("POST", colls, `{"id":"c",`+keyedByPK+`}`, old...).want(201).has("partitionKey.paths", `["/pk"]`)
	ask(old...).fails(400, 0, "Cross partition query is required but disabled.")
}

func TestHierarchicalKeys(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(4))
	w.container(`"partitionKey":{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}`)
	for i, key := range []string{`"x","y",1`, `"x","y",2`, `"x","z",1`, `"w","y",1`, `"x","y",1`, `"x",null,1`} {
		values := strings.Split(key, ",")
		body := fmt.Sprintf(`{"id":"%d","a":%s,"b":%s,"c":%s}`, i, values[0], values[1], values[2])
		w.do("POST", docs, body, pk("["+key+"]")...).want(201)
		w.do("GET", fmt.Sprintf("%s/%d", docs, i), "", pk("["+key+"]")...).want(200)
	}
	for prefix, want := range map[string]string{`["x"]`: "0 1 2 4 5", `["x","y"]`: "0 1 4", `["x","y",1]`: "0 4", `["x",null]`: "5", `["w"]`: "3", `["v"]`: ""} {
		got := strings.Fields(w.do("GET", docs, "", pk(prefix)...).want(200).ids("Documents"))
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", prefix, got, want)
		}
		query := w.pages("Documents", "POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(append(pk(prefix), "x-ms-max-item-count", "1")...)...)
		if joined := strings.Join(strings.Fields(strings.Join(query, " ")), " "); joined != want {
			t.Errorf("query %s: %q, want %s", prefix, joined, want)
		}
	}
	w.do("GET", docs+"/0", "", pk(`["x"]`)...).fails(400, 1001, "")
	w.do("POST", coll+"/operations/partitionkeydelete", "", pk(`["x"]`)...).fails(400, 1001, "")
	// An absent component is undefined, and no null.
	w.do("POST", docs, `{"id":"u","a":"x","c":1}`, pk(`["x",{},1]`)...).want(201)
	w.do("GET", docs+"/u", "", pk(`["x",null,1]`)...).fails(404, 0, "")
}
