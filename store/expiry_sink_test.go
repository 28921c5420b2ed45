package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/hosttest"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// documentAndReminderHost is a host with two tenants, documents and reminders, opened in either order. Items
// that expire in its container are moved to a book, a list of reminders.
type documentAndReminderHost struct {
	t     *testing.T
	fs    *testdisk.EngineStorage
	clock *ttl.VirtualClock
	last  bool // the documents are the second tenant
	h     *host.Host
	db    *store.DB
	books *hosttest.ReminderTenant
	c     *store.Container
}

func newTwoTenantHost(t *testing.T, last bool) *documentAndReminderHost {
	t.Helper()
	w := &documentAndReminderHost{t: t, fs: testdisk.NewCrashable(t), last: last}
	w.clock = ttl.NewManual(time.Unix(1_700_000_000, 0))
	w.open()
	t.Cleanup(func() { w.must(w.h.Close()) })
	w.must(w.books.Make(t.Context(), "book"))
	d, err := w.db.CreateDatabase(t.Context(), "shop", definition.Throughput{})
	w.must(err)
	spec := definition.ContainerSpec{ID: "carts", DefaultTTL: 5,
		PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/id"}}}
	w.c, err = d.CreateContainerWith(t.Context(), spec, store.ContainerOptions{Ranges: 2})
	w.must(err)
	w.bequeath("book")
	return w
}

func (w *documentAndReminderHost) open() {
	w.t.Helper()
	e, err := w.fs.OpenAt(w.t.Context(), w.clock)
	w.must(err)
	w.db, err = store.New(store.Options{})
	w.must(err)
	w.books = &hosttest.ReminderTenant{}
	tenants := []host.Tenant{w.db.Tenant(), w.books}
	if w.last {
		slices.Reverse(tenants)
	}
	o := host.Options{Clock: ttl.NewVirtualClock(w.clock), ManualReaper: true}
	w.h, err = host.Open(w.t.Context(), e, o, tenants...)
	w.must(err)
}

func (w *documentAndReminderHost) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// bequeath makes a book of the reminder tenant the expiry sink of the container; "": none.
func (w *documentAndReminderHost) bequeath(book string) {
	w.t.Helper()
	w.must(w.c.Bequeath(w.t.Context(), hosttest.Kind, book))
}

func (w *documentAndReminderHost) create(id string) {
	w.t.Helper()
	body := fmt.Appendf(nil, `{"id":%q}`, id)
	_, _, err := w.c.Create(w.t.Context(), definition.PartitionKey{}, body, store.WriteOptions{})
	w.must(err)
}

func (w *documentAndReminderHost) sweep() (int, error) { return w.db.SweepNow(w.t.Context()) }

// stored returns the sorted ids of all items in the container, including expired ones, and the sorted
// texts of the reminders in the book.
func (w *documentAndReminderHost) stored() (ids, texts []string) {
	w.t.Helper()
	ids, err := w.c.StoredIDs(w.t.Context())
	w.must(err)
	texts, err = w.books.Stored(w.t.Context(), "book")
	w.must(err)
	slices.Sort(ids)
	slices.Sort(texts)
	return ids, texts
}

func (w *documentAndReminderHost) expect(ids, texts []string) {
	w.t.Helper()
	if here, there := w.stored(); !slices.Equal(here, ids) || !slices.Equal(there, texts) {
		w.t.Fatalf("stored are %q and %q, not %q and %q", here, there, ids, texts)
	}
	w.must(w.db.Check(w.t.Context(), func(fault error) bool { w.t.Error(fault); return true }))
}

func inBothOrders(t *testing.T, test func(w *documentAndReminderHost)) {
	for _, last := range []bool{false, true} {
		t.Run(fmt.Sprintf("documents last %v", last), func(t *testing.T) { test(newTwoTenantHost(t, last)) })
	}
}

// TestExpirySinkOfOtherTenant checks that expired items of a container are moved to an expiry sink that holds
// another kind of data (as a queue does), and that items that had expired before the sink was set are not.
func TestExpirySinkOfOtherTenant(t *testing.T) {
	t.Parallel()
	inBothOrders(t, func(w *documentAndReminderHost) {
		w.bequeath("")
		w.create("before")
		w.clock.Advance(10 * time.Second)
		w.bequeath("book")
		for i := range 70 {
			w.create(fmt.Sprintf("c%02d", i))
		}
		var want []string
		for i := range 70 {
			want = append(want, fmt.Sprintf("shop/carts/c%02d", i))
		}
		w.clock.Advance(5 * time.Second)
		if n, err := w.sweep(); n != 71 || err != nil {
			w.t.Fatalf("%d were purged, %v", n, err)
		}
		w.expect(nil, want)
	})
}

// TestExpirySinkOfReplacedGhost checks that a write that needs the id of an expired item first moves this
// item to the expiry sink.
func TestExpirySinkOfReplacedGhost(t *testing.T) {
	t.Parallel()
	inBothOrders(t, func(w *documentAndReminderHost) {
		w.create("a")
		w.clock.Advance(5 * time.Second)
		w.create("a")
		w.expect([]string{"a"}, []string{"shop/carts/a"})
	})
}

// TestExpirySinkFailure checks that a purge fails and is repeated later if the expiry sink refuses items or
// does not exist, so that no item is lost.
func TestExpirySinkFailure(t *testing.T) {
	t.Parallel()
	inBothOrders(t, func(w *documentAndReminderHost) {
		w.create("refused")
		w.clock.Advance(5 * time.Second)
		if n, err := w.sweep(); n != 0 || !errors.Is(err, hosttest.ErrRefused) {
			w.t.Fatalf("%d were purged, %v", n, err)
		}
		w.expect([]string{"refused"}, nil)
		err := w.c.Bequeath(w.t.Context(), hosttest.Kind, "none")
		if !errors.Is(err, hosttest.ErrNoBook) {
			w.t.Fatalf("an heir that is not there: %v", err)
		}
		w.bequeath("")
		if n, err := w.sweep(); n != 1 || err != nil {
			w.t.Fatalf("%d were purged, %v", n, err)
		}
		w.expect(nil, nil)
	})
}

// TestExpirySinkCrash checks that after a crash at any moment each item is either in the container or in
// the expiry sink, and not in both.
func TestExpirySinkCrash(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(metamorphic.FirstSeed(), 0))
	inBothOrders(t, func(w *documentAndReminderHost) {
		var all []string
		for round := range 12 {
			for i := range 1 + r.IntN(4) {
				id := fmt.Sprintf("%02d-%d", round, i)
				w.create(id)
				all = append(all, id)
			}
			w.clock.Advance(time.Duration(r.IntN(8)) * time.Second)
			_, err := w.sweep()
			w.must(err)
			wreck := w.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[r.IntN(3)],
				RNG: r})
			w.must(w.h.Close())
			w.fs = wreck
			w.open()
			d, err := w.db.Database("shop")
			w.must(err)
			w.c, err = d.Container("carts")
			w.must(err)
			w.must(w.c.Reopened(w.t.Context(), hosttest.Kind, "book"))
			ids, texts := w.stored()
			for _, text := range texts {
				ids = append(ids, text[len("shop/carts/"):])
			}
			if slices.Sort(ids); !slices.Equal(ids, all) {
				w.t.Fatalf("after a crash there are %q, not %q", ids, all)
			}
			w.must(w.db.Check(w.t.Context(), func(fault error) bool { w.t.Error(fault); return true }))
		}
	})
}

