package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configure a Host. The zero value is usable.
type Options struct {
	// Clock is the data clock: it dates what is stored, and drives expiry and the reaper. Nil is the system's
	// clock. A *ttl.VirtualClock can be moved, and its state is stored with the data. If the engine has the
	// time of a database (engine.DatabaseTimeReporter), this time replaces the system's clock, also as the
	// base of a *ttl.VirtualClock.
	Clock ttl.Clock
	// Wall is the clock for real time, by which leases, timeouts and pauses are measured. Nil means the
	// system's clock. With an engine that reports the time of its database (engine.DatabaseTimeReporter), the
	// time of the data is computed from Wall, so Wall and Clock must not be the same clock.
	Wall ttl.Clock
	// Logger receives warnings and errors of background work; nil discards them.
	Logger *slog.Logger
	// ManualReaper starts no background reaper: expired items are purged only by SweepNow.
	ManualReaper bool
	// FirstNumber is the first number that the catalog of fresh data issues; 0 is 1. Data in memory that
	// replace other data must begin above all numbers of those, so that a number that a client has stored
	// never identifies something else.
	FirstNumber uint32
	// Batch is the maximum number of items that one step of the reaper purges. Default: 32.
	Batch int
	// Server describes this server in the list of servers.
	Server ServerInfo
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = ttl.SystemClock{}
	}
	if o.Wall == nil {
		o.Wall = ttl.SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Host opens the tenants (the document store and the message store) on one engine, and gives them a common
// catalog, clock and reaper. It stays the same across restores. Its methods are safe for concurrent use.
type Host struct {
	tenants []Tenant
	opts    Options
	state   stateKeptAcrossRestores
	live    atomic.Pointer[EngineInstance]

	work        CancelableMutex  // one snapshot, restore, copy or Close at a time
	restoreGate CancelableRWLock // shut during a restore; taken after work and before the catalog's lock
	started     time.Time

	life context.Context // ends when Close is called, and ends long operations under work
	end  context.CancelFunc
}

// Open opens the tenants (the document store and the message store) on an engine, finishes what a crash
// interrupted, and starts the reaper. The order of the tenants is the order of their locks. Open takes
// ownership of the engine: Close closes it, and so does an Open that fails.
//
// Data of an older format are upgraded, after a snapshot of them has been taken: see data_format.go. Open
// fails with engine.ErrNewerFormat or engine.ErrOlderFormat for data that it cannot read,
// engine.ErrCorrupt for an invalid catalog, a *ClockBehindError if a clock is more than five minutes
// behind the data, a tenant's error, and an error if the key spaces of two tenants overlap.
func Open(ctx context.Context, e engine.Engine, o Options, tenants ...Tenant) (*Host, error) {
	h := &Host{tenants: slices.Clone(tenants), opts: o.withDefaults(), work: NewCancelableMutex(),
		restoreGate: NewGate()}
	h.started = h.opts.Wall.Now()
	err := keySpaceError(tenants)
	found := 0
	if err == nil {
		found, err = upgrade(ctx, e, h.opts, h.tenants, true)
	}
	var in *EngineInstance
	if err == nil {
		in, err = openInstance(ctx, h, e, h.opts, h.tenants)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	in.found = found
	h.life, h.end = context.WithCancel(context.Background())
	in.start()
	h.live.Store(in)
	return h, nil
}

// Instance returns the host's current instance, that is, the open engine with its data. Restore replaces it.
func (h *Host) Instance() *EngineInstance { return h.live.Load() }

// Incarnation returns a number that identifies the current instance. Restore changes it, and no two hosts
// have the same. It waits for a running restore and returns the error of ctx. If a call failed with
// engine.ErrClosed and the incarnation has changed since before the call, a restore has interrupted the
// call: its effects are lost, and it may be retried.
func (h *Host) Incarnation(ctx context.Context) (uint32, error) {
	if _, err := h.restoreGate.Stamp(ctx); err != nil {
		return 0, err
	}
	return h.live.Load().incarnation, nil
}

// Close ends background work and long operations, waits for them, and closes the engine. Later calls fail
// with engine.ErrClosed.
func (h *Host) Close() error {
	h.closing("a snapshot, a restore or a fork that is under way")
	h.end()
	if err := h.work.Lock(context.Background()); err != nil {
		return err
	}
	defer h.work.Unlock()
	return h.live.Load().end()
}

func (h *Host) closing(what string) { h.state.closing.Store(&what) }

// Closing returns a description of what Close is waiting for, or "" before Close.
func (h *Host) Closing() string {
	if what := h.state.closing.Load(); what != nil {
		return *what
	}
	return ""
}
