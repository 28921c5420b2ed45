package sdktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// ttlServer starts a server whose clock shows a full second and moves only when the test moves it.
func ttlServer(t *testing.T, args ...string) (*Server, *azcosmos.DatabaseClient) {
	t.Helper()
	s := start(t, append([]string{"--virtual-clock"}, args...)...)
	moveClock(t, s, `{"freeze": true, "set": "2030-01-01T00:00:00Z"}`)
	return s, newDatabase(t, connect(t, s, "http"), "ttl")
}

var pkA = azcosmos.NewPartitionKeyString("a")

// item returns a document with the partition key "a". ttl is the JSON text of its ttl, or "" for none.
func item(id, ttl string) []byte {
	if ttl == "" {
		return fmt.Appendf(nil, `{"id":%q,"pk":"a"}`, id)
	}
	return fmt.Appendf(nil, `{"id":%q,"pk":"a","ttl":%s}`, id, ttl)
}

func create(t *testing.T, c *azcosmos.ContainerClient, id, ttl string) azcosmos.ItemResponse {
	t.Helper()
	res, err := c.CreateItem(t.Context(), pkA, item(id, ttl), nil)
	must(t, err)
	return res
}

// alive reports whether an item exists. It fails the test if a point read and a query do not agree.
func alive(t *testing.T, c *azcosmos.ContainerClient, id string) bool {
	t.Helper()
	_, err := c.ReadItem(t.Context(), pkA, id, nil)
	if s := status(err); s != 0 && s != 404 {
		t.Fatalf("read of %s: %v", id, err)
	}
	items, _ := queryAll(t, c, "SELECT * FROM c", pkA, nil)
	listed := false
	for _, raw := range items {
		listed = listed || decode(t, raw)["id"] == id
	}
	if listed != (err == nil) {
		t.Fatalf("%s: a read says %v, but listed is %v", id, err, listed)
	}
	return listed
}

func wantAlive(t *testing.T, c *azcosmos.ContainerClient, id string, want bool) {
	t.Helper()
	if got := alive(t, c, id); got != want {
		t.Fatalf("%s: alive is %v, want %v", id, got, want)
	}
}

// setDefault replaces the container's default TTL; nil turns TTL off.
func setDefault(t *testing.T, c *azcosmos.ContainerClient, ttl *int32) {
	t.Helper()
	res, err := c.Read(t.Context(), nil)
	must(t, err)
	res.ContainerProperties.DefaultTimeToLive = ttl
	_, err = c.Replace(t.Context(), *res.ContainerProperties, nil)
	must(t, err)
}

// TestTTLMatrix checks each combination of a container's default TTL and an item's ttl: the item exists
// one second before its deadline and is gone at it, and an item that never expires still exists after 68
// years.
func TestTTLMatrix(t *testing.T) {
	s, db := ttlServer(t, "--memory")
	const never = 0
	ttls := []struct {
		token        string
		off, on, ten int // deadline in seconds with TTL off, default -1, default 10
	}{
		{"", never, never, 10},
		{"-1", never, never, never},
		{"5", never, 5, 5},
		{"20", never, 20, 20},
		{"60.0", never, 60, 60},
		{"2147483647", never, 2147483647, 2147483647},
	}
	type cell struct {
		c        *azcosmos.ContainerClient
		id       string
		deadline int
	}
	var cells []cell
	for name, ttl := range map[string]*int32{"off": nil, "on": ptr(int32(-1)), "ten": ptr(int32(10))} {
		c := newContainer(t, db, azcosmos.ContainerProperties{ID: name, DefaultTimeToLive: ttl})
		for i, v := range ttls {
			id := fmt.Sprintf("item%d", i)
			create(t, c, id, v.token)
			cells = append(cells, cell{c, id, map[string]int{"off": v.off, "on": v.on, "ten": v.ten}[name]})
		}
	}
	now := 0
	for _, at := range []int{1, 4, 5, 9, 10, 19, 20, 59, 60, 2147483646, 2147483647} {
		advance(t, s, time.Duration(at-now)*time.Second)
		now = at
		for _, c := range cells {
			if got, want := alive(t, c.c, c.id), c.deadline == never || now < c.deadline; got != want {
				t.Errorf("container %s, %s, after %d s: alive is %v, want %v", c.c.ID(), c.id, now, got, want)
			}
		}
	}
}

