package main

import (
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var keys = []scenario{
	{"key-string", lives("", "a", "ä€😀")},
	{"key-number", lives(0, -1.5, 1e21, 1<<53)},
	{"key-bool", lives(true, false)},
	{"key-null", lives(nil)},
	without("key-none", "no key for an absent property"),

	{"key-kinds-apart", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		kinds := JSONArray{"1", 1, true, "true", nil, ""}
		for v, pk := range kinds {
			c.create(JSONObject{"id": "1", "pk": pk, "v": v})
		}
		for v, pk := range kinds {
			t.equal(c.read(pk, "1")["v"], v)
			t.equal(c.rows("SELECT VALUE c.v FROM c", key(pk), nil), JSONArray{v})
		}
	}},

	{"key-long", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		long := strings.Repeat("k", 1999)
		c.create(JSONObject{"id": "1", "pk": long + "1", "v": 1})
		c.create(JSONObject{"id": "1", "pk": long + "2", "v": 2})
		t.equal(c.read(long+"1", "1")["v"], 1)
		t.equal(c.rows("SELECT VALUE c.v FROM c", key(long+"2"), nil), JSONArray{2})
	}},

	{"key-nested", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{PartitionKeyDefinition: byPath("/a/b")})
		c.life(key("x"), JSONObject{"id": "1", "a": JSONObject{"b": "x", "c": 1}})
	}},

	{"key-hierarchical", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{PartitionKeyDefinition: threeLevels})
		pk := key("de", "berlin", "a")
		sent := JSONObject{"id": "1", "country": "de", "city": "berlin", "street": "a"}
		c.life(pk, sent)
		_, err := c.CreateItem(t.ctx, pk, raw(sent), nil)
		t.must(err)
		var set azcosmos.PatchOperations
		set.AppendSet("/v", 1)
		res, err := c.PatchItem(t.ctx, pk, "1", set, content)
		t.must(err)
		t.equal(t.doc(res.Value)["v"], 1)
		_, err = c.ReadItem(t.ctx, key("de", "berlin", "b"), "1", nil)
		t.fails(err, 404)
	}},

	{"key-hierarchical-query", func(t *ScenarioRun) {
		c := t.atlas()
		for _, prefix := range [][]string{{"de", "berlin", "a"}, {"de", "berlin"}, {"de"}, {"fr"}, {"it"}} {
			values := JSONArray{}
			for _, v := range prefix {
				values = append(values, v)
			}
			t.same(c.ids("", key(values...)), under(prefix...))
		}
	}},

	{"key-hierarchical-partial", func(t *ScenarioRun) {
		_, err := t.atlas().ReadItem(t.ctx, key("de", "berlin"), "de-berlin-a-1", nil)
		t.fails(err, 400)
	}},

	{"key-hierarchical-feed", func(t *ScenarioRun) {
		f := t.atlas().feed(azcosmos.ChangeFeedOptions{PartitionKey: ptr(key("de"))})
		t.same(t.names(f.drain()), under("de"))
	}},

	without("partition-delete", "no such operation"),
}

// life creates, reads, replaces and deletes a document with the id "1" under the partition key pk. sent is
// the document as it is created.
func (c ScenarioContainer) life(pk azcosmos.PartitionKey, sent JSONObject) {
	t := c.t
	_, err := c.CreateItem(t.ctx, pk, raw(sent), nil)
	t.must(err)
	read, err := c.ReadItem(t.ctx, pk, "1", nil)
	t.must(err)
	t.equal(t.doc(read.Value), sent)
	found := slices.Concat(c.pages("SELECT * FROM c", pk, nil)...)
	t.equal(len(found), 1)
	t.equal(t.doc(found[0]), sent)
	replaced, err := c.ReplaceItem(t.ctx, pk, "1", raw(sent), content)
	t.must(err)
	t.equal(t.doc(replaced.Value), sent)
	_, err = c.DeleteItem(t.ctx, pk, "1", nil)
	t.must(err)
}

func lives(values ...any) func(t *ScenarioRun) {
	return func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		for _, pk := range values {
			c.life(key(pk), JSONObject{"id": "1", "pk": pk})
		}
	}
}

var threeLevels = azcosmos.PartitionKeyDefinition{
	Kind: azcosmos.PartitionKeyKindMultiHash, Paths: []string{"/country", "/city", "/street"}, Version: 2,
}

var places = [][]string{{"de", "berlin", "a"}, {"de", "berlin", "b"}, {"de", "bonn", "a"}, {"fr", "paris", "a"}, {"fr", "berlin", "a"}}

// atlas creates a container partitioned by country, city and street, with two documents under each key.
func (t *ScenarioRun) atlas() ScenarioContainer {
	c := t.container(azcosmos.ContainerProperties{PartitionKeyDefinition: threeLevels})
	for _, p := range places {
		for _, n := range []string{"-1", "-2"} {
			body := JSONObject{"id": strings.Join(p, "-") + n, "country": p[0], "city": p[1], "street": p[2]}
			_, err := c.CreateItem(t.ctx, key(p[0], p[1], p[2]), raw(body), nil)
			t.must(err)
		}
	}
	return c
}

// under returns the ids of the documents in the container of the function atlas (two under each key of
// country, city and street) whose partition keys begin with prefix.
func under(prefix ...string) []string {
	ids := []string{}
	for _, p := range places {
		if slices.Equal(p[:len(prefix)], prefix) {
			ids = append(ids, strings.Join(p, "-")+"-1", strings.Join(p, "-")+"-2")
		}
	}
	return ids
}
