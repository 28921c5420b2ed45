package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/ttl"
)

// TestSessionTokenAheadOfRange checks that a read fails at once (404/1002) if its session token has an LSN
// (log sequence number) that its range has not reached. LSNs of unknown ranges are ignored beside one of a
// known range.
func TestSessionTokenAheadOfRange(t *testing.T) {
	t.Parallel()
	w := smallWorld(t)
	at := w.do("GET", docs+"/i", "", pk(`["a"]`)...).want(200).header.Get("lsn")
	var now int
	if _, err := fmt.Sscan(at, &now); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		token           string
		code, substatus int
	}{
		{fmt.Sprintf("0:-1#%d", now), 200, 0},
		{fmt.Sprintf("0:%d", now), 200, 0},
		{fmt.Sprintf("0:5#%d#1=9999#2=-1", now+1000), 200, 0},
		{fmt.Sprintf("0:-1#%d#1=9999#2=-1", now), 200, 0},
		{fmt.Sprintf("7:-1#%d", now+1000), 410, 1002},
		{"7:-1#1,8:-1#1", 410, 1002},
		{fmt.Sprintf("7:-1#%d,0:-1#%d", now+1000, now), 200, 0},
		{fmt.Sprintf("0:-1#%d", now+1), 404, 1002},
		{fmt.Sprintf("7:-1#1,0:-1#%d", now+1000), 404, 1002},
		{"0:-1", 200, 0},
		{"0:x", 400, 0},
		{"nonsense", 400, 0},
		{"0:-1#", 400, 0},
	} {
		session := []string{"x-ms-session-token", tc.token}
		for what, a := range map[string]*testResponse{
			"read":  w.do("GET", docs+"/i", "", append(session, pk(`["a"]`)...)...),
			"list":  w.do("GET", docs, "", session...),
			"query": w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(session...)...),
		} {
			if got := a.header.Get("x-ms-substatus"); a.code != tc.code || tc.substatus != 0 &&
				got != fmt.Sprint(tc.substatus) {
				t.Errorf("%s with %s: %d/%s, want %d/%d", what, tc.token, a.code, got, tc.code, tc.substatus)
			}
		}
	}
}

// recreated deletes the container c, or the whole database d if database is set, and creates it again with
// the given number of ranges.
func (w *serverUnderTest) recreated(ranges int, database bool) {
	w.t.Helper()
	if database {
		w.do("DELETE", "/dbs/d", "").want(204)
		w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	} else {
		w.do("DELETE", coll, "").want(204)
	}
	w.do("POST", colls, `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`,
		"x-mayfly-ranges", fmt.Sprint(ranges)).want(201)
}

// token returns a session token of the container c for a range id and an LSN.
func (w *serverUnderTest) token(id, lsn string) string {
	w.t.Helper()
	d, err := w.db.Database("d")
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := d.Container("c")
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("%s:%d#%s", id, c.SessionVersion(), lsn)
}

// rangeIDs returns the ids of the partition ranges of the container c.
func (w *serverUnderTest) rangeIDs() (ids []string) {
	w.t.Helper()
	list := w.do("GET", coll+"/pkranges", "").want(200)
	for _, r := range list.at("PartitionKeyRanges").Array() {
		ids = append(ids, r.Get("id").Str)
	}
	return ids
}

// TestSessionOfAFormerContainer checks session tokens after a container was recreated under the same name.
// A token of the former container is ignored, whatever its LSN is. A token of a later container is refused
// (404/1002).
func TestSessionOfAFormerContainer(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	write := func(id string) string {
		return w.do("POST", docs, `{"id":"`+id+`","pk":"a"}`, pk(`["a"]`)...).want(201).header.Get(
			"X-Ms-Session-Token")
	}
	old := write("1")
	for _, ranges := range []int{4, 1, 2, 2} {
		w.recreated(ranges, ranges == 1)
		token := write("1")
		version := strings.Split(strings.Split(token, ":")[1], "#")[0]
		later := strings.Replace(token, version, "9007199254740991", 1)
		for stale, substatus := range map[string]string{old: "", old + "000": "",
			old + "000," + token: "", token + "0": "1002", old + "," + token + "0": "1002", later: "1002",
			token + "," + later: "1002"} {
			session := append(pk(`["a"]`), "x-ms-session-token", stale)
			with := func(more ...string) []string { return append(slices.Clone(session), more...) }
			code := 200
			if substatus != "" {
				code = 404
			}
			for what, a := range map[string]*testResponse{
				"read":  w.do("GET", docs+"/1", "", session...),
				"list":  w.do("GET", docs, "", session...),
				"feed":  w.do("GET", docs, "", with("A-IM", "Incremental feed")...),
				"query": w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(session...)...),
				"batch": w.do("POST", docs, `[{"operationType":"Read","id":"1"}]`,
					with("x-ms-cosmos-is-batch-request", "true", "x-ms-cosmos-batch-atomic", "true")...),
			} {
				if got := a.header.Get("x-ms-substatus"); a.code != code || got != substatus {
					t.Errorf("%d ranges: %s with %s: %d/%s", ranges, what, stale, a.code, got)
				}
			}
		}
		w.do("PUT", docs+"/1", `{"id":"1","pk":"a"}`, append(pk(`["a"]`), "x-ms-session-token",
			later)...).want(200)
		// an id of a former container still names its span
		if stale, _, _ := strings.Cut(old, ":"); !slices.Contains(w.rangeIDs(), stale) {
			w.do("GET", docs, "", "x-ms-documentdb-partitionkeyrangeid", stale, "x-ms-session-token",
				old).want(200)
		}
		old = token
	}
}

