package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/ttl"
)

// TestClockGoesBack sets the clock back several times: it may go back to the latest write or purge, or to
// the latest expiry of an item that is not purged yet, but not before that.
func TestClockGoesBack(t *testing.T) {
	w := newTestHost(t, host.Options{ManualReaper: true})
	w.add("one", time.Minute)
	w.advance(59 * time.Second)
	w.must(w.set(start.Add(30 * time.Second)))
	w.expect([]string{"one"}, []string{"one"})
	w.must(w.set(start))
	if ms := w.h.Instance().Clock().Millis(); ms != start.UnixMilli() {
		t.Fatalf("the clock shows %d, not %d", ms, start.UnixMilli())
	}
	refused := func(to time.Time, by time.Time) {
		t.Helper()
		var far *host.ClockTooFarBackError
		before := w.h.Instance().Clock().Millis()
		if err := w.set(to); !errors.As(err, &far) || !far.At.Equal(by) {
			t.Fatalf("set to %s: %v", to, err)
		}
		if now := w.h.Instance().Clock().Millis(); now != before {
			t.Fatalf("a refused move has moved the clock from %d to %d", before, now)
		}
	}
	refused(start.Add(-time.Millisecond), start) // the write, in the same second
	w.advance(2 * time.Minute)
	w.expect(nil, []string{"one"})
	refused(start.Add(30*time.Second), start.Add(time.Minute)) // the death
	w.must(w.set(start.Add(time.Minute)))
	w.expect(nil, []string{"one"})
	w.advance(time.Hour)
	w.sweep()
	refused(start.Add(2*time.Minute), start.Add(time.Hour+time.Minute)) // the purge
	w.reopen()
	refused(start.Add(2*time.Minute), start.Add(time.Hour+time.Minute))
}

// TestClockMoveRefused checks that SetClock refuses to advance a clock by a negative time, and to move the
// system's clock.
func TestClockMoveRefused(t *testing.T) {
	w := newTestHost(t, host.Options{ManualReaper: true})
	back := -time.Second
	var bad *ttl.InvalidClockChangeError
	if _, err := w.h.Instance().SetClock(t.Context(), ttl.ClockChangeRequest{Advance: &back}); !errors.As(err,
		&bad) {
		t.Fatal(err)
	}
	w.must(w.h.Close())
	w.real = true
	w.open()
	if _, err := w.h.Instance().SetClock(t.Context(), ttl.ClockChangeRequest{}); !errors.Is(err,
		host.ErrSystemClock) {
		t.Fatal(err)
	}
	if in := w.h.Instance(); in.Virtual() || in.NewClock(7, "of a group").Millis() != in.Clock().Millis() {
		t.Fatal("the clocks are not the system's")
	}
}

// TestClockBehind opens data with a clock that is behind them: if it is four minutes behind, the host's
// clock stands still at the time of the data; if it is six minutes behind, Open fails.
func TestClockBehind(t *testing.T) {
	w := newTestHost(t, host.Options{ManualReaper: true})
	w.add("one", time.Hour)
	w.must(w.h.Close())
	w.base.Advance(-4 * time.Minute)
	w.open()
	if ms := w.h.Instance().Clock().Millis(); ms != start.UnixMilli() {
		t.Fatalf("the clock shows %d", ms)
	}
	w.must(w.h.Close())
	w.base.Advance(-2 * time.Minute)
	var behind *host.ClockBehindError
	if _, err := w.tryOpen(); !errors.As(err, &behind) || behind.Data != start.Unix() {
		t.Fatal(err)
	}
	w.base.Advance(6 * time.Minute)
	w.open()
}

// TestClockWaitsForWrites sets the clock back while a write is running. SetClock must wait until the write
// has ended, and then fail because the stored time of the write is later.
func TestClockWaitsForWrites(t *testing.T) {
	g := &gatedClockMoveParticipant{gate: host.NewGate()}
	tenant := with(host.OpenedTenant{ClockObserver: g})
	w := newTestHost(t, host.Options{ManualReaper: true}, tenant)
	w.advance(time.Minute)
	w.must(g.gate.Share(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.h.Instance().SetClock(ctx, ttl.ClockChangeRequest{Set: &start}); !errors.Is(err,
		context.Canceled) {
		t.Fatal(err)
	}
	w.add("free", time.Hour) // what had been held for the move is open again
	done := make(chan error, 1)
	to := start.Add(30 * time.Second)
	go func() { done <- w.set(to) }()
	g.latest = host.StoredEventTime{At: start.Add(time.Minute), What: "a test"}
	g.gate.Leave()
	var far *host.ClockTooFarBackError
	if err := <-done; !errors.As(err, &far) {
		t.Fatal(err)
	}
}

// gatedClockMoveParticipant is a ClockMoveParticipant for tests. Hold takes its gate exclusively. A test can
// hold the gate shared, to imitate a running write.
type gatedClockMoveParticipant struct {
	gate   host.CancelableRWLock
	clocks []*host.NonDecreasingClock
	latest host.StoredEventTime // guarded by gate
	moved  []*host.NonDecreasingClock
}

func (g *gatedClockMoveParticipant) Clocks() []*host.NonDecreasingClock { return g.clocks }
func (g *gatedClockMoveParticipant) Hold(ctx context.Context, _ []*host.NonDecreasingClock) (func(), error) {
	return g.gate.Open, g.gate.Shut(ctx)
}
func (g *gatedClockMoveParticipant) Latest([]*host.NonDecreasingClock) host.StoredEventTime {
	return g.latest
}
func (g *gatedClockMoveParticipant) Expired(context.Context, []*host.NonDecreasingClock,
	time.Time) (host.StoredEventTime, error) {
	return host.StoredEventTime{}, nil
}
func (g *gatedClockMoveParticipant) Moved(clocks []*host.NonDecreasingClock) { g.moved = clocks }

// TestClocksOfGroups checks the clock of a group of data, such as a database: it follows the server's
// clock until Set gives it a time of its own, and again after Follow.
func TestClocksOfGroups(t *testing.T) {
	g := &gatedClockMoveParticipant{gate: host.NewGate()}
	tenant := with(host.OpenedTenant{ClockObserver: g})
	w := newTestHost(t, host.Options{ManualReaper: true}, tenant)
	in := w.h.Instance()
	one, two := in.NewClock(101, "of one"), in.NewClock(102, "of two")
	g.clocks = []*host.NonDecreasingClock{one, two}
	there := func() error { return nil }
	hour := time.Hour
	_, err := one.Set(t.Context(), ttl.ClockChangeRequest{Advance: &hour}, there)
	w.must(err)
	if !one.Own() || two.Own() || !one.Time().Equal(start.Add(hour)) || !two.Time().Equal(start) {
		t.Fatalf("%s and %s", one.Time(), two.Time())
	}
	if len(g.moved) != 1 || g.moved[0] != one {
		t.Fatal("others were moved with it")
	}
	w.advance(time.Minute)
	if !one.Time().Equal(start.Add(hour)) || !two.Time().Equal(start.Add(time.Minute)) || len(g.moved) != 2 {
		t.Fatalf("%s and %s", one.Time(), two.Time())
	}
	if err := one.Follow(t.Context(), func() error { return errBroken }); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	w.must(one.Follow(t.Context(), there))
	if one.Own() || !one.Time().Equal(start.Add(time.Minute)) {
		t.Fatalf("%s", one.Time())
	}
}
