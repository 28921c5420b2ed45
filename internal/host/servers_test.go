package host_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/hosttest"
	"github.com/mayflydb/mayfly/internal/sharedengine"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/ttl"
)

// simulatedSharedDatabase is a simulated database that several hosts share, with the database's clock.
type simulatedSharedDatabase struct {
	t      *testing.T
	shared *sharedengine.SharedEngine
	clock  *ttl.VirtualClock // of the database
}

// clusterMember is one of the hosts of a simulatedSharedDatabase, with the clock of its machine.
type clusterMember struct {
	*host.Host
	machine *ttl.VirtualClock
	books   *hosttest.ReminderTenant
}

func newSimulatedSharedDatabase(t *testing.T) *simulatedSharedDatabase {
	t.Helper()
	others := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, others) })
	e, err := testdisk.NewCrashable(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := &simulatedSharedDatabase{t: t, clock: ttl.NewManual(start)}
	if f.shared, err = sharedengine.Share(e); err != nil {
		t.Fatal(err)
	}
	return f
}

// server opens one more host over the shared database, on a machine whose clock moves only by pass.
func (f *simulatedSharedDatabase) server(o host.Options) *clusterMember {
	f.t.Helper()
	m := &clusterMember{machine: ttl.NewManual(start.Add(time.Hour)), books: &hosttest.ReminderTenant{}}
	o.Wall = m.machine
	if o.Clock == nil {
		o.Clock = ttl.SystemClock{}
	}
	var err error
	if m.Host, err = host.Open(f.t.Context(), f.shared.Server(f.clock), o, m.books); err != nil {
		f.t.Fatal(err)
	}
	return m
}

func (f *simulatedSharedDatabase) close(members ...*clusterMember) {
	f.t.Helper()
	for _, m := range members {
		if err := m.Close(); err != nil {
			f.t.Error(err)
		}
	}
}

// pass advances the clock of the database and the clocks of the given servers by d.
func (f *simulatedSharedDatabase) pass(d time.Duration, members ...*clusterMember) {
	f.clock.Advance(d)
	for _, m := range members {
		m.machine.Advance(d)
	}
}

// until advances the clocks of the database and of some servers until something is received from report.
func (f *simulatedSharedDatabase) until(report <-chan string, members ...*clusterMember) string {
	f.t.Helper()
	for range 1000 {
		select {
		case who := <-report:
			return who
		default:
			f.turn()
			f.pass(time.Second/2, members...)
		}
	}
	f.t.Fatal("nothing has happened")
	return ""
}

// turn waits a millisecond, so that the goroutines of the servers run.
func (f *simulatedSharedDatabase) turn() {
	turn, stop := ttl.SystemClock{}.After(time.Millisecond)
	defer stop()
	<-turn
}

// TestLease checks that a lease has one owner, until it gives the lease back or was suspended for longer
// than the lease is valid. Then another server gets it, and the suspended one no longer acts as the owner.
func TestLease(t *testing.T) {
	f := newSimulatedSharedDatabase(t)
	names := []string{"a", "b", "c"}
	servers := make(map[string]*clusterMember)
	got, lost := make(chan string), make(chan string)
	ends := make(map[string]context.CancelFunc)
	ended := make(chan struct{})
	for _, name := range names {
		m := f.server(host.Options{ManualReaper: true})
		servers[name] = m
		ctx, end := context.WithCancel(t.Context())
		ends[name] = end
		go func() {
			m.Instance().WhileLeased(ctx, "work", func(ctx context.Context) {
				got <- name
				<-ctx.Done()
				lost <- name
			})
			ended <- struct{}{}
		}()
	}
	awake := func(not string) (list []*clusterMember) {
		for _, name := range names {
			if name != not {
				list = append(list, servers[name])
			}
		}
		return list
	}
	first := f.until(got, awake("")...)
	f.pass(8*time.Second, servers[first]) // renewed, or not yet: nobody else may get it
	select {
	case who := <-got:
		t.Errorf("%s has the lease of %s", who, first)
	default:
	}
	second := f.until(got, awake(first)...) // the first one is stopped
	lease := servers[first].Instance().Lease("work")
	servers[first].machine.Advance(10 * time.Second)
	if who := <-lost; who != first {
		t.Errorf("%s has lost the lease, not %s", who, first)
	}
	if lease.Held() {
		t.Error("a server that was stopped still has its lease")
	}
	lease.Release()
	ends[first]()
	<-ended
	ends[second]()
	if who := <-lost; who != second {
		t.Errorf("%s has lost the lease, not %s", who, second)
	}
	<-ended
	third := f.until(got, awake("")...)
	if third == first || third == second {
		t.Errorf("%s does not want the lease any more and has it", third)
	}
	ends[third]()
	<-lost
	<-ended
	f.close(awake("")...)
}

