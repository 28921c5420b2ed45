package main

import (
	"encoding/json"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var writes = []scenario{
	{"patch-add", func(t *ScenarioRun) {
		p := t.patching(JSONObject{"o": JSONObject{"x": 1}, "l": JSONArray{1, 3}})
		p.must(add("/n", 5), add("/o/y", JSONObject{"z": 2}), add("/l/1", 2), add("/l/-", 4))
		p.is(JSONObject{"o": JSONObject{"x": 1, "y": JSONObject{"z": 2}}, "l": JSONArray{1, 2, 3, 4}, "n": 5})
		p.fails(400, add("/none/deep", 1))
		p.fails(400, add("/l/9", 1))
	}},

	{"patch-set", func(t *ScenarioRun) {
		p := t.patching(JSONObject{"v": 1, "l": JSONArray{1, 2}})
		p.must(set("/v", "new"), set("/w", nil), set("/l/0", 9), set("/l/-", 3))
		p.is(JSONObject{"v": "new", "l": JSONArray{9, 2, 3}, "w": nil})
	}},

	{"patch-replace", func(t *ScenarioRun) {
		p := t.patching(JSONObject{"v": 1, "o": JSONObject{"x": 1}})
		p.must(replace("/v", JSONArray{1}), replace("/o/x", true))
		p.is(JSONObject{"v": JSONArray{1}, "o": JSONObject{"x": true}})
		p.fails(400, replace("/none", 1))
	}},

	{"patch-remove", func(t *ScenarioRun) {
		p := t.patching(JSONObject{"v": 1, "l": JSONArray{1, 2, 3}})
		p.must(remove("/v"), remove("/l/1"))
		p.is(JSONObject{"l": JSONArray{1, 3}})
		p.fails(400, remove("/none"))
	}},

	{"patch-increment", func(t *ScenarioRun) {
		p := t.patching(JSONObject{"n": 1, "s": "x"})
		p.must(incr("/n", 41), incr("/m", 5))
		p.must(incr("/m", -7))
		p.is(JSONObject{"n": 42, "s": "x", "m": -2})
		var item struct{ N int }
		t.must(json.Unmarshal(p.read().Value, &item)) // fails unless the number is encoded as an integer
		t.equal(item.N, 42)
		p.fails(400, incr("/s", 1))
	}},

	without("patch-move", "no move"),

	{"patch-condition", func(t *ScenarioRun) {
		p := t.patching(JSONObject{"n": 1})
		when := func(condition string) patchOperationAppender {
			return func(o *azcosmos.PatchOperations) { o.SetCondition(condition) }
		}
		p.must(when("FROM c WHERE c.n = 1 AND NOT IS_DEFINED(c.m)"), set("/n", 2))
		p.fails(412, when("FROM c WHERE c.n = 1"), set("/n", 3))
		p.is(JSONObject{"n": 2})
		p.fails(400, when("FROM c WHERE c.n = = 1"), set("/n", 3))
	}},

	{"patch-etag", func(t *ScenarioRun) {
		p := t.patching(JSONObject{"n": 1})
		first := p.read().ETag
		res, err := p.patch(&first, set("/n", 2))
		t.must(err)
		t.equal(res.RawResponse.StatusCode, 200)
		t.check(res.ETag != first, "the etag stays")
		_, err = p.patch(&first, set("/n", 3))
		t.fails(err, 412)
	}},

	{"patch-key", func(t *ScenarioRun) {
		p := t.patching(JSONObject{"n": 1})
		for _, path := range []string{"/id", "/pk", "/_ts", "/_rid"} {
			p.fails(400, set(path, "z"))
		}
		p.is(JSONObject{"n": 1})
	}},

	{"patch-atomic", func(t *ScenarioRun) {
		p := t.patching(JSONObject{"n": 1})
		p.fails(400, set("/n", 2), set("/m", 1), remove("/none"))
		p.is(JSONObject{"n": 1})
		many := []patchOperationAppender{}
		for i := range 11 {
			many = append(many, set(fmt.Sprint("/v", i), i))
		}
		p.fails(400, many...)
		p.is(JSONObject{"n": 1})
	}},

	{"batch-all-kinds", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		for _, id := range []string{"upsert", "read", "replace", "patch", "delete"} {
			c.create(JSONObject{"id": id, "pk": "a", "v": 1})
		}
		body := func(id string) []byte { return raw(JSONObject{"id": id, "pk": "a", "v": 2}) }
		res := c.batch("a", func(b *azcosmos.TransactionalBatch) {
			b.CreateItem(body("create"), nil)
			b.UpsertItem(body("upsert-new"), nil)
			b.UpsertItem(body("upsert"), nil)
			b.ReadItem("read", nil)
			b.ReplaceItem("replace", body("replace"), nil)
			b.PatchItem("patch", changes(incr("/v", 1)), nil)
			b.DeleteItem("delete", nil)
		})
		t.check(res.Success, "no success")
		t.equal(statuses(res), JSONArray{201, 201, 200, 200, 200, 200, 204})
		t.equal(t.doc(res.OperationResults[0].ResourceBody)["id"], "create")
		t.equal(t.doc(res.OperationResults[3].ResourceBody)["v"], 1)
		for _, r := range res.OperationResults {
			t.check(r.RequestCharge > 0, "no charge")
		}
		t.check(res.OperationResults[0].ETag != "", "no etag")
		t.equal(c.rows("SELECT VALUE c.v FROM c WHERE c.id != 'read'", key("a"), nil),
			JSONArray{2, 2, 2, 2, 2})
		t.same(c.ids("", key("a")), []string{"create", "upsert-new", "upsert", "read", "replace", "patch"})
	}},

	{"batch-fails-at-each-place", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		c.create(JSONObject{"id": "there", "pk": "a"})
		for at := range 5 {
			want := JSONArray{424, 424, 424, 424, 424}
			want[at] = 409
			res := c.batch("a", func(b *azcosmos.TransactionalBatch) {
				for i := range 5 {
					id := fmt.Sprint(i)
					if i == at {
						id = "there"
					}
					b.CreateItem(raw(JSONObject{"id": id, "pk": "a"}), nil)
				}
			})
			t.check(!res.Success, "success")
			t.equal(res.RawResponse.StatusCode, 207)
			t.equal(statuses(res), want)
		}
		t.equal(c.ids("", key("a")), JSONArray{"there"})
	}},

	{"batch-etag", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		stale := c.create(JSONObject{"id": "1", "pk": "a", "v": 1}).ETag
		replaced, err := c.ReplaceItem(t.ctx, key("a"), "1", raw(JSONObject{"id": "1", "pk": "a", "v": 2}),
			nil)
		t.must(err)
		replacing := func(etag azcore.ETag) JSONArray {
			return statuses(c.batch("a", func(b *azcosmos.TransactionalBatch) {
				b.CreateItem(raw(JSONObject{"id": "2", "pk": "a"}), nil)
				b.ReplaceItem("1", raw(JSONObject{"id": "1", "pk": "a", "v": 3}),
					&azcosmos.TransactionalBatchItemOptions{IfMatchETag: &etag})
			}))
		}
		t.equal(replacing(stale), JSONArray{424, 412})
		c.gone("a", "2")
		t.equal(replacing(replaced.ETag), JSONArray{201, 200})
	}},

	{"batch-own-writes", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		res := c.batch("a", func(b *azcosmos.TransactionalBatch) {
			b.CreateItem(raw(JSONObject{"id": "1", "pk": "a", "v": 1}), nil)
			b.PatchItem("1", changes(incr("/v", 1)), nil)
			b.ReadItem("1", nil)
			b.DeleteItem("1", nil)
			b.CreateItem(raw(JSONObject{"id": "1", "pk": "a", "v": 9}), nil)
		})
		t.equal(statuses(res), JSONArray{201, 200, 200, 204, 201})
		t.equal(t.doc(res.OperationResults[2].ResourceBody)["v"], 2)
		t.equal(c.read("a", "1")["v"], 9)
	}},

	{"batch-hundred", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		creates := func(n int) azcosmos.TransactionalBatch {
			b := c.NewTransactionalBatch(key("a"))
			for i := range n {
				b.CreateItem(raw(JSONObject{"id": fmt.Sprint(i), "pk": "a"}), nil)
			}
			return b
		}
		_, err := c.ExecuteTransactionalBatch(t.ctx, creates(101), nil)
		t.fails(err, 400, 413)
		res, err := c.ExecuteTransactionalBatch(t.ctx, creates(100), nil)
		t.must(err)
		t.check(res.Success, "no success")
		t.equal(c.rows("SELECT VALUE COUNT(1) FROM c", key("a"), nil), JSONArray{100})
	}},

	without("bulk-create", "no bulk"),
	without("bulk-mixed", "no bulk"),
}

