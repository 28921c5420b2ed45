package sdktest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// TestItems creates, reads, replaces, upserts and deletes a document, with and without an etag as the
// condition.
func TestItems(t *testing.T) {
	s := start(t, "--memory")
	eachScheme(t, s, func(t *testing.T, client *azcosmos.Client, name string) {
		ctx := t.Context()
		c := newContainer(t, newDatabase(t, client, name), azcosmos.ContainerProperties{ID: "c"})
		body := func(v string) []byte { return fmt.Appendf(nil, `{"id":"1","pk":"a","v":%s}`, v) }
		content := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}

		created, err := c.CreateItem(ctx, pkA, body("1"), content)
		must(t, err)
		wantSame(t, created.Value, body("1"))
		if created.RawResponse.StatusCode != 201 || created.SessionToken == nil || created.RequestCharge <= 0 || created.ActivityID == "" {
			t.Errorf("create: %d, session %v, charge %v", created.RawResponse.StatusCode, created.SessionToken, created.RequestCharge)
		}
		_, err = c.CreateItem(ctx, pkA, body("1"), nil)
		wantStatus(t, err, 409, "already exists")

		match := func(e azcore.ETag) *azcosmos.ItemOptions { return &azcosmos.ItemOptions{IfMatchEtag: &e} }
		replaced, err := c.ReplaceItem(ctx, pkA, "1", body("2"), match(created.ETag))
		must(t, err)
		if len(replaced.Value) != 0 || replaced.ETag == created.ETag || replaced.ETag == "" {
			t.Errorf("replace: body %q, etag %s after %s", replaced.Value, replaced.ETag, created.ETag)
		}
		for what, f := range map[string]func(o *azcosmos.ItemOptions) error{
			"replace": func(o *azcosmos.ItemOptions) error { _, err := c.ReplaceItem(ctx, pkA, "1", body("3"), o); return err },
			"upsert":  func(o *azcosmos.ItemOptions) error { _, err := c.UpsertItem(ctx, pkA, body("3"), o); return err },
			"delete":  func(o *azcosmos.ItemOptions) error { _, err := c.DeleteItem(ctx, pkA, "1", o); return err },
		} {
			if err := f(match(created.ETag)); status(err) != 412 || !strings.Contains(err.Error(), "One of the specified pre-condition is not met") {
				t.Errorf("%s with a stale etag: %v", what, err)
			}
		}
		read, err := c.ReadItem(ctx, pkA, "1", nil)
		must(t, err)
		wantSame(t, read.Value, body("2"))
		if read.ETag != replaced.ETag || decode(t, read.Value)["_etag"] != string(replaced.ETag) {
			t.Errorf("read: etag %s, want %s; body %s", read.ETag, replaced.ETag, read.Value)
		}

		upserted, err := c.UpsertItem(ctx, pkA, body("4"), match(replaced.ETag))
		must(t, err)
		inserted, err := c.UpsertItem(ctx, pkA, []byte(`{"id":"2","pk":"a"}`), nil)
		must(t, err)
		if upserted.RawResponse.StatusCode != 200 || inserted.RawResponse.StatusCode != 201 {
			t.Errorf("upsert: %d and %d, want 200 and 201", upserted.RawResponse.StatusCode, inserted.RawResponse.StatusCode)
		}
		deleted, err := c.DeleteItem(ctx, pkA, "1", match(upserted.ETag))
		must(t, err)
		if deleted.RawResponse.StatusCode != 204 {
			t.Errorf("delete: %d", deleted.RawResponse.StatusCode)
		}
		_, err = c.ReadItem(ctx, pkA, "1", nil)
		wantStatus(t, err, 404)
		_, err = c.ReplaceItem(ctx, pkA, "1", body("5"), nil)
		wantStatus(t, err, 404)
		_, err = c.DeleteItem(ctx, pkA, "1", nil)
		wantStatus(t, err, 404)
	})
}

// TestMissingDatabaseOrContainer checks that operations on a missing database or container, and on what would
// be in it, fail with 404.
func TestMissingDatabaseOrContainer(t *testing.T) {
	client := connect(t, start(t, "--memory"), "http")
	db := newDatabase(t, client, "db")
	_, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "db"}, nil)
	wantStatus(t, err, 409)
	newContainer(t, db, azcosmos.ContainerProperties{ID: "c"})
	_, err = db.CreateContainer(t.Context(), azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}, nil)
	wantStatus(t, err, 409)
	for _, at := range [][2]string{{"none", "c"}, {"db", "none"}} {
		c, err := client.NewContainer(at[0], at[1])
		must(t, err)
		_, err = c.ReadItem(t.Context(), pkA, "1", nil)
		wantStatus(t, err, 404)
		_, err = c.CreateItem(t.Context(), pkA, item("1", ""), nil)
		wantStatus(t, err, 404)
		_, err = c.Read(t.Context(), nil)
		wantStatus(t, err, 404)
	}
	_, err = db.Delete(t.Context(), nil)
	must(t, err)
	_, err = db.Read(t.Context(), nil)
	wantStatus(t, err, 404)
	db = newDatabase(t, client, "db")
	c, err := db.NewContainer("c")
	must(t, err)
	_, err = c.Read(t.Context(), nil)
	wantStatus(t, err, 404)
}

