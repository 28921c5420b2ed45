package pebble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/crashdisk"
	"github.com/mayflydb/mayfly/internal/racetest"
)

// faultInjector makes operations of a file system fail with err. It counts the operations that match
// selects; the one with the number from fails and, if sticky is set, all later ones.
type faultInjector struct {
	match  func(errorfs.Op) bool
	from   int32
	sticky bool
	err    error
	seen   atomic.Int32
	struck atomic.Bool
}

func (f *faultInjector) String() string { return "faults" }

func (f *faultInjector) MaybeError(op errorfs.Op) error {
	if !f.match(op) {
		return nil
	}
	if n := f.seen.Add(1); n == f.from || f.sticky && n > f.from {
		f.struck.Store(true)
		return f.err
	}
	return nil
}

// errOpening is wrapped by errors of Open that the test function life returns. Such an error need not be one
// of the engine's; it may be one of the operating system.
var errOpening = errors.New("opening")

var faultOptions = Options{Dir: "data", lsnBlock: 4, memTable: 64 << 10, Strict: true}

// life opens an engine, writes enough for flushes and compactions, deletes, reads and closes it. It
// records acknowledged writes in l, and returns the first error. It continues after an error.
func life(fs vfs.FS, l *durabilityExpectations) error {
	o := faultOptions
	o.FS = fs
	e, err := Open(ctx, o)
	if err != nil {
		return fmt.Errorf("%w: %w", errOpening, err)
	}
	var first error
	note := func(step string, err error) {
		if err != nil && first == nil {
			first = fmt.Errorf("%s: %w", step, err)
		}
	}
	value := strings.Repeat("v", 3000)
	for i := range 100 {
		scopes := [][]byte{[]byte("a"), []byte("b")}[i%2:]
		written, issued := map[string]string{}, map[string]uint64{}
		_, err := e.Update(ctx, scopes, func(tx engine.Txn) error {
			clear(written)
			for _, s := range scopes {
				lsn := tx.NextLSN(s)
				issued[string(s)] = lsn
				key := lsnKey(string(s), lsn)
				written[key] = value
				tx.Set([]byte(key), []byte(value))
			}
			if i%10 == 9 {
				tx.DeleteRange(engine.Prefix([]byte("gone/")))
			} else {
				tx.Set(fmt.Appendf(nil, "gone/%d", i), []byte(value))
			}
			return nil
		})
		if err == nil {
			l.ack(written)
		}
		if !errors.Is(err, engine.ErrDiskFull) { // which says that nothing was written
			for s, lsn := range issued {
				l.issue(s, lsn)
			}
		}
		note("Update", err)
	}
	note("View", e.View(ctx, func(r engine.Reader) error {
		for key, want := range l.acked {
			if got, err := r.Get([]byte(key)); err != nil {
				return err
			} else if string(got) != want {
				return errors.New("a value is wrong")
			}
		}
		it := r.Scan(engine.Range{}, false)
		for it.Next() {
		}
		return it.Close()
	}))
	note("Close", e.Close())
	return first
}

// TestFaults runs a workload again and again, each time with a fault at a later operation of the file
// system, until the workload ends before the fault. After each run it crashes the disk, keeping only what
// was synced, and checks the data.
func TestFaults(t *testing.T) {
	isWrite := func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite }
	isRead := func(op errorfs.Op) bool { return !isWrite(op) }
	for _, test := range []struct {
		name   string
		match  func(errorfs.Op) bool
		sticky bool
		err    error
	}{
		{"one write", isWrite, false, errorfs.ErrInjected},
		{"writes from then on", isWrite, true, errorfs.ErrInjected},
		{"disk full", isWrite, true, syscall.ENOSPC},
		{"one read", isRead, false, errorfs.ErrInjected},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			errored := 0
			// Steps that grow keep the number of lives in bounds and still hit each kind of operation many
			// times.
			stride := int32(racetest.Campaign(1, 3))
			if racetest.On {
				stride *= 5
			}
			for n := int32(1); ; n += stride * (1 + n/60) {
				f := &faultInjector{match: test.match, from: n, sticky: test.sticky, err: test.err}
				mem, l := crashdisk.New(), newObservedResults()
				err := life(errorfs.Wrap(mem, f), l)
				if !f.struck.Load() {
					if err != nil {
						t.Fatalf("an untouched life: %v", err)
					}
					t.Logf("%d operations, the last struck life was number %d", f.seen.Load(), n)
					break
				}
				if err != nil {
					errored++
					checkTyped(t, n, err, test.err)
				}
				verifyAfterFault(t, n, mem, l)
				if t.Failed() {
					return
				}
			}
			if errored == 0 {
				t.Error("no fault was ever noticed")
			}
		})
	}
}

