package pebble

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/crashdisk"
	"github.com/mayflydb/mayfly/internal/racetest"
)

// logged writes the given number of keys durably, and returns a copy of the disk as a crash at this moment
// leaves it. memTable is the size of a memory table in bytes, 0 for the default: keys that still fit into one
// are only in the write-ahead logs.
func logged(t *testing.T, memTable uint64, keys int) *crashdisk.Disk {
	t.Helper()
	mem := crashdisk.New()
	e := mustOpen(t, Options{Dir: "data", FS: mem, memTable: memTable})
	for i := range keys {
		mustPut(t, e, fmt.Sprintf("a/%06d", i), []byte(strings.Repeat("x", 100)))
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	mustClose(t, e)
	return crashed
}

func countKeys(t *testing.T, e *Engine) (n int) {
	t.Helper()
	err := e.View(ctx, func(r engine.Reader) error {
		it := r.Scan(engine.Prefix([]byte("a/0")), false)
		for it.Next() {
			n++
		}
		return it.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDamagedLog damages one byte of the newest log, at many positions. Either all acknowledged keys are
// still there, or Open fails with engine.ErrDamagedLog; AcceptDamagedLog then opens the data before the
// damage.
func TestDamagedLog(t *testing.T) {
	const keys = 2000
	tried, refused := 0, 0
	for percent := 0; percent < 100; percent += 100 / min(racetest.Campaign(100, 25), racetest.Fewer(100, 10)) {
		tried++
		mem := logged(t, 0, keys)
		logs := find(t, mem, logSuffix)
		name := "data/" + logs[len(logs)-1]
		data, err := readFile(mem, name)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := logNumber(logs[len(logs)-1])
		end := logEnd(data, uint32(n))
		at := end * percent / 100
		data[at] ^= 0x10
		if err := writeFile(mem, name, data); err != nil {
			t.Fatal(err)
		}
		e, err := Open(ctx, Options{Dir: "data", FS: mem})
		if err == nil {
			if found := countKeys(t, e); found < keys {
				t.Errorf("byte %d of %d: %d of %d keys, and nothing was said", at, end, found, keys)
			}
			mustClose(t, e)
			continue
		}
		refused++
		if !errors.Is(err, engine.ErrDamagedLog) || !errors.Is(err, engine.ErrCorrupt) || !strings.Contains(err.Error(), logs[len(logs)-1]) {
			t.Fatalf("byte %d of %d: %v", at, end, err)
		}
		// A second try says the same, and one that accepts it goes on with what lies before.
		if _, again := Open(ctx, Options{Dir: "data", FS: mem}); again == nil || again.Error() != err.Error() {
			t.Fatalf("opened again: %v", again)
		}
		e, err = Open(ctx, Options{Dir: "data", FS: mem, AcceptDamagedLog: true})
		if err != nil {
			t.Fatalf("accepting the damage: %v", err)
		}
		if found := countKeys(t, e); found >= keys || found < keys*percent/100-20 {
			t.Errorf("byte %d of %d: %d keys are left", at, end, found)
		}
		mustPut(t, e, "a/1", []byte("new"))
		mustClose(t, e)
		mustClose(t, mustOpen(t, Options{Dir: "data", FS: mem}))
		find(t, mem, damagedSuffix)
	}
	if refused*100 < tried*95 {
		t.Errorf("%d of %d were refused", refused, tried)
	}
}

// TestMissingLog checks that Open fails with engine.ErrDamagedLog if a log file has been removed, and that
// AcceptDamagedLog opens the remaining data.
func TestMissingLog(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"newest", "older"} {
		t.Run(which, func(t *testing.T) {
			mem := crashdisk.New()
			held := &blockingTableFS{FS: mem} // so that logs gather
			e := mustOpen(t, Options{Dir: "data", FS: held, memTable: 64 << 10})
			goOn := make(chan bool)
			held.wait.Store(&goOn)
			for i := range 1500 {
				mustPut(t, e, fmt.Sprintf("a/%06d", i), []byte(strings.Repeat("x", 100)))
			}
			crashed := mem.CrashClone(vfs.CrashCloneCfg{})
			held.wait.Store(nil)
			close(goOn)
			mustClose(t, e)

			logs := find(t, crashed, logSuffix)
			if len(logs) < 3 {
				t.Fatalf("the logs are %v", logs)
			}
			gone := logs[len(logs)-1]
			if which == "older" {
				gone = logs[len(logs)-2]
			}
			if err := crashed.Remove("data/" + gone); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(ctx, Options{Dir: "data", FS: crashed}); !errors.Is(err, engine.ErrDamagedLog) || !strings.Contains(err.Error(), gone) {
				t.Fatalf("without %s: %v", gone, err)
			}
			e, err := Open(ctx, Options{Dir: "data", FS: crashed, AcceptDamagedLog: true})
			if err != nil {
				t.Fatal(err)
			}
			if n := countKeys(t, e); n == 0 || n >= 1500 {
				t.Errorf("%d keys are left", n)
			}
			mustClose(t, e)
			mustClose(t, mustOpen(t, Options{Dir: "data", FS: crashed}))
		})
	}
}

// blockingTableFS is a file system that blocks the creation of tables while wait is set, until the channel
// in it is closed.
type blockingTableFS struct {
	vfs.FS
	wait atomic.Pointer[chan bool]
}

func (h *blockingTableFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if wait := h.wait.Load(); wait != nil && strings.HasSuffix(name, ".sst") {
		<-*wait
	}
	return h.FS.Create(name, category)
}

func (h *blockingTableFS) Unwrap() vfs.FS { return h.FS }

// TestLogMarker checks that the marker that lists the logs names only existing files while the engine
// writes, and names none after Close.
func TestLogMarker(t *testing.T) {
	t.Parallel()
	mem := crashdisk.New()
	noted := func(fs *crashdisk.Disk) (marked, there []uint64) {
		names, err := fs.List("data")
		if err != nil {
			t.Fatal(err)
		}
		value, err := marker(Options{Dir: "data", FS: fs}, names, logMarker)
		if err != nil || value == "" {
			t.Fatal(value, err)
		}
		return parseLogs(value), logNumbers(names)
	}
	for range 3 {
		e := mustOpen(t, Options{Dir: "data", FS: mem, memTable: 64 << 10})
		for i := range 3000 {
			mustPut(t, e, fmt.Sprintf("a/%06d", i), []byte(strings.Repeat("x", 100)))
		}
		if marked, there := noted(mem.CrashClone(vfs.CrashCloneCfg{})); len(marked) == 0 || slices.ContainsFunc(marked, func(n uint64) bool { return !slices.Contains(there, n) }) {
			t.Errorf("the marker has %v, the folder %v", marked, there)
		}
		mustClose(t, e)
		if marked, there := noted(mem); len(marked) != 0 || len(there) == 0 {
			t.Errorf("at rest the marker has %v, the folder %v", marked, there)
		}
	}
}

// logMarkerCrashDisk is a disk that simulates power cuts at the moments when a marker of the logs has been
// created but its folder is not synced yet. crashed collects the resulting disks, each with a random half
// of what was not synced.
type logMarkerCrashDisk struct {
	*crashdisk.Disk
	crashed []*crashdisk.Disk
}

func (d *logMarkerCrashDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.Disk.Create(name, category)
	if err == nil && strings.HasPrefix(d.PathBase(name), "marker."+logMarker+".") {
		for seed := range uint64(16) {
			cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, uint64(len(d.crashed))))}
			d.crashed = append(d.crashed, d.CrashClone(cfg))
		}
	}
	return f, err
}

// TestCrashDuringLogCreation checks that Open succeeds after a power cut during the creation of a log: the
// marker that lists the logs never names a log that is not on the disk.
func TestCrashDuringLogCreation(t *testing.T) {
	t.Parallel()
	disk := &logMarkerCrashDisk{Disk: crashdisk.New()}
	e := mustOpen(t, Options{Dir: "data", FS: disk, memTable: 64 << 10})
	for i := range 2000 {
		mustPut(t, e, fmt.Sprintf("a/%06d", i), []byte(strings.Repeat("x", 100)))
	}
	mustClose(t, e)
	if len(disk.crashed) < 64 {
		t.Fatalf("%d crashes", len(disk.crashed))
	}
	for _, crashed := range disk.crashed {
		mustClose(t, mustOpen(t, Options{Dir: "data", FS: crashed}))
	}
}
