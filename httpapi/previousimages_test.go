package httpapi

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

func TestPreviousImageOfExpiredItem(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.store.TTLPreviousImage = true })
	w.feedContainer(`,"defaultTtl":1,"changeFeedPolicy":{"retentionDuration":10}`)
	w.upsert("a", `,"n":1`)
	w.clock.Advance(time.Second)
	w.upsert("a", `,"n":2`) // creates anew: the ghost goes first, in the same transaction
	a := w.do("GET", docs, "", fidelity("If-None-Match", "0", "x-ms-max-item-count", "2")...).want(200).has("_count", "3")
	a.has("Documents.1.previous.n", "1").has("Documents.1.metadata.timeToLiveExpired", "true").
		has("Documents.2.metadata.operationType", `"create"`)
}

// TestPreviousImagesByPolicy checks that a container's policy decides which changes in the feed of all
// versions and deletes include the previous version of the item, and that the policy can be changed.
func TestPreviousImagesByPolicy(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	policy := func(body string) string {
		return `,"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10}` +
			`,"previousImageRetentionPolicy":` + body
	}
	mode := func(n int) string {
		return policy(fmt.Sprintf(`{"supportedFeatures":{"allVersionsAndDeletes":{"mode":%d}}}`, n))
	}
	etag := "0"
	// cycle makes a create, a replace, a delete and an expiry, and returns which of them have a previous
	// image.
	cycle := func() (seen []string) {
		w.upsert("a", `,"n":1`)
		w.upsert("a", `,"n":2`)
		w.do("DELETE", docs+"/a", "", pk(`["p"]`)...).want(204)
		w.upsert("b", `,"ttl":1,"n":3`)
		w.clock.Advance(time.Second)
		if _, err := w.db.SweepNow(w.t.Context()); err != nil {
			t.Fatal(err)
		}
		a := w.do("GET", docs, "", fidelity("If-None-Match", etag)...).want(200).has("_count", "5")
		etag = a.header.Get("Etag")
		for _, ch := range a.at("Documents").Array() {
			if n := ch.Get("previous.n").Raw; n != "" {
				seen = append(seen, ch.Get("metadata.operationType").Str+n)
			}
		}
		return seen
	}
	w.feedContainer(mode(0))
	for i, c := range []struct {
		definition string
		want       []string
	}{
		{mode(0), nil},
		{mode(1), []string{"replace1"}},
		{mode(2), []string{"delete2", "delete3"}},
		{mode(3), []string{"replace1", "delete2", "delete3"}},
		{policy(`{"mode":1}`), []string{"replace1"}},
		{policy(`{"mode":1,"supportedFeatures":{"allVersionsAndDeletes":{"mode":2}}}`),
			[]string{"delete2", "delete3"}},
		{policy(`{"supportedFeatures":{"containerCopy":{"mode":3}}}`), []string{"delete2"}},
		{`,"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10}`, []string{"delete2"}},
	} {
		body := `{"id":"c",` + keyedByPK + c.definition + `}`
		made := w.do("PUT", coll, body).want(200).at("previousImageRetentionPolicy").Raw
		if want := gjson.Get(body, "previousImageRetentionPolicy").Raw; made != want {
			t.Errorf("%d: the policy is %s, want %s", i, made, want)
		}
		if got := cycle(); !slices.Equal(got, c.want) {
			t.Errorf("%d: with %s: %s, want %s", i, c.definition, got, c.want)
		}
	}
	w.do("PUT", coll, `{"id":"c",`+keyedByPK+mode(4)+`}`).fails(400, 0,
		"mode '4' of the previous image retention policy")
}