// checkTyped checks that err is one of the engine's exported errors, or an error of Open, and wraps cause.
// n is the number of the operation that failed.
func checkTyped(t *testing.T, n int32, err, cause error) {
	t.Helper()
	if !errors.Is(err, cause) && !errors.Is(err, engine.ErrDiskFull) {
		t.Errorf("operation %d: %v does not wrap its cause", n, err)
	}
	known := false
	for _, k := range []error{engine.ErrFailed, engine.ErrDiskFull, engine.ErrCorrupt, engine.ErrRead, errOpening} {
		known = known || errors.Is(err, k)
	}
	if !known {
		t.Errorf("operation %d: %v is none of the engine's errors", n, err)
	}
}

func verifyAfterFault(t *testing.T, n int32, mem *crashdisk.Disk, l *durabilityExpectations) {
	t.Helper()
	o := faultOptions
	o.FS = mem.CrashClone(vfs.CrashCloneCfg{})
	e, err := Open(ctx, o)
	if err != nil {
		t.Errorf("operation %d: opening after the crash: %v", n, err)
		return
	}
	l.verify(t, e)
	mustClose(t, e)
}

// TestFailedEngine checks that after a failed sync of the log all updates fail with engine.ErrFailed, even
// if the disk works again, that reads continue, and that acknowledged data are present after a restart.
func TestFailedEngine(t *testing.T) {
	t.Parallel()
	f := &faultInjector{
		match: func(op errorfs.Op) bool {
			return strings.HasSuffix(op.Path, ".log") && op.Kind == errorfs.OpFileSyncData
		},
		err: syscall.EIO,
	}
	mem := crashdisk.New()
	o := faultOptions
	o.FS = errorfs.Wrap(mem, f)
	e := mustOpen(t, o)
	mustPut(t, e, "a/1", []byte("kept"))

	f.from = f.seen.Load() + 1
	if err := put(e, "a/2", []byte("lost")); !errors.Is(err, engine.ErrFailed) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("the Update whose sync failed: %v, want ErrFailed and the cause", err)
	}
	// The disk works again, but the engine does not trust it any more, whatever is asked of it.
	for range 300 {
		if err := put(e, "a/3", make([]byte, 1000)); !errors.Is(err, engine.ErrFailed) {
			t.Fatalf("an Update after the failure: %v, want ErrFailed", err)
		}
	}
	if _, err := e.Update(ctx, [][]byte{[]byte("b")}, func(engine.Txn) error { return nil }); !errors.Is(err, engine.ErrFailed) {
		t.Errorf("a barrier after the failure: %v, want ErrFailed", err)
	}
	if v, _, err := e.Get(ctx, scopeA[0], []byte("a/1")); err != nil || string(v) != "kept" {
		t.Errorf("reads go on: %q, %v", v, err)
	}
	if err := e.Close(); !errors.Is(err, engine.ErrFailed) {
		t.Errorf("Close: %v, want ErrFailed", err)
	}

	o.FS = mem.CrashClone(vfs.CrashCloneCfg{})
	e = mustOpen(t, o)
	defer mustClose(t, e)
	if v, _, err := e.Get(ctx, scopeA[0], []byte("a/1")); err != nil || string(v) != "kept" {
		t.Errorf("after a restart: %q, %v", v, err)
	}
	if _, _, err := e.Get(ctx, scopeA[0], []byte("a/3")); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("what was refused is there: %v", err)
	}
}

// fill writes the given number of keys, or until an error, and returns how many writes were acknowledged.
func fill(e *Engine, writes int) (acked int, err error) {
	for acked < writes {
		if err = put(e, fmt.Sprintf("a/%04d", acked), make([]byte, 8000)); err != nil {
			break
		}
		acked++
	}
	return acked, err
}

// fillSlowly writes the given number of keys, or until an error, and returns how many writes were
// acknowledged. Before each write it waits until Pebble's flushes have caught up or are failing, so that no
// write has to wait for a flush.
func fillSlowly(e *Engine, writes int) (acked int, err error) {
	for acked < writes {
		for e.db.Metrics().MemTable.Count > 4 && !e.space.flushFailing.Load() {
			runtime.Gosched()
		}
		if err = put(e, fmt.Sprintf("a/%04d", acked), make([]byte, 8000)); err != nil {
			break
		}
		acked++
	}
	return acked, err
}

func wantAcked(t *testing.T, e *Engine, acked int) {
	t.Helper()
	for i := range acked {
		if _, _, err := e.Get(ctx, scopeA[0], fmt.Appendf(nil, "a/%04d", i)); err != nil {
			t.Fatalf("write %d of %d that were acknowledged: %v", i, acked, err)
		}
	}
}

