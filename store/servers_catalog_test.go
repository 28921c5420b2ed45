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
)

// movedCatalog is an engine over which another store changes the catalog before every second transaction on
// it.
type movedCatalog struct {
	engine.Engine
	engine.Getter
	n      int
	before func()
}

func (m *movedCatalog) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.ScopePosition, error) {
	catalog := slices.ContainsFunc(scopes, func(s []byte) bool { return bytes.Equal(s, host.CatalogScope()) })
	if catalog && m.before != nil {
		if m.n++; m.n%2 == 1 {
			m.before()
		}
	}
	return m.Engine.Update(ctx, scopes, fn, ahead...)
}

// A change of the catalog succeeds if another store changes the catalog at the same time.
func TestCatalogChangesOfSeveralStores(t *testing.T) {
	t.Parallel()
	var m *movedCatalog
	a, b := newServersOver(t, `"defaultTtl":-1`, 1, func(e engine.Engine) engine.Engine {
		m = &movedCatalog{Engine: e, Getter: e.(engine.Getter)}
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
			_, err := a.db.ReplaceOffer(ctx, offers[len(offers)-1].ID, definition.Throughput{Manual: 800}, false, o)
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
		{"replace function", func() error { _, err := functions.Replace(ctx, "f", body("f"), o); return err }},
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
