package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// incremental returns the headers that request the latest-version change feed, followed by more. fidelity
// does the same for the feed of all versions and deletes.
func incremental(more ...string) []string {
	return append([]string{"A-IM", "Incremental feed"}, more...)
}

func fidelity(more ...string) []string {
	return append([]string{"A-IM", "Full-Fidelity Feed", "x-ms-cosmos-changefeed-wire-format-version",
		"2021-09-15"}, more...)
}

// feedContainer creates the container c with the partition key /pk. more is JSON with further members of
// its definition.
func (w *serverUnderTest) feedContainer(more string) {
	w.t.Helper()
	w.container(keyedByPK + more)
}

// upsert creates or replaces an item with this id and the partition key p. more is JSON with further
// members of the document.
func (w *serverUnderTest) upsert(id, more string) *testResponse {
	w.t.Helper()
	a := w.do("POST", docs, `{"id":"`+id+`","pk":"p"`+more+`}`,
		append(pk(`["p"]`), "x-ms-documentdb-is-upsert", "true")...)
	if a.code != 200 && a.code != 201 {
		a.want(201)
	}
	return a
}

// drain reads a change feed to its end. It returns the ids of each page, and the etag of the final 304
// response.
func (w *serverUnderTest) drain(path string, headers ...string) (pages []string, etag string) {
	w.t.Helper()
	for {
		h := headers
		if etag != "" {
			h = append(h[:len(h):len(h)], "If-None-Match", etag)
		}
		a := w.do("GET", path, "", h...)
		next := a.header.Get("Etag")
		if !strings.HasPrefix(next, `"`) || a.header.Get("X-Ms-Session-Token") == "" ||
			a.header.Get("X-Ms-Continuation") != "" {
			w.t.Fatalf("%s: etag %s, headers %v", a.what, next, a.header)
		}
		etag = next
		if a.code == http.StatusNotModified {
			if len(a.body) > 0 {
				w.t.Errorf("%s: 304 with a body", a.what)
			}
			a.head("x-ms-item-count", "0")
			return pages, etag
		}
		n := strconv.Itoa(len(a.want(200).at("Documents").Array()))
		if n == "0" || a.at("_count").Raw != n || a.header.Get("X-Ms-Item-Count") != n {
			w.t.Fatalf("%s: counts of a page: %s, header %q", a.what, a.body, a.header.Get("X-Ms-Item-Count"))
		}
		pages = append(pages, a.ids("Documents"))
		if len(pages) > 100 {
			w.t.Fatalf("%s: the feed does not end", a.what)
		}
	}
}

func wantPages(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("pages %q, want %q", got, want)
	}
}

func TestChangeFeed(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.feedContainer("")
	pages, etag := w.drain(docs, incremental()...)
	wantPages(t, pages)
	for _, id := range []string{"a", "b", "c"} {
		w.upsert(id, "")
	}
	pages, etag = w.drain(docs, incremental("If-None-Match", etag)...)
	wantPages(t, pages, "a b c")

	// A replaced item comes once, at its newest place; a deleted one not at all.
	w.upsert("a", `,"n":2`)
	w.do("DELETE", docs+"/b", "", pk(`["p"]`)...).want(204)
	pages, _ = w.drain(docs, "a-im", "INCREMENTAL FEED")
	wantPages(t, pages, "c a")
	pages, _ = w.drain(docs, incremental("x-ms-max-item-count", "1")...)
	wantPages(t, pages, "c", "a")

	// The etag is taken with and without its quotes, and the document has _lsn, which nothing else shows.
	for _, e := range []string{etag, strings.Trim(etag, `"`), "W/" + etag} {
		a := w.do("GET", docs, "", incremental("If-None-Match", e)...).want(200).has("Documents.0.n", "2")
		if a.ids("Documents") != "a" || a.at("Documents.0._lsn").Raw != "4" ||
			a.header.Get("Etag") != `"4"` || a.header.Get("Lsn") != "5" {
			t.Errorf("after %s: %s %v", e, a.body, a.header)
		}
	}
	w.do("GET", docs+"/a", "", pk(`["p"]`)...).want(200).has("_lsn", "")

	// From now on: nothing, until something changes.
	now := w.do("GET", docs, "", incremental("If-None-Match", "*")...).want(304).header.Get("Etag")
	w.upsert("d", "")
	pages, _ = w.drain(docs, incremental("If-None-Match", now)...)
	wantPages(t, pages, "d")
}

