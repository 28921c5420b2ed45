package store_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// insideSplitContextKey is the key of a context value that marks the engine calls of a split.
type insideSplitContextKey struct{}

// during splits the range id. During the split it calls fn before each view and transaction of the split,
// unless the container's gate (its lock) is held exclusively. step counts the calls from 0. inside reports
// that the split holds the gate shared; fn must then not change the container.
func (b *testStore) during(s *hookedEngine, id string, fn func(step int,
	inside bool)) ([]store.PartitionRange, error) {
	b.t.Helper()
	step, in := 0, false
	s.beside = func(ctx context.Context) {
		inside := b.c.Inside()
		if ctx.Value(insideSplitContextKey{}) == nil || in || inside < 0 {
			return
		}
		in = true
		fn(step, inside > 0)
		in = false
		step++
	}
	halves, err := b.c.Split(context.WithValue(b.ctx, insideSplitContextKey{}, true), id, "")
	s.beside = nil
	return halves, err
}

// TestSplitBesideOperations checks that operations on the range, the container and the catalog
// succeed while the range is being copied.
func TestSplitBesideOperations(t *testing.T) {
	t.Parallel()
	b, s := newSplitBench(t, testdisk.New(t))
	b.make(1500)
	d, err := b.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	_, err = b.during(s, "0", func(step int, inside bool) {
		if inside {
			return
		}
		steps++
		ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
		defer cancel()
		id := fmt.Sprint("beside", step)
		spec := b.c.Info().Spec
		spec.DefaultTTL = ttl.Seconds(1000 + step)
		for _, one := range []struct {
			name string
			do   func() error
		}{
			{"a create", func() error {
				_, _, err := b.c.Create(ctx, pk(id), fmt.Appendf(nil, `{"id":%q,"pk":%q,"n":1}`, id, id),
					store.WriteOptions{})
				return err
			}},
			{"a point read", func() error {
				_, _,
					err := b.c.Read(ctx, pk(id), id, store.ReadOptions{})
				return err
			}},
			{"a query", func() error {
				_, err := b.rows(store.QueryRequest{Text: "SELECT VALUE COUNT(1) FROM c WHERE c.n > 5"})
				return err
			}},
			{"a change of the policy", func() error {
				_, err := d.ReplaceContainer(ctx, "c", spec, store.WriteOptions{})
				return err
			}},
			{"a create of a database",
				func() error { _, err := b.db.CreateDatabase(ctx, id, definition.Throughput{}); return err }},
			{"a ping", func() error { return b.db.Ping(ctx) }},
			{"a probe", func() error { return b.db.Ready(ctx) }},
		} {
			if err := one.do(); err != nil {
				t.Errorf("%s at step %d of a split: %v", one.name, step, err)
			}
		}
	})
	if err != nil || steps < 4 || len(b.rangeIDs()) != 2 {
		t.Errorf("%d steps, %d ranges, %v", steps, len(b.rangeIDs()), err)
	}
	checkClean(t, b.db)
	if err := b.db.Close(); err != nil {
		t.Error(err)
	}
}

// randomWorkload writes, deletes, expires and purges items at random, and records which items must exist.
type randomWorkload struct {
	b    *testStore
	r    *rand.Rand
	want map[string]string // n by id, of what lives for ever
}

