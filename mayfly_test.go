package mayfly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a store in memory whose clock stands still until it is moved, with a container. At the end of
// the test it checks the data for consistency.
func open(t *testing.T, opts ...mayfly.ContainerOption) (*mayfly.DB, *mayfly.Container, *mayfly.Clock) {
	t.Helper()
	db, c, clock := sessions(opts...)
	t.Cleanup(func() {
		if err := db.Store().Check(context.Background(), func(err error) bool { t.Error(err); return true }); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, c, clock
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ids(t *testing.T, c *mayfly.Container, opts ...mayfly.QueryOption) string {
	t.Helper()
	var list []string
	for d, err := range c.Documents(t.Context(), opts...) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d.ID)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestPartitionKeys reads documents by partition keys of every supported type, and checks that keys of
// other types are rejected.
func TestPartitionKeys(t *testing.T) {
	db, _, _ := open(t)
	c := must(db.Container(t.Context(), "app/keys", mayfly.PartitionBy("/k")))
	type name string
	for id, k := range map[string]struct {
		key mayfly.PartitionKey
		doc string
	}{
		"string":    {"a<b", `"a<b"`},
		"named":     {name("n"), `"n"`},
		"int":       {7, `7`},
		"unsigned":  {uint8(8), `8`},
		"float":     {1.5, `1.5`},
		"float32":   {float32(2.5), `2.5`},
		"number":    {json.Number("3"), `3`},
		"bool":      {true, `true`},
		"null":      {nil, `null`},
		"one level": {mayfly.HierarchicalKey{"z"}, `"z"`},
	} {
		text := fmt.Sprintf(`{"id": %q, "k": %s}`, id, k.doc)
		if _, err := c.Create(t.Context(), []byte(text)); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if d, err := c.Read(t.Context(), k.key, id); err != nil || d.ID != id {
			t.Errorf("%s: %q, %v", id, d.ID, err)
		}
	}
	must(c.Create(t.Context(), []byte(`{"id": "none"}`)))
	if _, err := c.Read(t.Context(), mayfly.NonePartitionKey{}, "none"); err != nil {
		t.Error(err)
	}
	for _, bad := range []any{[]string{"a"}, struct{}{}, map[string]int{}, func() {}, make(chan int)} {
		if _, err := c.Read(t.Context(), bad, "x"); !errors.Is(err, mayfly.ErrBadRequest) {
			t.Errorf("%T: %v", bad, err)
		}
	}
}

func TestHierarchicalPartitionKeys(t *testing.T) {
	db, _, _ := open(t)
	c := must(db.Container(t.Context(), "app/levels", mayfly.PartitionBy("/tenant", "/user")))
	for _, k := range [][2]string{{"t1", "ada"}, {"t1", "bob"}, {"t2", "ada"}} {
		must(c.Create(t.Context(), map[string]any{"id": k[0] + k[1], "tenant": k[0], "user": k[1]}))
	}
	if got := ids(t, c, mayfly.In(mayfly.HierarchicalKey{"t1"})); got != "t1ada t1bob" {
		t.Errorf("of t1: %s", got)
	}
	if _, err := c.Read(t.Context(), mayfly.HierarchicalKey{"t2", "ada"}, "t2ada"); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(t.Context(), "t2", "t2ada"); !errors.Is(err, mayfly.ErrBadRequest) {
		t.Errorf("a key of one level for a read: %v", err)
	}
}

// TestErrors checks which exported error errors.Is finds in the error of each kind of failure.
func TestErrors(t *testing.T) {
	db, c, _ := open(t, mayfly.Unique("/page"))
	first := must(c.Create(t.Context(), Session{ID: "a", User: "ada", Page: "/"}))
	must(c.Upsert(t.Context(), first)) // a Document is a document
	for what, want := range map[string]struct{ err, is error }{
		"the same id": {second(c.Create(t.Context(), Session{ID: "a", User: "ada", Page: "/b"})), mayfly.ErrConflict},
		"unique":      {second(c.Create(t.Context(), Session{ID: "b", User: "ada", Page: "/"})), mayfly.ErrConflict},
		"etag": {second(c.Replace(t.Context(), Session{ID: "a", User: "ada"}, mayfly.IfMatch(first.ETag))),
			mayfly.ErrPreconditionFailed},
		"no document":  {second(c.Read(t.Context(), "bob", "a")), mayfly.ErrNotFound},
		"replace none": {second(c.Replace(t.Context(), Session{ID: "x", User: "ada"})), mayfly.ErrNotFound},
		"delete none":  {c.Delete(t.Context(), "ada", "x"), mayfly.ErrNotFound},
		"no object":    {second(c.Create(t.Context(), 7)), mayfly.ErrBadRequest},
		"no id":        {second(c.Create(t.Context(), map[string]string{"user": "ada"})), mayfly.ErrBadRequest},
		"no JSON":      {second(c.Replace(t.Context(), []byte(`{"id":`))), mayfly.ErrBadRequest},
		"a channel":    {second(c.Create(t.Context(), make(chan int))), mayfly.ErrBadRequest},
		"half seconds": {second(c.Create(t.Context(), Session{ID: "y", User: "ada"}, mayfly.TTL(1500*time.Millisecond))), mayfly.ErrBadRequest},
		"query":        {second(mayfly.One[int](t.Context(), c, "SELECT")), mayfly.ErrBadRequest},
		"no rows":      {second(mayfly.One[Session](t.Context(), c, "SELECT * FROM c WHERE false")), mayfly.ErrNotFound},
		"large":        {second(c.Create(t.Context(), Session{ID: "l", User: "ada", Page: strings.Repeat("x", 3<<20)})), mayfly.ErrTooLarge},
		"other paths":  {second(db.Container(t.Context(), "app/sessions", mayfly.PartitionBy("/page"))), mayfly.ErrConflict},
		"a bad path":   {second(db.Container(t.Context(), "app")), mayfly.ErrBadRequest},
		"no container": {db.DropContainer(t.Context(), "app/none"), mayfly.ErrNotFound},
		"no snapshot":  {db.Restore(t.Context(), "none"), mayfly.ErrNotFound},
		"no log":       {lastOf(c.Expirations(t.Context(), "")), mayfly.ErrBadRequest},
		"no versions":  {lastOf(c.Changes(t.Context(), "", mayfly.AllVersions())), mayfly.ErrBadRequest},
		"no position":  {lastOf(c.Changes(t.Context(), "?")), mayfly.ErrBadRequest},
	} {
		if !errors.Is(want.err, want.is) {
			t.Errorf("%s: %v, want %v", what, want.err, want.is)
		}
		var e *fault.Error
		if !errors.As(want.err, &e) {
			t.Errorf("%s: %T is no *fault.Error", what, want.err)
		}
	}
	if errors.Is(first.Decode(new(int)), mayfly.ErrNotFound) {
		t.Error("an error of another package is one of the store's")
	}
}

func second[T any](_ T, err error) error { return err }

func lastOf[T any](seq func(func(T, error) bool)) (last error) {
	for _, err := range seq {
		last = err
	}
	return last
}

// TestContainerAfterRestoreOrRecreation checks that a Container value stays usable after a Restore, and if
// its container is recreated.
func TestContainerAfterRestoreOrRecreation(t *testing.T) {
	db, c, _ := open(t)
	must(c.Create(t.Context(), Session{ID: "a", User: "ada"}))
	if err := db.Snapshot(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	must(c.Create(t.Context(), Session{ID: "b", User: "ada"}))
	if err := db.Restore(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, c); got != "a" {
		t.Errorf("after a restore: %s", got)
	}
	must(c.Create(t.Context(), Session{ID: "c", User: "ada"}))
	if err := c.SetDefaultTTL(t.Context(), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := db.DropContainer(t.Context(), c.Path()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context(), "ada", "a"); !errors.Is(err, mayfly.ErrNotFound) {
		t.Errorf("after the drop: %v", err)
	}
	must(db.Container(t.Context(), c.Path(), mayfly.PartitionBy("/user")))
	must(c.Create(t.Context(), Session{ID: "d", User: "ada"}))
	if got := ids(t, c); got != "d" {
		t.Errorf("in the one that was made again: %s", got)
	}
	if got := db.Containers(); !slices.Equal(got, []string{"app/sessions"}) {
		t.Errorf("containers: %q", got)
	}
}

// TestRestoreUnderTraffic checks that writes and queries interrupted by a Restore are retried internally.
func TestRestoreUnderTraffic(t *testing.T) {
	db, c, _ := open(t)
	if err := db.Snapshot(t.Context(), "empty"); err != nil {
		t.Fatal(err)
	}
	const rounds, restores = 100, 5
	told := make(chan error)
	go func() {
		defer close(told)
		for i := range rounds {
			_, err := c.Upsert(context.Background(), Session{ID: fmt.Sprint(i), User: "ada"})
			if err == nil {
				_, err = mayfly.One[int](context.Background(), c, "SELECT VALUE COUNT(1) FROM c")
			}
			told <- err
		}
	}()
	// Each round's write and query begin together with the first restore; who restores without a pause
	// only lets them wait.
	for range rounds {
		for range restores {
			if err := db.Restore(t.Context(), "empty"); err != nil {
				t.Error(err)
			}
		}
		if err := <-told; err != nil {
			t.Error(err)
		}
	}
	<-told
}

func TestOpenDataFolder(t *testing.T) {
	t.Parallel() // it waits for the lock of its folder
	dir := t.TempDir()
	for want := range 2 {
		db := must(mayfly.Open(dir))
		c := must(db.Container(t.Context(), "app/c"))
		n := must(mayfly.One[int](t.Context(), c, "SELECT VALUE COUNT(1) FROM c"))
		if n != want {
			t.Errorf("%d documents, want %d", n, want)
		}
		must(c.Create(t.Context(), map[string]string{"id": fmt.Sprint(n)}))
		if _, err := mayfly.Open(dir); err == nil {
			t.Error("a folder was opened twice")
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Read(t.Context(), "0", "0"); !errors.Is(err, mayfly.ErrUnavailable) {
			t.Errorf("after Close: %v", err)
		}
	}
	if _, err := mayfly.Open(""); !errors.Is(err, mayfly.ErrBadRequest) {
		t.Errorf("no folder: %v", err)
	}
}

// TestFollow checks that loops with the option Follow get entries that are added while they run, and end
// when the context ends.
func TestFollow(t *testing.T) {
	db, c, clock := open(t, mayfly.LogExpirations(time.Hour), mayfly.KeepVersions(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	told, end := make(chan string), must(c.End(ctx, mayfly.AllVersions()))
	go func() {
		defer close(told)
		for ch, err := range c.Changes(ctx, end, mayfly.AllVersions(), mayfly.Follow()) {
			if err != nil {
				told <- fmt.Sprint(errors.Is(err, mayfly.ErrCanceled), errors.Is(err, context.Canceled))
				return
			}
			told <- fmt.Sprint(ch.Kind, ch.Document.ID)
		}
	}()
	died := make(chan string)
	go func() {
		defer close(died)
		for e, err := range c.Expirations(ctx, "", mayfly.Follow()) {
			if err == nil {
				died <- e.Document.ID
			}
		}
	}()
	hear := func(from <-chan string, want string) {
		t.Helper()
		if got := <-from; got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	}
	must(c.Create(t.Context(), Session{ID: "s", User: "ada"}))
	hear(told, fmt.Sprint(mayfly.Created, "s"))
	must(c.Upsert(t.Context(), Session{ID: "s", User: "ada"}))
	hear(told, fmt.Sprint(mayfly.Replaced, "s"))
	clock.Advance(time.Hour)
	must(db.Sweep(t.Context()))
	hear(died, "s")
	hear(told, fmt.Sprint(mayfly.Expired, "s"))
	cancel()
	hear(told, "true true")
	<-died
}

// TestLeaseAndWaitExpired checks Lease, which prevents a document's expiry for some time, and WaitExpired.
func TestLeaseAndWaitExpired(t *testing.T) {
	db, c, clock := open(t)
	must(c.Create(t.Context(), Session{ID: "s", User: "ada"}))
	until := must(c.Lease(t.Context(), "ada", "s", time.Hour))
	if until.Sub(db.Now()) != time.Hour {
		t.Errorf("a lease of an hour ends at %v", until)
	}
	if _, err := c.Lease(t.Context(), "ada", "s", mayfly.Forever); !errors.Is(err, mayfly.ErrBadRequest) {
		t.Errorf("a lease for ever: %v", err)
	}
	clock.Advance(time.Hour - time.Second)
	must(c.Read(t.Context(), "ada", "s"))
	clock.Advance(time.Second)
	if err := c.WaitExpired(t.Context(), "ada", "s"); err != nil {
		t.Error(err)
	}
	if must(c.Store(context.Background())).ID() != "sessions" {
		t.Error("Store returns another container")
	}
}

// TestOptions checks the effect of several options of stores, containers, queries and change feeds.
func TestOptions(t *testing.T) {
	var logged strings.Builder
	clock := mayfly.NewClock(newYear)
	db := must(mayfly.OpenMemory(mayfly.WithClock(clock), mayfly.WithLogger(slog.New(slog.NewTextHandler(&logged, nil))),
		mayfly.WithOptions(func(o *store.Options) { o.Ranges = 3 })))
	defer db.Close()
	composite := func(s *definition.ContainerSpec) {
		s.Indexing.Composite = [][]index.CompositePathSpec{{{Path: "/a"}, {Path: "/b"}}}
	}
	c := must(db.Container(t.Context(), "app/c", mayfly.PartitionBy("/k"), mayfly.Spec(composite)))
	if n := len(must(c.Store(context.Background())).Ranges().Ranges); n != 3 {
		t.Errorf("%d ranges", n)
	}
	for i := range 10 {
		must(c.Create(t.Context(), map[string]any{"id": fmt.Sprint(i), "k": i % 2, "a": 1, "b": i}))
	}
	n := 0
	for b, err := range mayfly.Query[int](t.Context(), c, "SELECT VALUE c.b FROM c ORDER BY c.a, c.b", mayfly.PageSize(3)) {
		if err != nil || b != n {
			t.Fatalf("%d, %v; want %d", b, err, n)
		}
		n++
	}
	seen := 0
	for ch, err := range c.Changes(t.Context(), "", mayfly.Of(1)) {
		if err != nil {
			t.Fatal(err)
		}
		var d struct{ K int }
		if err := ch.Document.Decode(&d); err != nil || d.K != 1 {
			t.Errorf("of another partition: %+v, %v", d, err)
		}
		seen++
	}
	if seen != 5 {
		t.Errorf("%d changes", seen)
	}
	if err := db.Snapshot(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	if err := db.DeleteSnapshot(t.Context(), "s"); err != nil {
		t.Error(err)
	}
}

// TestTransact checks upserts, replaces, queries and conditional deletes in a transaction.
func TestTransact(t *testing.T) {
	_, c, _ := open(t)
	err := c.Transact(t.Context(), "ada", func(tx *mayfly.Tx) error {
		must(tx.Upsert(Session{ID: "a", User: "ada"}))
		d := must(tx.Replace(Session{ID: "a", User: "ada", Page: "/"}))
		if _, err := tx.Replace(Session{ID: "a", User: "ada"}, mayfly.IfMatch("\"other\"")); !errors.Is(err, mayfly.ErrPreconditionFailed) {
			t.Errorf("another etag: %v", err)
		}
		for s, err := range mayfly.QueryIn[Session](tx, "SELECT * FROM c") {
			if err != nil || s.Page != "/" {
				t.Errorf("%+v, %v", s, err)
			}
		}
		if err := lastOf(mayfly.QueryIn[Session](tx, "SELECT * FROM c", mayfly.In("bob"))); !errors.Is(err, mayfly.ErrBadRequest) {
			t.Errorf("a query elsewhere: %v", err)
		}
		if _, err := tx.Create(Session{ID: "b", User: "bob"}); !errors.Is(err, mayfly.ErrBadRequest) {
			t.Errorf("a document elsewhere: %v", err)
		}
		return tx.Delete("a", mayfly.IfMatch(d.ETag))
	})
	if err != nil || ids(t, c) != "" {
		t.Errorf("%q are left, %v", ids(t, c), err)
	}
}