// TestTTLInvalid checks that every invalid ttl is refused with Cosmos DB's error text, by every kind of
// write, whether TTL is on or off, and that the stored item is unchanged.
func TestTTLInvalid(t *testing.T) {
	_, db := ttlServer(t, "--memory")
	tokens := []string{"null", "0", "-2", "-10", `"60"`, "1.5", "2147483648", "1e10", "true", "false", "{}", "[]", "[5]"}
	for name, ttl := range map[string]*int32{"off": nil, "on": ptr(int32(-1)), "ten": ptr(int32(10))} {
		t.Run(name, func(t *testing.T) {
			c := newContainer(t, db, azcosmos.ContainerProperties{ID: name, DefaultTimeToLive: ttl})
			create(t, c, "there", "7")
			for _, token := range tokens {
				// The SDK shows the message inside the body, that is, once more in quotes.
				says := "Ensure to provide a nonzero positive integer less than or equal to '2147483647', or '-1' which means never expire."
				_, err := c.CreateItem(t.Context(), pkA, item("new", token), nil)
				wantStatus(t, err, 400, says, "The input ttl '")
				_, err = c.UpsertItem(t.Context(), pkA, item("there", token), nil)
				wantStatus(t, err, 400, says)
				_, err = c.ReplaceItem(t.Context(), pkA, "there", item("there", token), nil)
				wantStatus(t, err, 400, says)
			}
			wantAlive(t, c, "new", false)
			res, err := c.ReadItem(t.Context(), pkA, "there", nil)
			must(t, err)
			wantSame(t, res.Value, item("there", "7"))
		})
	}
}

func TestDefaultTTL(t *testing.T) {
	_, db := ttlServer(t, "--memory")
	for _, ttl := range []*int32{nil, ptr(int32(-1)), ptr(int32(1)), ptr(int32(2147483647))} {
		id := "absent"
		if ttl != nil {
			id = fmt.Sprint(*ttl)
		}
		c := newContainer(t, db, azcosmos.ContainerProperties{ID: id, DefaultTimeToLive: ttl})
		res, err := c.Read(t.Context(), nil)
		must(t, err)
		if got := res.ContainerProperties.DefaultTimeToLive; (got == nil) != (ttl == nil) || got != nil && *got != *ttl {
			t.Errorf("default %s comes back as %v", id, got)
		}
	}
	keys := azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	none := &azcosmos.IndexingPolicy{IndexingMode: azcosmos.IndexingModeNone}
	good := newContainer(t, db, azcosmos.ContainerProperties{ID: "good", DefaultTimeToLive: ptr(int32(5))})
	for _, bad := range []azcosmos.ContainerProperties{
		{DefaultTimeToLive: ptr(int32(0))},
		{DefaultTimeToLive: ptr(int32(-2))},
		{DefaultTimeToLive: ptr(int32(-10))},
		{DefaultTimeToLive: ptr(int32(5)), IndexingPolicy: none},
		{DefaultTimeToLive: ptr(int32(-1)), IndexingPolicy: none},
	} {
		bad.ID, bad.PartitionKeyDefinition = "bad", keys
		_, err := db.CreateContainer(t.Context(), bad, nil)
		wantStatus(t, err, 400)
		bad.ID = "good"
		_, err = good.Replace(t.Context(), bad, nil)
		wantStatus(t, err, 400)
	}
	unindexed := newContainer(t, db, azcosmos.ContainerProperties{ID: "unindexed", IndexingPolicy: none})
	_, err := unindexed.Replace(t.Context(), azcosmos.ContainerProperties{
		ID: "unindexed", PartitionKeyDefinition: keys, IndexingPolicy: none, DefaultTimeToLive: ptr(int32(5)),
	}, nil)
	wantStatus(t, err, 400, "Indexing mode value cannot be 'none' when 'defaultTtl' is specified in the collection")
}

