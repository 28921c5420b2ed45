package queue

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/ttl"
)

// errorAfterCommitEngine is an engine whose transactions return an error although they are committed, while
// lost is set.
type errorAfterCommitEngine struct {
	testdisk.Engine
	shared bool
	lost   atomic.Bool // read by the background work of the host, too
}

func (e *errorAfterCommitEngine) Shared() bool { return e.shared }

func (e *errorAfterCommitEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	at, err := e.Engine.Update(ctx, scopes, fn, ahead...)
	if err == nil && e.lost.Load() {
		err = engine.ErrUnavailable
	}
	return at, err
}

// TestUncertainSettlement checks that all settlements of a transaction fail with CodeStorage, and are not
// tried again, if the engine does not report whether the transaction was committed.
func TestUncertainSettlement(t *testing.T) {
	for _, shared := range []bool{false, true} {
		inner, err := testdisk.NewCrashable(t).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e := &errorAfterCommitEngine{Engine: inner, shared: shared}
		w := &testQueueHost{t: t, ctx: t.Context(), base: ttl.NewManual(start), q: New(Options{})}
		w.h, err = host.Open(w.ctx, e, host.Options{Clock: ttl.NewVirtualClock(w.base), ManualReaper: true},
			w.q.Tenant())
		w.must(err)
		w.queue("q")
		w.send("q", msg("A"), msg("B"), msg("C"))
		d := w.expect("q", "A B C")
		e.lost.Store(true)
		errs := w.q.SettleAll(w.ctx, address("q"), tokensOf(d), make([]SettlementRequest, 3))
		e.lost.Store(false)
		for i := range 3 {
			if len(errs) != 3 || entity.ErrorCodeOf(errs[i]) != entity.CodeStorage {
				t.Error(shared, i, errs)
			}
		}
		w.check()
		w.must(w.h.Close())
	}
}

// TestSettleAll checks that, of several settlements in one call, a refused one does not affect the others.
func TestSettleAll(t *testing.T) {
	w := newTestHost(t, Options{})
	w.queue("q")
	w.send("q", msg("A"), msg("B"), msg("C"), msg("D"))
	d := w.expect("q", "A B C D")
	long := string(make([]byte, maxReason+1))
	tokens := append(tokensOf(d), newToken())
	errs := w.q.SettleAll(w.ctx, address("q"), tokens, []SettlementRequest{{Outcome: Complete},
		{Outcome: DeadLetter, Reason: &long}, {Outcome: Abandon}, {Outcome: DeadLetter}, {Outcome: Complete}})
	if len(errs) != 5 || errs[0] != nil || entity.ErrorCodeOf(errs[1]) != entity.CodeArgument ||
		errs[2] != nil ||
		errs[3] != nil || entity.ErrorCodeOf(errs[4]) != entity.CodeMessageLockLost {
		t.Error(errs)
	}
	w.expect("q", "C+1")
	w.dead("q", "D:<nil>")
	errs = w.q.SettleAll(w.ctx, address("gone"), make([]message.UUID, 2), make([]SettlementRequest, 2))
	if len(errs) != 2 || entity.ErrorCodeOf(errs[1]) != entity.CodeEntityNotFound {
		t.Error(errs)
	}
}
