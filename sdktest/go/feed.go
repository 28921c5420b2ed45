package main

import (
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var feed = []scenario{
	{"feed-beginning", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		f := c.feed(azcosmos.ChangeFeedOptions{})
		got := f.drain()
		t.same(t.names(got), everything())
		inKey := []string{}
		for _, d := range got {
			m := t.full(d)
			t.check(m["_lsn"] != nil, "no _lsn in %s", d)
			if m["pk"] == "p2" {
				inKey = append(inKey, m["id"].(string))
			}
			if m["id"] == "i07" {
				t.equal(t.doc(d), twentieth(7))
			}
		}
		t.equal(inKey, JSONArray{"i02", "i07", "i12", "i17"})
		t.equal(len(f.drain()), 0)
		c.create(JSONObject{"id": "new", "pk": "p3"})
		t.equal(t.names(f.drain()), JSONArray{"new"})
		t.equal(len(f.drain()), 0)
	}},

	without("feed-now", "no start from now"),

	{"feed-time", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		t.advance(10)
		mark := t.full(c.create(JSONObject{"id": "mark", "pk": "p0"}).Value)["_ts"].(float64)
		t.advance(10)
		c.create(JSONObject{"id": "late", "pk": "p1"})
		since := func(seconds int64) azcosmos.ChangeFeedOptions {
			return azcosmos.ChangeFeedOptions{StartFrom: ptr(time.Unix(int64(mark)+seconds, 0))}
		}
		t.same(t.names(c.feed(since(5)).drain()), []string{"late"})
		t.same(t.names(c.feed(since(-5)).drain()), []string{"mark", "late"})
	}},

	{"feed-partition", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		f := c.feed(azcosmos.ChangeFeedOptions{PartitionKey: ptr(key("p4"))})
		t.equal(t.names(f.drain()), JSONArray{"i04", "i09", "i14", "i19"})
		c.create(JSONObject{"id": "other", "pk": "p3"})
		t.equal(len(f.drain()), 0)
		c.create(JSONObject{"id": "own", "pk": "p4"})
		t.equal(t.names(f.drain()), JSONArray{"own"})
	}},

	{"feed-by-range", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		ranges, err := c.ReadFeedRanges(t.ctx, nil)
		t.must(err)
		got := []string{}
		for _, r := range ranges {
			got = append(got, t.names(c.feed(azcosmos.ChangeFeedOptions{FeedRange: &r}).drain())...)
		}
		t.same(got, everything())
	}},

	{"feed-page-size", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		f := c.feed(azcosmos.ChangeFeedOptions{MaxItemCount: 4})
		pages, got := 0, []string{}
		for page := f.next(); len(page) > 0; page = f.next() {
			t.check(len(page) <= 4, "a page of %d", len(page))
			got = append(got, t.names(page)...)
			pages++
		}
		t.check(pages >= 5, "%d pages", pages)
		t.same(got, everything())
	}},

	{"feed-resume", func(t *ScenarioRun) {
		c := t.twenty(azcosmos.ContainerProperties{})
		f := c.feed(azcosmos.ChangeFeedOptions{MaxItemCount: 4})
		first := t.names(f.next())
		other := c.seen(t.connect()).feed(azcosmos.ChangeFeedOptions{MaxItemCount: 4, Continuation: f.o.Continuation})
		t.same(append(first, t.names(other.drain())...), everything())
	}},

	{"feed-latest", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{})
		for _, id := range []string{"1", "2", "3"} {
			c.create(JSONObject{"id": id, "pk": "a", "v": 1})
		}
		for _, v := range []int{2, 3} {
			_, err := c.ReplaceItem(t.ctx, key("a"), "1", raw(JSONObject{"id": "1", "pk": "a", "v": v}), nil)
			t.must(err)
		}
		_, err := c.DeleteItem(t.ctx, key("a"), "2", nil)
		t.must(err)
		f := c.feed(azcosmos.ChangeFeedOptions{})
		got := f.drain()
		t.equal(t.names(got), JSONArray{"3", "1"})
		t.equal(t.doc(got[1])["v"], 3)
		_, err = c.DeleteItem(t.ctx, key("a"), "3", nil)
		t.must(err)
		t.equal(len(f.drain()), 0)
	}},

	{"feed-expired", func(t *ScenarioRun) {
		c := t.container(azcosmos.ContainerProperties{DefaultTimeToLive: ptr(int32(-1))})
		c.create(JSONObject{"id": "mortal", "pk": "a", "ttl": 5})
		c.create(JSONObject{"id": "lasting", "pk": "a"})
		t.advance(5)
		t.equal(t.names(c.feed(azcosmos.ChangeFeedOptions{}).drain()), JSONArray{"lasting"})
	}},

	without("feed-all-versions", "no all-versions mode"),
	without("feed-all-versions-expired", "no all-versions mode"),
	without("feed-all-versions-beginning", "no all-versions mode"),
	without("feed-processor", "no processor"),
}

// feedReader reads the change feed of a container, page by page.
type feedReader struct {
	c ScenarioContainer
	o azcosmos.ChangeFeedOptions
}

// feed returns a reader of the container's change feed. If o has no feed range, it reads the whole container.
func (c ScenarioContainer) feed(o azcosmos.ChangeFeedOptions) *feedReader {
	if o.FeedRange == nil && o.Continuation == nil {
		o.FeedRange = &azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}
	}
	return &feedReader{c, o}
}

// next returns the documents of the next page; none if there are no new changes.
func (f *feedReader) next() [][]byte {
	res, err := f.c.ReadChangeFeed(f.c.t.ctx, &f.o)
	f.c.t.must(err)
	f.o.Continuation = &res.ContinuationToken
	if len(res.Items) == 0 {
		f.c.t.equal(res.RawResponse.StatusCode, 304)
	}
	return res.Items
}

// drain reads pages until there are no new changes, and returns all their documents.
func (f *feedReader) drain() [][]byte {
	var pages [][][]byte
	for page := f.next(); len(page) > 0; page = f.next() {
		pages = append(pages, page)
	}
	return slices.Concat(pages...)
}
