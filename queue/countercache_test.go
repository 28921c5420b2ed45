package queue

import (
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/roundtrips"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/ttl"
)

var errRefused = errors.New("refused")

// TestCachedCounters checks that the cached counters of a message store agree with the engine after a
// transaction has failed, and that they are not used after the queue was deleted.
func TestCachedCounters(t *testing.T) {
	volatile(t)
	w := newTestHost(t, Options{})
	w.queue("q")
	w.send("q", msg("A"))
	s, err := w.q.store(w.ctx, address("q"))
	w.must(err)
	fail := func() {
		t.Helper()
		_, arrivals, err := w.q.accept(w.ctx, address("q"), []*message.Message{msg("X"), msg("Y")})
		w.must(err)
		_, err = s.e.m.in.Engine().Update(w.ctx, [][]byte{s.e.scope}, func(t engine.Txn) error {
			tx := s.e.m.begin(t)
			if _, err := tx.enqueueAll(s.e, arrivals); err != nil {
				return err
			}
			tx.finish()
			return errRefused
		})
		if !errors.Is(err, errRefused) {
			t.Fatal(err)
		}
	}
	fail()
	w.check()
	w.send("q", msg("B"))
	d := w.expect("q", "A B")
	if n := d[1].Broker.SequenceNumber; n != 2 {
		t.Error("the number of B is", n)
	}
	fail()
	w.settle("q", d[0], SettlementRequest{Outcome: Complete})
	w.check()
	w.must(w.q.Delete(w.ctx, "q"))
	err = s.e.m.update(w.ctx, [][]byte{s.e.scope}, func(tx *messageTx) error {
		_, err := tx.partOf(s)
		return err
	})
	if entity.ErrorCodeOf(err) != entity.CodeEntityNotFound {
		t.Error("the deleted queue:", err)
	}
}

// TestRoundTripsOfSoleServer counts the accesses to the engine in each operation, if only one server has the
// engine open: a send or a settlement is one transaction without separate reads.
func TestRoundTripsOfSoleServer(t *testing.T) {
	volatile(t)
	e, err := testdisk.NewCrashable(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted, turn := roundtrips.Over(e), roundtrips.NewCountingLock()
	w := &testQueueHost{t: t, ctx: roundtrips.Counted(t.Context()), base: ttl.NewManual(start)}
	w.q = New(Options{})
	w.h, err = host.Open(w.ctx, roundtrips.Quiet(counted, turn),
		host.Options{Clock: ttl.NewVirtualClock(w.base), ManualReaper: true},
		w.q.Tenant())
	w.must(err)
	defer func() { w.must(w.h.Close()) }()
	w.queue("q")
	w.send("q", msg("A"), msg("B"), msg("C"), msg("D"))
	d := w.expect("q", "A B C D")
	for _, c := range []struct {
		name, want string
		do         func()
	}{
		{"send", "1 begin, 1 commit", func() { w.send("q", msg("E")) }},
		{"complete", "1 begin, 1 commit", func() { w.settle("q", d[0], SettlementRequest{}) }},
		{"abandon", "1 begin, 1 commit", func() { w.settle("q", d[1], SettlementRequest{Outcome: Abandon}) }},
		{"complete several, of which one was completed before", "1 begin, 1 commit", func() {
			errs := w.q.SettleAll(w.ctx, address("q"), tokensOf([]Delivery{d[2], d[0], d[3]}),
				make([]SettlementRequest, 3))
			if len(errs) != 3 || errs[0] != nil || errs[2] != nil ||
				entity.ErrorCodeOf(errs[1]) != entity.CodeMessageLockLost {
				t.Error(errs)
			}
		}},
	} {
		turn.Take()
		counted.Take()
		c.do()
		got := counted.Take().String()
		turn.Give()
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	w.check()
	w.expect("q", "B+1 E")
}