// TestBatchWithSessionToken checks that a batch with a read fails as a whole if the store has not reached
// the LSN in its session token.
func TestBatchWithSessionToken(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	made := w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	token := made.header.Get("X-Ms-Session-Token")
	batch := func(ops string) *testResponse {
		return w.do("POST", docs, ops, append(pk(`["a"]`), "x-ms-session-token", token+"000",
			"x-ms-cosmos-is-batch-request", "true", "x-ms-cosmos-batch-atomic", "true")...)
	}
	batch(`[{"operationType":"Create","resourceBody":{"id":"2","pk":"a"}},
		{"operationType":"Read","id":"1"}]`).
		fails(404, 1002, "")
	w.do("GET", docs+"/2", "", pk(`["a"]`)...).fails(404, 0, "")
	batch(`[{"operationType":"Create","resourceBody":{"id":"2","pk":"a"}}]`).want(200)
	w.do("GET", docs+"/2", "", pk(`["a"]`)...).want(200)
}

// TestRangeIDsOfRecreatedContainers checks that containers created under one name, one after the other, never
// use a range id for two different spans of partition keys, and use the same ids for the same spans.
func TestRangeIDsOfRecreatedContainers(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	spans := map[string]string{}
	look := func(want ...string) {
		t.Helper()
		rows := gjson.GetBytes(w.do("GET", coll+"/pkranges", "").want(200).body, "PartitionKeyRanges").Array()
		for _, r := range rows {
			id, span := r.Get("id").Str, r.Get("minInclusive").Str+"-"+r.Get("maxExclusive").Str
			if spans[id] != "" && spans[id] != span {
				t.Errorf("the range %s was %s and is %s", id, spans[id], span)
			}
			spans[id] = span
		}
		if got := w.rangeIDs(); !slices.Equal(got, want) {
			t.Errorf("ranges %v, want %v", got, want)
		}
	}
	look("0")
	w.recreated(1, false)
	look("0")
	w.recreated(4, true)
	look("1", "2", "3", "4")
	w.recreated(4, false)
	look("1", "2", "3", "4")
	w.recreated(2, false)
	look("5", "6")
	d, _ := w.db.Database("d")
	c, _ := d.Container("c")
	if _, err := c.Split(t.Context(), "5", ""); err != nil {
		t.Fatal(err)
	}
	look("7", "8", "6")
	w.recreated(2, false)
	look("9", "10")
	w.recreated(1, false)
	look("11")
}

// TestRangeIDsAfterRestore checks that range ids which were used after a snapshot was made are not used
// again after it is restored, although the restored data do not contain them.
func TestRangeIDsAfterRestore(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "snapshots")
	w := newServerUnderTest(t)
	w.container("")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	split := func(id, at string) {
		t.Helper()
		d, err := w.db.Database("d")
		must(err)
		c, err := d.Container("c")
		must(err)
		_, err = c.Split(t.Context(), id, at)
		must(err)
	}
	_, err := w.db.Snapshot(t.Context(), "s")
	must(err)
	used := map[string]bool{}
	for _, at := range []string{"05", "06", "07"} {
		split(w.rangeIDs()[0], at)
		for _, id := range w.rangeIDs() {
			if used[id] {
				t.Errorf("the id %s was used before", id)
			}
			used[id] = true
		}
		if at == "06" {
			_, err = w.db.RestoreDatabase(t.Context(), "s", "d")
		} else {
			err = w.db.Restore(t.Context(), "s")
		}
		must(err)
	}
}

// TestSessionsOfAnEarlierStart checks tokens and ids that come from an earlier start of a server in
// memory, whose data are lost: session tokens are ignored, and ids never address something else.
func TestSessionsOfAnEarlierStart(t *testing.T) {
	t.Parallel()
	var worlds int
	begin := func() *serverUnderTest {
		worlds++
		n := uint32(1000 * worlds)
		w := newServerUnderTest(t, func(s *serverUnderTestOptions) {
			s.store.FirstNumber = n
			s.store.Wall = ttl.NewManual(start.Add(time.Duration(n) * time.Second))
		})
		w.container("")
		return w
	}
	write := func(w *serverUnderTest) *testResponse {
		return w.do("POST", docs, `{"id":"1","pk":"a"}`, append(pk(`["a"]`), "x-ms-documentdb-is-upsert",
			"true")...)
	}
	read := func(w *serverUnderTest, token string) *testResponse {
		return w.do("GET", docs+"/1", "", append(pk(`["a"]`), "x-ms-session-token", token)...)
	}
	session := func(a *testResponse) string { return a.header.Get("X-Ms-Session-Token") }
	first := begin()
	rid := gjson.GetBytes(first.do("GET", coll, "").want(200).body, "_rid").Str
	var whole string
	for range 20 {
		whole = session(write(first))
	}
	first.recreated(2, false)
	half, halves := session(write(first)), first.rangeIDs()

	second := begin()
	if now := gjson.GetBytes(second.do("GET", coll, "").want(200).body, "_rid").Str; now == rid {
		t.Errorf("the container has the rid %s again", rid)
	}
	read(second, whole).fails(404, 0, "Resource Not Found")
	read(second, half).fails(404, 0, "Resource Not Found")
	here := session(write(second))
	read(second, whole).want(200)
	read(second, here).want(200)
	read(second, here+"0").fails(404, 1002, "")
	second.recreated(2, false)
	write(second)
	read(second, here+"0").want(200)
	read(second, whole).want(200)
	for _, id := range second.rangeIDs() {
		if id == "0" || slices.Contains(halves, id) {
			t.Errorf("the id %s was used at the start before", id)
		}
	}
}