// step performs a few random operations on the container. inside means that a split holds the container's
// gate (its lock) shared at the moment; then step omits operations that need the gate exclusively.
func (w *randomWorkload) step(inside bool) {
	w.b.t.Helper()
	must := func(err error) {
		if err != nil && !is(err, fault.CodeNotFound) {
			w.b.t.Helper()
			w.b.t.Error(err)
		}
	}
	for range 1 + w.r.IntN(6) {
		id := fmt.Sprint(w.r.IntN(80))
		p := "p" + id
		kind := w.r.IntN(12)
		if inside && kind > 2 {
			kind = 12
		}
		switch kind {
		case 0, 1:
			_, err := w.b.c.Delete(w.b.ctx, pk(p), id, store.WriteOptions{})
			must(err)
			delete(w.want, id)
		case 2:
			_, _, err := w.b.c.Upsert(w.b.ctx, pk(p),
				fmt.Appendf(nil, `{"id":%q,"pk":%q,"n":1,"u":%q,"ttl":2}`, id, p, id), store.WriteOptions{})
			must(err)
			delete(w.want, id)
			_, err = w.b.c.Lease(w.b.ctx, pk(p), id, 5)
			must(err)
		case 3:
			w.b.clock.Advance(7 * time.Second)
			_, err := w.b.db.SweepNow(w.b.ctx)
			must(err)
		case 4:
			_, err := w.b.c.DeletePartition(w.b.ctx, pk(p))
			must(err)
			delete(w.want, id)
		default:
			n := fmt.Sprint(w.r.IntN(1000))
			_, _, err := w.b.c.Upsert(w.b.ctx, pk(p), fmt.Appendf(nil, `{"id":%q,"pk":%q,"n":%s,"u":%q}`, id,
				p, n, id), store.WriteOptions{})
			must(err)
			w.want[id] = n
		}
	}
}

// holds checks that the container has exactly the items in want, each once, after all items with a ttl
// have expired.
func (w *randomWorkload) holds(b *testStore, what string, want map[string]string) {
	b.t.Helper()
	b.clock.Advance(10 * time.Second) // what is mortal is dead
	got := map[string]string{}
	for o := (store.ListOptions{MaxItems: 7}); ; {
		page, _, err := b.c.List(b.ctx, o)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, it := range page.Items {
			if _, twice := got[it.ID()]; twice {
				b.t.Errorf("%s: %s is listed twice", what, it.ID())
			}
			got[it.ID()] = gjson.GetBytes(it.Body(), "n").Raw
			if _, _, err := b.c.Read(b.ctx, pk("p"+it.ID()), it.ID(), store.ReadOptions{}); err != nil {
				b.t.Errorf("%s: a read of %s: %v", what, it.ID(), err)
			}
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			break
		}
	}
	if !maps.Equal(got, want) {
		b.t.Errorf("%s: there are %v, not %v", what, got, want)
	}
	checkClean(b.t, b.db)
}

// TestCrashInASplitBesideWriters checks that everything written, deleted and purged between the steps of a
// split is correct after the split, and after a crash at any step.
func TestCrashInASplitBesideWriters(t *testing.T) {
	t.Parallel()
	first := metamorphic.FirstSeed()
	for seed := first; seed < first+4; seed++ {
		disk := testdisk.NewCrashable(t)
		b, s := newSplitBench(t, disk)
		b.makeEmpty()
		w := &randomWorkload{b: b, r: rand.New(rand.NewPCG(seed, 10)), want: map[string]string{}}
		for range 30 {
			w.step(false)
		}
		type wreck struct {
			disk *testdisk.EngineStorage
			want map[string]string
		}
		var wrecks []wreck
		for len(b.rangeIDs()) < 4 {
			ids := b.rangeIDs()
			_, err := b.during(s, ids[w.r.IntN(len(ids))], func(step int, inside bool) {
				w.step(inside)
				settle(b, s)
				wrecks = append(wrecks, wreck{disk.CrashClone(vfs.CrashCloneCfg{}), maps.Clone(w.want)})
			})
			if err != nil && !is(err, fault.CodeConflict) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			w.step(false)
		}
		w.holds(b, fmt.Sprint("seed ", seed), w.want)
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
		for i, x := range wrecks {
			b, _ := newSplitBench(t, x.disk)
			b.clock.Advance(time.Hour)
			w.holds(b, fmt.Sprintf("seed %d, wreck %d", seed, i), x.want)
			if err := b.db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// settle runs an empty durable transaction, after which all earlier writes are durable.
func settle(b *testStore, s *hookedEngine) {
	if _, err := s.Engine.Update(b.ctx, [][]byte{{0}}, func(engine.Txn) error { return nil }); err != nil {
		b.t.Error(err)
	}
}