// TestServers checks that Servers lists exactly those servers that have renewed their records recently.
func TestServers(t *testing.T) {
	f := newSimulatedSharedDatabase(t)
	info := host.ServerInfo{Name: "m", Address: "https://m:8081/", Version: "1"}
	a := f.server(host.Options{ManualReaper: true, Server: info})
	b := f.server(host.Options{ManualReaper: true})
	ids := func(of *clusterMember) (ids []string) {
		list, err := of.Instance().Servers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			ids = append(ids, s.ID)
			if s.Self != (s.ID == of.Instance().ServerID()) {
				t.Errorf("%+v is asked by %s", s, of.Instance().ServerID())
			}
		}
		return ids
	}
	both := []string{a.Instance().ServerID(), b.Instance().ServerID()}
	slices.Sort(both)
	if got := slices.Sorted(slices.Values(ids(a))); !slices.Equal(got, both) {
		t.Errorf("%v run, not %v", got, both)
	}
	work := a.Instance().Lease("work")
	var list []host.RunningServerInfo
	owner := make(chan string, 1)
	go func() {
		for {
			var err error
			if list, err = b.Instance().ListServers(t.Context()); err != nil {
				owner <- err.Error()
				return
			}
			for _, s := range list {
				if slices.Contains(s.Leases, "work") {
					owner <- s.ID
					return
				}
			}
		}
	}()
	if id := f.until(owner, a, b); id != a.Instance().ServerID() {
		t.Fatalf("the owner of the lease is %s", id)
	}
	for _, s := range list {
		own := s.ID == a.Instance().ServerID()
		holds := slices.Contains(s.Leases, "work")
		if own != (s.ServerInfo == info) || own != holds || s.Seen.Before(s.Since) {
			t.Errorf("%+v", s)
		}
	}
	work.Release()
	running := make(chan string, 1)
	go func() {
		var list []host.RunningServerInfo
		var err error
		// The time passes however long the database takes, so b can be missing until it is renewed.
		for err == nil && (len(list) != 1 || !list[0].Self) {
			list, err = b.Instance().Servers(t.Context())
		}
		if err != nil {
			running <- err.Error()
		} else {
			running <- list[0].ID
		}
	}()
	if id := f.until(running, b); id != b.Instance().ServerID() {
		t.Errorf("%s runs", id) // a is stopped
	}
	f.close(b)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	f.close(a)
}

// TestRefusedMoveOfClock checks that a refused move of a clock never changes the time that it returns.
func TestRefusedMoveOfClock(t *testing.T) {
	f := newSimulatedSharedDatabase(t)
	clock := ttl.NewVirtualClock(ttl.SystemClock{})
	clock.Freeze()
	a := f.server(host.Options{ManualReaper: true, Clock: clock})
	b := f.server(host.Options{ManualReaper: true})
	before := a.Instance().Clock().Seconds()
	stop, reading := make(chan struct{}), make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for a.Instance().Clock().Seconds(); ; a.Instance().Clock().Seconds() {
			select {
			case reading <- struct{}{}:
			case <-stop:
				return
			default:
			}
		}
	})
	<-reading
	day := 24 * time.Hour
	for range 100 {
		_, err := a.Instance().SetClock(t.Context(), ttl.ClockChangeRequest{Advance: &day})
		if !errors.Is(err, host.ErrSeveralServers) {
			t.Fatalf("a move beside another server: %v", err)
		}
	}
	close(stop)
	reader.Wait()
	if now := a.Instance().Clock().Seconds(); now != before {
		t.Errorf("the clock has moved by %d s", now-before)
	}
	f.close(a, b)
}

