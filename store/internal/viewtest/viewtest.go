package viewtest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// Now is the second of the container's clock at which the state is read.
const Now = 1_000_000

// Container is a container of one range, with the unique key /code. Its partition key is /pk.
type Container struct {
	t      *testing.T
	State  *view.ContainerAtTime
	Engine engine.Engine
}

// New returns an empty container.
func New(t *testing.T, defaultTTL ttl.Seconds) *Container {
	t.Helper()
	spec, _, err := definition.ParseContainerSpec([]byte(`{"id":"c",
		"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
		"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/code"]}]}}`), false)
	if err != nil {
		t.Fatal(err)
	}
	spec.DefaultTTL = defaultTTL
	terms, err := index.NewIndexer(index.IndexingSettings{Policy: spec.Indexing}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := pebble.Open(t.Context(), pebble.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	const cid = 1 << 31
	return &Container{t: t, Engine: e, State: &view.ContainerAtTime{
		Database: "d", Name: "c", Now: Now, Spec: &spec, Terms: terms,
		Policy: &ttl.Policy{Default: defaultTTL},
		Keys:   view.ItemKeyBuilder{CID: cid, Def: spec.PartitionKey, Unique: spec.UniqueKeys},
		Ranges: []view.PartitionRange{{ID: "0", Scope: layout.RangeScope(cid, 0)}},
	}}
}

// Scope returns the prefix of all keys of the container's first partition range.
func (c *Container) Scope() []byte { return c.State.Ranges[0].Scope }

// Put writes an item that is age seconds old at Now, with all its keys, and returns it.
func (c *Container) Put(body string, age int64, own ttl.Seconds) view.DecodedItem {
	c.t.Helper()
	var item view.DecodedItem
	c.Update(func(t engine.Txn) error {
		seq := layout.FirstOf(t.NextLSN(c.Scope()))
		rid := layout.ItemRID(0, seq)
		h := layout.ItemHeader{Sequence: seq, Life: ttl.Lifetime{TS: Now - age, Own: own},
			EPK: definition.AppendEPK(nil, &c.State.Keys.Def, c.State.Keys.Def.Extract([]byte(body)))}
		value := append(h.Append(nil), body...)
		var err error
		if item, err = c.State.Keys.Decode(rid, value); err != nil {
			return err
		}
		t.Set(layout.AppendScopeKey(nil, c.Scope(), layout.FamilyItem, rid), value)
		feed := layout.FeedEntry{RID: rid, Last: seq, TS: h.Life.TS, EPK: h.EPK}
		t.Set(layout.AppendSequenceKey(nil, c.Scope(), layout.FamilyFeed, seq), feed.Append(nil))
		terms, err := view.StoredTerms(t, c.State.Terms, c.Scope(), &item)
		if err != nil {
			return err
		}
		for _, e := range c.Entries(&item) {
			t.Set(e.Key, e.Value)
		}
		for _, e := range terms {
			t.Set(e.Key, e.Value)
		}
		return nil
	})
	return item
}

// Entries returns the keys of an item, as view.ItemKeyBuilder builds them.
func (c *Container) Entries(item *view.DecodedItem) []view.KeyValue {
	var room layout.KeyArena
	return c.State.Keys.AppendEntries(nil, &room, c.Scope(), item)
}

// Update runs a transaction.
func (c *Container) Update(fn func(engine.Txn) error) {
	c.t.Helper()
	if _, err := c.Engine.Update(c.t.Context(), [][]byte{c.Scope()}, fn); err != nil {
		c.t.Fatal(err)
	}
}

// View runs fn over a snapshot.
func (c *Container) View(fn func(engine.Reader) error) {
	c.t.Helper()
	if err := c.Engine.View(c.t.Context(), fn); err != nil {
		c.t.Fatal(err)
	}
}

// Keys returns all keys of the container except those of the engine.
func (c *Container) Keys() (keys [][]byte) {
	c.t.Helper()
	c.View(func(r engine.Reader) error {
		it := r.Scan(layout.ContainerRange(c.State.Keys.CID), false)
		for it.Next() {
			if !bytes.Equal(it.Key(), engine.CeilingKey(c.Scope())) {
				keys = append(keys, slices.Clone(it.Key()))
			}
		}
		return it.Close()
	})
	return keys
}
