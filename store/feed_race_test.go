package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// TestFeedSurvivesCrashes lets readers follow the change feeds during concurrent writes, purges, splits
// and clock moves, and crashes the store. It checks that changes that were read before the crash still
// hold, and that together with those read afterwards they give the latest version of each live item, or
// all versions.
func TestFeedSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for _, ranges := range []int{1, 4} {
		t.Run(fmt.Sprint("ranges=", ranges), func(t *testing.T) {
			clock, system := ttl.NewManual(time.Unix(1_700_000_000, 0)), ttl.NewManual(time.Unix(1_700_000_000, 0))
			fs := testdisk.NewCrashable(t)
			latest, all := newFeedReplica(store.LatestVersions), newFeedReplica(store.AllVersions)
			for life := range 4 {
				db, c := openReplicated(t, fs, clock, system, ranges)
				for _, f := range []*replicatingFeedReader{latest, all} {
					f.verify(t, db, c)
				}
				fs = liveWithReaders(t, rand.New(rand.NewPCG(uint64(life), uint64(ranges))), fs, db, c, clock,
					latest, all)
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				if t.Failed() {
					return
				}
				system.Advance(time.Minute) // in a database, the crashed server counts as running for some seconds
			}
			db, c := openReplicated(t, fs, clock, system, ranges)
			latest.verify(t, db, c)
			all.verify(t, db, c)
			checkClean(t, db)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// openReplicated opens a store with the clock clock, and returns it with its container. If the container does
// not exist, openReplicated creates it, with items that can expire and a log of all versions. On a PostgreSQL
// database, system is the clock of the database.
func openReplicated(t *testing.T, fs *testdisk.EngineStorage, clock, system *ttl.VirtualClock,
	ranges int) (*store.DB,
	*store.Container) {
	t.Helper()
	ctx := context.Background()
	e, err := slowly(fs).OpenAt(ctx, system)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(ctx, e, store.Options{Clock: clock, Ranges: ranges, ManualReaper: true})
	if err != nil {
		t.Fatal(err)
	}
	d, err := db.Database("db")
	if is(err, fault.CodeNotFound) {
		if d, err = db.CreateDatabase(ctx, "db", definition.Throughput{}); err == nil {
			_, err = d.CreateContainer(ctx,
				specOf(t, `"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":100000}`), definition.Throughput{})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Container("c")
	if err != nil {
		t.Fatal(err)
	}
	return db, c
}

// liveWithReaders runs writers and readers concurrently, and returns a copy of the disk as a crash in the
// middle leaves it.
func liveWithReaders(t *testing.T, r *rand.Rand, fs *testdisk.EngineStorage, db *store.DB, c *store.Container,
	clock *ttl.VirtualClock, readers ...*replicatingFeedReader) *testdisk.EngineStorage {
	const writers, operations = 4, 60
	ctx := context.Background()
	seeds := make([]uint64, writers)
	for i := range seeds {
		seeds[i] = r.Uint64()
	}
	var crash sync.Once
	var wreck *testdisk.EngineStorage
	power := func() {
		crash.Do(func() {
			for _, f := range readers { // whoever is in the middle of a page has not been told yet
				f.mu.Lock()
				defer f.mu.Unlock()
			}
			wreck = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[r.IntN(3)],
				RNG: r})
			for _, f := range readers {
				f.freeze()
			}
		})
	}
	moment := writers * operations * (1 + r.IntN(8)) / 10
	var done concurrentCounter
	var working sync.WaitGroup
	stop := make(chan struct{})
	for _, f := range readers {
		working.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := f.page(c); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all(writers, func(i int) {
		w := rand.New(rand.NewPCG(seeds[i], 1))
		for range operations {
			if err := writeSomething(ctx, w, db, c, clock); err != nil {
				t.Error(err)
			}
			if done.next() == moment {
				power()
			}
		}
	})
	close(stop)
	working.Wait()
	power()
	for _, f := range readers {
		f.thaw()
	}
	return wreck
}

type concurrentCounter struct {
	sync.Mutex
	n int
}

func (c *concurrentCounter) next() int {
	c.Lock()
	defer c.Unlock()
	c.n++
	return c.n
}

// writeSomething performs one random operation: a write, a batch, a purge, a split or a clock move.
func writeSomething(ctx context.Context, r *rand.Rand, db *store.DB, c *store.Container,
	clock *ttl.VirtualClock) error {
	key := pk("p" + strconv.Itoa(r.IntN(6)))
	body := func() []byte {
		text := fmt.Sprintf(`{"id":"i%d","pk":%q,"n":%d`, r.IntN(4), key.Values()[0].Str(), r.IntN(1000))
		if r.IntN(4) == 0 {
			text += fmt.Sprintf(`,"ttl":%d`, 1+r.IntN(3))
		}
		return []byte(text + "}")
	}
	var err error
	switch r.IntN(12) {
	case 0:
		_, err = db.SweepNow(ctx)
	case 1:
		clock.Advance(time.Duration(r.IntN(1200)) * time.Millisecond)
	case 2:
		if r.IntN(4) == 0 {
			_, err = c.DeletePartition(ctx, key)
		}
	case 3, 4:
		_, err = c.Delete(ctx, key, "i"+strconv.Itoa(r.IntN(4)), store.WriteOptions{})
		if is(err, fault.CodeNotFound) {
			err = nil
		}
	case 5:
		var ops []store.ItemOperation
		for range 2 + r.IntN(3) {
			ops = append(ops, store.ItemOperation{Kind: store.OperationUpsert, Body: body()})
		}
		_, _, err = c.Batch(ctx, key, ops, store.BatchOptions{Atomic: true})
	case 6:
		if ranges := c.Ranges().Ranges; len(ranges) < 8 && r.IntN(4) == 0 {
			_, err = c.Split(ctx, ranges[r.IntN(len(ranges))].ID, "")
			if is(err, fault.CodeConflict) || is(err, fault.CodeRangeGone) {
				err = nil
			}
		}
	default:
		_, _, err = c.Upsert(ctx, key, body(), store.WriteOptions{})
	}
	return err
}

// replicatingFeedReader is a reader that builds a copy of a container from its change feed.
type replicatingFeedReader struct {
	mode store.ChangeFeedMode

	mu       sync.Mutex
	observed feedReplicaContent
	frozen   *feedReplicaContent // at the crash; what came later is forgotten
}

type feedReplicaContent struct {
	after string
	items map[metamorphic.ItemKey]string // the body, and behind it the LSN
}

func (k feedReplicaContent) clone() feedReplicaContent {
	c := feedReplicaContent{after: k.after, items: make(map[metamorphic.ItemKey]string, len(k.items))}
	for key, v := range k.items {
		c.items[key] = v
	}
	return c
}

func newFeedReplica(mode store.ChangeFeedMode) *replicatingFeedReader {
	observed := feedReplicaContent{items: map[metamorphic.ItemKey]string{}}
	return &replicatingFeedReader{mode: mode, observed: observed}
}

func (f *replicatingFeedReader) freeze() {
	k := f.observed.clone()
	f.frozen = &k
}

func (f *replicatingFeedReader) thaw() { f.observed, f.frozen = *f.frozen, nil }

// page reads one page, applies its changes to the copy and returns their number.
func (f *replicatingFeedReader) page(c *store.Container) (int, error) {
	f.mu.Lock()
	req := store.ChangesRequest{Mode: f.mode, Start: store.ChangesStart{After: f.observed.after},
		MaxItems: 1 + len(f.observed.items)%5}
	f.mu.Unlock()
	if req.Start.After == "" && f.mode == store.AllVersions {
		req.Start.Now = true
	}
	page, _, err := c.Changes(context.Background(), req)
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.observed.after = page.Position
	for _, ch := range page.Changes {
		if ch.Kind == store.ChangeDelete || ch.Kind == store.ChangeExpire {
			key := metamorphic.ItemKey{ID: ch.Key.ID, Partition: ch.Key.Partition.Values()[0].Str()}
			if _, lsn, _ := strings.Cut(f.observed.items[key], " "); lsn != strconv.FormatUint(ch.PreviousLSN,
				10) {
				return 0, fmt.Errorf("%s is deleted at LSN %d, of which %q is known and not %d", key, ch.LSN,
					f.observed.items[key], ch.PreviousLSN)
			}
			delete(f.observed.items, key)
			continue
		}
		key := keyOf(ch.Item)
		_, there := f.observed.items[key]
		if there && ch.Kind == store.ChangeCreate || !there && ch.Kind == store.ChangeReplace {
			return 0, fmt.Errorf("%s: %s at LSN %d, but %q is known", key, ch.Kind, ch.LSN,
				f.observed.items[key])
		}
		f.observed.items[key] = version(ch.Item)
	}
	return len(page.Changes), nil
}

func version(it store.Item) string {
	return strings.ReplaceAll(string(it.Body()), " ", "") + " " + strconv.FormatUint(it.LSN(), 10)
}

// verify reads the feed to its end and compares the copy with the items of the container.
func (f *replicatingFeedReader) verify(t *testing.T, db *store.DB, c *store.Container) {
	t.Helper()
	ctx := context.Background()
	if _, err := db.SweepNow(ctx); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := f.page(c)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	page, _, err := c.List(ctx, store.ListOptions{MaxItems: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range page.Items {
		if got := f.observed.items[keyOf(it)]; got != version(it) {
			t.Errorf("mode %d knows %q, but there is %s", f.mode, got, version(it))
		}
	}
	if f.mode == store.AllVersions && len(page.Items) != len(f.observed.items) {
		t.Errorf("the reader of all versions knows %d items of %d", len(f.observed.items), len(page.Items))
	}
}
