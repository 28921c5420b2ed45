package store_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// catalogChangingEngine is an engine for tests of concurrent changes of the catalog. It calls the function
// before, in which the test lets another store change the catalog, ahead of every second transaction on the
// catalog.
type catalogChangingEngine struct {
	engine.Engine
	engine.Getter
	n      int
	before func()
}

func (m *catalogChangingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	catalog := slices.ContainsFunc(scopes, func(s []byte) bool { return bytes.Equal(s, host.CatalogScope()) })
	if catalog && m.before != nil {
		if m.n++; m.n%2 == 1 {
			m.before()
		}
	}
	return m.Engine.Update(ctx, scopes, fn, ahead...)
}

// TestCatalogChangesOfSeveralStores checks that a change of the catalog succeeds while another store
// changes it at the same time.
func TestCatalogChangesOfSeveralStores(t *testing.T) {
	t.Parallel()
	var m *catalogChangingEngine
	a, b := newServersOver(t, `"defaultTtl":-1`, 1, func(e engine.Engine) engine.Engine {
		m = &catalogChangingEngine{Engine: e, Getter: e.(engine.Getter)}
		return m
	})
	a.fill(20, 20)
	d, err := a.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	ctx, functions := a.ctx, a.c.Resources(store.KindFunction)
	body := func(id string) []byte { return fmt.Appendf(nil, `{"id":%q,"body":"function () {}"}`, id) }
	second := specOf(t, "")
	second.ID = "second"
	var o store.WriteOptions
	for _, change := range []struct {
		name string
		run  func() error
	}{
		{"create database", func() error {
			_, err := a.db.CreateDatabase(ctx, "new", definition.Throughput{Manual: 400})
			return err
		}},
		{"replace offer", func() error {
			offers := a.db.Offers()
			_, err := a.db.ReplaceOffer(ctx, offers[len(offers)-1].ID, definition.Throughput{Manual: 800},
				false, o)
			return err
		}},
		{"delete database", func() error { return a.db.DeleteDatabase(ctx, "new", o) }},
		{"create container", func() error {
			_, err := d.CreateContainer(ctx, second, definition.Throughput{})
			return err
		}},
		{"replace container", func() error {
			_, err := d.ReplaceContainer(ctx, "second", second, o)
			return err
		}},
		{"delete container", func() error { return d.DeleteContainer(ctx, "second", o) }},
		{"settings", func() error {
			_, err := a.c.ChangeSettings(ctx, func(*definition.ContainerSettings) error { return nil })
			return err
		}},
		{"create function", func() error { _, err := functions.Create(ctx, body("f")); return err }},
		{"upsert function", func() error { _, _, err := functions.Upsert(ctx, body("f"), o); return err }},
		{"replace function", func() error {
			_, err := functions.Replace(ctx, "f", body("f"),
				o)
			return err
		}},
		{"delete function", func() error { return functions.Delete(ctx, "f", o) }},
		{"split", func() error { _, err := a.c.Split(ctx, "0", ""); return err }},
	} {
		m.n, m.before = 0, func() {
			id := fmt.Sprint(change.name, m.n)
			if _, err := b.db.CreateDatabase(b.ctx, id, definition.Throughput{}); err != nil {
				t.Error(err)
			}
		}
		if err := change.run(); err != nil || m.n < 2 {
			t.Errorf("%s in %d transactions on the catalog: %v", change.name, m.n, err)
		}
		m.before = nil
	}
}

// TestSessionOfARecreatedContainer checks that a request with the session token of a container that
// another store has created in place of a deleted one fails with CodeOwnerNotFound, so that its caller
// looks up the new container.
func TestSessionOfARecreatedContainer(t *testing.T) {
	t.Parallel()
	a, b := newServers(t, "", 1)
	key := pk("p")
	a.put(`{"id":"1","pk":"p"}`)
	d, err := a.db.Database("db")
	if err == nil {
		err = d.DeleteContainer(a.ctx, "c", store.WriteOptions{})
	}
	if err == nil {
		_, err = d.CreateContainer(a.ctx, specOf(t, ""), definition.Throughput{})
	}
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := a.lookUp().Upsert(a.ctx, key, []byte(`{"id":"1","pk":"p"}`), store.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	session := []store.SessionTokenEntry{{Range: r.Range, LSN: r.LSN, Version: a.c.SessionVersion()}}
	_, _, err = b.c.Read(b.ctx, key, "1", store.ReadOptions{Session: session})
	if !is(err, fault.CodeOwnerNotFound) {
		t.Errorf("a read: %v", err)
	}
	_, _, err = b.c.Query(b.ctx, store.QueryRequest{Text: "SELECT * FROM c",
		ListOptions: store.ListOptions{Session: session}})
	if !is(err, fault.CodeOwnerNotFound) {
		t.Errorf("a query: %v", err)
	}
	if err := b.db.CatchUp(b.ctx); err != nil {
		t.Fatal(err)
	}
	if _, _, err = b.lookUp().Read(b.ctx, key, "1", store.ReadOptions{Session: session}); err != nil {
		t.Errorf("a read of the new one: %v", err)
	}
}

// A batch of independent operations on a container that another store has created anew fails as a whole, so
// that its caller looks for the new container. No operation fails by itself as if its item did not exist.
func TestBatchOfARecreatedContainer(t *testing.T) {
	t.Parallel()
	a, b := newServers(t, "", 1)
	key := pk("p")
	a.put(`{"id":"1","pk":"p"}`)
	d, err := a.db.Database("db")
	if err == nil {
		err = d.DeleteContainer(a.ctx, "c", store.WriteOptions{})
	}
	if err == nil {
		_, err = d.CreateContainer(a.ctx, specOf(t, ""), definition.Throughput{})
	}
	if err != nil {
		t.Fatal(err)
	}
	ops := []store.ItemOperation{{Kind: store.OperationUpsert, Body: []byte(`{"id":"1","pk":"p"}`)},
		{Kind: store.OperationRead, ID: "1"}}
	for _, o := range []store.BatchOptions{{}, {ContinueOnError: true}, {Atomic: true}} {
		if _, _, err := b.c.Batch(b.ctx, key, ops, o); !is(err, fault.CodeOwnerNotFound) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := b.db.CatchUp(b.ctx); err != nil {
		t.Fatal(err)
	}
	out, _, err := b.lookUp().Batch(b.ctx, key, ops, store.BatchOptions{ContinueOnError: true})
	if err != nil || out.Mixed {
		t.Errorf("a batch in the new container: %+v, %v", out, err)
	}
}

// TestDeletedDatabaseOfSeveralStores checks that a database can be deleted after another store on the same
// engine has changed the state of a container in it without changing the catalog.
func TestDeletedDatabaseOfSeveralStores(t *testing.T) {
	t.Parallel()
	a, b := newServers(t, "", 1)
	d, err := a.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	second := specOf(t, "")
	second.ID = "second"
	c, err := d.CreateContainer(a.ctx, second, definition.Throughput{})
	if err == nil {
		err = b.db.CatchUp(b.ctx)
	}
	for _, in := range []*store.Container{c, a.c, a.c} {
		if err == nil {
			_, err = in.DeletePartition(a.ctx, pk("p"))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := b.db.DeleteDatabase(b.ctx, "db", store.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if err := a.db.CatchUp(a.ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := a.db.Database("db"); !is(err, fault.CodeNotFound) {
		t.Errorf("the database is still there: %v", err)
	}
}
