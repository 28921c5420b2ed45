package seed

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// everything returns a seed that sets every member that a seed file may have, most of them to another
// value than the default.
func everything(t *testing.T) *Seed {
	t.Helper()
	s, err := Open("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *testStoreAndQueues) describe() *ServerDescription {
	w.t.Helper()
	d, err := Describe(w.t.Context(), w.db, w.queues)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// again reads the files of the description as a seed.
func (d *ServerDescription) again(t *testing.T) *Seed {
	t.Helper()
	s, err := OpenFiles(d.Files, ".", "copy")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func differ(t *testing.T, a, b map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			t.Errorf("%s: %s\nand then: %s", name, a[name], b[name])
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d files, then %d", len(a), len(b))
	}
}

// TestDescription applies the description of one server to another, and checks that both servers then have
// the same description, and that applying it a second time, to either of them, changes nothing.
func TestDescription(t *testing.T) {
	for name, s := range map[string]*Seed{"everything": everything(t), "shop": shop(t),
		"nothing": text(t, "databases: []")} {
		first, second := newTestServer(t), newTestServer(t)
		first.must(s)
		want := first.describe()
		copied := want.again(t)
		if _, err := copied.Apply(t.Context(), ApplyTarget{DB: second.db, Queues: second.queues,
			Keep: true}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		differ(t, want.Files, second.describe().Files)
		r, err := want.again(t).Apply(t.Context(),
			ApplyTarget{DB: second.db, Queues: second.queues, Keep: true})
		if err != nil || r != (ApplyReport{}) {
			t.Errorf("%s: a second time: %+v %v", name, r, err)
		}
		r, err = copied.Apply(t.Context(), ApplyTarget{DB: first.db, Queues: first.queues, Keep: true})
		if err != nil || r != (ApplyReport{}) {
			t.Errorf("%s: where it comes from: %+v %v", name, r, err)
		}
		if left := strings.Join(want.Left, "\n"); left != "" && !strings.HasPrefix(left,
			"the virtual clock, which") {
			t.Errorf("%s: left: %s", name, left)
		}
	}
}

// TestDescriptionHasAll applies a seed that sets every possible member, and checks that the description of
// the server contains them.
func TestDescriptionHasAll(t *testing.T) {
	w := newTestServer(t)
	w.must(everything(t))
	d := w.describe()
	all := ""
	for _, name := range slices.Sorted(maps.Keys(d.Files)) {
		all += name + " " + d.Files[name]
	}
	for _, part := range []string{`"incrementPercent": 10`, `"level": "S2"`, `"ranges": 3`, `"n": 1.0`,
		`"seed": 18446744073709551615`, `"authorizationRules": "<x/>"`, `"secret": "<&>"`, `"/secret"`,
		`"conflictResolutionPath": "/number"`, `"Geometry"`, `"de-DE"`,
		`"duplicateDetectionHistoryTimeWindow": "PT1H"`,
		`"filteringMessagesBeforePublishing": true`, `"kind": "none"`, `"kind": "all"`, `"SendDisabled"`,
		`"resource": "dbs/shop/colls/carts/docs/1"`, `"fullTextIndexes"`,
		`"vectorIndexes"`, `"order": "descending"`,
		`"name": "orders/new"`, "%2Ehidden/db.json", "%2Ehidden/A%3AB/", "%2Ehidden/a%3Ab%2/",
		"Shop/%CON/container.json",
		"shop%2/carts/container.json", "empty/db.json"} {
		if !strings.Contains(all, part) {
			t.Errorf("%s is not in %s", part, all)
		}
	}
}

// TestDescriptionListsOmissions checks that ServerDescription.Left lists everything that a seed cannot
// express, for example snapshots, moved clocks and permissions for items.
func TestDescriptionListsOmissions(t *testing.T) {
	w := newTestServer(t)
	w.must(everything(t))
	carts := w.container("shop", "carts")
	ctx := t.Context()
	d, _ := w.db.Database("shop")
	permissions, _ := d.Permissions("bob")
	link := "dbs/" + d.RID() + "/colls/" + carts.RID()
	for id, resource := range map[string]string{"rid": link, "item": link + "/docs/" + anItem(t, carts)} {
		body := `{"id":"` + id + `","permissionMode":"Read","resource":"` + resource + `"}`
		if _, err := permissions.Create(ctx, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := carts.Resources(store.KindStoredProcedure).Create(ctx,
		[]byte(`{"id":"more","body":"function () {}","mine":1}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Snapshot(ctx, "kept"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.queues.CreateRule(ctx, "news/Subscriptions/everything", entity.Rule{Name: "typed",
		Filter: correlation(t, rule.Parameter{Name: "at", Value: rule.Time(5)})}); err != nil {
		t.Fatal(err)
	}
	if err := w.queues.DeleteRule(ctx, "news/Subscriptions/nothing", "n"); err != nil {
		t.Fatal(err)
	}
	hour := time.Hour
	if _, err := d.SetClock(ctx, store.ClockChangeRequest{Advance: &hour}); err != nil {
		t.Fatal(err)
	}
	all := w.describe()
	left := strings.Join(all.Left, "\n")
	for _, part := range []string{"the virtual clock, which is at", "the clock of the database 'shop'",
		"the snapshot 'kept'", "the permission 'item' of the user 'bob'",
		"'mine' of the stored procedure 'more' of the container 'shop/carts'",
		"the rule 'typed' of 'news/Subscriptions/everything'",
		"the absence of rules in the subscription 'news/Subscriptions/nothing'"} {
		if !strings.Contains(left, part) {
			t.Errorf("%s is not told: %s", part, left)
		}
	}
	if db := all.Files["shop%2/db.json"]; !strings.Contains(db, `"resource": "dbs/shop/colls/carts"`) {
		t.Errorf("a resource id is not told as a name: %s", db)
	}
}

// TestServerMatchesOwnDescription checks that a server does not differ from its own description, even if
// clients have created things that a seed cannot express, or if databases and containers have names of
// seed files.
func TestServerMatchesOwnDescription(t *testing.T) {
	const entities = `databases: [{id: "db.json", users: [{id: u}], containers: [{id: db.json, ` +
		`partitionKey: /pk},
{id: items.ndjson, partitionKey: /pk}]}, {id: queues.json}, {id: databases.json}, {id: unfinished-export}]
queues: [{name: to}, {name: from, forwardTo: to, autoDeleteOnIdle: PT1H}]`
	w := newTestServer(t)
	keep := ApplyTarget{DB: w.db, Queues: w.queues, Keep: true}
	w.must(text(t, entities))
	if r, err := text(t, entities).Apply(t.Context(), keep); err != nil || r != (ApplyReport{}) {
		t.Errorf("the seed, a second time: %+v %v", r, err)
	}
	c := w.container("db.json", "db.json")
	d, _ := w.db.Database("db.json")
	permissions, _ := d.Permissions("u")
	for body, in := range map[string]store.ChildResources{
		`{"id":"p","permissionMode":"Read","resource":"dbs/` + d.RID() + "/colls/" + c.RID() +
			`/"}`: permissions,
		`{"id":"s","body":"function () {}","note":null}`: c.Resources(store.KindStoredProcedure),
		`{"id":"f","body":"function () {}","mine":1}`:    c.Resources(store.KindFunction),
	} {
		if _, err := in.Create(t.Context(), []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	all := w.describe()
	for _, f := range all.Folders {
		for name := range all.Files {
			if strings.EqualFold(name, f.Path) || strings.EqualFold(name, strings.Split(f.Path, "/")[0]) {
				t.Errorf("%s is a folder and a file", name)
			}
		}
	}
	if r, err := all.again(t).Apply(t.Context(), keep); err != nil || r != (ApplyReport{}) {
		t.Errorf("what it has itself: %+v %v", r, err)
	}
	other := newTestServer(t)
	if _, err := all.again(t).Apply(t.Context(), ApplyTarget{DB: other.db, Queues: other.queues,
		Keep: true}); err != nil {
		t.Fatal(err)
	}
	differ(t, all.Files, other.describe().Files)
}

// anItem creates an item and returns its resource id.
func anItem(t *testing.T, in *store.Container) string {
	t.Helper()
	key := definition.NewPartitionKey(jsondoc.StringValue("t"), jsondoc.StringValue("u"))
	body := []byte(`{"id":"i","tenant":"t","user":"u"}`)
	item, _, err := in.Create(t.Context(), key, body, store.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return item.RID()
}

func correlation(t *testing.T, p ...rule.Parameter) rule.Filter {
	t.Helper()
	f, err := rule.NewCorrelationFilter(rule.CorrelationFilter{Properties: p})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestKeepRefusesDifferences checks that, with ApplyTarget.Keep, a seed that differs from existing
// definitions is refused with the position of every difference, and that nothing is written.
func TestKeepRefusesDifferences(t *testing.T) {
	const before = `databases: [{id: db, throughput: 400, users: [{id: u, permissions: [
  {id: p, permissionMode: All, container: c}]}], containers: [
  {id: c, partitionKey: /pk, defaultTtl: 60, settings: {ttlCeiling: true}, throughput: 500,
   storedProcedures: [{id: s, body: "function () {}"}]}]}]
queues: [{name: q, maxDeliveryCount: 3}]
topics: [{name: t, subscriptions: [{name: s, rules: [{name: r, sql: a = 1}]}]}]
`
	w := newTestServer(t)
	w.must(text(t, before))
	mark := w.marks()
	for _, c := range []struct{ old, new, want string }{
		{"throughput: 400", "throughput: 500", "1:34: the database 'db' exists with a different throughput"},
		{"throughput: 500", "throughput: {maxThroughput: 1000}",
			"3:88: the container 'db/c' exists with a different throughput"},
		{"defaultTtl: 60", "defaultTtl: 61", "3:3: the container 'db/c' exists with a different defaultTtl"},
		{"ttlCeiling: true", "ttlCeiling: false",
			"3:56: the container 'db/c' exists with different settings: ttlCeiling"},
		{"function ()", "function f()",
			"4:23: the stored procedure 's' of 'db/c' exists with a different body"},
		{"Mode: All", "Mode: Read",
			"2:3: the permission 'p' of 'db/u' exists with a different permissionMode"},
		{"Count: 3", "Count: 4", "5:11: 'q' exists with a different MaxDeliveryCount"},
		{"a = 1", "a = 2", "6:54: the rule 'r' of 't/Subscriptions/s' is there another way"},
		{"{name: r,", "{name: r2,", "6:54: 't/Subscriptions/s' has no rule 'r2' there"},
	} {
		s := text(t, strings.Replace(before, c.old, c.new, 1)+"# new\n")
		r, err := s.Apply(t.Context(), ApplyTarget{DB: w.db, Queues: w.queues, Keep: true})
		var placed *tree.ErrorAtFilePosition
		var differences *DifferencesError
		if !errors.As(err, &differences) || !errors.As(err, &placed) || r != (ApplyReport{}) ||
			!strings.HasPrefix(err.Error(), "s.yaml:"+c.want) {
			t.Errorf("%s: %v\nnot %s", c.new, err, c.want)
		}
	}
	if again := w.marks(); again != mark {
		t.Errorf("something has moved:\n%s\n%s", mark, again)
	}
	two := strings.NewReplacer("defaultTtl: 60", "defaultTtl: 61", "Count: 3", "Count: 4",
		"databases: [", "databases: [{id: new}, ").Replace(before)
	_, err := text(t, two).Apply(t.Context(), ApplyTarget{DB: w.db, Queues: w.queues, Keep: true})
	var differences *DifferencesError
	if !errors.As(err, &differences) || len(differences.List) != 2 {
		t.Error(err)
	}
	if _, err := w.db.Database("new"); err == nil {
		t.Error("something was made beside what differs")
	}
}

// TestSources checks that OpenDefinitions reads the definitions of a seed but not its documents, and that
// Sources says where the documents are.
func TestSources(t *testing.T) {
	s, err := OpenDefinitions("testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	lists, documents := 0, 0
	for _, from := range s.Sources() {
		lists, documents = lists+len(from.Lists), documents+len(from.Documents)
		for _, d := range from.Documents {
			if d.Place.Line == 0 || len(d.Text) == 0 {
				t.Errorf("%s: %s", d.Place, d.Text)
			}
		}
	}
	if lists != 1 || documents == 0 || s.Files()["shop/carts/procedures/hello.js"] == "" {
		t.Errorf("%d %d %v", lists, documents, slices.Sorted(maps.Keys(s.Files())))
	}
	w := newTestServer(t)
	again, err := OpenFiles(s.Files(), ".", "there")
	if err != nil {
		t.Fatal(err)
	}
	r, err := again.Apply(t.Context(), ApplyTarget{DB: w.db, Queues: w.queues})
	if err != nil || r.Documents != 0 || r.Made == 0 {
		t.Errorf("%+v %v", r, err)
	}
	s.Files()["shop/carts/container.yaml"] = "partitionKey: /pk\nttl: 5\n"
	if _, err := OpenFiles(s.Files(), ".", "there"); err == nil ||
		!strings.HasPrefix(err.Error(), "there/shop/carts/container.yaml:2:1: 'ttl'") {
		t.Error(err)
	}
	outside := map[string]string{"../x.json": "{}", "a.json": "{}"}
	if _, err := OpenFiles(outside, "../x.json", ""); err == nil {
		t.Error("a file outside of the seed was read")
	}
}
