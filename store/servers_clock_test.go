package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/doors"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// skewed is a system clock that shows another time than the one that it follows.
type skewed struct {
	ttl.Clock
	by time.Duration
}

func (c skewed) Now() time.Time { return c.Clock.Now().Add(c.by) }

// twoServers is two stores over one engine that tells the time of clock, and the clocks of their machines.
// watch looks at what the first one does with the engine.
func twoServers(t *testing.T, spec string, clock *ttl.Virtual, machines [2]ttl.Clock,
	watch func(engine.Engine) engine.Engine) (a, b *bench) {
	t.Helper()
	options := func(machine ttl.Clock) store.Options {
		system := struct{ ttl.Clock }{machine} // a virtual clock would be moved by the store
		return store.Options{Clock: system, Wall: machine, Ranges: 1, ManualReaper: true}
	}
	var shared *doors.Shared
	a = newBenchOver(t, testdisk.New(t), spec, options(machines[0]), func(p testdisk.Engine) engine.Engine {
		var err error
		if shared, err = doors.Share(p); err != nil {
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
		for _, b := range []*bench{a, &other} {
			checkSound(t, b.db)
			if err := b.db.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return a, &other
}

func unwatched(e engine.Engine) engine.Engine { return e }

// Servers whose machines disagree about the time agree on what has expired, and date what they write by the
// database's clock.
func TestServersHaveTheTimeOfTheirDatabase(t *testing.T) {
	t.Parallel()
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	ahead, behind := twoServers(t, `"defaultTtl":30`, clock,
		[2]ttl.Clock{skewed{clock, 40 * time.Second}, skewed{clock, -40 * time.Second}}, unwatched)
	live := func(b *bench) bool {
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
	for i, b := range []*bench{behind, ahead, behind, ahead} { // in turn: no write is dated before another
		clock.Advance(time.Second)
		b.doc("b", 0)
		it, _, err := behind.c.Read(b.ctx, pk("p"), "b", store.ReadOptions{})
		if err != nil || it.Timestamp() != 1_700_000_031+int64(i) {
			t.Errorf("write %d is dated %d, %v", i, it.Timestamp(), err)
		}
	}
}

// A wait ends with what another server writes. The clocks stand still: the wait does not look by itself.
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

// stalled is a server's engine that stops the server in the middle of a split.
type stalled struct {
	engine.Engine
	engine.Getter
	engine.Teller
	stop  chan struct{} // closed when the server is stopped
	on    chan struct{} // closed when it goes on
	calls int           // of the goroutine that splits
}

// Shared implements engine.Shared.
func (e *stalled) Shared() bool { return true }

func (e *stalled) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.Position, error) {
	if len(scopes[0]) > layout.ScopeLen { // a mover's own; the first one is before the split is recorded
		if e.calls++; e.calls == 2 {
			close(e.stop)
			<-e.on
		}
	}
	return e.Engine.Update(ctx, scopes, fn, ahead...)
}

// A split whose server has been stopped is undone by another one, so that the range takes writes again. The
// stopped server makes it anew when it goes on.
func TestSplitOfAServerThatStops(t *testing.T) {
	t.Parallel()
	clock, machine := ttl.NewManual(time.Unix(1_700_000_000, 0)), ttl.NewManual(time.Unix(1_700_000_000, 0))
	e := &stalled{stop: make(chan struct{}), on: make(chan struct{})}
	a, b := twoServers(t, "", clock, [2]ttl.Clock{machine, clock}, func(of engine.Engine) engine.Engine {
		e.Engine, e.Getter, e.Teller = of, of.(engine.Getter), of.(engine.Teller)
		return e
	})
	a.fill(3000, 100)
	split := make(chan error)
	go func() {
		_, err := a.c.Split(a.ctx, "0", "")
		split <- err
	}()
	<-e.stop
	write := func() error {
		_, _, err := b.c.Upsert(b.ctx, pk("p"), []byte(`{"id":"new","pk":"p"}`), store.WriteOptions{})
		return err
	}
	if err := write(); !is(err, fault.CodeUnavailable) {
		t.Errorf("a write beside a split of another server: %v", err)
	}
	late, err := store.Open(b.ctx, b.shared.Server(clock),
		store.Options{Clock: struct{ ttl.Clock }{clock}, Wall: clock, ManualReaper: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := write(); !is(err, fault.CodeUnavailable) {
		t.Errorf("a server that starts has undone a split of a running one: %v", err)
	}
	for tries := 0; write() != nil; tries++ {
		if clock.Advance(time.Second / 4); tries == 1000 {
			t.Fatal("the split of the stopped server is not undone")
		}
		clockTurn()
	}
	close(e.on)
	if err := <-split; err != nil {
		t.Errorf("the split that was made anew: %v", err)
	}
	for _, x := range []*bench{a, b} {
		x.expect("SELECT VALUE COUNT(1) FROM c", "3001")
		if got := x.rangeIDs(); len(got) != 2 {
			t.Errorf("ranges %v", got)
		}
	}
	if err := late.Close(); err != nil {
		t.Error(err)
	}
}

// clockTurn lets the goroutines of the servers run.
func clockTurn() {
	turn, stop := ttl.Real{}.After(time.Millisecond)
	defer stop()
	<-turn
}

// One server sends the events of a subscription. Another one does when that one stops.
func TestDeliveryOfServers(t *testing.T) {
	t.Parallel()
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	a, b := twoServers(t, "", clock, [2]ttl.Clock{clock, clock}, unwatched)
	begun, ended := make(chan int, 2), make(chan int)
	var ends [2]context.CancelFunc
	for i, x := range []*bench{a, b} {
		ctx, end := context.WithCancel(x.ctx)
		ends[i] = end
		go func() {
			store.Subscription{Container: x.c, ChangesTo: "q"}.WhileDelivering(ctx, func(ctx context.Context) {
				begun <- i
				<-ctx.Done()
			})
			ended <- i
		}()
	}
	next := func() int {
		for range 1000 {
			select {
			case who := <-begun:
				return who
			default:
				clock.Advance(time.Second / 2)
				clockTurn()
			}
		}
		t.Fatal("nobody delivers")
		return 0
	}
	first := next()
	for range 16 { // shorter than the lease, whether it is renewed or not
		clock.Advance(time.Second / 2)
		clockTurn()
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
