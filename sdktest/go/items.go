package main

import (
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var items = []scenario{
	{"item-create", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		sent := JSONObject{"id": "1", "pk": "a", "v": 1, "o": JSONObject{"a": JSONArray{1, nil, true}}}
		res := c.create(sent)
		t.equal(t.doc(res.Value), sent)
		full := t.full(res.Value)
		for _, name := range []string{"_rid", "_self", "_etag", "_attachments"} {
			_, ok := full[name].(string)
			t.check(ok, "no %s", name)
		}
		t.check(full["_ts"] != nil, "no _ts")
		read, err := c.ReadItem(t.ctx, key("a"), "1", nil)
		t.must(err)
		t.equal(t.full(read.Value), full)
	}},

	{"item-create-again", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		c.create(JSONObject{"id": "1", "pk": "a"})
		_, err := c.CreateItem(t.ctx, key("a"), raw(JSONObject{"id": "1", "pk": "a", "v": 2}), nil)
		t.fails(err, 409)
		t.equal(c.read("a", "1"), JSONObject{"id": "1", "pk": "a"})
	}},

	{"item-read-absent", func(t *ScenarioRun) {
		t.container(azcosmos.ContainerProperties{}).gone("a",
			"none")
	}},

	without("item-read-unchanged", "no If-None-Match"),

	{"item-replace", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		was := t.full(c.create(JSONObject{"id": "1", "pk": "a"}).Value)
		res, err := c.ReplaceItem(t.ctx, key("a"), "1", raw(JSONObject{"id": "1", "pk": "a", "v": 2}),
			content)
		t.must(err)
		t.equal(res.RawResponse.StatusCode, 200)
		t.equal(t.doc(res.Value), JSONObject{"id": "1", "pk": "a", "v": 2})
		is := t.full(res.Value)
		t.equal(is["_rid"], was["_rid"])
		t.check(is["_etag"] != was["_etag"], "the etag stays")
		_, err = c.ReplaceItem(t.ctx, key("a"), "none", raw(JSONObject{"id": "none", "pk": "a"}), nil)
		t.fails(err, 404)
	}},

	{"item-replace-stale", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		match := func(e azcore.ETag) *azcosmos.ItemOptions { return &azcosmos.ItemOptions{IfMatchEtag: &e} }
		first := c.create(JSONObject{"id": "1", "pk": "a", "v": 1})
		second, err := c.ReplaceItem(t.ctx, key("a"), "1", raw(JSONObject{"id": "1", "pk": "a", "v": 2}),
			match(first.ETag))
		t.must(err)
		third := raw(JSONObject{"id": "1", "pk": "a", "v": 3})
		_, err = c.ReplaceItem(t.ctx, key("a"), "1", third, match(first.ETag))
		t.fails(err, 412)
		_, err = c.UpsertItem(t.ctx, key("a"), third, match(first.ETag))
		t.fails(err, 412)
		_, err = c.DeleteItem(t.ctx, key("a"), "1", match(first.ETag))
		t.fails(err, 412)
		t.equal(c.read("a", "1")["v"], 2)
		_, err = c.DeleteItem(t.ctx, key("a"), "1", match(second.ETag))
		t.must(err)
	}},

	{"item-upsert", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		for v, want := range []int{201, 200} {
			res, err := c.UpsertItem(t.ctx, key("a"), raw(JSONObject{"id": "1", "pk": "a", "v": v}), content)
			t.must(err)
			t.equal(res.RawResponse.StatusCode, want)
			t.equal(t.doc(res.Value), JSONObject{"id": "1", "pk": "a", "v": v})
		}
	}},

	{"item-delete", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		c.create(JSONObject{"id": "1", "pk": "a"})
		res, err := c.DeleteItem(t.ctx, key("a"), "1", nil)
		t.must(err)
		t.equal(res.RawResponse.StatusCode, 204)
		c.gone("a", "1")
		_, err = c.DeleteItem(t.ctx, key("a"), "1", nil)
		t.fails(err, 404)
	}},

	{"item-no-content", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		body := raw(JSONObject{"id": "1", "pk": "a", "v": 1})
		var set azcosmos.PatchOperations
		set.AppendSet("/v", 3)
		for _, write := range []func() (azcosmos.ItemResponse, error){
			func() (azcosmos.ItemResponse, error) { return c.CreateItem(t.ctx, key("a"), body, nil) },
			func() (azcosmos.ItemResponse, error) { return c.UpsertItem(t.ctx, key("a"), body, nil) },
			func() (azcosmos.ItemResponse, error) { return c.ReplaceItem(t.ctx, key("a"), "1", body, nil) },
			func() (azcosmos.ItemResponse, error) { return c.PatchItem(t.ctx, key("a"), "1", set, nil) },
		} {
			res, err := write()
			t.must(err)
			t.check(len(res.Value) == 0 && res.ETag != "", "body %q, etag %q", res.Value, res.ETag)
		}
		t.equal(c.read("a", "1")["v"], 3)
	}},

	{"item-ids", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		names := []string{
			"a b", " leading", "trailing ", "a?b", "100%", "a%20b", "a+b", `"quoted"`, ";:@&=$,!*'()", "äöüß", "文档", "😀", "a.b", "[0]",
			strings.Repeat("a", 255), "a/b", `a\b`, "a#b",
		}
		for _, id := range names {
			t.equal(t.doc(c.create(JSONObject{"id": id, "pk": "a"}).Value)["id"], id)
			t.equal(c.read("a", id)["id"], id)
			_, err := c.ReplaceItem(t.ctx, key("a"), id, raw(JSONObject{"id": id, "pk": "a", "v": 1}), nil)
			t.must(err)
		}
		t.same(c.ids("", key("a")), names)
		for _, id := range names {
			_, err := c.DeleteItem(t.ctx, key("a"), id, nil)
			t.must(err)
		}
	}},

	{"item-values", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		deep := any("end")
		for range 100 {
			deep = JSONObject{"d": deep}
		}
		sent := JSONObject{
			"id": "1", "pk": "a",
			"numbers": JSONArray{0, -1, 9007199254740992, 0.1, 1.5e-7, 1e300, -123456.789},
			"texts": JSONArray{"", "ä€😀", "quote \" back \\ slash / line \n tab \t null \x01", "\u2028",
				"<&>"},
			"empty": JSONObject{"object": JSONObject{}, "array": JSONArray{}, "nested": JSONArray{JSONArray{},
				JSONArray{JSONObject{}}}},
			"deep": deep, "name with blank": 1, "name.with.dots": 2, "": 3, "literals": JSONArray{true, false,
				nil},
		}
		_, err := c.CreateItem(t.ctx, key("a"), unescaped(sent), nil)
		t.must(err)
		t.equal(c.read("a", "1"), sent)
		t.equal(t.doc(c.pages("SELECT * FROM c", key("a"), nil)[0][0]), sent)
		t.equal(c.rows(`SELECT VALUE c["name.with.dots"] FROM c`, key("a"), nil), JSONArray{2})
	}},

	{"item-too-large", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		_, err := c.CreateItem(t.ctx, key("a"),
			raw(JSONObject{"id": "1", "pk": "a", "v": strings.Repeat("x", 2<<20)}), nil)
		t.fails(err, 413)
		c.gone("a", "1")
		c.create(JSONObject{"id": "1", "pk": "a", "v": strings.Repeat("x", 1900<<10)})
	}},

	{"item-wrong-partition", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		_, err := c.CreateItem(t.ctx, key("b"), raw(JSONObject{"id": "1", "pk": "a"}), nil)
		t.fails(err, 400)
		c.create(JSONObject{"id": "1", "pk": "a"})
		_, err = c.ReplaceItem(t.ctx, key("a"), "1", raw(JSONObject{"id": "1", "pk": "b"}), nil)
		t.fails(err, 400)
		t.equal(c.read("a", "1")["pk"], "a")
	}},

	{"item-same-id", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		c.create(JSONObject{"id": "1", "pk": "a", "v": 1})
		c.create(JSONObject{"id": "1", "pk": "b", "v": 2})
		_, err := c.DeleteItem(t.ctx, key("a"), "1", nil)
		t.must(err)
		t.equal(c.read("b", "1")["v"], 2)
	}},
}