// patchOperationAppender appends one operation to a patch.
type patchOperationAppender func(o *azcosmos.PatchOperations)

func add(path string, v any) patchOperationAppender {
	return func(o *azcosmos.PatchOperations) { o.AppendAdd(path, v) }
}
func set(path string, v any) patchOperationAppender {
	return func(o *azcosmos.PatchOperations) { o.AppendSet(path, v) }
}
func replace(path string, v any) patchOperationAppender {
	return func(o *azcosmos.PatchOperations) { o.AppendReplace(path, v) }
}
func incr(path string, n int64) patchOperationAppender {
	return func(o *azcosmos.PatchOperations) { o.AppendIncrement(path, n) }
}
func remove(path string) patchOperationAppender {
	return func(o *azcosmos.PatchOperations) { o.AppendRemove(path) }
}

func changes(steps ...patchOperationAppender) (o azcosmos.PatchOperations) {
	for _, step := range steps {
		step(&o)
	}
	return o
}

// patchTestDocument is a document for scenarios about patches: id "1" in the partition "a".
type patchTestDocument struct{ c ScenarioContainer }

func (t *ScenarioRun) patching(m JSONObject) patchTestDocument {
	c := t.container(azcosmos.ContainerProperties{})
	m["id"], m["pk"] = "1", "a"
	c.create(m)
	return patchTestDocument{c}
}