// TestBadDocuments checks that invalid documents are refused with the right status, and that nothing of
// them is stored.
func TestBadDocuments(t *testing.T) {
	client := connect(t, start(t, "--memory"), "http")
	c := newContainer(t, newDatabase(t, client, "db"), azcosmos.ContainerProperties{ID: "c"})
	for name, bad := range map[string]struct {
		body string
		want int
	}{
		"not JSON":    {`{"id":"1","pk":"a"`, 400},
		"an array":    {`[{"id":"1","pk":"a"}]`, 400},
		"no id":       {`{"pk":"a"}`, 400},
		"empty id":    {`{"id":"","pk":"a"}`, 400},
		"id a number": {`{"id":1,"pk":"a"}`, 400},
		"other key":   {`{"id":"1","pk":"b"}`, 400},
		"too deep":    {`{"id":"1","pk":"a","x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, 400},
		"too large":   {`{"id":"1","pk":"a","x":"` + strings.Repeat("x", 2<<20) + `"}`, 413},
	} {
		_, err := c.CreateItem(t.Context(), pkA, []byte(bad.body), nil)
		if status(err) != bad.want {
			t.Errorf("%s: status %d, want %d: %.300v", name, status(err), bad.want, err)
		}
	}
	if items, _ := queryAll(t, c, "SELECT * FROM c", azcosmos.NewPartitionKey(), nil); len(items) != 0 {
		t.Errorf("stored: %s", items)
	}
}

// TestIDs creates and reads items whose ids need escaping in a URL, in a signature or in JSON.
func TestIDs(t *testing.T) {
	s := start(t, "--memory")
	eachScheme(t, s, func(t *testing.T, client *azcosmos.Client, name string) {
		ctx := t.Context()
		c := newContainer(t, newDatabase(t, client, name), azcosmos.ContainerProperties{ID: "c"})
		ids := []string{"plain", "with space", " leading", "percent%20", "%", "a+b", "a&b=c", "ünïcödé", "日本語", "😀",
			`quote"d`, "tab\there", "dot.", "..x", "(1)", "a:b;c,d", "<x>", "UPPER", "upper", strings.Repeat("x", 255)}
		for _, id := range ids {
			body := fmt.Appendf(nil, `{"id":%s,"pk":"a"}`, quoteJSON(t, id))
			_, err := c.CreateItem(ctx, pkA, body, nil)
			must(t, err)
			read, err := c.ReadItem(ctx, pkA, id, nil)
			must(t, err)
			wantSame(t, read.Value, body)
			_, err = c.ReplaceItem(ctx, pkA, id, body, nil)
			must(t, err)
		}
		items, _ := queryAll(t, c, "SELECT * FROM c", pkA, nil)
		if len(items) != len(ids) {
			t.Fatalf("%d items, want %d", len(items), len(ids))
		}
		for i, raw := range items {
			if got := decode(t, raw)["id"]; got != ids[i] {
				t.Errorf("item %d has the id %q, want %q", i, got, ids[i])
			}
		}
		for _, id := range ids {
			_, err := c.DeleteItem(ctx, pkA, id, nil)
			must(t, err)
		}
	})
}

// TestPartitionKeys checks that partition keys of different types, such as 1 and "1", are different, and
// that the same id in two partition keys names two items.
func TestPartitionKeys(t *testing.T) {
	client := connect(t, start(t, "--memory", "--ranges", "4"), "http")
	c := newContainer(t, newDatabase(t, client, "db"), azcosmos.ContainerProperties{ID: "c"})
	keys := map[string]azcosmos.PartitionKey{
		`""`:       azcosmos.NewPartitionKeyString(""),
		`"1"`:      azcosmos.NewPartitionKeyString("1"),
		`"true"`:   azcosmos.NewPartitionKeyString("true"),
		`"null"`:   azcosmos.NewPartitionKeyString("null"),
		`"ü 😀\""`:  azcosmos.NewPartitionKeyString(`ü 😀"`),
		`"\u0007"`: azcosmos.NewPartitionKeyString("\a"),
		`1`:        azcosmos.NewPartitionKeyNumber(1),
		`1.5`:      azcosmos.NewPartitionKeyNumber(1.5),
		`-1e+300`:  azcosmos.NewPartitionKeyNumber(-1e300),
		`true`:     azcosmos.NewPartitionKeyBool(true),
		`false`:    azcosmos.NewPartitionKeyBool(false),
		`null`:     azcosmos.NullPartitionKey,
	}
	body := func(token string) []byte { return fmt.Appendf(nil, `{"id":"same","pk":%s}`, token) }
	for token, pk := range keys {
		if _, err := c.CreateItem(t.Context(), pk, body(token), nil); err != nil {
			t.Errorf("key %s: %v", token, err)
		}
	}
	for token, pk := range keys {
		read, err := c.ReadItem(t.Context(), pk, "same", nil)
		must(t, err)
		wantSame(t, read.Value, body(token))
		if items, _ := queryAll(t, c, "SELECT * FROM c", pk, nil); len(items) != 1 {
			t.Errorf("key %s lists %s", token, items)
		}
	}
	if items, _ := queryAll(t, c, "SELECT * FROM c", azcosmos.NewPartitionKey(), nil); len(items) != len(keys) {
		t.Errorf("%d items, want %d", len(items), len(keys))
	}
	_, err := c.CreateItem(t.Context(), keys[`1`], body(`"1"`), nil)
	wantStatus(t, err, 400, "Partition key provided either doesn't correspond to definition in the collection")
}