func TestChangeFeedSince(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.feedContainer("")
	w.upsert("a", "")
	w.clock.Advance(2 * time.Second)
	w.upsert("b", "")
	middle := w.clock.Now().UTC()
	etag := w.do("GET", docs, "", incremental("If-None-Match", "*")...).want(304).header.Get("Etag")
	w.clock.Advance(2 * time.Second)
	w.upsert("c", "")
	for _, date := range []string{
		middle.Add(-time.Second).Format(http.TimeFormat), middle.Add(-time.Second).Format(
			time.RFC1123), "Mon, 1 Mar 2027 12:00:01 GMT",
	} {
		a := w.do("GET", docs, "", incremental("If-Modified-Since", date)...).want(200)
		if a.ids("Documents") != "b c" {
			t.Errorf("since %s: %s", date, a.body)
		}
	}
	w.do("GET", docs, "", incremental("If-Modified-Since", "Mon, 01 Jan 0001 00:00:00 GMT")...).want(200).has(
		"_count", "3")
	a := w.do("GET", docs, "", incremental("If-Modified-Since", middle.Format(http.TimeFormat))...).want(200)
	if a.ids("Documents") != "c" { // the very second does not count
		t.Errorf("%s", a.body)
	}
	// Both at once: behind the position, whatever the moment.
	a = w.do("GET", docs, "", incremental("If-Modified-Since", start.Format(http.TimeFormat), "If-None-Match",
		etag)...).want(200)
	if a.ids("Documents") != "c" {
		t.Errorf("%s", a.body)
	}
	later := w.clock.Now().UTC().Format(http.TimeFormat)
	w.do("GET", docs, "", incremental("If-Modified-Since", later, "If-None-Match", etag)...).want(200).
		has("_count", "1")
	for _, date := range []string{"yesterday", "2027-03-01T12:00:00Z", "Mon, 01 Mar 2027 12:00:00 CET", "1"} {
		w.do("GET", docs, "", incremental("If-Modified-Since", date)...).fails(400, 0, "if-modified-since")
	}
}

func TestChangeFeedScopes(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(4))
	w.feedContainer("")
	for i := range 20 {
		p := "p" + strconv.Itoa(i%5)
		w.do("POST", docs, `{"id":"`+strconv.Itoa(i)+`","pk":"`+p+`"}`, pk(`["`+p+`"]`)...).want(201)
	}
	one, _ := w.drain(docs, incremental(pk(`["p3"]`)...)...)
	wantPages(t, one, "3 8 13 18")
	// Whole, by range and by halves of the hash space, every item comes once.
	whole, etag := w.drain(docs, incremental("x-ms-max-item-count", "3")...)
	if n := strings.Count(etag, ":"); n != 4 {
		t.Errorf("the etag of four ranges is %s", etag)
	}
	var byRange, byHalf []string
	for i := range 4 {
		pages, _ := w.drain(docs, incremental("x-ms-documentdb-partitionkeyrangeid", strconv.Itoa(i))...)
		byRange = append(byRange, pages...)
	}
	for _, half := range [][2]string{{"", "1"}, {"1", "FF"}} {
		h := incremental("x-ms-read-key-type", "EffectivePartitionKeyRange", "x-ms-max-item-count", "2")
		if half[0] != "" {
			h = append(h, "x-ms-start-epk", "1888")
		}
		end := map[string]string{"1": "1888", "FF": "FF"}[half[1]]
		pages, _ := w.drain(docs, append(h, "x-ms-end-epk", end)...)
		byHalf = append(byHalf, pages...)
	}
	for name, pages := range map[string][]string{"whole": whole, "ranges": byRange, "halves": byHalf} {
		seen := make(map[string]bool)
		ids := strings.Fields(strings.Join(pages, " "))
		for _, id := range ids {
			seen[id] = true
		}
		if len(ids) != 20 || len(seen) != 20 {
			t.Errorf("%s: %q", name, pages)
		}
	}
	w.do("GET", docs, "", incremental("x-ms-documentdb-partitionkeyrangeid", "9")...).fails(410, 1002, "")
	for _, e := range []string{"x", `"-1"`, `"1:"`, `":1"`, `"1:2,"`, `"99999999999999999999"`,
		`"281474976710655"`, `"1,2"`} {
		w.do("GET", docs, "", incremental("If-None-Match", e)...).fails(400, 0, "position")
	}
	w.do("GET", docs, "", incremental("If-None-Match", `"400000"`)...).fails(400, 0, "ahead")
	w.do("GET", docs, "", incremental("x-ms-session-token", "0:-1#90000000")...).fails(404, 1002, "")
}

