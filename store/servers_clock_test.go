package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/sharedengine"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// skewedClock is a clock that differs from another one by a fixed duration.
type skewedClock struct {
	ttl.Clock
	by time.Duration
}

func (c skewedClock) Now() time.Time { return c.Clock.Now().Add(c.by) }

// twoServers returns two stores over one engine whose own clock is clock. machines are the system clocks
// of the two servers. The first store uses the engine that watch returns, which can observe its calls.
func twoServers(t *testing.T, spec string, clock *ttl.VirtualClock, machines [2]ttl.Clock,
	watch func(engine.Engine) engine.Engine) (a, b *testStore) {
	t.Helper()
	options := func(machine ttl.Clock) store.Options {
		system := struct{ ttl.Clock }{machine} // a virtual clock would be moved by the store
		return store.Options{Clock: system, Wall: machine, Ranges: 1, ManualReaper: true}
	}
	var shared *sharedengine.SharedEngine
	a = newBenchOver(t, testdisk.New(t), spec, options(machines[0]), func(p testdisk.Engine) engine.Engine {
		var err error
		if shared, err = sharedengine.Share(p); err != nil {
			t.Fatal(err)
		}
		return watch(shared.Server(clock))
	})
	a.shared = shared
	other := *a
	var err error
	if other.db, err = store.Open(a.ctx, shared.Server(clock), options(machines[1])); err != nil {
		t.Fatal(err)
	}
	other.lookUp()
	t.Cleanup(func() {
		for _, b := range []*testStore{a, &other} {
			checkSound(t, b.db)
			if err := b.db.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return a, &other
}

func unwatched(e engine.Engine) engine.Engine { return e }

// TestServersUseDatabaseClock checks that servers whose system clocks differ agree on what has
// expired, and that both use the database's clock for _ts.
func TestServersUseDatabaseClock(t *testing.T) {
	t.Parallel()
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	ahead, behind := twoServers(t, `"defaultTtl":30`, clock,
		[2]ttl.Clock{skewedClock{clock, 40 * time.Second}, skewedClock{clock, -40 * time.Second}}, unwatched)
	live := func(b *testStore) bool {
		_, _, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{})
		if err != nil && !is(err, fault.CodeNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	ahead.doc("a", 0)
	it, _, err := behind.c.Read(behind.ctx, pk("p"), "a", store.ReadOptions{})
	if err != nil {
		t.Fatalf("a new document is not there: %v", err)
	}
	if ts := it.Timestamp(); ts != 1_700_000_000 {
		t.Errorf("it is dated %d", ts)
	}
	clock.Advance(29 * time.Second)
	if !live(ahead) || !live(behind) {
		t.Error("it has expired early")
	}
	clock.Advance(time.Second)
	if live(behind) || live(ahead) {
		t.Error("it has not expired in time")
	}
	if one, two := ahead.db.Now(), behind.db.Now(); !one.Equal(two) || one.Unix() != 1_700_000_030 {
		t.Errorf("the servers say %v and %v", one, two)
	}
	// in turn: no write is dated before another
	for i, b := range []*testStore{behind, ahead, behind, ahead} {
		clock.Advance(time.Second)
		b.doc("b", 0)
		it, _, err := behind.c.Read(b.ctx, pk("p"), "b", store.ReadOptions{})
		if err != nil || it.Timestamp() != 1_700_000_031+int64(i) {
			t.Errorf("write %d is dated %d, %v", i, it.Timestamp(), err)
		}
	}
}

// TestWaitForAnotherServer checks that a write by another server ends a Wait. All clocks stand still, so
// that the Wait cannot end by polling.
func TestWaitForAnotherServer(t *testing.T) {
	t.Parallel()
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	a, b := twoServers(t, "", clock, [2]ttl.Clock{clock, clock}, unwatched)
	wait := b.waitFor(store.WaitFeed, "a")
	a.doc("a", 0)
	if out := wait.over(); out.LSN == 0 {
		t.Errorf("%+v", out)
	}
}

// stallingEngine is the engine of a server that stops in the middle of a split of a range and continues when
// the test closes the channel on.
type stallingEngine struct {
	engine.Engine
	engine.Getter
	engine.DatabaseTimeReporter
	stop  chan struct{} // closed when the server is stopped
	on    chan struct{} // closed when it goes on
	calls int           // of the goroutine that splits
}

// Shared returns true: other servers can have the data open. It implements engine.SharedEngine.
func (e *stallingEngine) Shared() bool { return true }

func (e *stallingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	// A mover's own, not one of the host's (00); the first one is before the split is recorded.
	if len(scopes[0]) > layout.ScopeLen && scopes[0][0] != 0 {
		if e.calls++; e.calls == 2 {
			close(e.stop)
			<-e.on
		}
	}
	return e.Engine.Update(ctx, scopes, fn, ahead...)
}

// splitStalled returns two servers of which the first is stopped in the middle of a split of the only
// range.
func splitStalled(t *testing.T) (s *interruptedSplitFixture) {
	t.Helper()
	s = &interruptedSplitFixture{clock: ttl.NewManual(time.Unix(1_700_000_000, 0)), done: make(chan error, 1),
		e: &stallingEngine{stop: make(chan struct{}), on: make(chan struct{})}}
	machine := ttl.NewManual(time.Unix(1_700_000_000, 0))
	s.a, s.b = twoServers(t, "", s.clock, [2]ttl.Clock{machine, s.clock},
		func(of engine.Engine) engine.Engine {
			s.e.Engine, s.e.Getter, s.e.DatabaseTimeReporter = of, of.(engine.Getter), of.(engine.DatabaseTimeReporter)
			return s.e
		})
	s.a.fill(3000, 100)
	go func() {
		_, err := s.a.c.Split(s.a.ctx, "0", "")
		s.done <- err
	}()
	<-s.e.stop
	return s
}

// interruptedSplitFixture is a pair of servers, of which a is stopped during a split and b is running.
type interruptedSplitFixture struct {
	a, b  *testStore
	clock *ttl.VirtualClock
	e     *stallingEngine
	done  chan error // the result of the split
}

// writing begins a write on the running server, and returns when it waits for the split. The channel gets
// its result.
func (s *interruptedSplitFixture) writing(ctx context.Context) <-chan error {
	s.b.t.Helper()
	done := make(chan error, 1)
	go func() {
		_, _, err := s.b.c.Upsert(ctx, pk("p"), []byte(`{"id":"new","pk":"p"}`), store.WriteOptions{})
		done <- err
	}()
	for tries := 0; !s.b.c.AwaitsSplit(); tries++ {
		if len(done) > 0 || tries == 10_000 {
			s.b.t.Fatal("a write does not wait for the split of another server:", <-done)
		}
		clockTurn()
	}
	return done
}

// TestSplitOfAServerThatStops checks that a running server undoes the split of a stopped one, so that a
// waiting write continues, and that the stopped server starts the split again when it resumes.
func TestSplitOfAServerThatStops(t *testing.T) {
	t.Parallel()
	s := splitStalled(t)
	written := s.writing(s.b.ctx)
	late, err := store.Open(s.b.ctx, s.b.shared.Server(s.clock),
		store.Options{Clock: struct{ ttl.Clock }{s.clock}, Wall: s.clock, ManualReaper: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(written) > 0 {
		t.Errorf("a server that starts has undone a split of a running one: %v", <-written)
	}
	for tries := 0; len(written) == 0; tries++ {
		if s.clock.Advance(time.Second / 4); tries == 1000 {
			t.Fatal("the split of the stopped server is not undone")
		}
		clockTurn()
	}
	if err := <-written; err != nil {
		t.Errorf("the write that waited: %v", err)
	}
	close(s.e.on)
	if err := <-s.done; err != nil {
		t.Errorf("the split that was made anew: %v", err)
	}
	for _, x := range []*testStore{s.a, s.b} {
		x.expect("SELECT VALUE COUNT(1) FROM c", "3001")
		if got := x.rangeIDs(); len(got) != 2 {
			t.Errorf("ranges %v", got)
		}
	}
	if err := late.Close(); err != nil {
		t.Error(err)
	}
}

// TestWritesWaitForSplitOfAnotherServer checks that writes, deletions of partition keys and changes of the
// container wait until another server has split the range. All clocks stand still, so that only the end of
// the split can end the wait.
func TestWritesWaitForSplitOfAnotherServer(t *testing.T) {
	t.Parallel()
	s := splitStalled(t)
	b := s.b
	waits := map[string]func() error{
		"batch": func() error {
			_, _, err := b.c.Batch(b.ctx, pk("batch"),
				[]store.ItemOperation{{Kind: store.OperationCreate, Body: []byte(`{"id":"1","pk":"batch"}`)}},
				store.BatchOptions{})
			return err
		},
		"deletion": func() error {
			_, err := b.c.DeletePartition(b.ctx, pk("none"))
			return err
		},
		"settings": func() error {
			_, err := b.c.ChangeSettings(b.ctx,
				func(s *store.ContainerSettings) error { s.AutoDeleteOnIdle = 3000; return nil })
			return err
		},
		"policy": func() error { return b.tryDefault("1000") },
	}
	done := make(chan error, len(waits))
	for name, wait := range waits {
		go func() {
			err := wait()
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			done <- err
		}()
	}
	written := s.writing(b.ctx)
	if len(written)+len(done) > 0 {
		t.Fatal("something has not waited")
	}
	close(s.e.on)
	for range waits {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, ended := range []<-chan error{written, s.done} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for _, x := range []*testStore{s.a, b} {
		x.expect("SELECT VALUE COUNT(1) FROM c", "3002")
	}
}

// TestWritesWaitForSplitsWithinTheirTime checks that a write that waits for a split fails when its context
// ends or Options.QueryTime has passed.
func TestWritesWaitForSplitsWithinTheirTime(t *testing.T) {
	t.Parallel()
	s := splitStalled(t)
	ctx, cancel := context.WithCancel(s.b.ctx)
	written := s.writing(ctx)
	cancel()
	if err := <-written; !is(err, fault.CodeCanceled) {
		t.Errorf("after the end of its request: %v", err)
	}
	impatient := *s.b
	var err error
	impatient.db, err = store.Open(s.b.ctx, s.b.shared.Server(s.clock), store.Options{Wall: s.clock,
		Clock: struct{ ttl.Clock }{s.clock}, ManualReaper: true, QueryTime: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	impatient.lookUp()
	s.b = &impatient
	written = s.writing(s.b.ctx)
	s.clock.Advance(2 * time.Second)
	if err := <-written; !is(err, fault.CodeUnavailable) {
		t.Errorf("after its time: %v", err)
	}
	close(s.e.on)
	if err := errors.Join(<-s.done, impatient.db.Close()); err != nil {
		t.Error(err)
	}
}

// clockTurn sleeps for a millisecond of real time, so that the goroutines of the servers can run.
func clockTurn() {
	turn, stop := ttl.SystemClock{}.After(time.Millisecond)
	defer stop()
	<-turn
}

// TestDeliveryOfServers checks that only one of two servers sends the events of a subscription, and that
// the other one continues when it stops.
func TestDeliveryOfServers(t *testing.T) {
	t.Parallel()
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	a, b := twoServers(t, "", clock, [2]ttl.Clock{clock, clock}, unwatched)
	begun, ended := make(chan int, 2), make(chan int)
	var ends [2]context.CancelFunc
	for i, x := range []*testStore{a, b} {
		ctx, end := context.WithCancel(x.ctx)
		ends[i] = end
		go func() {
			store.EventDestination{Container: x.c, ChangesTo: "q"}.WhileDelivering(ctx,
				func(ctx context.Context) {
					begun <- i
					<-ctx.Done()
				})
			ended <- i
		}()
	}
	// pass lets half a second pass. Each server has time for exchanges with its database.
	pass := func() {
		clock.Advance(time.Second / 2)
		clockTurn()
		for _, x := range []*testStore{a, b} {
			if _, err := x.db.Servers(x.ctx); err != nil {
				t.Error(err)
			}
		}
	}
	next := func() int {
		for range 1000 {
			select {
			case who := <-begun:
				return who
			default:
				pass()
			}
		}
		t.Fatal("nobody delivers")
		return 0
	}
	first := next()
	for range 16 { // shorter than the lease, whether it is renewed or not
		pass()
	}
	if len(begun) > 0 {
		t.Errorf("%d delivers beside %d", <-begun, first)
	}
	ends[first]()
	if who := <-ended; who != first {
		t.Errorf("%d has ended, not %d", who, first)
	}
	if second := next(); second == first {
		t.Errorf("%d delivers after its end", second)
	}
	ends[1-first]()
	<-ended
}
