package queue

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/roundtrips"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/ttl"
)

// TestRoundTripsOfLocks counts the round trips to the engine of each operation on locked messages, if several
// servers share the engine.
func TestRoundTripsOfLocks(t *testing.T) {
	testdisk.Pebble(t, "the trips of a database are counted on its connections")
	t.Parallel()
	e, err := testdisk.NewCrashable(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted, turn := roundtrips.Over(e), roundtrips.NewCountingLock()
	w := &testQueueHost{t: t, ctx: roundtrips.Counted(t.Context()), base: ttl.NewManual(start)}
	w.q = New(Options{})
	w.h, err = host.Open(w.ctx, roundtrips.Quiet(counted, turn),
		host.Options{Clock: ttl.NewVirtualClock(w.base), ManualReaper: true}, w.q.Tenant())
	w.must(err)
	defer func() { w.must(w.h.Close()) }()
	w.queue("q")
	w.queue("s", sessions)
	for range 1000 {
		w.send("q", msg("A"))
		w.send("s", msg("A", of("1")))
	}
	plain, bySession := w.receiver(address("q"), ReceiverOptions{}), w.receiver(address("s"), session("1"))
	var d []Delivery
	for _, c := range []struct {
		name, want string
		do         func()
	}{
		{"send", "1 begin, 1 commit", func() { w.send("q", msg("A")) }},
		{"receive", "2 get, 1 scan, 1 begin, 1 commit", func() {
			d, err = plain.TryReceive(w.ctx, 100)
			w.must(err)
		}},
		{"renew", "1 begin, 1 commit", func() {
			_, err := w.q.RenewLocks(w.ctx, address("q"), tokensOf(d))
			w.must(err)
		}},
		{"complete", "1 begin, 1 commit", func() { w.settle("q", d[0], SettlementRequest{}) }},
		{"abandon", "1 begin, 1 commit", func() { w.settle("q", d[1], SettlementRequest{Outcome: Abandon}) }},
		{"complete several", "1 begin, 1 commit", func() {
			errs := w.q.SettleAll(w.ctx, address("q"), tokensOf(d[2:12]), make([]SettlementRequest, 10))
			if errs != nil {
				t.Error(errs)
			}
		}},
		{"receive in a session", "3 get, 2 scan, 1 begin, 1 commit", func() {
			d, err = bySession.TryReceive(w.ctx, 100)
			w.must(err)
		}},
		{"complete in a session", "1 get, 1 begin, 1 commit",
			func() { w.settle("s", d[0], SettlementRequest{}) }},
		{"release a session", "2 get, 4 scan, 2 begin, 2 commit", func() { bySession.closeWith(w.ctx) }},
	} {
		turn.Take()
		counted.Take()
		c.do()
		got := counted.Take().String()
		turn.Give()
		if got != c.want {
			t.Errorf("%s takes %s, not %s", c.name, got, c.want)
		}
	}
}
