package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// settingsChangingWorkload is a randomWorkload that also turns the logs of the container on and off and sets
// the clock back.
type settingsChangingWorkload struct {
	*randomWorkload
	kept, seenStates bool      // all versions, and expiries, are kept
	latest           time.Time // that the clock has shown
}

func (w *settingsChangingWorkload) turn() {
	w.b.t.Helper()
	if now := w.b.clock.Now(); now.After(w.latest) {
		w.latest = now
	}
	switch w.r.IntN(6) {
	case 0:
		w.kept = !w.kept
		d, err := w.b.db.Database("db")
		if err != nil {
			w.b.t.Fatal(err)
		}
		spec := w.b.c.Info().Spec
		if spec.ChangeFeed = nil; w.kept {
			spec.ChangeFeed = &definition.ChangeFeedPolicy{RetentionMinutes: 10}
		}
		if _, err := d.ReplaceContainer(w.b.ctx, "c", spec, store.WriteOptions{}); err != nil {
			w.b.t.Error(err)
		}
	case 1:
		w.seenStates = !w.seenStates
		w.b.settings(func(s *store.ContainerSettings) {
			if s.ExpiryEvents = nil; w.seenStates {
				s.ExpiryEvents = &store.ExpiryEventSettings{Retention: 3600}
			}
		})
	case 2:
		w.b.clock.Set(w.b.clock.Now().Add(-20 * time.Second))
	case 3:
		w.b.clock.Advance(30 * time.Second) // to where it was, and beyond
	}
}

// TestSplitDuringSettingChanges splits a range while its logs are turned on and off and the clock is set
// back, and checks the items after the split, and after a crash at any step.
func TestSplitDuringSettingChanges(t *testing.T) {
	t.Parallel()
	first := metamorphic.FirstSeed()
	for seed := first; seed < first+4; seed++ {
		disk := testdisk.NewCrashable(t)
		b, s := newSplitBench(t, disk)
		b.makeEmpty()
		r := rand.New(rand.NewPCG(seed, 11))
		w := &settingsChangingWorkload{kept: true, randomWorkload: &randomWorkload{b: b, r: r,
			want: map[string]string{}}}
		for range 30 {
			w.step(false)
		}
		var wrecks []splitCrashDiskCopy
		for len(b.rangeIDs()) < 4 {
			ids := b.rangeIDs()
			_, err := b.during(s, ids[w.r.IntN(len(ids))], func(_ int, inside bool) {
				if w.step(inside); !inside {
					w.turn()
				}
				settle(b, s)
				wreck := disk.CrashClone(vfs.CrashCloneCfg{})
				wrecks = append(wrecks, splitCrashDiskCopy{wreck, maps.Clone(w.want), w.latest})
			})
			if err != nil && !is(err, fault.CodeConflict) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			w.step(false)
			w.turn()
		}
		b.clock.Set(w.latest.Add(time.Hour))
		w.holds(b, fmt.Sprint("seed ", seed), w.want)
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
		for i, x := range wrecks {
			b, _ := newSplitBenchAt(t, x.disk, x.now.Add(time.Hour))
			w.holds(b, fmt.Sprintf("seed %d, wreck %d", seed, i), x.want)
			if err := b.db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// splitCrashDiskCopy is a copy of the disk after a crash during a split, with the items that must be on it.
type splitCrashDiskCopy struct {
	disk *testdisk.EngineStorage
	want map[string]string
	now  time.Time
}

// TestLogsTurnedOnBesideASplit checks that the log of expiries is complete after a split if it was turned
// on while the range was being copied.
func TestLogsTurnedOnBesideASplit(t *testing.T) {
	t.Parallel()
	for at := 0; ; at++ {
		b, s := newSplitBench(t, testdisk.New(t))
		b.create(`"defaultTtl":-1`, 1)
		for i := range 20 {
			b.writeN(i, 0)
		}
		met := false
		if _, err := b.during(s, "0", func(step int, inside bool) {
			if step != at || inside {
				return
			}
			met = true
			b.settings(withEvents(3600))
			for i := range 20 {
				b.writeN(i, 1)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if met {
			b.clock.Advance(time.Hour)
			b.purgeDue()
			if ids, _, lost := b.expired(""); len(ids) != 20 || lost {
				t.Errorf("step %d: %d expiries of 20 are told, lost %v", at, len(ids), lost)
			}
		}
		checkClean(t, b.db)
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
		if !met && at > 8 {
			return
		}
	}
}

// writeN upserts the i-th item with the value n and a ttl of 60 seconds.
func (b *testStore) writeN(i, n int) {
	b.t.Helper()
	p := fmt.Sprint("p", i)
	body := fmt.Appendf(nil, `{"id":"%d","pk":%q,"n":%d,"ttl":60}`, i, p, n)
	if _, _, err := b.c.Upsert(b.ctx, pk(p), body, store.WriteOptions{}); err != nil {
		b.t.Error(err)
	}
}

// TestRestoreBesideASplit checks that a restore during a split ends the split, and that the restored data
// is complete, whether the snapshot was taken before or during the split.
func TestRestoreBesideASplit(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	for at := 0; ; at++ {
		b, s := newSplitBench(t, testdisk.New(t))
		b.make(60)
		want := b.items(store.KeyOrRange{})
		if _, err := b.db.Snapshot(b.ctx, "before"); err != nil {
			t.Fatal(err)
		}
		met := false
		_, err := b.during(s, "0", func(step int, inside bool) {
			if step != at || inside {
				return
			}
			met = true
			if _, err := b.db.Snapshot(b.ctx, "meanwhile"); err != nil {
				t.Error(err)
			}
			if err := b.db.Restore(b.ctx, "before"); err != nil {
				t.Error(err)
			}
		})
		if met && !is(err, fault.CodeUnavailable) || !met && err != nil {
			t.Errorf("step %d: a split that met a restore: %v", at, err)
		}
		for _, name := range []string{"", "meanwhile", "before"} {
			if name == "meanwhile" && !met {
				continue
			}
			if name != "" {
				if err := b.db.Restore(b.ctx, name); err != nil {
					t.Fatal(err)
				}
			}
			d, err := b.db.Database("db")
			if err != nil {
				t.Fatal(err)
			}
			if b.c, err = d.Container("c"); err != nil {
				t.Fatal(err)
			}
			got := b.items(store.KeyOrRange{}) // with other etags after a restore
			if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
				t.Errorf("step %d, %q: %d items, not %d, or others", at, name, len(got), len(want))
			}
			b.sound(fmt.Sprintf("step %d, %q", at, name), got)
		}
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
		if !met && at > 3 {
			return
		}
	}
}
