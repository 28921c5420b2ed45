package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/hosttest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/ttl"
)

// TestDeadlines checks that a test item is unreadable from the millisecond of its expiry on, and that the
// next sweep purges it.
func TestDeadlines(t *testing.T) {
	w := newTestHost(t, host.Options{ManualReaper: true})
	w.add("soon", 250*time.Millisecond)
	w.add("later", time.Hour)
	w.pass(249 * time.Millisecond)
	w.expect([]string{"soon", "later"}, []string{"soon", "later"})
	w.pass(time.Millisecond)
	w.expect([]string{"later"}, []string{"soon", "later"})
	if n := w.sweep(); n != 1 {
		t.Fatalf("%d were purged", n)
	}
	w.expect([]string{"later"}, []string{"later"})
	w.add("early", time.Millisecond) // before where the pass has come to
	w.pass(time.Second)
	if n := w.sweep(); n != 1 {
		t.Fatalf("%d were purged", n)
	}
	w.expect([]string{"later"}, []string{"later"})
}

// TestRestart checks that the items, the incarnation and the state of the clock survive a restart of the
// host.
func TestRestart(t *testing.T) {
	w := newTestHost(t, host.Options{ManualReaper: true})
	w.add("one", time.Hour)
	w.advance(30 * time.Minute)
	before := w.h.Instance().Incarnation()
	w.reopen()
	if in := w.h.Instance(); in.Incarnation() != before {
		t.Fatal("the incarnation has changed")
	}
	w.advance(30*time.Minute - time.Millisecond)
	w.expect([]string{"one"}, []string{"one"})
	w.advance(time.Millisecond)
	w.expect(nil, []string{"one"})
}

// TestRestore checks that Restore replaces all data by those of the snapshot, and that the numbers issued
// afterwards are higher than all that were issued before, for each tenant (kind of data) of the host.
func TestRestore(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	w := newTestHost(t, host.Options{ManualReaper: true})
	w.add("kept", time.Hour)
	s, err := w.h.Snapshot(t.Context(), "before")
	w.must(err)
	if string(s.Notes["books"]) != "1" || !s.Time.Equal(start) {
		t.Fatalf("the note says %+v", s)
	}
	var last uint64
	for i := range 20 {
		last = w.add(fmt.Sprint(i), time.Minute)
	}
	w.must(w.books.Make(t.Context(), "new"))
	old := w.h.Instance()
	w.advance(2 * time.Hour)
	w.must(w.h.Restore(t.Context(), "before"))
	w.expect([]string{"kept"}, []string{"kept"})
	if id := w.add("more", time.Minute); id <= last {
		t.Fatalf("the number %d is issued again after %d", id, last)
	}
	if now, err := w.h.Incarnation(t.Context()); err != nil || now == old.Incarnation() {
		t.Fatalf("the incarnation is %d as before, %v", now, err)
	}
	err = old.Ping(t.Context())
	if host.Classify(err) != host.Closed {
		t.Fatalf("the old instance answers %v", err)
	}
	if _, err := w.books.Texts(t.Context(), "new"); !errors.Is(err, hosttest.ErrNoBook) {
		t.Fatalf("a book that came later: %v", err)
	}
}

// TestNumbers checks that the catalog never issues a number twice, not even after a restore or a failed
// change.
func TestNumbers(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	w := newTestHost(t, host.Options{ManualReaper: true})
	number := func() (n uint32) {
		c := w.h.Instance().Catalog()
		w.must(c.Lock(t.Context()))
		defer c.Unlock()
		w.must(c.Change(t.Context(), func(t *host.CatalogTxn) error { n = t.Number(); return nil }))
		return n
	}
	_, err := w.h.Snapshot(t.Context(), "s")
	w.must(err)
	a := number()
	w.must(w.h.Restore(t.Context(), "s"))
	if b := number(); b <= a {
		t.Fatalf("the number %d after %d", b, a)
	}
	c := w.h.Instance().Catalog()
	w.must(c.Lock(t.Context()))
	defer c.Unlock()
	failed := uint32(0)
	err = c.Change(t.Context(), func(t *host.CatalogTxn) error { failed = t.Number(); return errBroken })
	if !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	w.must(c.Change(t.Context(), func(t *host.CatalogTxn) error {
		if n := t.Number(); n != failed {
			return fmt.Errorf("the number %d of a change that failed is lost: %d", failed, n)
		}
		return nil
	}))
}

