package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configure a Host. The zero value is a good default.
type Options struct {
	// Clock is the data clock: it dates what is stored, and drives expiry and the reaper. Nil is the system's
	// clock. With a *ttl.Virtual the clocks can be moved, and their state is kept with the data.
	Clock ttl.Clock
	// Wall tells real time. Nil is the system's clock.
	Wall ttl.Clock
	// Logger takes warnings and errors of background work; nil discards them.
	Logger *slog.Logger
	// ManualReaper runs no background loop: what has expired is purged by SweepNow alone.
	ManualReaper bool
	// FirstNumber is the number that the catalog of fresh data begins with; 0 is 1. Data in memory that take
	// the place of other data begin above all that those have used, so that nothing that a client still knows
	// names something else.
	FirstNumber uint32
	// Batch is how many items one step of the reaper purges at most. Default: 32.
	Batch int
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = ttl.Real{}
	}
	if o.Wall == nil {
		o.Wall = ttl.Real{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Host keeps tenants on one engine. It lives through restores. Its methods may be called from any goroutine.
type Host struct {
	tenants []Tenant
	opts    Options
	state   shared
	live    atomic.Pointer[Instance]

	work Mutex // one snapshot, restore, copy or Close at a time
	turn Gate  // shut while a restore is under way; taken after work and before the catalog's lock

	life context.Context // ends when Close is called, and with it what takes long under work
	end  context.CancelFunc
}

// Open lets the tenants move into an engine, finishes what a crash interrupted, and starts the reaper. The
// order of the tenants is that of their locks. It takes the engine over: Close closes it, and a failed Open
// has closed it.
//
// Data of an older format are brought up to date, after a snapshot of them has been made: see format.go. It
// fails with engine.ErrNewerFormat or engine.ErrOlderFormat for data that it cannot read, engine.ErrCorrupt
// for a catalog that cannot be read, a *BehindError where a clock runs more than five minutes behind the
// data, an error of a tenant's, and where the claims of two tenants meet.
func Open(ctx context.Context, e engine.Engine, o Options, tenants ...Tenant) (*Host, error) {
	h := &Host{tenants: slices.Clone(tenants), opts: o.withDefaults(), work: NewMutex(), turn: NewGate()}
	err := keySpaceError(tenants)
	found := 0
	if err == nil {
		found, err = upgrade(ctx, e, h.opts, h.tenants, true)
	}
	var in *Instance
	if err == nil {
		in, err = moveIn(ctx, h, e, h.opts, h.tenants)
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

// Instance is the one that the host has now.
func (h *Host) Instance() *Instance { return h.live.Load() }

// Incarnation tells the instances that Restore puts in each other's place apart, and hosts from each other.
// It waits while a restore is under way; its error is that of ctx. A call that failed with engine.ErrClosed,
// where this has changed since before the call, has met a restore: nothing that it did is left, and it may be
// made again.
func (h *Host) Incarnation(ctx context.Context) (uint32, error) {
	if _, err := h.turn.Look(ctx); err != nil {
		return 0, err
	}
	return h.live.Load().incarnation, nil
}

// Close stops what runs in the background and what takes long, waits for it, and closes the engine. Calls
// that come later fail with engine.ErrClosed.
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

// Closing reports what Close is waiting for, in words; empty where it has not begun.
func (h *Host) Closing() string {
	if what := h.state.closing.Load(); what != nil {
		return *what
	}
	return ""
}