// TestFullDisk checks an engine on a full disk whose file system does not report free space: writes fail
// with engine.ErrDiskFull, succeed again when there is room, and no acknowledged write is lost.
func TestFullDisk(t *testing.T) {
	mem := vfs.NewMem()
	var full atomic.Bool
	var tries atomic.Int32
	o := faultOptions
	o.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.HasSuffix(op.Path, ".sst") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			tries.Add(1)
			return syscall.ENOSPC
		}
		return nil
	}))
	e := mustOpen(t, o)
	full.Store(true)
	acked, err := fillSlowly(e, 3000)
	if !errors.Is(err, engine.ErrDiskFull) {
		t.Fatalf("writing to a full disk ends after %d writes with %v, want ErrDiskFull", acked, err)
	}
	// Attempts are made as often as somebody wants to write, and no more.
	before := tries.Load()
	for range 50 {
		if err := put(e, "a/more", nil); !errors.Is(err, engine.ErrDiskFull) {
			t.Fatalf("another write: %v, want ErrDiskFull", err)
		}
	}
	if n := tries.Load() - before; n > 51 {
		t.Errorf("50 refused writes caused %d attempts", n)
	}
	wantAcked(t, e, acked)
	full.Store(false)
	for put(e, "a/more", nil) != nil { // goes through once a table has been written
		runtime.Gosched()
	}

	full.Store(true)
	acked, err = fillSlowly(e, 3000)
	if !errors.Is(err, engine.ErrDiskFull) {
		t.Fatalf("the second time: %v, want ErrDiskFull", err)
	}
	mustClose(t, e) // all is in the log
	full.Store(false)
	e = mustOpen(t, o)
	wantAcked(t, e, acked)
	mustClose(t, e)
}

// writeStallSignalLogHandler is a slog.Handler, and the channel that it closes when the engine logs that
// writers wait for a flush.
type writeStallSignalLogHandler chan bool

func (w writeStallSignalLogHandler) Enabled(context.Context, slog.Level) bool { return true }
func (w writeStallSignalLogHandler) WithAttrs([]slog.Attr) slog.Handler       { return w }
func (w writeStallSignalLogHandler) WithGroup(string) slog.Handler            { return w }
func (w writeStallSignalLogHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == stallMessage {
		close(w)
	}
	return nil
}

// TestStallOnAFullDisk checks that a writer that already waits for a flush gets engine.ErrFailed when the
// flush finds the disk full, instead of waiting forever.
func TestStallOnAFullDisk(t *testing.T) {
	t.Parallel()
	stalled := make(writeStallSignalLogHandler)
	var works atomic.Bool
	mem := vfs.NewMem()
	o := faultOptions
	o.Logger = slog.New(stalled)
	o.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".sst") && op.Kind == errorfs.OpCreate && !works.Load() {
			<-stalled
			return syscall.ENOSPC
		}
		return nil
	}))
	e := mustOpen(t, o)
	acked, err := fill(e, 3000)
	if !errors.Is(err, engine.ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the writer that waited got %v, want ErrFailed and the cause", err)
	}
	if err := e.Close(); !errors.Is(err, engine.ErrFailed) {
		t.Errorf("Close: %v, want ErrFailed", err)
	}
	works.Store(true)
	o.Logger = nil
	e = mustOpen(t, o)
	defer mustClose(t, e)
	wantAcked(t, e, acked)
}

// TestRepeatedBackgroundFailures checks that the engine fails with engine.ErrFailed after
// maxBackgroundFailures failed attempts to create a table, if the reason is not a full disk.
func TestRepeatedBackgroundFailures(t *testing.T) {
	t.Parallel()
	o := faultOptions
	f := &faultInjector{
		match:  func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".sst") && op.Kind == errorfs.OpCreate },
		from:   1,
		sticky: true,
		err:    syscall.EIO,
	}
	o.FS = errorfs.Wrap(vfs.NewMem(), f)
	e := mustOpen(t, o)
	acked, err := fill(e, 3000)
	if !errors.Is(err, engine.ErrFailed) || !errors.Is(err, syscall.EIO) {
		t.Errorf("writing without tables ends after %d writes with %v, want ErrFailed and the cause", acked, err)
	}
	if n := f.seen.Load(); n != maxBackgroundFailures {
		t.Errorf("%d tables were tried, want %d", n, maxBackgroundFailures)
	}
	if err := e.Close(); !errors.Is(err, engine.ErrFailed) {
		t.Errorf("Close: %v", err)
	}
}