// TestRestoreThatFails makes a tenant (one of the stores on the host's engine) fail while a restore opens it
// in the restored data. The restore must fail, and the data and the clock must be as before.
func TestRestoreThatFails(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	w := newTestHost(t, host.Options{ManualReaper: true})
	_, err := w.h.Snapshot(t.Context(), "s")
	w.must(err)
	w.advance(time.Hour)
	w.add("one", time.Hour)
	w.books.Broken = errBroken
	if err := w.h.Restore(t.Context(), "s"); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	w.books.Broken = nil
	w.expect([]string{"one"}, []string{"one"})
	if now := w.h.Instance().Clock().Time(); !now.Equal(start.Add(time.Hour)) {
		t.Fatalf("the clock shows %s", now)
	}
	w.add("two", time.Hour)
}

// TestRestartAfterFailedOpen makes a tenant fail while host.Open opens it. Open must fail and close the
// engine, so that the next Open works and finds all data.
func TestRestartAfterFailedOpen(t *testing.T) {
	w := newTestHost(t, host.Options{ManualReaper: true})
	w.add("one", time.Hour)
	w.must(w.h.Close())
	w.books = &hosttest.ReminderTenant{Broken: errBroken}
	if _, err := w.tryOpen(); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	w.books.Broken = nil
	w.open() // the engine was closed, or this would fail
	w.expect([]string{"one"}, []string{"one"})
}

// TestRefusedKeySpaces checks that Open refuses tenants whose key spaces overlap with each other or with the
// host's own keys, or are invalid.
func TestRefusedKeySpaces(t *testing.T) {
	w := newTestHost(t, host.Options{ManualReaper: true})
	w.must(w.h.Close())
	for _, c := range []host.TenantKeySpace{
		{Name: "reminders", Kinds: "q", First: 1, Last: 2},
		{Name: "a", Kinds: "qn", First: 1, Last: 2},
		{Name: "a", Kinds: "q", First: 0x3F, Last: 0x40},
		{Name: "a", Kinds: "q", First: 0, Last: 2},
		{Name: "a", Kinds: "m", First: 1, Last: 2},
		{Name: "a", Kinds: "s", First: 1, Last: 2},
		{Name: "a", Kinds: "q", First: 2, Last: 1},
	} {
		w.more = []host.Tenant{&emptyTenant{claim: c}}
		if _, err := w.tryOpen(); err == nil {
			t.Fatalf("%+v was let in", c)
		}
	}
	w.more = []host.Tenant{&emptyTenant{claim: host.TenantKeySpace{Name: "a", Kinds: "q", First: 1,
		Last: 0x3F}}}
	w.open()
}

// endlessSweeper is a sweeper (ttl.Sweeper) for tests. It counts its sweeps, and each reports that more
// has expired until end is set. If held is set, a sweep runs until its context ends.
type endlessSweeper struct {
	turns   atomic.Int64
	end     atomic.Bool
	started chan struct{} // one slot
	held    chan struct{} // nil: a sweep does not wait
}

func (b *endlessSweeper) Ranges(context.Context) ([]ttl.SweepRange, error) {
	return []ttl.SweepRange{{Owner: 1}}, nil
}
func (b *endlessSweeper) Clock(ttl.SweepRange) ttl.Clock { return nil }
func (b *endlessSweeper) Sweep(ctx context.Context, r ttl.SweepRange, _ int) (ttl.SweepResult, error) {
	select {
	case b.started <- struct{}{}:
	default:
	}
	if b.held != nil {
		<-ctx.Done()
		close(b.held)
		return ttl.SweepResult{}, ctx.Err()
	}
	b.turns.Add(1)
	return ttl.SweepResult{Purged: 1, More: !b.end.Load(), Next: host.Never}, nil
}

