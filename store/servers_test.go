package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/sharedengine"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// newServers opens two stores over one engine that share one container. Both are closed at the end of the
// test, after a check of the stored data.
func newServers(t *testing.T, spec string, ranges int) (b *testStore, other *testStore) {
	t.Helper()
	return newServersOver(t, spec, ranges, func(e engine.Engine) engine.Engine { return e })
}

// newServersOver opens two stores over one engine that share one container, and closes them at the end of the
// test, after a check of the stored data. The first store uses the engine that watch returns for the shared
// one, so that a test can observe its calls.
func newServersOver(t *testing.T, spec string, ranges int,
	watch func(engine.Engine) engine.Engine) (b, other *testStore) {
	t.Helper()
	o := store.Options{Ranges: ranges, ManualReaper: true}
	var shared *sharedengine.SharedEngine
	b = newBenchOver(t, testdisk.New(t), spec, o, func(p testdisk.Engine) (e engine.Engine) {
		var err error
		if shared, err = sharedengine.Share(p); err != nil {
			t.Fatal(err)
		}
		return watch(shared.Handle())
	})
	b.shared = shared
	other = b.another(b.clock)
	t.Cleanup(func() {
		checkSound(t, b.db)
		checkSound(t, other.db)
		if err := errors.Join(b.db.Close(), other.db.Close()); err != nil {
			t.Error(err)
		}
	})
	return b, other
}

// another opens one more store, with its own clock, over the engine of b.
func (b *testStore) another(clock *ttl.VirtualClock) *testStore {
	b.t.Helper()
	other := *b
	other.clock = clock
	var err error
	o := store.Options{Clock: clock, Ranges: len(b.c.Ranges().Ranges), ManualReaper: true}
	if other.db, err = store.Open(b.ctx, b.shared.Handle(), o); err != nil {
		b.t.Fatal(err)
	}
	other.lookUp()
	return &other
}

// agree checks that both stores list and read the same documents, and returns their ids.
func agree(a, b *testStore) string {
	a.t.Helper()
	one, two := strings.Fields(a.ids(a.c)), strings.Fields(b.ids(b.c))
	slices.Sort(one)
	slices.Sort(two)
	if !slices.Equal(one, two) {
		a.t.Errorf("one store sees %v, the other %v", one, two)
	}
	for _, x := range []*testStore{a, b} {
		for _, id := range one {
			if _, _, err := x.c.Read(x.ctx, pk("p"), id, store.ReadOptions{}); err != nil {
				a.t.Errorf("%s: %v", id, err)
			}
		}
	}
	return strings.Join(one, " ")
}

func (b *testStore) wantGone(id string) {
	b.t.Helper()
	if it, _, err := b.c.Read(b.ctx, pk("p"), id, store.ReadOptions{}); !is(err, fault.CodeNotFound) {
		b.t.Errorf("%s is there: %s, %v", id, it.Body(), err)
	}
}

