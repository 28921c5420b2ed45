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

// TestCatalogOfSeveralStores checks that a store finds what another store has created in the catalog after
// CatchUp.
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

// TestTimeOfSeveralStores checks that a store whose clock is behind gives no write a _ts before that of an
// earlier write by another store.
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

// interferingEngine is an engine that calls functions of a test around the transactions in which a split
// copies items: meddle before each of them except the first, and after when each has ended. nil: no call.
type interferingEngine struct {
	engine.Engine
	engine.Getter
	meddle func()
	after  func()
	calls  int
}

func (m *interferingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	if len(scopes[0]) > layout.ScopeLen { // a mover's own
		if m.calls++; m.calls > 1 && m.meddle != nil {
			m.meddle()
		}
	}
	at, err := m.Engine.Update(ctx, scopes, fn, ahead...)
	if after := m.after; len(scopes[0]) > layout.ScopeLen && after != nil {
		after()
	}
	return at, err
}

// TestSplitOfSeveralStores checks that no other store writes to a range that is being split, and that a
// store that is opened meanwhile undoes the split, which then starts again.
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
	for _, x := range []*testStore{a, b} {
		x.expect("SELECT VALUE COUNT(1) FROM c", other)
		if got := x.rangeIDs(); len(got) != 2 {
			t.Errorf("ranges %v", got)
		}
	}
	if m.meddle != nil {
		t.Error("nobody has meddled")
	}
}

// TestSplitUndoneBeforeItSwitches checks that a store that is opened after a split has copied everything,
// but before it switches to the halves, undoes the split, and may then split the range itself.
func TestSplitUndoneBeforeItSwitches(t *testing.T) {
	for _, splits := range []bool{false, true} {
		for n, met := 1, true; met; n++ {
			met = false
			var m *interferingEngine
			a, b := newServersOver(t, "", 1, func(e engine.Engine) engine.Engine {
				m = &interferingEngine{Engine: e, Getter: e.(engine.Getter)}
				return m
			})
			a.fill(300, 100)
			m.after = func() {
				if m.calls != n {
					return
				}
				met = true
				third := a.another(a.clock)
				if splits {
					third.split("0", "")
				}
				if err := third.db.Close(); err != nil {
					t.Error(err)
				}
			}
			_, err := a.c.Split(a.ctx, "0", "")
			if gone := is(err, fault.CodeRangeGone); gone != (splits && met) || err != nil && !gone {
				t.Errorf("undone after step %d, split by the other %t: %v", n, splits, err)
			}
			for _, x := range []*testStore{a, b} {
				x.expect("SELECT VALUE COUNT(1) FROM c", "300")
				if got := x.rangeIDs(); len(got) != 2 {
					t.Errorf("undone after step %d, split by the other %t: ranges %v", n, splits, got)
				}
			}
		}
	}
}

// catalogConflictEngine is an engine that calls the function first, once, before the first transaction that
// changes the catalog. In this function another store changes the catalog, so that the two conflict.
type catalogConflictEngine struct {
	engine.Engine
	engine.Getter
	first func()
}

func (m *catalogConflictEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	if first := m.first; len(scopes) > 1 && first != nil {
		m.first = nil
		first()
	}
	return m.Engine.Update(ctx, scopes, fn, ahead...)
}

// TestOpenBesideCatalogChange checks that Open can undo a split while another store changes the
// catalog.
func TestOpenBesideCatalogChange(t *testing.T) {
	var m *interferingEngine
	a, b := newServersOver(t, "", 1, func(e engine.Engine) engine.Engine {
		m = &interferingEngine{Engine: e, Getter: e.(engine.Getter)}
		return m
	})
	a.fill(300, 100)
	opened := false
	m.after = func() {
		m.after = nil
		handle := a.shared.Handle()
		e := &catalogConflictEngine{Engine: handle, Getter: handle.(engine.Getter), first: func() {
			opened = true
			if _, err := b.db.CreateDatabase(b.ctx, "meanwhile", definition.Throughput{}); err != nil {
				t.Error(err)
			}
		}}
		third, err := store.Open(a.ctx, e, store.Options{Clock: a.clock, ManualReaper: true})
		if err != nil {
			t.Errorf("it cannot be opened: %v", err)
			return
		}
		if _, err := third.Database("meanwhile"); err != nil {
			t.Error(err)
		}
		if err := third.Close(); err != nil {
			t.Error(err)
		}
	}
	a.split("0", "")
	a.expect("SELECT VALUE COUNT(1) FROM c", "300")
	if !opened {
		t.Error("the catalog was not changed meanwhile")
	}
}

// viewHookEngine is an engine that calls a function after each View.
type viewHookEngine struct {
	engine.Engine
	engine.Getter
	after func()
}

func (m *viewHookEngine) View(ctx context.Context, fn func(engine.Reader) error) error {
	err := m.Engine.View(ctx, fn)
	if after := m.after; after != nil {
		after()
	}
	return err
}

// TestSplitsOfOneRangeByTwoStores checks that if two stores split one range, one of them fails with
// CodeRangeGone, at whichever step the other one does it.
func TestSplitsOfOneRangeByTwoStores(t *testing.T) {
	for n, met := 1, true; met; n++ {
		met = false
		var m *viewHookEngine
		a, b := newServersOver(t, "", 1, func(e engine.Engine) engine.Engine {
			m = &viewHookEngine{Engine: e, Getter: e.(engine.Getter)}
			return m
		})
		a.fill(100, 50)
		views, refused := 0, false
		m.after = func() {
			if views++; views != n {
				return
			}
			met = true
			_, err := b.c.Split(b.ctx, "0", "")
			if refused = is(err, fault.CodeUnavailable) || is(err, fault.CodeRangeGone); err != nil && !refused {
				t.Errorf("after view %d: the other: %v", n, err)
			}
		}
		_, err := a.c.Split(a.ctx, "0", "")
		m.after = nil
		if gone := is(err, fault.CodeRangeGone); gone != (met && !refused) || err != nil && !gone {
			t.Errorf("after view %d, the other refused %t: %v", n, refused, err)
		}
		a.expect("SELECT VALUE COUNT(1) FROM c", "100")
		if got := a.rangeIDs(); len(got) != 2 {
			t.Errorf("after view %d: ranges %v", n, got)
		}
	}
}
