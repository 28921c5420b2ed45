package httpapi

import (
	"strings"
	"testing"
)

// TestReplaceOfAnAbsentItem checks that a Replace of an item that does not exist fails with 404 in
// batches, in bulk requests and in stored procedures, even if the new document is invalid. If the item
// exists, the invalid document fails with 400.
func TestReplaceOfAnAbsentItem(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	for body, refused := range map[string]string{
		`"resourceBody":{"id":"none","pk":"b"}`:           "400/1001",
		`"resourceBody":{"id":7,"pk":"a"}`:                "400",
		`"resourceBody":{"id":"none","pk":"a","ttl":"x"}`: "400",
		`"resourceBody":[]`:                               "400",
		`"ifMatch":"\"other\""`:                           "400",
	} {
		replace := func(id string) string {
			return `{"operationType":"Replace","partitionKey":"[\"a\"]","id":"` + id + `",` + body + `}`
		}
		read := `{"operationType":"Read","partitionKey":"[\"a\"]","id":"1"}`
		w.do("POST", docs, "["+read+","+replace("none")+"]", atomicBatch(`["a"]`)...).results(207, "424 404")
		w.do("POST", docs, "["+read+","+replace("1")+"]", atomicBatch(`["a"]`)...).results(207,
			"424 "+refused)
		w.do("POST", docs, "["+replace("none")+","+read+","+replace("1")+"]", bulk("0")...).results(207,
			"404 200 "+refused)
	}
	procedure := `function () {
		__.replaceDocument(__.getAltLink() + "/docs/none", {id: 7}, (e) => __.response.setBody(e.number));
	}`
	w.procedure(procedure, "[]").body200("404")
	w.procedure(strings.ReplaceAll(procedure, "docs/none", "docs/1"), "[]").body200("400")
}

// TestTriggersOfAnAbsentItem checks that the pre-trigger of a replace runs before the server looks up the
// item, unless the document in the request cannot be parsed.
func TestTriggersOfAnAbsentItem(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.script("triggers", "refuse", `function () {
		if (getContext().getRequest().getBody().refuse) throw new Error("refused");
	}`, `,"triggerType":"Pre","triggerOperation":"All"`)
	w.script("triggers", "answer", `function () {}`, `,"triggerType":"Post","triggerOperation":"All"`)
	post := append(pk(`["a"]`), "x-ms-documentdb-post-trigger-include", "answer")
	with := append(pk(`["a"]`), "x-ms-documentdb-pre-trigger-include", "refuse")
	w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	for body, refused := range map[string]int{
		"": 0, "{": 0, `{"id":7}`: 0, `{"id":"none","pk":"b"}`: 1001, `{"id":"none","pk":"a","ttl":0}`: 0,
	} {
		if body != "" {
			w.do("PUT", docs+"/none", body, with...).fails(404, 0, "")
			w.do("PUT", docs+"/1", body, with...).fails(400, refused, "")
		}
		w.do("PUT", docs+"/none", body, post...).fails(404, 0, "")
	}
	w.do("PUT", docs+"/none", `{"id":"none","pk":"a","refuse":1}`, with...).fails(400, 0, "refused")
}