// TestTTLWritesRestart checks that a write begins the time to live of an item again, and that a read of
// the item or a replace of its container does not.
func TestTTLWritesRestart(t *testing.T) {
	s, db := ttlServer(t, "--memory")
	c := newContainer(t, db, azcosmos.ContainerProperties{ID: "c", DefaultTimeToLive: ptr(int32(10))})
	for _, id := range []string{"left", "read", "replaced", "upserted", "longer"} {
		create(t, c, id, "")
	}
	advance(t, s, 8*time.Second)
	wantAlive(t, c, "read", true)
	_, err := c.ReplaceItem(t.Context(), pkA, "replaced", item("replaced", ""), nil)
	must(t, err)
	_, err = c.UpsertItem(t.Context(), pkA, item("upserted", ""), nil)
	must(t, err)
	_, err = c.ReplaceItem(t.Context(), pkA, "longer", item("longer", "100"), nil)
	must(t, err)
	setDefault(t, c, ptr(int32(10)))
	for _, step := range []struct {
		by    int
		alive string
	}{
		{2, "replaced upserted longer"}, // 10
		{7, "replaced upserted longer"}, // 17
		{1, "longer"},                   // 18
		{89, "longer"},                  // 107
		{1, ""},                         // 108
	} {
		advance(t, s, time.Duration(step.by)*time.Second)
		got := ""
		items, _ := queryAll(t, c, "SELECT * FROM c", pkA, nil)
		for i, raw := range items {
			if i > 0 {
				got += " "
			}
			got += decode(t, raw)["id"].(string)
		}
		if got != step.alive {
			t.Fatalf("alive: %q, want %q", got, step.alive)
		}
	}
}

// TestTTLGhost checks that an expired item does not exist for any operation: replaces and deletes of it
// fail, and creates and upserts make a new item.
func TestTTLGhost(t *testing.T) {
	s, db := ttlServer(t, "--memory")
	c := newContainer(t, db, azcosmos.ContainerProperties{
		ID: "c", DefaultTimeToLive: ptr(int32(-1)),
		UniqueKeyPolicy: &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/name"}}}},
	})
	named := func(id, name string) []byte {
		return fmt.Appendf(nil, `{"id":%q,"pk":"a","name":%q,"ttl":5}`, id, name)
	}
	etags := map[string]azcore.ETag{}
	for _, id := range []string{"replace", "delete", "create", "upsert", "upsert-match", "unique"} {
		res, err := c.CreateItem(t.Context(), pkA, named(id, "name of "+id), nil)
		must(t, err)
		etags[id] = res.ETag
	}
	advance(t, s, 4*time.Second)
	_, err := c.CreateItem(t.Context(), pkA, named("other", "name of unique"), nil)
	wantStatus(t, err, 409)
	advance(t, s, time.Second)

	ctx := t.Context()
	match := func(id string) *azcosmos.ItemOptions { return &azcosmos.ItemOptions{IfMatchEtag: ptr(etags[id])} }
	_, err = c.ReplaceItem(ctx, pkA, "replace", named("replace", "x"), nil)
	wantStatus(t, err, 404)
	_, err = c.ReplaceItem(ctx, pkA, "replace", named("replace", "x"), match("replace"))
	wantStatus(t, err, 404)
	_, err = c.ReplaceItem(ctx, pkA, "replace", named("replace", "x"), match("delete"))
	wantStatus(t, err, 404)
	_, err = c.DeleteItem(ctx, pkA, "delete", nil)
	wantStatus(t, err, 404)
	_, err = c.DeleteItem(ctx, pkA, "delete", match("delete"))
	wantStatus(t, err, 404)

	res, err := c.CreateItem(ctx, pkA, named("create", "name of create"), nil)
	must(t, err)
	if res.RawResponse.StatusCode != 201 || res.ETag == etags["create"] {
		t.Errorf("create over a ghost: %d, etag %s", res.RawResponse.StatusCode, res.ETag)
	}
	for id, o := range map[string]*azcosmos.ItemOptions{"upsert": nil, "upsert-match": match("create")} {
		res, err = c.UpsertItem(ctx, pkA, named(id, "name of "+id), o)
		must(t, err)
		if res.RawResponse.StatusCode != 201 {
			t.Errorf("%s over a ghost: %d, want 201", id, res.RawResponse.StatusCode)
		}
	}
	_, err = c.CreateItem(ctx, pkA, named("other", "name of unique"), nil)
	must(t, err)
	wantAlive(t, c, "unique", false)
	wantAlive(t, c, "create", true)
}

