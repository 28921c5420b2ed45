package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// raise replaces the throughput of the container and returns its new offer. migrate permits a change
// between manual and autoscale.
func (b *testStore) raise(t definition.Throughput, migrate bool) store.Offer {
	b.t.Helper()
	o, err := b.db.ReplaceOffer(b.ctx, b.offer().ID, t, migrate, store.WriteOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return o
}

// offer returns the offer (the throughput) of the container.
func (b *testStore) offer() store.Offer {
	b.t.Helper()
	rid := b.c.Info().RID
	for _, o := range b.db.Offers() {
		if o.ResourceRID == rid {
			return o
		}
	}
	b.t.Fatal("the container has no offer")
	return store.Offer{}
}

// TestRangesFollowThroughput checks that a raise of a container's throughput splits its ranges in the
// background, until there is one for each 10,000 RU/s, and that a lower throughput keeps them.
func TestRangesFollowThroughput(t *testing.T) {
	t.Parallel()
	manual := func(ru int) definition.Throughput { return definition.Throughput{Manual: ru} }
	auto := func(ru int) definition.Throughput { return definition.Throughput{Autoscale: ru} }
	type step struct {
		throughput definition.Throughput
		ranges     int
	}
	for name, c := range map[string]struct {
		made  store.ContainerOptions
		first int
		steps []step
	}{
		"one by one": {store.ContainerOptions{}, 1, []step{{manual(10_000), 1}, {manual(11_000), 2},
			{manual(25_000), 3}, {manual(400), 3}, {manual(30_000), 3}, {manual(30_100), 4}}},
		"at once": {store.ContainerOptions{}, 1, []step{{manual(95_000), 10}, {manual(95_000), 10}}},
		"made with it": {store.ContainerOptions{Throughput: manual(21_000)}, 4,
			[]step{{manual(40_000), 4}, {manual(50_000), 5}}},
		"autoscale": {store.ContainerOptions{Throughput: auto(1000)}, 1,
			[]step{{auto(20_000), 2}, {auto(1000), 2}, {auto(21_000), 3}}},
		"migrated": {store.ContainerOptions{}, 1, []step{{auto(11_000), 2}, {manual(11_000), 2},
			{manual(20_100), 3}}},
		"asked for five": {store.ContainerOptions{Ranges: 5}, 5,
			[]step{{manual(40_000), 5}, {manual(60_000), 6}}},
		"asked for one": {store.ContainerOptions{Ranges: 1, Throughput: manual(25_000)}, 1,
			[]step{{manual(25_000), 1}, {manual(25_100), 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestStore(t, "", 0)
			defer b.close()
			d, err := b.db.Database("db")
			if err != nil {
				t.Fatal(err)
			}
			spec := specOf(t, "")
			spec.ID = "other"
			if b.c, err = d.CreateContainerWith(b.ctx, spec, c.made); err != nil {
				t.Fatal(err)
			}
			b.fill(60, 20)
			want := b.items(store.KeyOrRange{})
			if n := len(b.rangeIDs()); n != c.first {
				t.Fatalf("%d ranges to begin with, not %d", n, c.first)
			}
			for _, s := range c.steps {
				before := len(b.rangeIDs())
				was := b.offer().Throughput
				o := b.raise(s.throughput, (was.Autoscale > 0) != (s.throughput.Autoscale > 0))
				if o.Throughput != s.throughput {
					t.Errorf("the throughput became %v, not %v", o.Throughput, s.throughput)
				}
				if want := s.ranges > before; o.Pending != want { // the answer is older than the first split
					t.Errorf("the answer to %v is pending: %v, not %v", s.throughput, o.Pending, want)
				}
				if err := b.db.FinishSplits(b.ctx); err != nil {
					t.Fatal(err)
				}
				if n := len(b.rangeIDs()); n != s.ranges {
					t.Errorf("at %v there are %d ranges, not %d", s.throughput, n, s.ranges)
				}
				if now := b.offer(); now.Pending || now.ETag != o.ETag {
					t.Errorf("when all is done the offer is %+v, was %+v", now, o)
				}
			}
			checkRanges(t, b.c.Ranges())
			if got := b.items(store.KeyOrRange{}); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d items, not %d, or others", len(got), len(want))
			}
		})
	}
}

// TestSplitOrder checks that the ranges with the fewest splits are split first, so that all ranges stay
// of similar size.
func TestSplitOrder(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.raise(definition.Throughput{Manual: 11_000}, false)
	for _, c := range []struct {
		ru      int
		parents string
	}{{11_000, "[[0] [0]]"}, {25_000, "[[0 1] [0 1] [0]]"}, {40_000, "[[0 1] [0 1] [0 2] [0 2]]"}} {
		b.raise(definition.Throughput{Manual: c.ru}, false)
		if err := b.db.FinishSplits(b.ctx); err != nil {
			t.Fatal(err)
		}
		parents := [][]string{}
		for _, r := range b.c.Ranges().Ranges {
			parents = append(parents, r.Parents)
		}
		if got := fmt.Sprint(parents); got != c.parents {
			t.Errorf("at %d RU/s the ranges have come from %s, not %s", c.ru, got, c.parents)
		}
	}
}

// TestSharedThroughputSplitsNothing checks that containers that share their database's throughput keep
// their one range if that throughput is raised.
func TestSharedThroughputSplitsNothing(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	d, err := b.db.CreateDatabase(b.ctx, "shared", definition.Throughput{Manual: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if b.c, err = d.CreateContainer(b.ctx, specOf(t, ""), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	for _, o := range b.db.Offers() {
		if o.ResourceRID != d.RID() {
			continue
		}
		got, err := b.db.ReplaceOffer(b.ctx, o.ID, definition.Throughput{Manual: 50_000}, false,
			store.WriteOptions{})
		if err != nil || got.Pending {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if err := b.db.FinishSplits(b.ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(b.rangeIDs()); n != 1 {
		t.Errorf("%d ranges", n)
	}
}

// TestThroughputLoweredMeanwhile checks that ranges are not split for a throughput that is lowered again
// before the split, and that Offer.Pending is set while splits are outstanding.
func TestThroughputLoweredMeanwhile(t *testing.T) {
	t.Parallel()
	b, s := newSplitBench(t, testdisk.New(t))
	b.make(12)
	var held atomic.Bool
	reached, release := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	s.failing(func() error {
		if calls.Add(1) == 3 { // the first of the splitter's own, behind the offer and the begin of a split
			held.Store(true)
			close(reached)
			<-release
		}
		return nil
	})
	if o := b.raise(definition.Throughput{Manual: 45_000}, false); !o.Pending {
		t.Error("the answer to the raise is not pending")
	}
	<-reached
	if r := b.c.Ranges().Ranges; len(r) != 1 || !r[0].Splitting || !b.offer().Pending {
		t.Errorf("in a split there are %+v, and the offer is %+v", r, b.offer())
	}
	// It does not wait for the copy, which gives up.
	o, err := b.db.ReplaceOffer(b.ctx, b.offer().ID, definition.Throughput{Manual: 400}, false,
		store.WriteOptions{})
	if err != nil || o.Pending {
		t.Errorf("%+v, %v", o, err)
	}
	close(release)
	if err := b.db.FinishSplits(b.ctx); err != nil {
		t.Fatal(err)
	}
	r := b.c.Ranges()
	if n := len(r.Ranges); n != 1 {
		t.Errorf("%d ranges", n)
	}
	for _, one := range r.Ranges {
		if one.Splitting {
			t.Errorf("%+v is still being split", one)
		}
	}
	checkRanges(t, r)
	if err := b.db.Close(); err != nil {
		t.Error(err)
	}
}

// TestCrashDuringThroughputRaise checks that after a crash at any step of a raise the container has the old
// throughput, or the new one and, after the reopen, all ranges for it.
func TestCrashDuringThroughputRaise(t *testing.T) {
	t.Parallel()
	disk := testdisk.NewCrashable(t)
	b, s := newSplitBench(t, disk)
	b.make(300)
	want := b.items(store.KeyOrRange{})
	var wrecks []*testdisk.EngineStorage
	s.after = func() { wrecks = append(wrecks, disk.CrashClone(vfs.CrashCloneCfg{})) }
	b.raise(definition.Throughput{Manual: 25_000}, false)
	if err := b.db.FinishSplits(b.ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.db.Close(); err != nil {
		t.Error(err)
	}
	for i, wreck := range wrecks {
		b, _ := newSplitBench(t, wreck)
		b.clock.Advance(5 * time.Second)
		what := fmt.Sprint("step ", i)
		if got := b.offer().Throughput.Manual; got != 25_000 {
			t.Errorf("%s: the throughput is %d", what, got)
		}
		if err := b.db.FinishSplits(b.ctx); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n := len(b.rangeIDs()); n != 3 || b.offer().Pending {
			t.Errorf("%s: %d ranges, offer %+v", what, n, b.offer())
		}
		b.sound(what, want)
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(wrecks) < 6 {
		t.Errorf("%d steps are not all", len(wrecks))
	}
}

// TestFailedSplitIsRepeated checks that the splitter repeats a split that failed at any step, and that
// Close does not wait for the repetition.
func TestFailedSplitIsRepeated(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		b, s := newSplitBench(t, testdisk.New(t))
		b.make(60)
		want := b.items(store.KeyOrRange{})
		var step atomic.Int64
		s.failing(func() error {
			if step.Add(1) == int64(n+2) { // behind the offer
				return engine.ErrDiskFull
			}
			return nil
		})
		b.raise(definition.Throughput{Manual: 25_000}, false)
		var err error
		for range 2 {
			if err = b.db.FinishSplits(b.ctx); err == nil && len(b.rangeIDs()) == 3 {
				break
			}
		}
		if stopped := is(err, fault.CodeUnavailable); !stopped {
			if got := len(b.rangeIDs()); err != nil || got != 3 {
				t.Errorf("step %d: %d ranges, %v", n, got, err)
			}
			b.sound(fmt.Sprint("step ", n), want)
		}
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	}
	b, s := newSplitBench(t, testdisk.New(t))
	b.make(60)
	begun := make(chan struct{})
	var once atomic.Bool
	s.look = func() {
		if !once.Swap(true) {
			close(begun)
		}
	}
	b.raise(definition.Throughput{Manual: 900_000}, false)
	<-begun
	if err := b.db.Close(); err != nil {
		t.Error(err)
	}
	if err := b.db.FinishSplits(context.Background()); !is(err, fault.CodeUnavailable) {
		t.Errorf("after Close: %v", err)
	}
}