func (p patchTestDocument) patch(match *azcore.ETag,
	steps ...patchOperationAppender) (azcosmos.ItemResponse, error) {
	o := &azcosmos.ItemOptions{IfMatchEtag: match}
	return p.c.PatchItem(p.c.t.ctx, key("a"), "1", changes(steps...), o)
}

func (p patchTestDocument) must(steps ...patchOperationAppender) {
	_, err := p.patch(nil, steps...)
	p.c.t.must(err)
}

func (p patchTestDocument) fails(status int, steps ...patchOperationAppender) {
	_, err := p.patch(nil, steps...)
	p.c.t.fails(err, status)
}

func (p patchTestDocument) read() azcosmos.ItemResponse {
	res, err := p.c.ReadItem(p.c.t.ctx, key("a"), "1", nil)
	p.c.t.must(err)
	return res
}

// is fails the scenario, and ends it, unless the document equals want, apart from its id and partition key.
func (p patchTestDocument) is(want JSONObject) {
	m := p.c.t.doc(p.read().Value)
	delete(m, "id")
	delete(m, "pk")
	p.c.t.equal(m, want)
}

// batch runs a transactional batch whose responses contain the written documents.
func (c ScenarioContainer) batch(pk any,
	fill func(b *azcosmos.TransactionalBatch)) azcosmos.TransactionalBatchResponse {
	b := c.NewTransactionalBatch(key(pk))
	fill(&b)
	res, err := c.ExecuteTransactionalBatch(c.t.ctx, b, &azcosmos.TransactionalBatchOptions{EnableContentResponseOnWrite: true})
	c.t.must(err)
	return res
}

func statuses(res azcosmos.TransactionalBatchResponse) JSONArray {
	s := JSONArray{}
	for _, r := range res.OperationResults {
		s = append(s, r.StatusCode)
	}
	return s
}