func TestChangeFeedOfAllVersions(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.feedContainer(`,"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10}`)
	w.do("GET", docs, "", fidelity()...).fails(400, 0,
		"You must read the change feed from within the retention period.")
	w.do("GET", docs, "", fidelity("If-Modified-Since", "Mon, 01 Jan 0001 00:00:00 GMT")...).fails(400, 0,
		"You must read the change feed from within")
	etag := w.do("GET", docs, "", fidelity("If-None-Match", "*")...).want(304).header.Get("Etag")
	first := w.upsert("a", "")
	w.clock.Advance(time.Second)
	second := w.upsert("a", `,"n":2`)
	w.do("DELETE", docs+"/a", "", pk(`["p"]`)...).want(204)
	w.upsert("b", `,"ttl":1`)
	w.clock.Advance(time.Second)
	if _, err := w.db.SweepNow(w.t.Context()); err != nil {
		t.Fatal(err)
	}
	a := w.do("GET", docs, "",
		fidelity("If-None-Match", etag, "A-IM", "full-fidelity feed")...).want(200).has("_count", "5")
	for i, want := range []string{
		`{"current":` + string(first.body) +
			`,"metadata":{"crts":1803902400,"lsn":1,"operationType":"create","previousImageLSN":0}}`,
		`{"current":` + string(second.body) +
			`,"metadata":{"crts":1803902401,"lsn":2,"operationType":"replace","previousImageLSN":1}}`,
		`{"current":{},"previous":` + string(second.body) +
			`,"metadata":{"crts":1803902401,"lsn":3,"operationType":"delete","previousImageLSN":2,"id":"a","partitionKey":{"pk":"p"}}}`,
		``,
		`{"current":{},"metadata":{"crts":1803902402,"lsn":5,"operationType":"delete","previousImageLSN":4,"timeToLiveExpired":true,"id":"b","partitionKey":{"pk":"p"}}}`,
	} {
		if got := a.at("Documents." + strconv.Itoa(i)).Raw; want != "" && got != want {
			t.Errorf("%d:\n%s\nwant\n%s", i, got, want)
		}
	}
	a.head("etag", `"5"`)
	w.do("GET", docs, "", fidelity("If-None-Match", etag, "x-mayfly-previous-images",
		"true")...).want(200).has("Documents.1.previous", string(first.body))
	w.do("GET", docs, "", fidelity("If-None-Match", `"5"`)...).want(304).head("etag", `"5"`)
	w.do("GET", docs, "", "A-IM", "Full-Fidelity Feed", "x-ms-cosmos-changefeed-wire-format-version",
		"2020-01-01").
		fails(400, 0, "x-ms-cosmos-changefeed-wire-format-version")

	// It does not begin at a second, wherever that lies; beside a position a second leaves out what was
	// before.
	for _, at := range []time.Duration{time.Second, -time.Hour} {
		w.do("GET", docs, "", fidelity("If-Modified-Since", start.Add(at).Format(http.TimeFormat))...).fails(
			400, 0, "cannot begin at a point in time")
	}
	a = w.do("GET", docs, "", fidelity("If-None-Match", "0", "If-Modified-Since", start.Add(time.Second).Format(http.TimeFormat))...).want(200)
	a.has("_count", "1").has("Documents.0.metadata.lsn", "5")

	// Outside of the window only what has not been read is missed.
	w.clock.Advance(11 * time.Minute)
	w.do("GET", docs, "", fidelity("If-None-Match", `"2"`)...).fails(400, 0, "You must read the change feed from within the retention period.")
	w.do("GET", docs, "", fidelity("If-None-Match", `"5"`)...).want(304)
}

// TestLatestVersionsWithMetadata checks the latest-version feed in the wire format of the feed of all
// versions and deletes, which the Java SDK requests: each item is in "current", and its LSN in "metadata".
func TestLatestVersionsWithMetadata(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.feedContainer("")
	made := w.upsert("a", "")
	a := w.do("GET", docs, "", incremental("x-ms-cosmos-changefeed-wire-format-version", "2021-09-15")...).want(200)
	if got, want := a.at("Documents.0").Raw, `{"current":`+string(made.body)+`,"metadata":{"crts":1803902400,"lsn":1}}`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestChangeFeedFilteredByQuery checks that a query with the header A-IM filters the pages of the change
// feed, with the feed's etags and its final 304, and does not query the items themselves.
func TestChangeFeedFilteredByQuery(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(2))
	w.container("")
	w.fill(20, 6)
	ask := func(text string, more ...string) *testResponse {
		return w.do("POST", docs, queryBody(text, ""), queryHeaders(append(incremental("x-ms-max-item-count", "2"), more...)...)...)
	}
	const even = "SELECT c.id, c._lsn > 0 AS fed FROM c WHERE c.even"
	seen := map[string]int{}
	etag := "0"
	for pages := 0; ; pages++ {
		a := ask(even, "If-None-Match", etag)
		if etag = a.header.Get("Etag"); a.code == 304 {
			break
		}
		a.want(200).head("x-ms-continuation", "").has("Documents.0.fed", "true")
		for _, r := range a.at("Documents").Array() {
			seen[r.Get("id").Str]++
		}
		if pages > 20 {
			t.Fatal("the feed does not end")
		}
	}
	if len(seen) != 10 {
		t.Errorf("fed: %v", seen)
	}
	w.do("PUT", docs+"/1", `{"id":"1","pk":"key1","even":false}`, pk(`["key1"]`)...).want(200)
	w.do("PUT", docs+"/2", `{"id":"2","pk":"key2","even":true}`, pk(`["key2"]`)...).want(200)
	a := ask(even, "If-None-Match", etag).want(200).has("_count", "1").has("Documents.0.id", `"2"`)
	ask(even, "If-None-Match", a.header.Get("Etag")).want(304)
	ask(even, "If-None-Match", "*").want(304)
	ask(even, pk(`["key2"]`)...).want(200)
	ask("SELECT VALUE COUNT(1) FROM c").fails(400, 0, "SELECT, FROM, JOIN and WHERE")
	ask("SELECT * FORM c").fails(400, 0, "Syntax error")
}

