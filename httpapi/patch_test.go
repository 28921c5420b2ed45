package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

func TestPatchRequests(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	c := w.container("")
	key := pk(`["a"]`)
	first := w.do("POST", docs, `{"id":"1","pk":"a","n":1,"l":[]}`, key...).want(201)
	w.clock.Advance(3e9)
	a := w.do("PATCH", docs+"/1",
		`{"operations":[{"op":"incr","path":"/n","value":41},{"op":"add","path":"/l/-","value":{"x":1.0}}]}`,
		append(key, "Content-Type", "application/json-patch+json")...).want(200)
	a.has("n", "42").has("l", `[{"x":1}]`).has("_rid", first.at("_rid").Raw).has("_ts",
		fmt.Sprint(start.Unix()+3)).
		head("etag", a.at("_etag").Str).head("x-ms-content-path",
		c.at("_rid").Str).head("x-ms-alt-content-path", "dbs/d/colls/c")
	if a.header.Get("Etag") == first.header.Get("Etag") ||
		a.header.Get("X-Ms-Session-Token") == first.header.Get("X-Ms-Session-Token") {
		t.Error("a patch kept the etag or the session token")
	}
	// the operations alone; a value left out
	w.do("PATCH", docs+"/1", `[{"op":"set","path":"/v"}]`, key...).want(200).has("v", "null")
	w.do("PATCH", docs+"/1",
		`{"condition":"from c where c.n = 42","operations":[{"op":"set","path":"/v","value":2}]}`, key...).want(200).has("v", "2")
	w.do("PATCH", docs+"/1", `{"condition":null,"operations":[{"op":"set","path":"/v","value":3}]}`,
		key...).want(200).has("v", "3")
	w.do("PATCH", docs+"/1",
		`{"condition":"from c where c.n = 1","operations":[{"op":"set","path":"/v","value":4}]}`, key...).
		fails(412, 0, "One of the specified pre-condition is not met")
	w.do("PATCH", docs+"/1", `{"condition":"c.n = 1","operations":[{"op":"set","path":"/v","value":4}]}`,
		key...).fails(400, 0, "")
	w.do("PATCH", docs+"/1", `[{"op":"set","path":"/v","value":4}]`,
		append(key, "If-Match", first.header.Get("Etag"))...).fails(412, 0, "")
	w.do("PATCH", docs+"/2", `[{"op":"set","path":"/v","value":4}]`, key...).fails(404, 0,
		"Resource Not Found")
	w.do("PATCH", docs+"/1", `[{"op":"set","path":"/v","value":4}]`).fails(400, 0,
		"PartitionKey value must be supplied")
	w.do("PATCH", docs+"/1", `[{"op":"add","path":"/nonExistentParent/Child","value":"bar"}]`, key...).
		fails(400, 0, "For Operation(1): Add Operation can only create a child object of an existing node(array or object) and cannot create path recursively, no path found beyond: 'nonExistentParent'")
	self := strings.TrimSuffix(first.at("_self").Str, "/")
	w.do("PATCH", "/"+self, `[{"op":"set","path":"/v","value":5}]`, key...).want(200).has("v", "5") // by rid

	minimal := w.do("PATCH", docs+"/1", `[{"op":"remove","path":"/v"}]`,
		append(key, "Prefer", "return=minimal")...).want(200)
	if len(minimal.body) > 0 || minimal.header.Get("Etag") == "" {
		t.Errorf("%v %s", minimal.header, minimal.body)
	}
	w.do("GET", docs+"/1", "", key...).want(200).has("v", "").head("etag", minimal.header.Get("Etag"))
}

// TestBadPatches checks that malformed PATCH bodies are refused and change nothing.
func TestBadPatches(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	key := pk(`["a"]`)
	w.do("POST", docs, `{"id":"1","pk":"a","n":1}`, key...).want(201)
	before := string(w.do("GET", docs, "").want(200).body)
	for _, body := range []string{
		``, ` `, `null`, `1`, `"x"`, `{}`, `[]`, `{"operations":[]}`, `{"operations":{}}`, `{"operations":null}`, `{"operations":"x"}`, `{"condition":"from c"}`,
		`{"condition":1,"operations":[{"op":"set","path":"/v","value":1}]}`, `{"condition":{},"operations":[{"op":"set","path":"/v","value":1}]}`,
		// as a client splices it that does not escape
		`{"condition":"from c where c.s = "x"","operations":[{"op":"set","path":"/v","value":1}]}`,
		`[1]`, `[null]`, `[[]]`, `[{}]`, `[{"op":"set"}]`, `[{"op":"set","path":1,"value":1}]`, `[{"op":"set","path":"v","value":1}]`, `[{"op":null,"path":"/v","value":1}]`,
		`[{"op":"copy","from":"/n","path":"/v"}]`, `[{"op":"test","path":"/n","value":1}]`, `[{"op":"incr","path":"/n","value":"1"}]`, `[{"op":"incr","path":"/n","value":null}]`,
		`[{"op":"move","path":"/n"}]`, `[{"op":"set","path":"/v","value":1}`, `[{"op":"set","path":"/v","value":1}]]`, `[{"op":"set","path":"/pk","value":"a"}]`, `[{"op":"set","path":"/id","value":"1"}]`,
		`[{"op":"set","path":"/ttl","value":0}]`, `[{"op":"set","path":"/_ts","value":0}]`, `[{"op":"set","path":"/v","value":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}]`,
		`[` + strings.Repeat(`{"op":"incr","path":"/n","value":1},`, 10) +
			`{"op":"incr","path":"/n","value":1}]`,
	} {
		w.do("PATCH", docs+"/1", body, key...).fails(400, 0, "")
	}
	w.do("PATCH", docs+"/1", `[{"op":"set","path":"/v","value":"`+strings.Repeat("x", 2<<20)+`"}]`,
		key...).want(400 + 13)
	if after := string(w.do("GET", docs, "").want(200).body); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}
