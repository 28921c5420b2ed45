package seed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// testStoreAndQueues is a store and queues in memory with a virtual clock, to which the tests apply seeds.
type testStoreAndQueues struct {
	t      *testing.T
	db     *store.DB
	queues *queue.Queues
	clock  *ttl.VirtualClock
}

func newTestServer(t *testing.T) *testStoreAndQueues {
	t.Helper()
	w := &testStoreAndQueues{t: t, queues: queue.New(queue.Options{})}
	w.clock = ttl.NewManual(time.Unix(2e9, 0))
	e, err := pebble.Open(t.Context(), pebble.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	w.db, err = store.Open(ctx, e, store.Options{Clock: w.clock, ManualReaper: true}, w.queues.Tenant())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *testStoreAndQueues) plant(s *Seed) (ApplyReport, error) {
	return s.Apply(w.t.Context(), ApplyTarget{DB: w.db, Queues: w.queues, Undo: true})
}

func (w *testStoreAndQueues) must(s *Seed) ApplyReport {
	w.t.Helper()
	r, err := w.plant(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *testStoreAndQueues) container(db, id string) *store.Container {
	w.t.Helper()
	d, err := w.db.Database(db)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := d.Container(id)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *testStoreAndQueues) read(c *store.Container, pk, id string) (store.Item, error) {
	key := definition.NewPartitionKey(jsondoc.StringValue(pk))
	item, _, err := c.Read(w.t.Context(), key, id, store.ReadOptions{})
	return item, err
}

func shop(t *testing.T) *Seed {
	t.Helper()
	s, err := Open("testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShop applies the seed folder testdata/shop, which has every kind of object, and checks the result.
// Applying it a second time must change nothing.
func TestShop(t *testing.T) {
	w, s := newTestServer(t), shop(t)
	if c := s.Count(); c != (ObjectCounts{2, 3, 6, 5}) {
		t.Errorf("%+v", c)
	}
	if r := w.must(s); r != (ApplyReport{Made: 11, Changed: 1, Documents: 6}) {
		t.Errorf("%+v", r)
	}
	carts := w.container("shop", "carts")
	spec := carts.Info().Spec
	settings := carts.Settings()
	if spec.DefaultTTL != 3600 || spec.UniqueKeys.Len() != 1 || len(spec.ComputedProperties) != 1 ||
		!settings.TTLCeiling || settings.OnExpire.ForwardTo != "orders" || settings.ChangesTo != "news" ||
		settings.ExpiryEvents.Webhooks[0].Secret != "s3cret" {
		t.Errorf("%+v %+v", spec, settings)
	}
	for kind, id := range map[store.ResourceKind]string{store.KindStoredProcedure: "hello",
		store.KindFunction: "double", store.KindTrigger: "stamp"} {
		r, err := carts.Resources(kind).Read(id)
		if err != nil || !strings.Contains(string(r.Body), "function "+id) {
			t.Errorf("%s: %s %v", id, r.Body, err)
		}
	}
	old, err := w.read(carts, "ann", "2")
	if err != nil || old.Timestamp() != w.clock.Now().Unix()-50*60 {
		t.Errorf("%d %v", old.Timestamp(), err)
	}
	e, err := w.queues.Get(t.Context(), "orders")
	if p := e.Properties; err != nil || p.LockDuration != 30*time.Second || p.DefaultTTL != 24*time.Hour ||
		!p.DeadLetterOnExpiration {
		t.Errorf("%+v %v", p, err)
	}
	rules, err := w.queues.Rules(t.Context(), "news/Subscriptions/europe", 0, 9)
	if err != nil || len(rules) != 2 {
		t.Errorf("%v %v", rules, err)
	}
	d, _ := w.db.Database("shop")
	permissions, err := d.Permissions("ada")
	if err != nil || len(permissions.List()) != 2 {
		t.Errorf("%v", err)
	}
	mark := w.marks()
	w.clock.Advance(time.Minute)
	if r := w.must(shop(t)); r != (ApplyReport{}) {
		t.Errorf("a second time: %+v", r)
	}
	if again := w.marks(); again != mark {
		t.Errorf("something has moved:\n%s\n%s", mark, again)
	}
	if err := s.DryRun(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestContainerDefinitionAsSeed checks that a container's definition, as Cosmos DB clients read it, is a
// valid container in a seed.
func TestContainerDefinitionAsSeed(t *testing.T) {
	w := newTestServer(t)
	w.must(shop(t))
	for _, d := range w.db.Databases() {
		for _, c := range d.Containers() {
			text := strings.Replace(string(c.Info().Spec.AppendJSON(nil)), "{", `{"_rid":"x","_self":"y",`, 1)
			v, err := tree.ParseJSON("c.json", []byte(text))
			if err == nil {
				err = v.Decode(new(Container))
			}
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// marks returns the etags and timestamps of everything on the server as one string. It changes with every
// write.
func (w *testStoreAndQueues) marks() string {
	w.t.Helper()
	text := ""
	for _, d := range w.db.Databases() {
		text += d.ETag() + " "
		for _, c := range d.Containers() {
			i := c.Info()
			text += fmt.Sprint(i.ETag, i.Timestamp, " ")
			page, _, err := c.List(w.t.Context(), store.ListOptions{})
			if err != nil {
				w.t.Fatal(err)
			}
			for _, item := range page.Items {
				text += fmt.Sprint(item.ETag(), item.Timestamp(), " ")
			}
			for _, k := range []store.ResourceKind{store.KindStoredProcedure, store.KindTrigger,
				store.KindFunction} {
				for _, r := range c.Resources(k).List() {
					text += r.ETag + " "
				}
			}
		}
	}
	for _, o := range w.db.Offers() {
		text += o.ETag + " "
	}
	return text
}

// TestApplyChangedSeed applies a changed seed: definitions change to match it, existing documents stay
// unchanged, deleted documents are created again, and members that the seed does not contain stay unchanged.
func TestApplyChangedSeed(t *testing.T) {
	const before = `
databases:
  - id: db
    throughput: 400
    containers:
      - id: c
        partitionKey: /pk
        defaultTtl: 60
        storedProcedures: [{id: p, body: "function () {}"}]
        settings: {ttlCeiling: true, autoDeleteOnIdle: 600}
        documents: [{id: a, pk: x, v: 1}, {id: b, pk: x}]
queues: [{name: q, maxDeliveryCount: 3, lockDuration: 10s}]
`
	w := newTestServer(t)
	w.must(text(t, before))
	c := w.container("db", "c")
	key := definition.NewPartitionKey(jsondoc.StringValue("x"))
	changed := []byte(`{"id":"a","pk":"x","v":2}`)
	if _, _, err := c.Upsert(t.Context(), key, changed, store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), key, "b", store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	r := w.must(text(t, `
databases:
  - id: db
    throughput: {maxThroughput: 4000}
    containers:
      - id: c
        partitionKey: /pk
        indexingPolicy: {excludedPaths: [{path: /big/*}]}
        storedProcedures: [{id: p, body: "function () { return 1; }"}]
        settings: {autoDeleteOnIdle: null}
        documents: [{id: a, pk: x, v: 3}, {id: b, pk: x}]
queues: [{name: q, maxDeliveryCount: 5}]
`))
	if r != (ApplyReport{Changed: 4, Documents: 1}) {
		t.Errorf("%+v", r)
	}
	c = w.container("db", "c")
	if s := c.Settings(); !s.TTLCeiling || s.AutoDeleteOnIdle != 0 || c.Info().Spec.DefaultTTL != 60 {
		t.Errorf("%+v %+v", s, c.Info().Spec)
	}
	if a, err := w.read(c, "x", "a"); err != nil || jsondoc.Of(a.Body()).Member("v").Num() != 2 {
		t.Errorf("%s %v", a.Body(), err)
	}
	if e, err := w.queues.Get(t.Context(), "q"); err != nil || e.Properties.MaxDeliveryCount != 5 ||
		e.Properties.LockDuration != 10*time.Second {
		t.Errorf("%+v %v", e, err)
	}
}

func text(t *testing.T, yaml string) *Seed {
	t.Helper()
	s, err := OpenFS(fstest.MapFS{"s.yaml": &fstest.MapFile{Data: []byte(yaml)}}, "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestApplyIsAtomic checks that the server has its previous state if applying a seed fails midway.
func TestApplyIsAtomic(t *testing.T) {
	w := newTestServer(t)
	w.must(text(t, "databases: [{id: db, containers: [\n"+
		"{id: c, partitionKey: /pk, documents: [{id: a, pk: x}]}]}]"))
	etag := regexp.MustCompile(`"[^"]*"`) // going back to a snapshot makes other ones
	mark := etag.ReplaceAllString(w.marks(), "")
	for _, lines := range blocks(t, "testdata/refused.txt") {
		seed, want := strings.Join(lines[:len(lines)-1], "\n"), lines[len(lines)-1][2:]
		_, err := w.plant(text(t, seed))
		var placed *tree.ErrorAtFilePosition
		if !errors.As(err, &placed) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, not %s", seed, err, want)
		}
		if again := etag.ReplaceAllString(w.marks(), ""); again != mark {
			t.Errorf("%s: something is left: %s, not %s", seed, again, mark)
		}
		if _, err := w.queues.Get(t.Context(), "q"); err == nil {
			t.Errorf("%s: a queue is left", seed)
		}
	}
	if list, err := w.db.Snapshots(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("snapshots are left: %v %v", list, err)
	}
}

// TestSeedErrors changes one text in a valid seed, and checks the error for each such mistake: its file,
// line and column, and its message, which may suggest what was meant.
func TestSeedErrors(t *testing.T) {
	for _, lines := range blocks(t, "testdata/mistakes.txt") {
		file, old, new, want := lines[0], lines[1][2:], lines[2][2:], lines[3][2:]
		old, new = strings.ReplaceAll(old, `\n`, "\n"), strings.ReplaceAll(new, `\n`, "\n")
		files := fstest.MapFS{}
		if err := copyFiles(files); err != nil {
			t.Fatal(err)
		}
		have := string(files[file].Data)
		if !strings.Contains(have, old) {
			t.Fatalf("%s has no %q", file, old)
		}
		files[file] = &fstest.MapFile{Data: []byte(strings.Replace(have, old, new, 1))}
		_, err := OpenFS(files, ".")
		var placed *tree.ErrorAtFilePosition
		if !errors.As(err, &placed) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %q: %v\nnot %s", file, new, err, want)
		}
	}
}

// blocks splits a file at its empty lines and returns the lines of each block, without the first block,
// which is a comment.
func blocks(t *testing.T, name string) (list [][]string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n")[1:] {
		list = append(list, strings.Split(block, "\n"))
	}
	return list
}

func copyFiles(to fstest.MapFS) error {
	const root = "testdata/shop"
	return filepath.Walk(root, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, name)
		to[filepath.ToSlash(rel)] = &fstest.MapFile{Data: data}
		return err
	})
}

// TestFilesInWrongFolder checks that seed files in the wrong folder are refused, and that files which do not
// belong to a seed, such as a README.md, are ignored.
func TestFilesInWrongFolder(t *testing.T) {
	container := &fstest.MapFile{Data: []byte("partitionKey: /pk")}
	value, other := &fstest.MapFile{Data: []byte(`{"id":"a","pk":"x"}`)}, &fstest.MapFile{Data: []byte("{")}
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"others": {fstest.MapFS{"db/c/container.yml": container, "db/c/a.json": value,
			"db/c/README.md": other, "README.md": other, "scripts/a.js": other,
			".git/x.json": other, "db/c/.x.json": other}, ""},
		"nothing":      {fstest.MapFS{"README.md": other}, ".: there is no seed here"},
		"no container": {fstest.MapFS{"db/c/a.json": value}, "db/c: there is no container.yaml here"},
		"too many": {fstest.MapFS{"db/c/container.yml": container, "db/c/container.json": value},
			"db/c/container.yml: there is a container.json, too"},
		"stray": {fstest.MapFS{"db/c/container.yml": container, "db/a.json": value},
			"db/a.json: the folder of a database must contain only"},
		"nested": {fstest.MapFS{"db/c/container.yml": container, "db/c/procedures/old/a.ndjson": value},
			"db/c/procedures/old/a.ndjson: documents must be directly in the folder of the container"},
	} {
		s, err := OpenFS(c.files, ".")
		if c.want == "" {
			if err != nil || s.Count() != (ObjectCounts{1, 1, 1, 0}) {
				t.Errorf("%s: %v", name, err)
			}
		} else if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, not %s", name, err, c.want)
		}
	}
	if _, err := Open("testdata/none"); err == nil {
		t.Error("a seed that is not there was read")
	}
	if s, err := Open("testdata/shop/one.yaml"); err != nil || s.Count().Documents != 1 {
		t.Error(err)
	}
}

// TestExpiredSeedDocument checks that a document of a seed expires according to its age in the seed, and that
// applying the seed again creates the expired document again, with the same age.
func TestExpiredSeedDocument(t *testing.T) {
	w := newTestServer(t)
	const seed = `databases: [{id: db, containers: [{id: c, partitionKey: /pk, defaultTtl: 60, documents: [
  {id: a, pk: x, _mayfly: {age: 50s}}]}]}]`
	w.must(text(t, seed))
	w.clock.Advance(20 * time.Second)
	if _, err := w.read(w.container("db", "c"), "x", "a"); fault.ErrorCode(err) != fault.CodeNotFound {
		t.Error(err)
	}
	if r := w.must(text(t, seed)); r.Documents != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := w.read(w.container("db", "c"), "x", "a"); err != nil {
		t.Error(err)
	}
}