func TestAllVersionsNeedAPolicy(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.feedContainer("")
	w.do("GET", docs, "", fidelity("If-None-Match", "*")...).fails(400, 0, "no retention")
}

// TestLeases checks the operations of a change feed processor on its lease documents: create, find by a
// prefix of the id, and replace with If-Match, which only one of several competing processors achieves.
func TestLeases(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(`"partitionKey":{"paths":["/id"],"kind":"Hash","version":2}`)
	lease := func(owner string) string {
		return `{"id":"host_db_c..0","LeaseToken":"0","Owner":"` + owner + `","ContinuationToken":"\"4\"","properties":{}}`
	}
	seen := w.do("POST", docs, lease(""), pk(`["host_db_c..0"]`)...).want(201).header.Get("Etag")
	w.do("POST", docs, lease(""), pk(`["host_db_c..0"]`)...).fails(409, 0, "")
	found := w.do("POST", docs, `{"query":"SELECT * FROM c WHERE STARTSWITH(c.id, @p)","parameters":[{"name":"@p","value":"host_db_c.."}]}`,
		queryHeaders()...).want(200).has("Documents.#", "1")
	if found.at("Documents.0._etag").Str != seen {
		t.Errorf("%s, want the etag %s", found.body, seen)
	}
	path := docs + "/host_db_c..0"
	mine := w.do("PUT", path, lease("a"), append(pk(`["host_db_c..0"]`), "If-Match", seen)...).want(200).header.Get("Etag")
	w.do("PUT", path, lease("b"), append(pk(`["host_db_c..0"]`), "If-Match", seen)...).fails(412, 0, "")
	w.do("PUT", path, lease("a"), append(pk(`["host_db_c..0"]`), "If-Match", mine)...).want(200)
	w.do("DELETE", path, "", append(pk(`["host_db_c..0"]`), "If-Match", mine)...).fails(412, 0, "")
	w.do("GET", path, "", pk(`["host_db_c..0"]`)...).want(200).has("Owner", `"a"`)
}

// TestRetentionSwitch switches a container's change feed policy on and off. It checks that the feed of all
// versions has only the changes since the policy was switched on, and that reading from an earlier
// position fails with 400.
func TestRetentionSwitch(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.feedContainer("")
	w.upsert("a", "")
	before := w.do("GET", docs, "", incremental()...).want(200).header.Get("Etag")
	with := func(policy string) {
		w.do("PUT", coll, `{"id":"c",`+keyedByPK+policy+`}`).want(200)
	}
	for range 2 {
		with(`,"changeFeedPolicy":{"retentionDuration":5}`)
		now := w.do("GET", docs, "", fidelity("If-None-Match", "*")...).want(304).header.Get("Etag")
		w.do("GET", docs, "", fidelity("If-None-Match", before)...).fails(400, 0, "retention")
		w.upsert("a", "")
		w.do("GET", docs, "", fidelity("If-None-Match", now)...).want(200).has("_count", "1").has("Documents.0.metadata.operationType", `"replace"`)
		w.do("GET", docs, "", incremental("If-None-Match", before)...).want(200).has("_count", "1")
		before = now
		with("")
		w.do("GET", docs, "", fidelity("If-None-Match", now)...).fails(400, 0, "no retention")
	}
	with(`,"changeFeedPolicy":{"retentionDuration":0}`)
	w.do("GET", docs, "", fidelity("If-None-Match", "*")...).fails(400, 0, "no retention")
	w.do("PUT", coll, `{"id":"c",`+keyedByPK+`,"changeFeedPolicy":{"retentionDuration":9999999999}}`).
		fails(400, 0, "retentionDuration")
}