// TestTenantsShareRestoreAndClock checks two tenants of a host, documents and another kind of data on the
// same engine: after a restore each issues numbers above those that either has issued, and a clock move
// affects both and cannot go back behind what either has stored.
func TestTenantsShareRestoreAndClock(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	t.Parallel()
	inBothOrders(t, func(w *documentAndReminderHost) {
		ctx := w.t.Context()
		_, err := w.db.Snapshot(ctx, "s")
		w.must(err)
		for i := range 50 {
			w.create(fmt.Sprint(i))
		}
		if s, err := w.db.Snapshots(ctx); err != nil || !slices.Equal(s[0].Databases, []string{"shop"}) {
			w.t.Fatalf("%+v, %v", s, err)
		}
		high := w.c.Highest()
		w.must(w.db.Restore(ctx, "s"))
		if id, err := w.books.Add(ctx, "book", "one", 1500); err != nil || id <= high {
			w.t.Fatalf("the number %d after %d, %v", id, high, err)
		}
		back := time.Unix(1_699_999_000, 0)
		var far *host.ClockTooFarBackError
		_, err = w.db.SetClock(ctx, store.ClockChangeRequest{Set: &back})
		if !errors.As(err, &far) || fault.ErrorCode(err) != fault.CodeBadRequest {
			w.t.Fatalf("a clock behind a reminder: %v", err)
		}
		second := time.Second
		_, err = w.db.SetClock(ctx, store.ClockChangeRequest{Advance: &second})
		w.must(err)
		if texts, err := w.books.Texts(ctx, "book"); err != nil || len(texts) != 1 {
			w.t.Fatalf("%q, %v", texts, err)
		}
		_, err = w.db.SetClock(ctx, store.ClockChangeRequest{Advance: &second})
		w.must(err)
		if texts, err := w.books.Texts(ctx, "book"); err != nil || len(texts) != 0 {
			w.t.Fatalf("%q, %v", texts, err)
		}
		if n, err := w.sweep(); n != 1 || err != nil {
			w.t.Fatalf("%d were purged, %v", n, err)
		}
	})
}

// TestExpirySinkDuringClockMoves checks that purges into another tenant, writes to both tenants and clock
// moves do not deadlock.
func TestExpirySinkDuringClockMoves(t *testing.T) {
	t.Parallel()
	inBothOrders(t, func(w *documentAndReminderHost) {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 2)
		go func() {
			for i := range 40 {
				d := time.Duration(i%4) * time.Second
				if _, err := w.db.SetClock(ctx, store.ClockChangeRequest{Advance: &d}); err != nil {
					done <- err
					return
				}
				to := w.db.Now().Add(-time.Second)
				_, err := w.db.SetClock(ctx, store.ClockChangeRequest{Set: &to})
				if err != nil && fault.ErrorCode(err) != fault.CodeBadRequest {
					done <- err
					return
				}
			}
			done <- nil
		}()
		go func() {
			for range 40 {
				if _, err := w.db.SweepNow(ctx); err != nil {
					done <- err
					return
				}
				if _, err := w.books.Add(ctx, "book", "x", 1); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		for i := range 80 {
			w.create(fmt.Sprint(i))
		}
		w.must(errors.Join(<-done, <-done))
	})
}
