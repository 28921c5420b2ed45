package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// TestReindexUnderWrites changes indexing policies while writers, the reindexer and IndexNow run, and the
// store is reopened or crashes. It checks that at every moment the indexes that a query may use agree with
// the documents, and in the end all do.
func TestReindexUnderWrites(t *testing.T) {
	t.Parallel()
	for seed := range uint64(racetest.Campaign(3, 1)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			policies := indexPolicies()
			g := newIndexRig(t, seed, 2, false, policies[0])
			g.ids = 400
			for range 300 {
				g.step(g.r, 0, g.ids)
			}
			for round := range racetest.Fewer(6, 3) {
				var writers sync.WaitGroup
				for w := range 3 {
					writers.Go(func() {
						r := rand.New(rand.NewPCG(seed, uint64(100*round+w)))
						for range 120 {
							g.step(r, 130*w, 130*w+130)
						}
					})
				}
				for range 1 + g.r.IntN(2) {
					g.replace(pick(g.r, policies...))
					g.verifyMoment()
				}
				if g.r.IntN(2) == 0 {
					if err := g.db.IndexNow(t.Context()); err != nil {
						t.Error(err)
					}
				}
				writers.Wait()
				g.verifyMoment()
				g.check()
				if crash := g.r.IntN(2) == 0; round%2 == 1 {
					// it has hardly begun when it is cut off
					g.replace(policies[(round+int(seed))%len(policies)])
					g.reopen(crash)
					g.check()
				}
			}
			if err := g.db.IndexNow(t.Context()); err != nil {
				t.Error(err)
			}
			if n := g.c.IndexProgress(); n != 100 || len(g.c.state.Load().Rec.IndexedBy) != 0 {
				t.Errorf("%d %% after the end", n)
			}
			g.check()
			for _, scope := range g.scopes() {
				g.compareSources(scope)
			}
			if err := g.db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// verifyMoment compares the index of every range with the documents, in one snapshot. Writes may be
// running.
func (g *indexConsistencyFixture) verifyMoment() {
	g.t.Helper()
	err := g.c.withSources(context.Background(), KeyOrRange{},
		func(_ *scan.ResolvedKeyOrRange, sources []*scan.DocumentSource,
			_ []*container.Partition) error {
			for _, s := range sources {
				g.verifySource(s)
			}
			return nil
		})
	if err != nil {
		g.t.Error(err)
	}
}

// TestIndexProgress checks that IndexProgress rises from 0 to 100 after a change of the indexing policy,
// and stays at 100 if the change affects no index entries.
func TestIndexProgress(t *testing.T) {
	t.Parallel()
	g := newIndexRig(t, 1, 1, false, `{}`)
	defer g.db.Close()
	g.replace(`{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}`)
	if n := g.c.IndexProgress(); n != 100 {
		t.Errorf("an empty container is at %d %%", n)
	}
	for i := range 200 {
		if _, _, err := g.c.Create(t.Context(), definition.PartitionKey{}, randomDocument(g.r, i),
			WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	g.spec.DefaultTTL = 1000
	g.replace(`{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}`)
	if n := g.c.IndexProgress(); n != 100 {
		t.Errorf("a change of something else leads to %d %%", n)
	}
	g.db.live().reindexer.Turn.Lock() // nobody indexes meanwhile
	g.replace(`{}`)
	last := g.c.IndexProgress()
	if last != 0 {
		t.Errorf("it begins at %d %%", last)
	}
	st := g.c.state.Load()
	for s := st.Ranges[0]; s.Reindexed.Load() != layout.AllReindexed; {
		if same, err := g.c.reindexSome(t.Context(), st, s); !same || err != nil {
			t.Fatal(same, err)
		}
		n := g.c.IndexProgress()
		if n < last || n > 99 {
			t.Errorf("%d %% after %d %%", n, last)
		}
		last = n
		g.check()
	}
	g.db.live().reindexer.Turn.Unlock()
	if last < 90 {
		t.Errorf("%d %% before the end", last)
	}
	for g.c.IndexProgress() != 100 { // the loop, which has been woken, comes to its end by itself
		runtime.Gosched()
	}
	g.check()
}

// TestReindexLargeDocument checks that a document is reindexed even if its old and new index entries do
// not fit into one transaction.
func TestReindexLargeDocument(t *testing.T) {
	t.Parallel()
	g := newIndexRig(t, 1, 1, false, `{"excludedPaths":[{"path":"/other/*"}]}`)
	defer g.db.Close()
	var b strings.Builder
	b.WriteString(`{"id":"large","pk":"p","list":[0`)
	for i := range 70_000 {
		fmt.Fprintf(&b, ",%d", i)
	}
	body := b.String()
	if _, _, err := g.c.Create(t.Context(), definition.PartitionKey{}, []byte(body+`]}`),
		WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	g.replace(`{"includedPaths":[{"path":"/other/*"}],"excludedPaths":[{"path":"/*"}]}`)
	if err := g.db.IndexNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.check()
	g.replace(`{"excludedPaths":[{"path":"/other/*"}]}`)
	if err := g.db.IndexNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.check()
}

// TestShapeLimit checks the limit of recorded shapes (sets of property paths). Documents beyond it are
// stored without a recorded shape, and queries still find them. When the index is built again, shapes can
// be recorded again.
func TestShapeLimit(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	g := newIndexRig(t, 1, 1, false, `{}`)
	g.ids = view.MaxShapes + 200
	put := func(i int) {
		t.Helper()
		body := fmt.Appendf(nil, `{"id":"%d","pk":"p%d","a":1,"only%d":2}`, i, i%4, i)
		if i%3 == 0 {
			body = fmt.Appendf(nil, `{"id":"%d","pk":"p%d","only%d":2}`, i, i%4, i)
		}
		if _, _, err := g.c.Upsert(t.Context(), definition.PartitionKey{}, body, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range view.MaxShapes + 60 {
		put(i)
	}
	g.check()
	g.compareSources(KeyOrRange{})
	for i := 0; i < view.MaxShapes; i += 7 {
		if _, err := g.c.Delete(t.Context(),
			definition.NewPartitionKey(jsondoc.StringValue(fmt.Sprint("p", i%4))), fmt.Sprint(i), WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	g.reopen(false)
	book := &g.c.state.Load().Ranges[0].Shapes
	if _, err := g.c.Delete(t.Context(), definition.NewPartitionKey(jsondoc.StringValue("p1")), "1",
		WriteOptions{}); err != nil || len(book.Known) > 0 {
		t.Errorf("a delete: %v, shapes learned: %d", err, len(book.Known))
	}
	// some of them anew, in the same shape and, with another number, in one without a record
	for i := range 30 {
		put(i)
		put(view.MaxShapes + 100 + i)
	}
	g.check()
	g.compareSources(KeyOrRange{})
	if _, full := g.c.state.Load().Ranges[0].Shapes.LookUp(container.DocumentShapeHash{}); !full {
		t.Error("there is room for more shapes")
	}
	g.replace(`{"indexingMode":"none"}`)
	g.replace(`{"excludedPaths":[{"path":"/*"}],"includedPaths":[{"path":"/a/?"}]}`)
	if err := g.db.IndexNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.check()
	g.compareSources(KeyOrRange{})
	if err := g.db.Close(); err != nil {
		t.Error(err)
	}
}

// TestCheckFindsIndexFaults checks that DB.Check reports a missing index entry, an extra one, and a wrong
// record of a shape (the set of a document's property paths).
func TestCheckFindsIndexFaults(t *testing.T) {
	t.Parallel()
	g := newIndexRig(t, 1, 1, false, `{"compositeIndexes":[[{"path":"/a"},{"path":"/b"}]]}`)
	defer g.db.Close()
	if _, _, err := g.c.Create(t.Context(), definition.PartitionKey{}, []byte(`{"id":"1","pk":"p","a":1}`),
		WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	st := g.c.state.Load()
	s := st.Ranges[0]
	composite, _ := st.Terms.Composites()[0].Prefix(jsondoc.NumberValue(1), jsondoc.Value{})
	term, _ := st.Terms.Term(index.Path{{Name: "a"}}, jsondoc.NumberValue(1))
	other, _ := st.Terms.Term(index.Path{{Name: "a"}}, jsondoc.NumberValue(2))
	born := layout.ItemRID(s.Number, layout.FirstOf(1))
	for _, c := range []struct {
		key    []byte
		rid    uint64
		remove bool
		want   string
	}{
		{term, born, true, "the index entry /a 1 of 0000000000000100 is missing"},
		{composite, born, true, "is missing"},
		{other, born, false, "the index entry /a 2 of 0000000000000100 belongs to no item"},
		{term, 7, false, "the index entry /a 1 of 0000000000000007 belongs to no item"},
		{index.ShapeRecordKey([]byte("0123456789abcdef")), 0, false, "does not fit its name"},
	} {
		key := layout.ScopePrefix(s.Scope, c.key)
		key = append(key, layout.Number(c.rid)...)
		var old, faults []string
		change := func(set bool) {
			_, err := g.db.live().eng.Update(t.Context(), [][]byte{s.Scope}, func(txn engine.Txn) error {
				if set {
					txn.Set(key, nil)
				} else {
					txn.Delete(key)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		change(!c.remove)
		err := g.db.Check(t.Context(),
			func(err error) bool { faults = append(faults, err.Error()); return true })
		if err != nil || !strings.Contains(strings.Join(faults, "\n"), c.want) {
			t.Errorf("%s: %v, faults %q", c.want, err, faults)
		}
		change(c.remove)
		if err := g.db.Check(t.Context(),
			func(err error) bool { old = append(old, err.Error()); return true }); err != nil || old != nil {
			t.Errorf("put right: %v, faults %q", err, old)
		}
	}
}

// TestStaleIndexEntriesAreRecomputed checks index entries that were computed before a transaction: they are
// computed again in the transaction if the clock has reached another second, or the indexing policy has
// changed, since then.
func TestStaleIndexEntriesAreRecomputed(t *testing.T) {
	t.Parallel()
	g := newIndexRig(t, 1, 1, false, `{"compositeIndexes":[[{"path":"/a"},{"path":"/_ts"}]]}`)
	defer g.db.Close()
	for i, meanwhile := range []func(){
		func() { g.clock.Advance(3 * time.Second) },
		func() {
			g.replace(`{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}`)
			if err := g.db.IndexNow(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		body := fmt.Appendf(nil, `{"id":"%d","pk":"p","a":1,"b":2}`, i)
		d, err := g.c.items.Draft(g.c.state.Load(), g.c.moment(), definition.PartitionKey{}, body)
		if err != nil {
			t.Fatal(err)
		}
		meanwhile()
		if _, err := g.c.update(t.Context(), d.EncodedItemKey,
			func(t *transaction.Tx) error { return t.Create(d.Point, &d.Item) }); err != nil {
			t.Fatal(err)
		}
		g.check()
	}
}