// TestReaperAlternatesTenants checks that the reaper sweeps two tenants by turns, one batch each, although
// one of them always has more to purge.
func TestReaperAlternatesTenants(t *testing.T) {
	b := &endlessSweeper{started: make(chan struct{}, 1)}
	tenant := with(host.OpenedTenant{Sweep: b})
	w := newTestHost(t, host.Options{ManualReaper: true, Batch: 2}, tenant)
	for range 7 {
		w.add("x", time.Millisecond)
	}
	w.pass(time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := w.h.Instance().SweepNow(ctx)
		done <- err
	}()
	for stored := []string{"x"}; len(stored) > 0; {
		var err error
		stored, err = w.books.Stored(t.Context(), "book")
		w.must(err)
	}
	b.end.Store(true)
	w.must(<-done)
	if b.turns.Load() < 4 {
		t.Fatalf("the other tenant had %d turns", b.turns.Load())
	}
}

// TestListingThatFails makes one tenant fail to list its ranges. The other tenant must still be swept, and
// SweepNow must return the error.
func TestListingThatFails(t *testing.T) {
	b := &endlessSweeper{}
	b.end.Store(true)
	tenant := with(host.OpenedTenant{Sweep: b})
	w := newTestHost(t, host.Options{ManualReaper: true}, tenant)
	w.books.Unlisted = errBroken
	n, err := w.h.Instance().SweepNow(t.Context())
	if n != 1 || b.turns.Load() != 1 || !errors.Is(err, errBroken) {
		t.Fatalf("%d were purged in %d turns, %v", n, b.turns.Load(), err)
	}
}

// TestCloseWhileSweeping checks that Close cancels a running sweep and waits for its end.
func TestCloseWhileSweeping(t *testing.T) {
	b := &endlessSweeper{started: make(chan struct{}, 1), held: make(chan struct{})}
	tenant := with(host.OpenedTenant{Sweep: b})
	w := newTestHost(t, host.Options{}, tenant)
	<-b.started
	w.must(w.h.Close())
	select {
	case <-b.held:
	default:
		t.Fatal("Close has not waited for the sweep")
	}
	_, err := w.h.Instance().SweepNow(t.Context())
	if host.Classify(err) != host.Closed || w.h.Closing() == "" {
		t.Fatalf("a sweep after Close: %v; closing: %q", err, w.h.Closing())
	}
}

// TestPause checks that nothing is purged while the reaper is paused, and that a restore keeps the pause.
func TestPause(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	w := newTestHost(t, host.Options{ManualReaper: true})
	w.add("one", time.Millisecond)
	_, err := w.h.Snapshot(t.Context(), "s")
	w.must(err)
	w.must(w.h.Instance().PauseReaper(t.Context(), true))
	w.must(w.h.Restore(t.Context(), "s"))
	w.pass(time.Second)
	if n := w.sweep(); n != 0 || !w.h.Instance().ReaperPaused() {
		t.Fatalf("%d were purged in a pause", n)
	}
	w.must(w.h.Instance().PauseReaper(t.Context(), false))
	if n := w.sweep(); n != 1 {
		t.Fatalf("%d were purged", n)
	}
}

// TestWithSnapshot checks that WithSnapshot opens a private copy of a snapshot, and leaves the current
// data unchanged.
func TestWithSnapshot(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	w := newTestHost(t, host.Options{ManualReaper: true})
	w.add("then", time.Hour)
	_, err := w.h.Snapshot(t.Context(), "s")
	w.must(err)
	w.add("now", time.Hour)
	err = w.h.WithSnapshot(t.Context(), "s", []host.Tenant{&hosttest.ReminderTenant{}},
		func(ctx context.Context, then *host.EngineInstance) error {
			n := 0
			err := then.Engine().View(ctx, func(r engine.Reader) error {
				return host.ScanRecords(r, 'n', func([]byte, struct{}) error { n++; return nil })
			})
			if n != 1 {
				t.Errorf("the snapshot has %d books", n)
			}
			return err
		})
	w.must(err)
	w.expect([]string{"then", "now"}, []string{"then", "now"})
	err = w.h.WithSnapshot(t.Context(), "none", nil, nil)
	if host.Classify(err) != host.NoSnapshot {
		t.Fatal(err)
	}
}