// TestVirtualClockOfServers checks that servers with shared data have one virtual clock. It cannot be
// moved while several of them run, and a server that starts later has its stored time.
func TestVirtualClockOfServers(t *testing.T) {
	f := newSimulatedSharedDatabase(t)
	virtual := func() host.Options {
		return host.Options{ManualReaper: true, Clock: ttl.NewVirtualClock(ttl.SystemClock{})}
	}
	a, b := f.server(virtual()), f.server(virtual())
	day := 24 * time.Hour
	_, err := a.Instance().SetClock(t.Context(), ttl.ClockChangeRequest{Advance: &day})
	if !errors.Is(err, host.ErrSeveralServers) {
		t.Errorf("moved beside another server: %v", err)
	}
	if now := a.Instance().Clock().Seconds(); now != start.Unix() {
		t.Errorf("a refused move moved the clock to %d", now)
	}
	f.close(b)
	if _, err := a.Instance().SetClock(t.Context(), ttl.ClockChangeRequest{Advance: &day}); err != nil {
		t.Fatal(err)
	}
	f.pass(time.Second)
	b = f.server(virtual())
	if err := a.Instance().Ping(t.Context()); err != nil { // it brings the time
		t.Fatal(err)
	}
	want := start.Add(day + time.Second).Unix()
	for _, m := range []*clusterMember{a, b} {
		if got := m.Instance().Clock().Seconds(); got != want {
			t.Errorf("a server's clock shows %d, not %d", got, want)
		}
	}
	f.close(a, b)
}

// TestPauseOfServers checks that a pause of the reaper applies to all servers that share their data, until
// the server that has requested it resumes the reaper or ends.
func TestPauseOfServers(t *testing.T) {
	f := newSimulatedSharedDatabase(t)
	a, b := f.server(host.Options{ManualReaper: true}), f.server(host.Options{ManualReaper: true})
	pause := func(m *clusterMember, paused bool) {
		t.Helper()
		if err := m.Instance().PauseReaper(t.Context(), paused); err != nil {
			t.Fatal(err)
		}
		if got := m.Instance().ReaperPaused(); got != paused {
			t.Errorf("paused is %v, not %v", got, paused)
		}
	}
	want := func(m *clusterMember, paused bool) {
		t.Helper()
		if err := m.Instance().Catalog().CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m.Instance().ReaperPaused() != paused {
			t.Errorf("paused is %v for another server", !paused)
		}
	}
	pause(a, true)
	want(b, true)
	pause(b, false)
	want(a, false)
	if err := a.Instance().SharePause(t.Context(), 7, true); err != nil {
		t.Fatal(err)
	}
	if want(b, false); !b.Instance().Paused(7) || b.Instance().Paused(8) {
		t.Error("the pause of one object does not hold, or that of another does")
	}
	pause(a, true)
	f.close(a)
	want(b, false)
	if b.Instance().Paused(7) {
		t.Error("a pause outlasts its server")
	}
	c := f.server(host.Options{ManualReaper: true})
	pause(c, true)
	for gone := 0; gone < 10; gone++ { // c is stopped; its last renewal may be under way
		f.clock.Advance(11 * time.Second)
		f.turn()
		runs, err := b.Instance().Running(t.Context(), c.Instance().ServerID())
		if err != nil {
			t.Fatal(err)
		}
		if runs {
			gone = 0
		}
	}
	d := f.server(host.Options{ManualReaper: true})
	want(d, false)
	f.close(b, c, d)
}

// TestServersOpenedConcurrently checks that several hosts can be opened at once over an empty database.
func TestServersOpenedConcurrently(t *testing.T) {
	for range 20 {
		f := newSimulatedSharedDatabase(t)
		members := make([]*clusterMember, 4)
		var starting sync.WaitGroup
		for i := range members {
			starting.Go(func() {
				m := &clusterMember{machine: ttl.NewManual(start), books: &hosttest.ReminderTenant{}}
				var err error
				o := host.Options{Wall: m.machine, Clock: ttl.SystemClock{}}
				if m.Host, err = host.Open(t.Context(), f.shared.Server(f.clock), o, m.books); err != nil {
					t.Error(err)
					return
				}
				members[i] = m
			})
		}
		starting.Wait()
		for _, m := range members {
			if m != nil {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