func TestHierarchicalKeys(t *testing.T) {
	client := connect(t, start(t, "--memory", "--ranges", "4"), "http")
	c := newContainer(t, newDatabase(t, client, "db"), azcosmos.ContainerProperties{
		ID: "c", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/tenant", "/user", "/session"}, Version: 2},
	})
	key := func(tenant, user string, session int) azcosmos.PartitionKey {
		return azcosmos.NewPartitionKeyString(tenant).AppendString(user).AppendNumber(float64(session))
	}
	body := func(tenant, user string, session int) []byte {
		return fmt.Appendf(nil, `{"id":"x","tenant":%q,"user":%q,"session":%d}`, tenant, user, session)
	}
	each := func(f func(tenant, user string, session int)) {
		for _, tenant := range []string{"t1", "t2"} {
			for _, user := range []string{"u1", "u2", "u3"} {
				for session := range 4 {
					f(tenant, user, session)
				}
			}
		}
	}
	each(func(tenant, user string, session int) {
		_, err := c.CreateItem(t.Context(), key(tenant, user, session), body(tenant, user, session), nil)
		must(t, err)
	})
	each(func(tenant, user string, session int) {
		read, err := c.ReadItem(t.Context(), key(tenant, user, session), "x", nil)
		must(t, err)
		wantSame(t, read.Value, body(tenant, user, session))
	})
	for _, q := range []struct {
		pk   azcosmos.PartitionKey
		want int
	}{
		{azcosmos.NewPartitionKey(), 24},
		{azcosmos.NewPartitionKeyString("t1"), 12},
		{azcosmos.NewPartitionKeyString("t1").AppendString("u2"), 4},
		{key("t1", "u2", 3), 1},
		{azcosmos.NewPartitionKeyString("t3"), 0},
	} {
		if items, _ := queryAll(t, c, "SELECT * FROM c", q.pk, &azcosmos.QueryOptions{PageSizeHint: 5}); len(items) != q.want {
			t.Errorf("%+v: %d items, want %d", q.pk, len(items), q.want)
		}
	}
	_, err := c.ReadItem(t.Context(), azcosmos.NewPartitionKeyString("t1"), "x", nil)
	wantStatus(t, err, 400)
}

// TestPages checks the pages of a query across partition keys: items come in the order of insertion, a
// full page always has a continuation token (so 20 items in pages of 5 are five pages, the last one
// empty), and another client can use the token.
func TestPages(t *testing.T) {
	s := start(t, "--memory")
	client := connect(t, s, "http")
	c := newContainer(t, newDatabase(t, client, "db"), azcosmos.ContainerProperties{ID: "c"})
	for i := range 20 {
		pk := fmt.Sprint(i % 3)
		_, err := c.CreateItem(t.Context(), azcosmos.NewPartitionKeyString(pk), fmt.Appendf(nil, `{"id":"%02d","pk":%q}`, i, pk), nil)
		must(t, err)
	}
	items, pages := queryAll(t, c, "SELECT * FROM c", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: 5})
	if fmt.Sprint(pages) != "[5 5 5 5 0]" {
		t.Errorf("pages: %v", pages)
	}
	for i, raw := range items {
		if id := decode(t, raw)["id"]; id != fmt.Sprintf("%02d", i) {
			t.Errorf("place %d has %s", i, id)
		}
	}
	first, err := c.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: 7}).NextPage(t.Context())
	must(t, err)
	other, err := connect(t, s, "https").NewContainer("db", "c")
	must(t, err)
	rest, _ := queryAll(t, other, "SELECT * FROM c", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: 7, ContinuationToken: first.ContinuationToken})
	if len(first.Items) != 7 || len(rest) != 13 {
		t.Errorf("%d and %d items, want 7 and 13", len(first.Items), len(rest))
	}
	_, err = c.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{ContinuationToken: ptr("nonsense")}).NextPage(t.Context())
	wantStatus(t, err, 400)
	one, pages := queryAll(t, c, "SELECT * FROM c", azcosmos.NewPartitionKeyString("0"), &azcosmos.QueryOptions{PageSizeHint: 3})
	if len(one) != 7 || fmt.Sprint(pages) != "[3 3 1]" {
		t.Errorf("key 0: %d items in pages %v", len(one), pages)
	}
}
