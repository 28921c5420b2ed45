package httpapi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/rntbdtest"
)

// containerMetadataCachingClient is a client that caches the range ids, the rid and the session token of a
// container, as SDKs do. It refreshes them only if an error tells it to.
type containerMetadataCachingClient struct {
	t     *testing.T
	w     *directModeTestServer
	ids   []string
	rid   string
	self  string // by rids
	etag  string // of the ranges, for a client that asks for what has changed in them
	token string
	looks int

	follows bool // asks for the ranges of the container that it knows first, by its rid, as .NET does
}

func (k *containerMetadataCachingClient) look() {
	k.looks++
	a := k.w.do("GET", coll, "").want(200)
	k.ids, k.rid, k.self, k.token = nil, a.at("_rid").Str, a.at("_self").Str, ""
	k.etag = k.readRanges("").want(200).header.Get("Etag")
}

// readRanges reads the partition key ranges of the container by its cached rid, or their changes since an
// etag, and updates the cached range ids: new ranges replace their parents.
func (k *containerMetadataCachingClient) readRanges(etag string) *testResponse {
	headers := []string{"A-IM", "Incremental feed"}
	if etag != "" {
		headers = append(headers, "If-None-Match", etag)
	}
	a := k.w.do("GET", "/"+k.self+"pkranges", "", headers...)
	for _, r := range a.at("PartitionKeyRanges").Array() {
		for _, parent := range r.Get("parents").Array() {
			k.ids = slices.DeleteFunc(k.ids, func(id string) bool { return id == parent.Str })
		}
	}
	for _, r := range a.at("PartitionKeyRanges").Array() {
		if id := r.Get("id").Str; !slices.Contains(k.ids, id) {
			k.ids = append(k.ids, id)
		}
	}
	return a
}

// refresh updates the cache after an error that a range no longer exists.
func (k *containerMetadataCachingClient) refresh() {
	if !k.follows {
		k.look()
		return
	}
	a := k.readRanges(k.etag)
	if a.code != 200 {
		k.look()
		return
	}
	k.etag = a.header.Get("Etag")
}

// over calls ask for each cached range and returns the bodies of the responses. If a range no longer
// exists, it refreshes the cache and starts again.
func (k *containerMetadataCachingClient) over(ask func(id string) (code int, substatus string,
	body []byte)) (bodies [][]byte) {
	k.t.Helper()
	for range 3 {
		bodies = nil
		for _, id := range k.ids {
			code, substatus, body := ask(id)
			if code == 410 || code == 404 && substatus == "1002" {
				bodies = nil
				k.refresh()
				break
			}
			if code >= 400 {
				k.t.Fatalf("range %s: %d/%s %s", id, code, substatus, body)
			}
			bodies = append(bodies, body)
		}
		if len(bodies) > 0 {
			return bodies
		}
	}
	k.t.Fatal("the client does not come to an end")
	return nil
}

func (k *containerMetadataCachingClient) http(method, body string,
	headers ...string) func(string) (int, string, []byte) {
	return func(id string) (int, string, []byte) {
		all := append([]string{"x-ms-documentdb-partitionkeyrangeid", id}, headers...)
		if k.token != "" {
			all = append(all, "x-ms-session-token", k.token)
		}
		a := k.w.do(method, docs, body, all...)
		if token := a.header.Get("X-Ms-Session-Token"); a.code < 300 && token != "" {
			k.token = token
		}
		return a.code, a.header.Get("X-Ms-Substatus"), a.body
	}
}

// direct returns a function that sends the query body to the partition range with a given id, in direct mode,
// together with the container's rid that the client has cached. The function returns the status, the
// substatus and the body of the response. It is an argument of the method over.
func (k *containerMetadataCachingClient) direct(l *rawDirectConn,
	body string) func(string) (int, string, []byte) {
	return func(id string) (int, string, []byte) {
		a := l.do("query", "", body, rntbdtest.Text(0x2C, id), rntbdtest.Text(0x35, k.rid))
		sub, _ := a.Values[0x1C].(uint64)
		return a.Status, fmt.Sprint(sub), a.Body
	}
}

func idsIn(bodies [][]byte) []string {
	list := []string{}
	for _, b := range bodies {
		for _, row := range gjson.GetBytes(b, "Documents").Array() {
			list = append(list, row.Get("id").Str)
		}
	}
	slices.Sort(list)
	return list
}

