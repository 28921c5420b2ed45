package main

import (
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// moves are the scenarios about events that a client must not notice: splits of ranges, changes by other
// clients, restarts of the server.
var moves = []scenario{
	{"split-items", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		t.same(c.ids(" WHERE c.n >= 0", across), everything())
		c.split()
		for i := range 20 {
			m := twentieth(i)
			t.equal(c.read(m["pk"], m["id"].(string))["n"], i)
			m["n"] = i + 100
			_, err := c.ReplaceItem(t.ctx, key(m["pk"]), m["id"].(string), raw(m), nil)
			t.must(err)
		}
		for i := range 10 {
			c.create(JSONObject{"id": fmt.Sprint("new", i), "pk": fmt.Sprint("q", i), "n": 0})
		}
		t.equal(len(c.ids(" WHERE c.n >= 100", across)), 20)
		t.equal(len(c.ids("", across)), 30)
		ranges, err := c.seen(t.connect()).ReadFeedRanges(t.ctx, nil)
		t.must(err)
		t.equal(len(ranges), t.ranges+1)
	}},

	{"split-while-paging", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		t.same(c.interrupted("SELECT * FROM c", across), everything())
	}},

	without("split-while-ordering", merges),

	{"split-partition-paging", func(t *ScenarioRun) {
		c := t.ten()
		for i := range 20 {
			c.create(JSONObject{"id": "x", "pk": fmt.Sprint("b", i)})
		}
		t.equal(strings.Join(c.interrupted("SELECT * FROM c", key("a")), ""), "0123456789")
	}},

	{"split-feed", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		f := c.feed(azcosmos.ChangeFeedOptions{MaxItemCount: 4})
		first := t.names(f.next())
		c.split()
		t.same(append(first, t.names(f.drain())...), everything())
		c.create(JSONObject{"id": "new", "pk": "p0"})
		_, err := c.ReplaceItem(t.ctx, key("p1"), "i01", raw(twentieth(1)), nil)
		t.must(err)
		t.same(t.names(f.drain()), []string{"new", "i01"})
	}},

	without("split-aggregates", merges),

	{"split-batch", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		batches := func(id string) {
			for i := range 20 {
				pk := fmt.Sprint("p", i)
				res := c.batch(pk, func(b *azcosmos.TransactionalBatch) {
					b.CreateItem(raw(JSONObject{"id": id, "pk": pk}), nil)
					b.ReadItem(id, nil)
				})
				t.equal(statuses(res), JSONArray{201, 200})
			}
		}
		batches("before")
		c.split()
		batches("after")
		t.equal(len(c.ids("", across)), 40)
	}},

	{"container-recreated", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		t.same(c.ids("", across), everything())
		for round, how := range recreations {
			t.restart(fmt.Sprintf("recreate?database=%s&round=%d&%s", t.name, round, how))
			want := recreated(round)
			uses := []func(){
				func() { t.same(c.ids("", across), want) },
				func() { t.same(t.names(c.feed(azcosmos.ChangeFeedOptions{}).drain()), want) },
				func() {
					for i, id := range want {
						m := c.read(fmt.Sprint("k", i), id)
						t.equal(m["n"], i)
						_, err := c.UpsertItem(t.ctx, key(m["pk"]), raw(m), nil)
						t.must(err)
					}
				},
			}
			for i := range uses {
				uses[(i+round)%len(uses)]()
			}
		}
	}},

	{"session-other-client", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		other := c.seen(t.connect())
		for v := range 10 {
			written, err := c.UpsertItem(t.ctx, key("a"), raw(JSONObject{"id": "1", "pk": "a", "v": v}), nil)
			t.must(err)
			read, err := other.ReadItem(t.ctx, key("a"), "1", &azcosmos.ItemOptions{SessionToken: written.SessionToken})
			t.must(err)
			t.equal(t.doc(read.Value)["v"], v)
			o := &azcosmos.QueryOptions{SessionToken: written.SessionToken}
			t.equal(other.rows("SELECT VALUE c.v FROM c", key("a"), o), JSONArray{v})
		}
	}},

	{"session-restart", func(t *ScenarioRun) { t.over("stop") }},
	{"session-kill", func(t *ScenarioRun) { t.over("kill") }},

	{"restart-paging", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		page, err := c.NewQueryItemsPager("SELECT * FROM c", across, &azcosmos.QueryOptions{PageSizeHint: 3}).NextPage(t.ctx)
		t.must(err)
		t.check(page.ContinuationToken != nil, "no continuation")
		t.restart("stop")
		all := t.names(page.Items)
		c.resume("SELECT * FROM c", across, page.ContinuationToken, func(page [][]byte, _ string) {
			all = append(all, t.names(page)...)
		})
		t.same(all, everything())
	}},

	{"restart-feed", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		f := c.feed(azcosmos.ChangeFeedOptions{})
		t.same(t.names(f.drain()), everything())
		t.restart("kill")
		t.equal(len(f.drain()), 0)
		c.create(JSONObject{"id": "new", "pk": "p0"})
		t.equal(t.names(f.drain()), JSONArray{"new"})
	}},
}

// interrupted runs a query with pages of 3 rows, splits the range after the first page, and returns the ids
// of all rows.
func (c ScenarioContainer) interrupted(query string, pk azcosmos.PartitionKey) (ids []string) {
	for p := c.NewQueryItemsPager(query, pk, &azcosmos.QueryOptions{PageSizeHint: 3}); p.More(); {
		page, err := p.NextPage(c.t.ctx)
		c.t.must(err)
		if ids == nil {
			c.split()
		}
		ids = append(ids, c.t.names(page.Items)...)
	}
	return ids
}

// over is a scenario that restarts the server while a client is connected, and checks that this client can
// continue. how is "stop" or "kill".
func (t *ScenarioRun) over(how string) {
	c := t.twenty(azcosmos.ContainerProperties{})
	m := twentieth(7)
	m["n"] = 700
	written, err := c.ReplaceItem(t.ctx, key("p2"), "i07", raw(m), content)
	t.must(err)
	t.restart(how)
	read, err := c.ReadItem(t.ctx, key("p2"), "i07", &azcosmos.ItemOptions{SessionToken: written.SessionToken})
	t.must(err)
	t.equal(t.full(read.Value), t.full(written.Value))
	t.same(c.ids("", across), everything())
	_, err = c.ReplaceItem(t.ctx, key("p2"), "i07", raw(m), &azcosmos.ItemOptions{IfMatchEtag: &written.ETag})
	t.must(err)
	c.create(JSONObject{"id": "new", "pk": "p2"})
}

// recreations lists how the container is deleted and created again by another client, in order: the query
// parameters of the request, such as the number of partition key ranges.
var recreations = []string{
	"ranges=1", "ranges=2", "ranges=4", "ranges=1", "ranges=4&whole=true", "ranges=2&whole=true", "ranges=4", "ranges=1&whole=true",
}

// recreated returns the ids of the seven items that a scenario writes after the container was recreated
// for the round-th time.
func recreated(round int) []string {
	ids := make([]string, 7)
	for i := range ids {
		ids[i] = fmt.Sprintf("r%d-%d", round, i)
	}
	return ids
}
