package host

import (
	"context"
	"math"

	"github.com/mayflydb/mayfly/ttl"
)

// One reaper sweeps what all tenants have, a batch from each range in turn: a tenant with many ranges takes
// its share of the pace, and none waits for another's backlog.

func (in *Instance) openReaper() {
	o := ttl.ReaperOptions{
		Clock:  in.opts.Clock,
		Batch:  in.opts.Batch,
		Load:   in.Working,
		Paused: in.opts.ManualReaper,
		OnError: func(err error) {
			if !Classify(err).Gone() {
				in.opts.Logger.Error("purging what has expired failed", "error", err)
			}
		},
	}
	in.reaper = ttl.OpenReaper(o, &sweepers{in: in})
}

// sweepers shows the reaper what all tenants have. It is in the reaper's turn alone.
type sweepers struct {
	in     *Instance
	failed map[uint8]error // of tenants whose ranges could not be listed
}

// unlisted stands for the ranges of a tenant that could not be listed. Its sweep fails with the reason: so
// the others go on, the reaper tries again after a while, and who has asked for a sweep is told.
func unlisted(tenant uint8) ttl.Range {
	return ttl.Range{Tenant: tenant, Owner: math.MaxUint32, Part: math.MaxUint16}
}

// Ranges are those of all tenants.
func (s *sweepers) Ranges(ctx context.Context) (all []ttl.Range, err error) {
	s.failed = make(map[uint8]error)
	for i, r := range s.in.residents {
		if r.Sweep == nil {
			continue
		}
		tenant := uint8(i)
		list, err := r.Sweep.Ranges(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			s.failed[tenant] = err
			list = []ttl.Range{unlisted(tenant)}
		}
		for _, rg := range list {
			rg.Tenant = tenant
			all = append(all, rg)
		}
	}
	return all, nil
}

// Sweep asks the tenant whose range it is.
func (s *sweepers) Sweep(ctx context.Context, r ttl.Range, limit int) (ttl.Swept, error) {
	if r == unlisted(r.Tenant) {
		return ttl.Swept{Next: Never}, s.failed[r.Tenant]
	}
	return s.in.residents[r.Tenant].Sweep.Sweep(ctx, r, limit)
}

// Clock is the clock by which a range expires.
func (s *sweepers) Clock(r ttl.Range) ttl.Clock {
	if r == unlisted(r.Tenant) {
		return nil
	}
	return s.in.residents[r.Tenant].Sweep.Clock(r)
}

// SweepNow purges everything that has expired by now, each by its own clock, but for what somebody holds the
// reaper back from, and reports how many items that were. What a moved clock has brought about has then
// happened. Errors are engine.ErrClosed or ttl.ErrReaperClosed, that of ctx, and those of tenants, joined.
func (in *Instance) SweepNow(ctx context.Context) (purged int, err error) {
	return in.reaper.SweepNow(ctx)
}

// SweepAll is SweepNow for which nobody holds the reaper back: see Held.
func (in *Instance) SweepAll(ctx context.Context) (purged int, err error) {
	return in.reaper.SweepNow(context.WithValue(ctx, sweepsAll{}, true))
}

// sweepsAll marks the context of the sweeps of SweepAll.
type sweepsAll struct{}

// Held tells a sweep, by its context, whether it must purge nothing where somebody holds the reaper back: a
// pause, or what a tenant knows.
func Held(ctx context.Context) bool { return ctx.Value(sweepsAll{}) == nil }

// HoldReaper runs fn while the reaper rests: for a tenant that purges by other rules than a sweep's.
// ttl.ErrReaperClosed: the instance is closed, or fn met its closing.
func (in *Instance) HoldReaper(ctx context.Context, fn func(ctx context.Context) error) error {
	return in.reaper.Do(ctx, fn)
}

// WakeReaper lets the reaper look at everything soon. It does not block.
func (in *Instance) WakeReaper() {
	if in.reaper != nil { // it is, while tenants move in
		in.reaper.Wake()
	}
}

// ReaperMetrics is what the reaper has done since the instance was opened.
func (in *Instance) ReaperMetrics() ttl.ReaperMetrics { return in.reaper.Metrics() }

// PauseReaper asks all tenants to purge nothing, or lets them go on: sweeps go on, so that a tenant can tell
// of deaths all the same, and ask ReaperPaused. When it returns with true no purge is running. A pause stays
// over a restore, and ends with Close.
func (in *Instance) PauseReaper(ctx context.Context, paused bool) error {
	in.state.reaperHeld.Store(paused)
	return in.SettleReaper(ctx)
}

// ReaperPaused reports whether purges are stopped.
func (in *Instance) ReaperPaused() bool { return in.state.reaperHeld.Load() }

// SettleReaper waits for the sweep that is under way, and lets the reaper look at everything anew.
func (in *Instance) SettleReaper(ctx context.Context) error {
	err := in.reaper.Do(ctx, func(context.Context) error { return nil })
	in.WakeReaper()
	return err
}