// TestContainerChangesOfSeveralStores checks that a change of a container by one store applies to the next
// read and the next write of the other store.
func TestContainerChangesOfSeveralStores(t *testing.T) {
	t.Parallel()
	each := func(name, spec string, ranges int, fn func(t *testing.T, a, b *testStore)) {
		t.Run(name, func(t *testing.T) {
			a, b := newServers(t, spec, ranges)
			fn(t, a, b)
			checkClean(t, a.db)
		})
	}
	each("default", "", 2, func(t *testing.T, a, b *testStore) {
		a.doc("a", 0)
		b.doc("b", 0)
		if got := agree(a, b); got != "a b" {
			t.Errorf("before: %s", got)
		}
		a.setDefault("5")
		a.pass(6)
		b.wantGone("a") // by the rule that it does not know yet
		b.setDefault("null")
		a.wantGone("b") // the dead stay dead
		a.doc("a", 0)
		a.pass(100)
		if got := agree(a, b); got != "a" {
			t.Errorf("behind: %s", got)
		}
	})
	each("tombstone", "", 2, func(t *testing.T, a, b *testStore) {
		b.doc("a", 0)
		if _, err := a.c.DeletePartition(a.ctx, pk("p")); err != nil {
			t.Fatal(err)
		}
		b.wantGone("a")
		if _, _, err := b.c.Create(b.ctx, pk("p"), []byte(`{"id":"a","pk":"p"}`),
			store.WriteOptions{}); err != nil {
			t.Errorf("below the tombstone: %v", err)
		}
		b.sweep()
		if got := agree(a, b); got != "a" {
			t.Errorf("behind the tombstone: %s", got)
		}
	})
	each("index", `"indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[],"excludedPaths":[{"path":"/*"}]}`, 1,
		func(t *testing.T, a, b *testStore) {
			b.put(`{"id":"1","pk":"p","n":3}`, `{"id":"2","pk":"p","n":1}`)
			d, err := a.db.Database("db")
			if err == nil {
				_, err = d.ReplaceContainer(a.ctx, "c", specOf(t, ""), store.WriteOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			b.put(`{"id":"3","pk":"p","n":2}`, `{"id":"4","pk":"p"}`)
			if err := a.db.IndexNow(a.ctx); err != nil {
				t.Fatal(err)
			}
			b.put(`{"id":"5","pk":"p","n":0,"more":1}`)
			for _, x := range []*testStore{a, b} {
				x.expect("SELECT VALUE c.id FROM c WHERE c.n >= 1 ORDER BY c.n", `"2" "3" "1"`)
				x.expect("SELECT VALUE c.id FROM c ORDER BY c.n", `"4" "5" "2" "3" "1"`)
			}
		})
	each("settings", `"defaultTtl":-1`, 1, func(t *testing.T, a, b *testStore) {
		b.doc("a", 1)
		a.settings(withEvents(0))
		a.pass(1)
		if n := b.purgeDue(); n != 1 {
			t.Errorf("%d purged", n)
		}
		a.wantExpired("purged by the other", "", "a")
	})
	each("split", `"changeFeedPolicy":{"retentionDuration":10}`, 1, func(t *testing.T, a, b *testStore) {
		a.fill(40, 20)
		want := len(b.items(store.KeyOrRange{}))
		b.split("0", "")
		a.doc("more", 0)
		if got := len(b.items(store.KeyOrRange{})); want != 40 || got != 41 ||
			len(a.items(store.KeyOrRange{})) != 41 {
			t.Errorf("%d, then %d items", want, got)
		}
		a.split("1", "")
		if one, two := a.rangeIDs(), b.rangeIDs(); len(one) != 3 {
			t.Errorf("ranges %v and %v", one, two)
		}
		if _, _, err := b.c.List(b.ctx, store.ListOptions{Scope: store.KeyOrRange{Range: "1"}}); !is(err,
			fault.CodeRangeGone) {
			t.Errorf("a range that the other has split: %v", err)
		}
	})
	each("drop", "", 2, func(t *testing.T, a, b *testStore) {
		b.doc("a", 0)
		d, err := a.db.Database("db")
		if err == nil {
			err = d.DeleteContainer(a.ctx, "c", store.WriteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.c.Create(b.ctx, pk("p"), []byte(`{"id":"b","pk":"p"}`),
			store.WriteOptions{}); !is(err, fault.CodeOwnerNotFound) {
			t.Errorf("a write: %v", err)
		}
		if _, _, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{}); !is(err,
			fault.CodeOwnerNotFound) {
			t.Errorf("a read: %v", err)
		}
	})
}

// TestNumbersOfSeveralStores checks that databases and containers that two stores create concurrently have
// different numbers and names.
func TestNumbersOfSeveralStores(t *testing.T) {
	t.Parallel()
	a, b := newServers(t, "", 1)
	rids := map[string]bool{a.c.RID(): true}
	for i := range 10 {
		for n, x := range []*testStore{a, b} {
			d, err := x.db.CreateDatabase(x.ctx, fmt.Sprintf("d%d-%d", n, i), definition.Throughput{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := d.CreateContainer(x.ctx, specOf(t, ""), definition.Throughput{})
			if err != nil || rids[c.RID()] || rids[d.RID()] {
				t.Fatal(c.RID(), d.RID(), err)
			}
			rids[c.RID()], rids[d.RID()] = true, true
			y := []*testStore{b, a}[n]
			if _, err := y.db.CreateDatabase(y.ctx, d.ID(), definition.Throughput{}); !is(err,
				fault.CodeConflict) {
				t.Errorf("a name that the other has given: %v", err)
			}
		}
	}
}

// TestConcurrentStores lets two stores write to and change one container at random. It checks that no etag
// is used twice, and that both have the same documents in the end.
func TestConcurrentStores(t *testing.T) {
	t.Parallel()
	a, b := newServers(t, `"changeFeedPolicy":{"retentionDuration":10}`, 2)
	var mu sync.Mutex
	etags, alive := map[string]bool{}, map[string]bool{}
	var work sync.WaitGroup
	for n, x := range []*testStore{a, b} {
		work.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 5))
			for i := range 150 {
				id := fmt.Sprintf("%d-%d", n, i)
				switch r.IntN(30) {
				case 0:
					if err := x.tryDefault(fmt.Sprint(1000 + r.IntN(1000))); err != nil &&
						!is(err, fault.CodeUnavailable) {
						t.Error(err)
					}
				case 1:
					if _, err := x.c.DeletePartition(x.ctx, pk("other")); err != nil &&
						!is(err, fault.CodeUnavailable) {
						t.Error(err)
					}
				case 2:
					ranges := x.c.Ranges().Ranges
					_, err := x.c.Split(x.ctx, ranges[r.IntN(len(ranges))].ID, "")
					if err != nil && !is(err, fault.CodeRangeGone) && !is(err, fault.CodeConflict) &&
						!is(err, fault.CodeUnavailable) {
						t.Error(err)
					}
				default:
					it, _, err := x.c.Create(x.ctx, pk("p"), fmt.Appendf(nil, `{"id":%q,"pk":"p"}`, id),
						store.WriteOptions{})
					if is(err, fault.CodeUnavailable) {
						continue // the other one splits
					}
					mu.Lock()
					if err != nil || etags[it.ETag()] || etags[it.RID()] {
						t.Errorf("%s: %v, etag %s, rid %s", id, err, it.ETag(), it.RID())
					}
					etags[it.ETag()], etags[it.RID()], alive[id] = true, true, true
					mu.Unlock()
				}
			}
		})
	}
	work.Wait()
	if got := strings.Fields(agree(a, b)); len(got) != len(alive) {
		t.Errorf("%d documents of %d", len(got), len(alive))
	}
}
