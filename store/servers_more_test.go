package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// What one store defines the other finds, when it looks.
func TestCatalogOfSeveralStores(t *testing.T) {
	t.Parallel()
	a, b := newServers(t, "", 1)
	d, err := a.db.CreateDatabase(a.ctx, "new", definition.Throughput{Manual: 1000})
	if err == nil {
		_, err = d.CreateContainer(a.ctx, specOf(t, ""), definition.Throughput{})
	}
	if err == nil {
		_, err = a.c.Resources(store.KindFunction).Create(a.ctx,
			[]byte(`{"id":"f","body":"function () { return 7 }"}`))
	}
	if err == nil {
		_, err = a.db.ReplaceOffer(a.ctx, a.db.Offers()[0].ID, definition.Throughput{Manual: 1200}, false,
			store.WriteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	a.setDefault("77")
	if _, err := b.db.Database("new"); !is(err, fault.CodeNotFound) {
		t.Errorf("before: %v", err)
	}
	if err := b.db.CatchUp(b.ctx); err != nil {
		t.Fatal(err)
	}
	there, err := b.db.Database("new")
	if err != nil {
		t.Fatal(err)
	}
	was, err := there.Container("c")
	if err != nil || was.RID() == b.c.RID() {
		t.Fatal(err)
	}
	if got := b.db.Offers(); len(got) != 2 || got[0].Throughput.Manual != 1200 ||
		got[1].Throughput.Manual != 1000 {
		t.Errorf("offers: %+v", got)
	}
	if got := b.c.Info(); got.ETag != a.c.Info().ETag || got.Spec.DefaultTTL != 77 {
		t.Errorf("the container is %+v", got)
	}
	b.put(`{"id":"1","pk":"p"}`)
	b.expect("SELECT VALUE udf.f() FROM c", "7")

	// A name is given away and taken again.
	if err := a.db.DeleteDatabase(a.ctx, "new", store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if d, err = a.db.CreateDatabase(a.ctx, "new", definition.Throughput{}); err == nil {
		_, err = d.CreateContainer(a.ctx, specOf(t, ""), definition.Throughput{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := was.Create(b.ctx, pk("p"), []byte(`{"id":"x","pk":"p"}`), store.WriteOptions{}); !is(err,
		fault.CodeOwnerNotFound) {
		t.Errorf("a write to what was dropped: %v", err)
	}
	if _, err := there.Container("c"); !is(err, fault.CodeNotFound) {
		t.Errorf("what was dropped is still found: %v", err)
	}
	if err := b.db.CatchUp(b.ctx); err != nil {
		t.Fatal(err)
	}
	if now, err := b.db.Database("new"); err != nil || now.RID() != d.RID() {
		t.Errorf("the new one: %v", err)
	}
}

// A store whose clock is behind dates no write before one that is stored.
func TestTimeOfSeveralStores(t *testing.T) {
	t.Parallel()
	a, _ := newServers(t, `"defaultTtl":-1`, 1)
	late := a.another(ttl.NewManual(a.clock.Now()))
	defer func() {
		if err := late.db.Close(); err != nil {
			t.Error(err)
		}
	}()
	a.pass(100)
	for i := range 3 {
		first := a.doc(fmt.Sprint("a", i), 0)
		second := late.doc(fmt.Sprint("b", i), 0)
		if first.Timestamp() > second.Timestamp() {
			t.Errorf("written at %d, then at %d", first.Timestamp(), second.Timestamp())
		}
		a.pass(10)
	}
	if late.clock.Now().Add(time.Minute).After(a.clock.Now()) {
		t.Error("the clock is not behind")
	}
}

// interferingEngine is an engine at which something happens before each transaction of a split, but for its
// first.
type interferingEngine struct {
	engine.Engine
	engine.Getter
	meddle func()
	calls  int
}

func (m *interferingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.Position, error) {
	if len(scopes[0]) > layout.ScopeLen { // a mover's own
		if m.calls++; m.calls > 1 && m.meddle != nil {
			m.meddle()
		}
	}
	return m.Engine.Update(ctx, scopes, fn, ahead...)
}

// While one store splits a range the other writes nothing to it, and a store that is opened meanwhile undoes
// the split, which begins anew.
func TestSplitOfSeveralStores(t *testing.T) {
	t.Parallel()
	var m *interferingEngine
	a, b := newServersOver(t, "", 1, func(e engine.Engine) engine.Engine {
		m = &interferingEngine{Engine: e, Getter: e.(engine.Getter)}
		return m
	})
	a.fill(3000, 100)
	other := fmt.Sprint(3000)
	m.meddle = func() {
		if _, _, err := b.c.Create(b.ctx, pk("p"), []byte(`{"id":"new","pk":"p"}`),
			store.WriteOptions{}); !is(err, fault.CodeUnavailable) {
			t.Errorf("a write: %v", err)
		}
		if _, err := b.c.DeletePartition(b.ctx, pk("p")); !is(err, fault.CodeUnavailable) {
			t.Errorf("a tombstone: %v", err)
		}
		if err := b.tryDefault("5"); !is(err, fault.CodeUnavailable) {
			t.Errorf("a change of the container: %v", err)
		}
		b.expect("SELECT VALUE COUNT(1) FROM c", other)
		m.meddle = func() {
			m.meddle = nil
			third := a.another(a.clock)
			if third.doc("new", 0); third.db.Close() != nil {
				t.Error("it cannot be closed")
			}
			other = fmt.Sprint(3001)
		}
	}
	a.split("0", "")
	for _, x := range []*bench{a, b} {
		x.expect("SELECT VALUE COUNT(1) FROM c", other)
		if got := x.rangeIDs(); len(got) != 2 {
			t.Errorf("ranges %v", got)
		}
	}
	if m.meddle != nil {
		t.Error("nobody has meddled")
	}
}