// TestDefaultTTLChanges checks that a change of the container's default TTL applies at once, also to
// existing items, and that items which have expired before it stay expired.
func TestDefaultTTLChanges(t *testing.T) {
	n := func(v int32) *int32 { return &v }
	type step struct {
		by    int    // seconds to wait first
		set   bool   // change the default to
		to    *int32 // this
		alive string // whether "plain" (no ttl) and "own" (ttl 20) are there: "plain own", "own", ""
	}
	for name, test := range map[string]struct {
		first *int32
		steps []step
	}{
		"off to n":        {nil, []step{{12, true, n(10), "own"}, {7, false, nil, "own"}, {1, false, nil, ""}}},
		"off to -1":       {nil, []step{{12, true, n(-1), "plain own"}, {8, false, nil, "plain"}}},
		"n lowered":       {n(10), []step{{5, true, n(5), "own"}, {15, false, nil, ""}}},
		"n raised":        {n(10), []step{{9, true, n(15), "plain own"}, {5, false, nil, "plain own"}, {1, false, nil, "own"}}},
		"raised too late": {n(10), []step{{10, true, n(15), "own"}, {0, true, n(100), "own"}}},
		"n to -1":         {n(10), []step{{9, true, n(-1), "plain own"}, {90, false, nil, "plain"}}},
		"n to -1 late":    {n(10), []step{{10, true, n(-1), "own"}, {10, false, nil, ""}}},
		"n to off":        {n(10), []step{{9, true, nil, "plain own"}, {90, false, nil, "plain own"}}},
		"n to off late":   {n(10), []step{{25, true, nil, ""}, {1, true, n(1000), ""}}},
		"off and on":      {n(10), []step{{9, true, nil, "plain own"}, {5, true, n(100), "plain own"}, {6, false, nil, "plain"}}},
		"off, own passes": {n(100), []step{{1, true, nil, "plain own"}, {30, false, nil, "plain own"}, {0, true, n(100), "plain"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, db := ttlServer(t, "--memory")
			c := newContainer(t, db, azcosmos.ContainerProperties{ID: "c", DefaultTimeToLive: test.first})
			create(t, c, "plain", "")
			create(t, c, "own", "20")
			for i, st := range test.steps {
				advance(t, s, time.Duration(st.by)*time.Second)
				if st.set {
					setDefault(t, c, st.to)
				}
				got := ""
				if alive(t, c, "plain") {
					got = "plain"
				}
				if alive(t, c, "own") {
					got += map[bool]string{true: " "}[got != ""] + "own"
				}
				if got != st.alive {
					t.Fatalf("step %d: alive %q, want %q", i+1, got, st.alive)
				}
			}
		})
	}
}

// TestTTLOverRestarts checks that the virtual clock keeps its time over restarts, and that items which
// have expired are still gone after a restart.
func TestTTLOverRestarts(t *testing.T) {
	dir := t.TempDir()
	s, db := ttlServer(t, "--data", dir)
	c := newContainer(t, db, azcosmos.ContainerProperties{ID: "c", DefaultTimeToLive: ptr(int32(10))})
	create(t, c, "plain", "")
	create(t, c, "own", "20")
	advance(t, s, 9*time.Second)
	must(t, s.Stop())
	must(t, s.Start(t.Context()))
	wantAlive(t, c, "plain", true)
	advance(t, s, time.Second)
	wantAlive(t, c, "plain", false)
	must(t, s.Kill())
	must(t, s.Start(t.Context()))
	wantAlive(t, c, "plain", false)
	wantAlive(t, c, "own", true)
	advance(t, s, 10*time.Second)
	wantAlive(t, c, "own", false)
	must(t, s.Stop())
	check(t, dir)
}
