package host

import (
	"context"
	"math"

	"github.com/mayflydb/mayfly/ttl"
)

// One reaper purges expired items of all tenants, a batch from each range in turn. So each tenant gets a
// share of the reaper's time by the number of its ranges, and no tenant waits for another's backlog. Of
// several servers that share the data, the one that has the lease purges in the background.

// reaperLease is the name of the lease of the server that purges in the background.
const reaperLease = "reaper"

func (in *EngineInstance) openReaper() {
	o := ttl.ReaperOptions{
		Clock:  in.clock.base,
		Batch:  in.opts.Batch,
		Load:   in.Working,
		Paused: in.opts.ManualReaper,
		OnError: func(err error) {
			if !Classify(err).Gone() {
				in.opts.Logger.Error("purging expired items failed", "error", err)
			}
		},
	}
	in.purging = in.Lease(reaperLease)
	in.reaper = ttl.OpenReaper(o, &allTenantsSweeper{in: in})
	if m := in.membership; m != nil {
		// A round that began before the server had the lease has purged nothing.
		m.running.Go(func() {
			in.WhileLeased(m.life, reaperLease, func(context.Context) { in.WakeReaper() })
		})
	}
}

// allTenantsSweeper is the ttl.Sweeper for the partition ranges and queues of all tenants (documents,
// messages). Only the reaper's goroutine uses it.
type allTenantsSweeper struct {
	in     *EngineInstance
	failed map[uint8]error // errors of tenants whose ranges could not be listed
}

// unlisted returns a placeholder for the ranges of a tenant (the document store or the message store) that
// could not be listed. Its sweep fails with the reason. So the other tenants are swept, the reaper retries
// after a while, and the caller of a sweep gets the error.
func unlisted(tenant uint8) ttl.SweepRange {
	return ttl.SweepRange{Tenant: tenant, Owner: math.MaxUint32, Part: math.MaxUint16}
}

// Ranges returns all ranges that the reaper sweeps: those of the store and those of the queues and topics.
func (s *allTenantsSweeper) Ranges(ctx context.Context) (all []ttl.SweepRange, err error) {
	s.failed = make(map[uint8]error)
	for i, r := range s.in.tenants {
		if r.Sweep == nil {
			continue
		}
		tenant := uint8(i)
		list, err := r.Sweep.Ranges(ctx)
		if !s.in.Sweeps(ctx) {
			list = nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			s.failed[tenant] = err
			list = []ttl.SweepRange{unlisted(tenant)}
		}
		for _, rg := range list {
			rg.Tenant = tenant
			all = append(all, rg)
		}
	}
	return all, nil
}

// Sweep lets the tenant to which the range r belongs purge at most limit expired items of it: see
// ttl.Sweeper.
func (s *allTenantsSweeper) Sweep(ctx context.Context, r ttl.SweepRange, limit int) (ttl.SweepResult, error) {
	if r == unlisted(r.Tenant) {
		return ttl.SweepResult{Next: Never}, s.failed[r.Tenant]
	}
	return s.in.tenants[r.Tenant].Sweep.Sweep(ctx, r, limit)
}

// Clock returns the clock that determines when the items of a range expire; nil is the reaper's own clock.
func (s *allTenantsSweeper) Clock(r ttl.SweepRange) ttl.Clock {
	if r == unlisted(r.Tenant) {
		return nil
	}
	return s.in.tenants[r.Tenant].Sweep.Clock(r)
}

// SweepNow purges everything that has expired by now, each item by its own clock, except items whose purge
// is paused or delayed. It returns the number of purged items. When it returns, all effects of an earlier
// move of a clock are complete. The error is engine.ErrClosed, ttl.ErrReaperClosed, that of ctx, or the
// tenants' errors, joined.
func (in *EngineInstance) SweepNow(ctx context.Context) (purged int, err error) {
	return in.reaper.SweepNow(context.WithValue(ctx, onDemandSweepContextKey{}, true))
}

// SweepAll purges everything that has expired by now, also items whose purge is paused or delayed. It returns
// the number of purged items. The error is engine.ErrClosed, ttl.ErrReaperClosed, that of ctx, or the
// tenants' errors, joined.
func (in *EngineInstance) SweepAll(ctx context.Context) (purged int, err error) {
	return in.SweepNow(context.WithValue(ctx, ignorePausesContextKey{}, true))
}

// onDemandSweepContextKey marks the context of the sweeps of SweepNow.
type onDemandSweepContextKey struct{}

// Sweeps reports whether this server purges in the round of the reaper that has the context ctx: because the
// round was requested (SweepNow, SweepAll), or because the server has the reaper's lease.
func (in *EngineInstance) Sweeps(ctx context.Context) bool {
	return ctx.Value(onDemandSweepContextKey{}) != nil || in.purging.Held()
}

// ignorePausesContextKey marks the context of a sweep by SweepAll, which ignores pauses and delays of
// purging.
type ignorePausesContextKey struct{}

// Held reports, for the context of a sweep, whether the sweep must observe pauses and delays of purges. It
// returns false for the sweeps of SweepAll.
func Held(ctx context.Context) bool { return ctx.Value(ignorePausesContextKey{}) == nil }

// HoldReaper pauses the reaper of the whole instance while fn runs, so that fn can purge items by other
// rules than the reaper's. It returns ttl.ErrReaperClosed if the instance is closed before or during fn.
func (in *EngineInstance) HoldReaper(ctx context.Context, fn func(ctx context.Context) error) error {
	return in.reaper.Do(ctx, fn)
}

// WakeReaper makes the reaper check all ranges soon. It does not block.
func (in *EngineInstance) WakeReaper() {
	if in.reaper != nil { // nil while tenants are being opened
		in.reaper.Wake()
	}
}

// ReaperMetrics returns the reaper's work since the instance was opened.
func (in *EngineInstance) ReaperMetrics() ttl.ReaperMetrics { return in.reaper.Metrics() }

// PauseReaper stops or resumes the purging of expired documents and messages. Sweeps continue during a
// pause, so that expired items can still be reported. When PauseReaper(true) returns, no purge is running.
// A pause outlasts a restore and ends with Close. If servers share the data, it applies to all of them
// within a second, and ends when this server ends.
func (in *EngineInstance) PauseReaper(ctx context.Context, paused bool) error {
	if err := in.SharePause(ctx, 0, paused); err != nil {
		return err
	}
	in.state.reaperHeld.Store(paused && !in.Shared())
	return in.SettleReaper(ctx)
}

// ReaperPaused reports whether the purging of all expired items is paused by PauseReaper.
func (in *EngineInstance) ReaperPaused() bool { return in.state.reaperHeld.Load() || in.Paused(0) }

// SettleReaper waits for the running sweep and makes the reaper check all ranges again.
func (in *EngineInstance) SettleReaper(ctx context.Context) error {
	err := in.reaper.Do(ctx, func(context.Context) error { return nil })
	in.WakeReaper()
	return err
}
