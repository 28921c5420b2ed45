package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var ttl = []scenario{
	{"ttl-default", func(t *ScenarioRun) {
		c := t.mortal(10)
		t.equal(*c.properties().DefaultTimeToLive, 10)
		_, has := t.doc(c.create(doc("1", nil)).Value)["ttl"]
		t.check(!has, "a ttl that nobody wrote")
		t.advance(9)
		c.alive("1", "1")
		t.advance(1)
		c.alive("1", "")
	}},

	{"ttl-item", func(t *ScenarioRun) {
		c := t.mortal(10)
		c.create(doc("short", 5))
		c.create(doc("long", 20))
		c.create(doc("never", -1))
		for _, step := range []struct {
			by   int
			want string
		}{{4, "short long never"}, {1, "long never"}, {14, "long never"}, {1, "never"}, {1000000, "never"}} {
			t.advance(step.by)
			c.alive("short long never", step.want)
		}
	}},

	{"ttl-on", func(t *ScenarioRun) {
		c := t.mortal(-1)
		c.create(doc("plain", nil))
		c.create(doc("own", 5))
		t.advance(5)
		c.alive("plain own", "plain")
		t.advance(1000000)
		c.alive("plain own", "plain")
	}},

	{"ttl-off", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		c.create(doc("own", 5))
		t.advance(1000)
		c.alive("own", "own")
		t.equal(c.read("a", "own")["ttl"], 5)
	}},

	{"ttl-invalid", func(t *ScenarioRun) {
		for _, bad := range []int32{0, -10} {
			p := azcosmos.ContainerProperties{ID: "bad", PartitionKeyDefinition: byPath("/pk"), DefaultTimeToLive: &bad}
			_, err := t.database(nil).CreateContainer(t.ctx, p, nil)
			t.fails(err, 400)
		}
		c := t.mortal(-1)
		c.create(doc("there", 5))
		for _, bad := range []string{"0", "-2", "1.5", `"10"`, "null", "2147483648"} {
			body := func(id string) []byte { return fmt.Appendf(nil, `{"id":%q,"pk":"a","ttl":%s}`, id, bad) }
			_, err := c.CreateItem(t.ctx, key("a"), body("new"), nil)
			text := t.fails(err, 400)
			t.check(strings.Contains(text, "The input ttl"), "says %s", text)
			_, err = c.UpsertItem(t.ctx, key("a"), body("there"), nil)
			t.fails(err, 400)
			_, err = c.ReplaceItem(t.ctx, key("a"), "there", body("there"), nil)
			t.fails(err, 400)
			_, err = c.PatchItem(t.ctx, key("a"), "there", changes(set("/ttl", t.full(body("there"))["ttl"])), nil)
			t.fails(err, 400)
		}
		c.alive("there new", "there")
		t.equal(c.read("a", "there")["ttl"], 5)
	}},

	{"ttl-write-restarts", func(t *ScenarioRun) {
		c := t.mortal(10)
		all := "left read replaced upserted patched"
		for id := range strings.FieldsSeq(all) {
			c.create(doc(id, nil))
		}
		t.advance(9)
		c.read("a", "read")
		_, err := c.ReplaceItem(t.ctx, key("a"), "replaced", raw(doc("replaced", nil)), nil)
		t.must(err)
		_, err = c.UpsertItem(t.ctx, key("a"), raw(doc("upserted", nil)), nil)
		t.must(err)
		_, err = c.PatchItem(t.ctx, key("a"), "patched", changes(set("/v", 1)), nil)
		t.must(err)
		t.advance(1)
		c.alive(all, "replaced upserted patched")
		t.advance(9)
		c.alive(all, "")
	}},

	{"ttl-again", func(t *ScenarioRun) {
		c := t.mortal(10)
		c.create(doc("1", nil))
		c.create(doc("2", nil))
		t.advance(10)
		_, err := c.ReplaceItem(t.ctx, key("a"), "1", raw(doc("1", nil)), nil)
		t.fails(err, 404)
		_, err = c.PatchItem(t.ctx, key("a"), "1", changes(set("/v", 1)), nil)
		t.fails(err, 404)
		_, err = c.DeleteItem(t.ctx, key("a"), "1", nil)
		t.fails(err, 404)
		c.create(doc("1", nil))
		res, err := c.UpsertItem(t.ctx, key("a"), raw(doc("2", nil)), nil)
		t.must(err)
		t.equal(res.RawResponse.StatusCode, 201)
		c.alive("1 2", "1 2")
	}},

	{"ttl-patch", func(t *ScenarioRun) {
		c := t.mortal(10)
		all := "plain shorter longer"
		for id := range strings.FieldsSeq(all) {
			c.create(doc(id, nil))
		}
		_, err := c.PatchItem(t.ctx, key("a"), "shorter", changes(set("/ttl", 5)), nil)
		t.must(err)
		_, err = c.PatchItem(t.ctx, key("a"), "longer", changes(add("/ttl", 20)), nil)
		t.must(err)
		for _, step := range []struct {
			by   int
			want string
		}{{5, "plain longer"}, {5, "longer"}, {9, "longer"}, {1, ""}} {
			t.advance(step.by)
			c.alive(all, step.want)
		}
	}},

	{"ttl-batch", func(t *ScenarioRun) {
		c := t.mortal(10)
		made := c.batch("a", func(b *azcosmos.TransactionalBatch) {
			b.CreateItem(raw(doc("1", nil)), nil)
			b.CreateItem(raw(doc("2", 5)), nil)
			b.CreateItem(raw(doc("3", 20)), nil)
		})
		t.check(made.Success, "no success")
		t.advance(5)
		c.alive("1 2 3", "1 3")
		reads := c.batch("a", func(b *azcosmos.TransactionalBatch) {
			b.ReadItem("2", nil)
			b.ReadItem("1", nil)
		})
		t.equal(statuses(reads), JSONArray{404, 424})
		t.advance(5)
		c.alive("1 2 3", "3")
	}},

	{"ttl-default-changes", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		all := "old own new"
		c.create(doc("old", nil))
		c.create(doc("own", 100))
		t.advance(20)
		c.create(doc("new", nil))
		c.setDefault(ptr(int32(10)))
		c.alive(all, "own new")
		t.advance(9)
		c.setDefault(nil)
		t.check(c.properties().DefaultTimeToLive == nil, "a default that was taken away")
		t.advance(1000)
		c.alive(all, "own new")
		c.setDefault(ptr(int32(-1)))
		c.alive(all, "new")
		c.setDefault(nil)
		c.alive(all, "new")
	}},

	{"ttl-counts", func(t *ScenarioRun) {
		c := t.mortal(-1)
		for i := range 10 {
			c.create(doc(fmt.Sprint(i), []any{nil, 5}[i%2]))
		}
		t.advance(5)
		t.equal(c.rows("SELECT VALUE COUNT(1) FROM c", key("a"), nil), JSONArray{5})
		got := []string{}
		for _, page := range c.pages("SELECT * FROM c", key("a"), &azcosmos.QueryOptions{PageSizeHint: 2}) {
			t.check(len(page) <= 2, "a page of %d", len(page))
			got = append(got, t.names(page)...)
		}
		t.equal(got, JSONArray{"0", "2", "4", "6", "8"})
	}},

	{"ttl-unique-key", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{
			DefaultTimeToLive: ptr(int32(-1)),
			UniqueKeyPolicy:   &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/name"}}}},
		})
		c.create(JSONObject{"id": "1", "pk": "a", "ttl": 5, "name": "ada"})
		second := JSONObject{"id": "2", "pk": "a", "name": "ada"}
		t.advance(4)
		_, err := c.CreateItem(t.ctx, key("a"), raw(second), nil)
		t.fails(err, 409)
		t.advance(1)
		c.create(second)
	}},
}

// mortal creates a container with a default TTL.
func (t *ScenarioRun) mortal(seconds int32) ScenarioContainer {
	return t.container(azcosmos.ContainerProperties{DefaultTimeToLive: &seconds})
}

// doc returns a document of the partition "a"; if ttl is nil, it has no ttl of its own.
func doc(id string, ttl any) JSONObject {
	m := JSONObject{"id": id, "pk": "a"}
	if ttl != nil {
		m["ttl"] = ttl
	}
	return m
}

// setDefault replaces the container's default TTL.
func (c ScenarioContainer) setDefault(ttl *int32) {
	p := c.properties()
	p.DefaultTimeToLive = ttl
	_, err := c.Replace(c.t.ctx, p, nil)
	c.t.must(err)
}

// alive checks by a query and by reads which documents of the partition "a" exist. all are the ids that have
// ever existed, want those that must exist now, both separated by spaces.
func (c ScenarioContainer) alive(all, want string) {
	c.t.same(c.ids("", key("a")), strings.Fields(want))
	for id := range strings.FieldsSeq(all) {
		if slices.Contains(strings.Fields(want), id) {
			c.read("a", id)
		} else {
			c.gone("a", id)
		}
	}
}
