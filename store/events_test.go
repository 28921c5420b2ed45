package store_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// settings changes the container's settings by fn.
func (b *testStore) settings(fn func(*store.ContainerSettings)) {
	b.t.Helper()
	_, err := b.c.ChangeSettings(b.ctx, func(s *store.ContainerSettings) error {
		fn(s)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func withEvents(retention int) func(*store.ContainerSettings) {
	return func(s *store.ContainerSettings) { s.ExpiryEvents = &store.ExpiryEventSettings{Retention: retention} }
}

func withReaper(r store.ReaperSettings) func(*store.ContainerSettings) {
	return func(s *store.ContainerSettings) { s.Reaper = &r }
}

func (b *testStore) purgeDue() int {
	b.t.Helper()
	n, err := b.db.SweepNow(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// expired reads the log of expiries after a position, three entries at a time. It returns the sorted ids,
// the position at the end, and whether a page reported lost entries.
func (b *testStore) expired(after string) (ids []string, end string, lost bool) {
	b.t.Helper()
	for {
		page, err := b.c.Expirations(b.ctx, after, 3)
		if err != nil {
			b.t.Fatal(err)
		}
		lost = lost || page.Lost
		for _, e := range page.Expirations {
			ids = append(ids, e.Key.ID)
		}
		if after = page.Position; len(page.Expirations) == 0 {
			slices.Sort(ids)
			return ids, after, lost
		}
	}
}

func (b *testStore) wantExpired(what, after string, want ...string) (end string) {
	b.t.Helper()
	got, end, lost := b.expired(after)
	if !slices.Equal(got, want) || lost {
		b.t.Errorf("%s: expired %v (lost: %t), want %v", what, got, lost, want)
	}
	return end
}

func (b *testStore) backlog() int64 {
	b.t.Helper()
	s, err := b.c.Reaper(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return s.Backlog.Items
}

// doc stores an item in the partition "p" whose ttl is life seconds; 0: it has no ttl of its own.
func (b *testStore) doc(id string, life int) store.Item {
	b.t.Helper()
	body := fmt.Appendf(nil, `{"id":%q,"pk":"p"}`, id)
	if life > 0 {
		body = fmt.Appendf(nil, `{"id":%q,"pk":"p","ttl":%d}`, id, life)
	}
	it, _, err := b.c.Upsert(b.ctx, pk("p"), body, store.WriteOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return it
}

// TestExpiryEventHasLastVersion checks that an entry in the log of expiries has the last version of the
// item, with its system properties, and the second in which it expired.
func TestExpiryEventHasLastVersion(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 1)
	defer b.close()
	if _, err := b.c.Expirations(b.ctx, "", 0); !is(err, fault.CodeBadRequest) {
		t.Errorf("without a log: %v", err)
	}
	b.settings(withEvents(0))
	b.doc("a", 0)
	b.clock.Advance(3 * time.Second)
	it := b.doc("a", 4)
	b.clock.Advance(9 * time.Second)
	b.purgeDue()
	page, err := b.c.Expirations(b.ctx, "", 0)
	if err != nil || len(page.Expirations) != 1 {
		t.Fatal(page, err)
	}
	e := page.Expirations[0]
	want := fmt.Sprintf(`{"id":"a","partitionKey":["p"],"expiredAt":%d,"lsn":%d,"sequence":%d,"range":"0","document":%s}`,
		it.Timestamp()+4, e.LSN, e.Sequence, it.AppendJSON(nil))
	if got := string(e.AppendJSON(nil)); got != want || e.LSN <= it.LSN() || e.Position != page.Position {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestExpiryEventsBeforeDelayedPurges checks that expiries are logged at once, and only once, even if
// the purges are paused, delayed or limited.
func TestExpiryEventsBeforeDelayedPurges(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(b *testStore){
		"nothing": func(*testStore) {},
		"paused":  func(b *testStore) { b.pause(true) },
		"delay": func(b *testStore) {
			b.settings(withReaper(store.ReaperSettings{Delay: &store.PurgeDelay{Seconds: 30}}))
		},
		"random": func(b *testStore) {
			b.settings(withReaper(store.ReaperSettings{Delay: &store.PurgeDelay{Min: 5, Max: 60, Seed: 7}}))
		},
		"starved": func(b *testStore) {
			b.settings(withReaper(store.ReaperSettings{Starved: &store.PurgeRateLimit{PerSecond: 2}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestStore(t, `"defaultTtl":-1`, 2)
			defer b.close()
			b.settings(withEvents(3600))
			hold(b)
			var want []string
			for i := range 100 {
				id := fmt.Sprintf("i%02d", i)
				b.doc(id, 1+i%2)
				want = append(want, id)
			}
			b.clock.Advance(2 * time.Second)
			purged := b.purgeDue()
			end := b.wantExpired("at once", "", want...)
			if left := b.backlog(); left != int64(100-purged) || name != "nothing" && left < 90 {
				t.Errorf("%d items are not purged, %d are", left, purged)
			}
			b.doc("i00", 0) // over a ghost, where it is one yet
			for range 70 {
				b.clock.Advance(time.Second)
				b.purgeDue()
			}
			b.pause(false)
			b.purgeDue()
			if left := b.backlog(); left != 0 {
				t.Errorf("%d items are left", left)
			}
			b.wantExpired("after the purges", end)
			checkClean(t, b.db)
			b.doc("i00", 1)
			b.clock.Advance(time.Second)
			b.purgeDue()
			b.wantExpired("a new life and death", end, "i00")
		})
	}
}

func (b *testStore) pause(paused bool) {
	b.t.Helper()
	if err := b.c.PauseReaper(b.ctx, paused); err != nil {
		b.t.Fatal(err)
	}
}

// TestExpiryEventsOfReplacedGhosts checks that a write that replaces an expired item logs its
// expiry, unless it is logged already. Items deleted with their whole partition key are not logged as
// expired.
func TestExpiryEventsOfReplacedGhosts(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	b.settings(withEvents(3600))
	for _, id := range []string{"a", "b", "c"} {
		b.doc(id, 1)
	}
	b.clock.Advance(time.Second)
	b.doc("a", 0)
	end := b.wantExpired("a create", "", "a")
	b.pause(true)
	b.purgeDue()
	end = b.wantExpired("announced", end, "b", "c")
	b.doc("b", 5)
	if _, err := b.c.DeletePartition(b.ctx, pk("p")); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(9 * time.Second)
	b.pause(false)
	b.purgeDue()
	b.wantExpired("a tombstone", end)
	if left := b.backlog(); left != 0 {
		t.Errorf("%d left", left)
	}
}

// TestExpiryLogInterruption checks that expiries are logged only while the setting is on, and that a
// reader whose position is from before an interruption of the log is told that entries are lost.
func TestExpiryLogInterruption(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	b.doc("before", 1)
	b.clock.Advance(time.Second)
	b.settings(withEvents(100))
	b.setDefault("5") // a floor, and another policy
	b.purgeDue()
	b.doc("a", 1)
	b.clock.Advance(time.Second)
	b.purgeDue()
	first := b.wantExpired("on", "", "a")

	b.settings(func(s *store.ContainerSettings) { s.ExpiryEvents = nil })
	b.doc("unseen", 1)
	b.clock.Advance(time.Second)
	if _, err := b.c.Expirations(b.ctx, "", 0); !is(err, fault.CodeBadRequest) {
		t.Errorf("off: %v", err)
	}
	b.settings(withEvents(100))
	b.doc("b", 1)
	b.clock.Advance(time.Second)
	b.purgeDue()
	if got, _, lost := b.expired(first); !slices.Equal(got, []string{"b"}) || !lost {
		t.Errorf("over the gap: %v, lost: %t", got, lost)
	}
	second := b.wantExpired("from the beginning", "", "b")

	b.clock.Advance(50 * time.Second)
	b.doc("c", 1)
	b.clock.Advance(time.Second)
	b.purgeDue()
	b.clock.Advance(70 * time.Second) // b has left, c has not
	for _, trimmed := range []bool{false, true} {
		if trimmed {
			b.purgeDue()
		}
		b.wantExpired("from the beginning", "", "c")
		b.wantExpired("behind what has left", second, "c")
		if got, _, lost := b.expired(first); !slices.Equal(got, []string{"c"}) || !lost {
			t.Errorf("before what has left, trimmed %t: %v, lost: %t", trimmed, got, lost)
		}
		checkClean(t, b.db)
	}
	if _, err := b.c.Expirations(b.ctx, "999999", 0); !is(err, fault.CodeBadRequest) {
		t.Errorf("ahead of the store: %v", err)
	}
}

// TestReaperItemLimit checks that Reap purges as many items as its limit says, or all if it is 0, even if the
// reaper is paused or delayed.
func TestReaperItemLimit(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 4)
	defer b.close()
	b.settings(withReaper(store.ReaperSettings{Delay: &store.PurgeDelay{Seconds: 1000}}))
	for i := range 40 {
		if _, _, err := b.c.Create(b.ctx, pk(fmt.Sprint(i)), fmt.Appendf(nil, `{"id":"x","pk":"%d","ttl":1}`, i), store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	b.clock.Advance(time.Second)
	if n := b.purgeDue(); n != 0 {
		t.Errorf("%d purged in spite of the delay", n)
	}
	for _, step := range []struct{ ask, want int }{{1, 1}, {7, 7}, {0, 32}, {3, 0}} {
		if n, err := b.c.Reap(b.ctx, step.ask); n != step.want || err != nil {
			t.Errorf("a step of %d: %d purged, want %d, %v", step.ask, n, step.want, err)
		}
	}
}

// TestStarvedReaper checks the setting Starved of the reaper: it purges nothing while a request is
// running, or at most the given number of items per second.
func TestStarvedReaper(t *testing.T) {
	t.Parallel()
	b, engine := newSplitBench(t, testdisk.New(t))
	defer b.close()
	d, err := b.db.CreateDatabase(b.ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	if b.c, err = d.CreateContainer(b.ctx, specOf(t, `"defaultTtl":1`), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		b.doc(fmt.Sprint(i), 0)
	}
	b.settings(withReaper(store.ReaperSettings{Starved: &store.PurgeRateLimit{PerSecond: 0}}))
	b.clock.Advance(time.Second)
	happened := engine.at(0, func() {
		if n := b.purgeDue(); n != 0 {
			t.Errorf("%d purged while a request is served", n)
		}
	})
	if _, _, err := b.c.Read(b.ctx, pk("p"), "1", store.ReadOptions{}); !is(err, fault.CodeNotFound) || !happened() {
		t.Error(err)
	}
	b.settings(withReaper(store.ReaperSettings{Starved: &store.PurgeRateLimit{PerSecond: 40}}))
	for _, step := range []struct {
		wait time.Duration
		want int
	}{{0, 40}, {0, 0}, {time.Second, 40}, {0, 0}, {time.Second, 20}} {
		b.clock.Advance(step.wait)
		if n := b.purgeDue(); n != step.want {
			t.Errorf("%d purged after %v, want %d", n, step.wait, step.want)
		}
	}
}

// TestPurgeDelay checks that a random delay of purges is reproducible for each item, and that items are
// purged exactly when their delay ends.
func TestPurgeDelay(t *testing.T) {
	t.Parallel()
	purges := func(seed uint64) (at []int64) {
		b := newTestStore(t, `"defaultTtl":20`, 1)
		defer b.close()
		b.settings(withReaper(store.ReaperSettings{Delay: &store.PurgeDelay{Min: 3, Max: 40, Seed: seed}}))
		for i := range 60 {
			b.doc(fmt.Sprint(i), i%3*10)
		}
		for range 80 {
			b.clock.Advance(time.Second)
			at = append(at, int64(b.purgeDue()))
		}
		if left := b.backlog(); left != 0 {
			t.Errorf("%d left", left)
		}
		return at
	}
	one := purges(1)
	if !slices.Equal(one, purges(1)) || slices.Equal(one, purges(2)) {
		t.Error("the delays do not depend on the seed alone")
	}
	first := slices.IndexFunc(one, func(n int64) bool { return n > 0 })
	if first < 12 || first > 30 { // ttl 10 and at least 3 seconds
		t.Errorf("the first purge comes after %d seconds", first+1)
	}
}

// expiryCountsByVersion is the log of expiries as a reader has seen it: how often each version of an item,
// named by resource id and etag, occurred.
type expiryCountsByVersion map[string]int

// TestExpiryEventsSurviveCrashes lets items expire while purges are held back in various ways, ranges are
// split and the store crashes. It checks that a reader that keeps its position across crashes gets each
// expiry once.
func TestExpiryEventsSurviveCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 5))
		fs, now := testdisk.NewCrashable(t), int64(1_700_000_000)
		told, position := expiryCountsByVersion{}, ""
		born := map[string]int64{} // by rid and etag: when it dies
		var b *testStore
		for life := range 5 {
			b = &testStore{t: t, ctx: context.Background(), clock: ttl.NewManual(time.Unix(now, 0))}
			var err error
			if b.db, err = openAt(b.ctx, slowly(fs), b.clock); err != nil {
				t.Fatal(err)
			}
			if life == 0 {
				d, err := b.db.CreateDatabase(b.ctx, "db", definition.Throughput{})
				if err != nil {
					t.Fatal(err)
				}
				if b.c, err = d.CreateContainer(b.ctx, specOf(t, `"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10}`), definition.Throughput{}); err != nil {
					t.Fatal(err)
				}
				b.settings(withEvents(100_000))
			} else {
				d, err := b.db.Database("db")
				if err != nil {
					t.Fatal(err)
				}
				if b.c, err = d.Container("c"); err != nil {
					t.Fatal(err)
				}
			}
			checkClean(t, b.db)
			for range 60 {
				b.crashStep(r, born, told, &position)
			}
			now = b.seconds()
			wreck := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[r.IntN(3)], RNG: r})
			if life < 4 {
				if err := b.db.Close(); err != nil {
					t.Error(err)
				}
				fs = wreck
			}
		}
		b.settings(func(s *store.ContainerSettings) { s.Reaper = nil })
		b.clock.Advance(100 * time.Second)
		b.purgeDue()
		b.follow(told, &position)
		for version, n := range told {
			if at, ok := born[version]; !ok || n != 1 || at > b.seconds() {
				t.Errorf("seed %d: %s has expired %d times; it was to do so at %d", seed, version, n, at)
			}
		}
		for version := range born {
			if told[version] == 0 {
				t.Errorf("seed %d: the death of %s is in no log", seed, version)
			}
		}
		if len(told) < 40 {
			t.Errorf("seed %d: only %d deaths", seed, len(told))
		}
		b.close()
	}
}

// follow reads the log of expiries from a position to its end, adds the entries to told and advances the
// position.
func (b *testStore) follow(told expiryCountsByVersion, position *string) {
	b.t.Helper()
	for {
		page, err := b.c.Expirations(b.ctx, *position, 4)
		if err != nil || page.Lost {
			b.t.Fatal(page.Lost, err)
		}
		for _, e := range page.Expirations {
			told[versionOf(e.Item)]++
			if e.ExpiredAt != gjson.GetBytes(e.Item.Body(), "ttl").Int()+e.Item.Timestamp() {
				b.t.Errorf("%s expired at %d", e.Item.Body(), e.ExpiredAt)
			}
		}
		if *position = page.Position; len(page.Expirations) == 0 {
			return
		}
	}
}

func versionOf(it store.Item) string { return it.ID() + " " + it.RID() + " " + it.ETag() }

// crashStep performs one random operation, which may be a crash. born maps the versions that will expire
// unless they are replaced or deleted to their time of expiry.
func (b *testStore) crashStep(r *rand.Rand, born map[string]int64, told expiryCountsByVersion,
	position *string) {
	b.t.Helper()
	p := fmt.Sprint("p", r.IntN(6))
	id := p + fmt.Sprint("-", r.IntN(4))
	old, _, err := b.c.Read(b.ctx, pk(p), id, store.ReadOptions{})
	there := err == nil
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		life := 1 + r.IntN(8)
		it, _, err := b.c.Upsert(b.ctx, pk(p), fmt.Appendf(nil, `{"id":%q,"pk":%q,"ttl":%d}`, id, p, life), store.WriteOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		if there {
			delete(born, versionOf(old))
		}
		born[versionOf(it)] = it.Timestamp() + int64(life)
	case 4:
		if _, err := b.c.Delete(b.ctx, pk(p), id, store.WriteOptions{}); err == nil {
			delete(born, versionOf(old))
		}
	case 5, 6, 7:
		b.clock.Advance(time.Duration(r.IntN(3000)) * time.Millisecond)
	case 8:
		b.settings([]func(*store.ContainerSettings){
			func(s *store.ContainerSettings) { s.Reaper = nil },
			withReaper(store.ReaperSettings{Delay: &store.PurgeDelay{Min: 1, Max: 20, Seed: r.Uint64()}}),
			withReaper(store.ReaperSettings{Starved: &store.PurgeRateLimit{PerSecond: 1}}),
		}[r.IntN(3)])
	case 9:
		b.follow(told, position)
	case 10:
		if ids := b.rangeIDs(); len(ids) < 6 {
			b.split(ids[r.IntN(len(ids))], "")
		}
	default:
		b.purgeDue()
	}
}

// TestReadsWithDelayedReaper checks that the settings that pause, delay or limit the reaper
// change no result of a read.
func TestReadsWithDelayedReaper(t *testing.T) {
	t.Parallel()
	holds := []store.ReaperSettings{{}, {Delay: &store.PurgeDelay{Seconds: 6}}, {Delay: &store.PurgeDelay{Max: 9, Seed: 3}},
		{Starved: &store.PurgeRateLimit{PerSecond: 1}}}
	for seed := range uint64(3) {
		var want []string
		for i, hold := range holds {
			b := newTestStore(t, `"defaultTtl":4,"changeFeedPolicy":{"retentionDuration":10}`, 2)
			b.settings(withEvents(1000))
			b.settings(withReaper(hold))
			got := b.watched(rand.New(rand.NewPCG(seed, 1)))
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("seed %d: answers with %+v differ", seed, holds[i])
			}
			b.close()
		}
	}
}

// watched performs 80 random operations with the random numbers of r. After each it appends to seen what
// clients see: the number of documents, their ids, and the expiries in the log so far.
func (b *testStore) watched(r *rand.Rand) (seen []string) {
	b.t.Helper()
	deaths := map[string]bool{}
	position := ""
	for range 80 {
		id := fmt.Sprint(r.IntN(12))
		switch r.IntN(6) {
		case 0, 1:
			b.doc(id, r.IntN(5))
		case 2:
			_, err := b.c.Delete(b.ctx, pk("p"), id, store.WriteOptions{})
			seen = append(seen, fmt.Sprint("delete ", id, " ", fault.ErrorCode(err)))
		case 3:
			b.setDefault([]string{"4", "2", "-1"}[r.IntN(3)])
		default:
			b.clock.Advance(time.Second)
		}
		b.purgeDue()
		count, err := b.rows(store.QueryRequest{Text: "SELECT VALUE COUNT(1) FROM c"})
		if err != nil {
			b.t.Fatal(err)
		}
		page, err := b.c.Expirations(b.ctx, position, 1000)
		if err != nil {
			b.t.Fatal(err)
		}
		position = page.Position
		for _, e := range page.Expirations {
			deaths[fmt.Sprint(e.Key.ID, " of ", e.Item.Timestamp(), " at ", e.ExpiredAt)] = true
		}
		seen = append(seen, fmt.Sprint(count, slices.Sorted(maps.Keys(b.items(store.KeyOrRange{}))),
			slices.Sorted(maps.Keys(deaths))))
	}
	return seen
}
