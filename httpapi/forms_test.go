package httpapi

import "testing"

// TestJSONNormalForm checks that JSON which clients write in several ways is returned in one normal form by
// every kind of write: numbers, control characters, and duplicate names, of which the last value counts.
func TestJSONNormalForm(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	key := pk(`["a"]`)
	const members = "\"f\":1.0,\"g\":[10.50,1e2,-0.0,{\"h\":0.0}],\"s\":\"a\tb\r\n\",\"o\":{\"x\":1,\"y\":2,\"x\":3}"
	const body = `{"id":"0","pk":"b",` + members + `,"id":"1","pk":"a"}`
	check := func(a *testResponse, at string) {
		t.Helper()
		for name, want := range map[string]string{"f": "1", "g": `[10.5,100,-0.0,{"h":0}]`, "s": `"a\tb\r\n"`,
			"o": `{"y":2,"x":3}`, "id": `"1"`, "pk": `"a"`} {
			a.has(at+name, want)
		}
	}
	check(w.do("POST", docs, body, key...).want(201), "")
	check(w.do("GET", docs+"/1", "", key...).want(200), "")
	check(w.do("PUT", docs+"/1", body, key...).want(200), "")
	check(w.do("POST", docs, body, append(key, "x-ms-documentdb-is-upsert", "true")...).want(200), "")
	w.do("DELETE", docs+"/1", "", key...).want(204)
	check(w.do("POST", docs, `[{"operationType":"Create","resourceBody":`+body+`}]`,
		atomicBatch(`["a"]`)...).want(200), "0.resourceBody.")
	patch := `{"operations":[{"op":"set","path":"/p","value":{` + members +
		`}},{"op":"remove","path":"/none","op":"set","path":"/q","value":2.50}]}`
	a := w.do("PATCH", docs+"/1", patch, key...).want(200).has("q", "2.5").has("p",
		`{"f":1,"g":[10.5,100,-0.0,{"h":0}],"s":"a\tb\r\n","o":{"y":2,"x":3}}`)
	check(a, "")
	for text, want := range map[string]string{
		`SELECT VALUE c.f FROM c WHERE c.f = 1.0 AND c.o.x = 3`: "1", `SELECT VALUE c.s FROM c`: `"a\tb\r\n"`, `SELECT VALUE [1.0, 10.50, 1e2, 0.0] FROM c`: "[1,10.5,100,0]",
		`SELECT VALUE @p FROM c`: `[1,{"x":2.5}]`,
	} {
		w.do("POST", docs, queryBody(text, `[{"name":"@p","value":[1.0,{"x":1,"x":2.50}]}]`),
			queryHeaders(key...)...).want(200).has("Documents", "["+want+"]")
	}
}