// TestRangesOfFormerContainer checks a client that still requests the ranges of a deleted container by its
// rid. It gets the ranges of the container that now has the name, without an error, or 404 if that has
// another partition key or the deletion was too long ago.
func TestRangesOfFormerContainer(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t)
	w.container()
	k := &containerMetadataCachingClient{t: t, w: w, follows: true}
	k.look()
	for step, ranges := range []int{4, 1, 2, 2, 4, 1, 2, 1} {
		w.recreated(ranges, step%3 == 1)
		if step == 2 {
			continue // the client misses one
		}
		want := []string{}
		for i := range 9 {
			id := fmt.Sprint("s", step, i)
			w.do("POST", docs, fmt.Sprintf(`{"id":"%s","pk":"%s"}`, id, id), pk(`["`+id+`"]`)...).want(201)
			want = append(want, id)
		}
		bodies := k.over(k.http("POST", `{"query":"SELECT * FROM c"}`, queryHeaders()...))
		if got := idsIn(bodies); !slices.Equal(got, want) {
			t.Fatalf("step %d: %v, want %v", step, got, want)
		}
	}
	if k.looks != 1 {
		t.Errorf("the client has read its container %d times, want once", k.looks)
	}
	for range 56 {
		w.do("GET", "/"+k.self+"pkranges", "").want(200)
		w.recreated(1, false)
	}
	w.recreated(1, false)
	w.do("GET", "/"+k.self+"pkranges", "").want(404) // 65 containers ago
	k.look()
	w.do("DELETE", coll, "").want(204)
	w.do("GET", "/"+k.self+"pkranges", "").want(404)
	w.do("POST", colls, `{"id":"c","partitionKey":{"paths":["/other"],"kind":"Hash","version":2}}`).want(201)
	w.do("GET", "/"+k.self+"pkranges", "").want(404)
	w.do("GET", "/"+k.self+"docs", "").want(404)
}

// TestRecreatedHistories resets the data in random ways (container or database recreated with other
// numbers of ranges, splits, restarts in memory) while another client reads with its cached ranges. It
// checks that this client gets all items or an error that makes it refresh its cache, never a part of the
// items.
func TestRecreatedHistories(t *testing.T) {
	t.Parallel()
	for i := range uint64(12) {
		seed := metamorphic.FirstSeed() + i
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { recreatedHistory(t, seed) })
	}
}

func recreatedHistory(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 2))
	number := uint32(1000)
	first := func(s *serverUnderTestOptions) { s.store.FirstNumber = number }
	var w *directModeTestServer
	var link *rawDirectConn // none where the server is started anew
	if seed%2 == 0 {
		w = newDirectModeTestServer(t, first)
		link = w.dial()
	} else {
		w = &directModeTestServer{serverUnderTest: newServerUnderTest(t, first)}
	}
	w.container()
	k := &containerMetadataCachingClient{t: t, w: w, follows: seed%4 > 1}
	k.look()
	items := []string{}
	write := func(id string) {
		key := fmt.Sprintf(`["%s"]`, id)
		w.do("POST", docs, fmt.Sprintf(`{"id":"%s","pk":"%s"}`, id, id), append(pk(key),
			"x-ms-documentdb-is-upsert",
			"True")...)
		if !slices.Contains(items, id) {
			items = append(items, id)
			slices.Sort(items)
		}
	}
	check := func(what string, bodies [][]byte) {
		t.Helper()
		if got := idsIn(bodies); !slices.Equal(got, items) {
			t.Fatalf("%s: %v, want %v", what, got, items)
		}
	}
	const query = `{"query":"SELECT * FROM c"}`
	for step := range 60 {
		switch random.IntN(10) {
		case 0, 1:
			items = items[:0]
			w.recreated([]int{1, 2, 4}[random.IntN(3)], random.IntN(3) == 0)
		case 2:
			d, _ := w.db.Database("d")
			c, _ := d.Container("c")
			ids := w.rangeIDs()
			if _, err := c.Split(t.Context(), ids[random.IntN(len(ids))], ""); err != nil {
				t.Fatal(err)
			}
		case 3:
			if link != nil || random.IntN(3) > 0 {
				continue
			}
			number += 1000
			w.restart(number, []int{1, 2, 4}[random.IntN(3)])
			items = items[:0]
		case 4, 5:
			write(strconv.Itoa(step))
		case 6:
			check("query", k.over(k.http("POST", query, queryHeaders()...)))
		case 7:
			if link == nil {
				continue
			}
			check("query in direct mode", k.over(k.direct(link, query)))
		case 8:
			check("feed", k.over(k.http("GET", "")))
		case 9:
			known := slices.Clone(items)
			k.over(k.http("POST", `[{"operationType":"Upsert","resourceBody":{"id":"bulk","pk":"bulk"},`+
				`"partitionKey":"[\"bulk\"]"}]`, "x-ms-cosmos-is-batch-request", "True",
				"x-ms-cosmos-batch-continue-on-error", "True", "x-ms-cosmos-batch-atomic", "False"))
			if a := w.do("GET", docs+"/bulk", "", pk(`["bulk"]`)...); a.code == 200 &&
				!slices.Contains(known, "bulk") {
				items = append(known, "bulk")
				slices.Sort(items)
			}
		}
	}
	check("query", k.over(k.http("POST", query, queryHeaders()...)))
	if k.looks > 61 {
		t.Errorf("the client has looked %d times", k.looks)
	}
}

// restart closes the store and opens an empty one, with a container c of the given number of ranges.
// number is the number with which the resource ids of the new store begin.
func (w *directModeTestServer) restart(number uint32, ranges int) {
	w.t.Helper()
	w.close()
	w.setup.store.FirstNumber = number
	w.setup.disk = w.setup.disk.Empty()
	w.open()
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	w.do("POST", colls, `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`,
		"x-mayfly-ranges", strconv.Itoa(ranges)).want(201)
}
