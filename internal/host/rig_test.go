package host_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/hosttest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/ttl"
)

// start is the time at which the clocks of the tests begin.
var start = time.UnixMilli(1_700_000_000_500)

// hostOnTestDisk is a host for tests, with one tenant that stores test items with a deadline
// (hosttest.ReminderTenant), on a disk in memory and with a clock that the test moves.
type hostOnTestDisk struct {
	t     *testing.T
	fs    *testdisk.EngineStorage
	base  *ttl.VirtualClock // what would be the system's clock
	real  bool              // the clock is no virtual one, but base itself
	opts  host.Options
	books *hosttest.ReminderTenant
	more  []host.Tenant
	h     *host.Host
}

func newTestHost(t *testing.T, o host.Options, more ...host.Tenant) *hostOnTestDisk {
	t.Helper()
	others := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, others) })
	w := &hostOnTestDisk{t: t, fs: testdisk.NewCrashable(t), base: ttl.NewManual(start), opts: o, more: more}
	w.books = &hosttest.ReminderTenant{}
	w.open()
	t.Cleanup(func() { w.must(w.h.Close()) })
	w.must(w.books.Make(t.Context(), "book"))
	return w
}

func (w *hostOnTestDisk) open() {
	w.t.Helper()
	var err error
	w.h, err = w.tryOpen()
	w.must(err)
}

func (w *hostOnTestDisk) tryOpen() (*host.Host, error) {
	e, err := w.fs.OpenAt(w.t.Context(), w.base)
	w.must(err)
	w.opts.Clock, w.opts.Wall = ttl.NewVirtualClock(w.base), w.base
	if w.real {
		w.opts.Clock = struct{ ttl.Clock }{w.base}
	}
	return host.Open(w.t.Context(), e, w.opts, append([]host.Tenant{w.books}, w.more...)...)
}

func (w *hostOnTestDisk) reopen() {
	w.t.Helper()
	w.must(w.h.Close())
	w.reopenClosed()
}

// reopenClosed opens a new host over the data, after the previous host has been closed.
func (w *hostOnTestDisk) reopenClosed() {
	w.t.Helper()
	w.books = &hosttest.ReminderTenant{}
	w.open()
}

func (w *hostOnTestDisk) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *hostOnTestDisk) add(text string, in time.Duration) uint64 {
	w.t.Helper()
	id, err := w.books.Add(w.t.Context(), "book", text, in.Milliseconds())
	w.must(err)
	return id
}

func (w *hostOnTestDisk) sweep() int {
	w.t.Helper()
	n, err := w.h.Instance().SweepNow(w.t.Context())
	w.must(err)
	return n
}

func (w *hostOnTestDisk) advance(d time.Duration) {
	w.t.Helper()
	_, err := w.h.Instance().SetClock(w.t.Context(), ttl.ClockChangeRequest{Advance: &d})
	w.must(err)
}

// pass advances the machine's clock by d. It then makes a call to the engine, because a host over a
// database learns the database's time only from its responses.
func (w *hostOnTestDisk) pass(d time.Duration) {
	w.t.Helper()
	w.base.Advance(d)
	w.must(w.h.Instance().Ping(w.t.Context()))
}

func (w *hostOnTestDisk) set(t time.Time) error {
	_, err := w.h.Instance().SetClock(w.t.Context(), ttl.ClockChangeRequest{Set: &t})
	return err
}

// expect fails the test unless reads return exactly the test items alive, and exactly the items stored are on
// disk. stored includes expired items that have not been purged.
func (w *hostOnTestDisk) expect(alive, stored []string) {
	w.t.Helper()
	got, err := w.books.Texts(w.t.Context(), "book")
	w.must(err)
	if !slices.Equal(got, alive) {
		w.t.Fatalf("alive are %q, not %q", got, alive)
	}
	got, err = w.books.Stored(w.t.Context(), "book")
	w.must(err)
	if !slices.Equal(got, stored) {
		w.t.Fatalf("stored are %q, not %q", got, stored)
	}
}

var errBroken = errors.New("broken")

// emptyTenant is a tenant without data, with a given key space (claim) and a given state in each instance.
type emptyTenant struct {
	claim host.TenantKeySpace
	r     host.OpenedTenant
}

func (o *emptyTenant) KeySpace() host.TenantKeySpace          { return o.claim }
func (o *emptyTenant) Scopes(engine.Reader) ([][]byte, error) { return nil, nil }
func (o *emptyTenant) Open(context.Context, *host.EngineInstance) (host.OpenedTenant, error) {
	return o.r, nil
}

// with returns a host.Tenant without data, whose Open always returns r. A tenant is a component that keeps
// its data in the host's engine.
func with(r host.OpenedTenant) host.Tenant {
	return &emptyTenant{claim: host.TenantKeySpace{Name: "other", Kinds: "q", First: 1, Last: 1}, r: r}
}
