package pebble

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/crashdisk"
)

func wantOpenError(t *testing.T, o Options, want error) {
	t.Helper()
	e, err := Open(ctx, o)
	if err == nil {
		mustClose(t, e)
	}
	if !errors.Is(err, want) {
		t.Errorf("Open: %v, want %v", err, want)
	}
}

func TestOpenCreatesFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	for range 2 {
		e := mustOpen(t, Options{Dir: dir})
		mustPut(t, e, "a/1", []byte("x"))
		mustClose(t, e)
	}
	empty := t.TempDir()
	for _, name := range []string{".DS_Store", "LOCK"} { // a folder that looks empty is empty
		if err := os.WriteFile(filepath.Join(empty, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, mustOpen(t, Options{Dir: empty}))
}

func TestOpenForeignFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(file, []byte("dear"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, Options{Dir: dir}, engine.ErrNotDatabase)
	wantOpenError(t, Options{Dir: file}, engine.ErrNotDatabase)
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("Open has left files behind: %v", left)
	}
}

func TestOpenOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no Dir":      {},
		"FirstLSN":    {Memory: true, FirstLSN: engine.MaxLSN + 1},
		"Compression": {Memory: true, Compression: 7},
	} {
		t.Run(name, func(t *testing.T) { wantOpenError(t, o, ErrOptions) })
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Open(done, Options{Memory: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a context that is done: %v", err)
	}
	for _, c := range []Compression{Fastest, Balanced} {
		e := mustOpen(t, Options{Memory: true, Compression: c, FirstLSN: 500})
		if h := e.Horizon([]byte("a")); h != 499 {
			t.Errorf("horizon %d where LSNs begin at 500", h)
		}
		mustClose(t, e)
	}
}

// lockedEnv is an environment variable. TestOpenLocked sets it to a folder and starts this test binary
// again; the new process then checks that the folder is locked.
const lockedEnv = "MAYFLY_TEST_LOCKED"

func TestOpenLocked(t *testing.T) {
	if dir := os.Getenv(lockedEnv); dir != "" {
		wantOpenError(t, Options{Dir: dir}, engine.ErrLocked)
		return
	}
	dir := t.TempDir()
	e := mustOpen(t, Options{Dir: dir})
	wantOpenError(t, Options{Dir: dir}, engine.ErrLocked)
	// The same folder by other names.
	t.Chdir(filepath.Dir(dir))
	wantOpenError(t, Options{Dir: filepath.Base(dir)}, engine.ErrLocked)
	link := filepath.Join(t.TempDir(), "link")
	if os.Symlink(dir, link) == nil { // not every system lets everybody
		wantOpenError(t, Options{Dir: link}, engine.ErrLocked)
	}
	other := exec.Command(os.Args[0], "-test.run=^TestOpenLocked$")
	other.Env = append(os.Environ(), lockedEnv+"="+dir)
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("another process: %v\n%s", err, out)
	}
	mustPut(t, e, "a/1", []byte("x")) // the one that holds the lock goes on
	mustClose(t, e)
	mustClose(t, mustOpen(t, Options{Dir: dir}))

	mem := vfs.NewMem()
	e = mustOpen(t, Options{Dir: "data", FS: mem})
	wantOpenError(t, Options{Dir: "data", FS: mem}, engine.ErrLocked)
	mustClose(t, e)
}

func TestFormatIsNewestOfPebble(t *testing.T) {
	t.Parallel()
	// A newer Pebble may know a newer format: then this asks for a decision.
	if formatVersion != pebble.FormatNewest {
		t.Errorf("formatVersion is %d, Pebble's newest is %d", formatVersion, pebble.FormatNewest)
	}
}

// stored returns the disk of a database with data in tables and in the log, as a crash would leave it.
func stored(t *testing.T) *crashdisk.Disk {
	t.Helper()
	mem := crashdisk.New()
	e := mustOpen(t, Options{Dir: "data", FS: mem, memTable: 64 << 10})
	for i := range 40 {
		mustPut(t, e, "a/"+string(rune('A'+i)), bytes.Repeat([]byte{byte(i), byte(i * 7)}, 3000))
	}
	if err := e.db.Flush(); err != nil {
		t.Fatal(err)
	}
	mustPut(t, e, "a/log 1", bytes.Repeat([]byte("x"), 50_000))
	for range 10 { // later records tell how far the log was synced before them, if they come late enough
		mustPut(t, e, "a/log 2", bytes.Repeat([]byte("y"), 5_000))
	}
	clone := mem.CrashClone(vfs.CrashCloneCfg{})
	mustClose(t, e)
	return clone
}

func TestOpenNewerFormat(t *testing.T) {
	t.Parallel()
	mem := stored(t)
	rename(t, mem, "marker.format-version.", "marker.format-version.000099.099")
	wantOpenError(t, Options{Dir: "data", FS: mem}, engine.ErrNewerFormat)
}

// find returns the files in the folder "data" whose names begin or end with part. It fails the test if
// there is none.
func find(t *testing.T, mem *crashdisk.Disk, part string) []string {
	t.Helper()
	names, err := mem.List("data")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, part) && !strings.HasSuffix(n, part) })
	if len(names) == 0 {
		t.Fatalf("no file is called %q", part)
	}
	return names
}

func rename(t *testing.T, mem *crashdisk.Disk, part, to string) {
	t.Helper()
	if err := mem.Rename("data/"+find(t, mem, part)[0], "data/"+to); err != nil {
		t.Fatal(err)
	}
}

// spoil overwrites up to n bytes, beginning at the offset from, of each file whose name begins or ends
// with part.
func spoil(t *testing.T, mem *crashdisk.Disk, part string, from, n int64) {
	t.Helper()
	for _, name := range find(t, mem, part) {
		f, err := mem.OpenReadWrite("data/"+name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if size := info.Size(); size > from {
			if _, err := f.WriteAt(bytes.Repeat([]byte{0xA5}, int(min(n, size-from))), from); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCorrupt damages or removes one kind of file at a time, and checks that Open, or a scan of all data,
// fails with engine.ErrCorrupt.
func TestCorrupt(t *testing.T) {
	t.Parallel()
	remove := func(part string) func(*testing.T, *crashdisk.Disk) {
		return func(t *testing.T, mem *crashdisk.Disk) {
			for _, name := range find(t, mem, part) {
				if err := mem.Remove("data/" + name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	overwrite := func(part string, from, n int64) func(*testing.T, *crashdisk.Disk) {
		return func(t *testing.T, mem *crashdisk.Disk) { spoil(t, mem, part, from, n) }
	}
	for name, damage := range map[string]func(*testing.T, *crashdisk.Disk){
		"manifest, garbage":      overwrite("MANIFEST-", 0, 1<<20),
		"manifest, middle":       overwrite("MANIFEST-", 100, 40),
		"manifest gone":          remove("MANIFEST-"),
		"manifest's marker gone": remove("marker.manifest"),
		"format's marker gone":   remove("marker.format-version"),
		"markers gone":           remove("marker."),
		"format's marker, old": func(t *testing.T, m *crashdisk.Disk) {
			rename(t, m, "marker.format", "marker.format-version.000099.001")
		},
		"format's marker, no int": func(t *testing.T, m *crashdisk.Disk) { rename(t, m, "marker.format", "marker.format-version.000099.x") },
		"a marker of no form":     func(t *testing.T, m *crashdisk.Disk) { rename(t, m, "marker.format", "marker.x") },
		"tables gone":             remove(".sst"),
		"tables, garbage":         overwrite(".sst", 0, 1<<20),
		"tables, data":            overwrite(".sst", 30, 2000),
		"log, middle":             overwrite(".log", 1000, 500),
		"options, garbage":        overwrite("OPTIONS-", 0, 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			mem := stored(t)
			damage(t, mem)
			e, err := Open(ctx, Options{Dir: "data", FS: mem})
			if err == nil {
				err = e.View(ctx, func(r engine.Reader) error {
					it := r.Scan(engine.Range{}, false)
					for it.Next() {
						it.Value()
					}
					return it.Close()
				})
				_ = e.Close()
			}
			if !errors.Is(err, engine.ErrCorrupt) {
				t.Errorf("it is found out as %v, want ErrCorrupt", err)
			}
		})
	}
	// A log may end in the middle of a record: that is a crash, not damage.
	mem := stored(t)
	last := find(t, mem, ".log")
	f, err := mem.OpenReadWrite("data/"+last[len(last)-1], vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 30_000), 70_000); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	e := mustOpen(t, Options{Dir: "data", FS: mem})
	if _, _, err := e.Get(ctx, scopeA[0], []byte("a/log 1")); err != nil {
		t.Errorf("what lies before the torn end of the log: %v", err)
	}
	mustClose(t, e)
}

// TestDiskReserveOfSmallDisks checks the default of DiskReserve for disks of several sizes, and that the
// error of a refused write reports the free and the reserved bytes.
func TestDiskReserveOfSmallDisks(t *testing.T) {
	t.Parallel()
	for total, reserve := range map[uint64]int64{24 << 20: 3 << 20, 100 << 20: 12_800 << 10,
		1 << 30: 64 << 20} {
		mem := vfs.NewMem()
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: uint64(reserve) + 2<<20, TotalBytes: total})
		e := mustOpen(t, Options{Dir: "data", FS: mem})
		mustPut(t, e, "a/1", []byte("x"))
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: uint64(reserve) - 1, TotalBytes: total})
		err := put(e, "a/2", []byte("x"))
		want := engine.DiskReserveError{Free: reserve - 1, Reserve: reserve}
		var full *engine.DiskReserveError
		if !errors.As(err, &full) || *full != want || !errors.Is(err, engine.ErrDiskFull) {
			t.Errorf("%d bytes: %v, want %v", total, err, &want)
		}
		mustClose(t, e)
	}
}

func TestDiskReserve(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	free := func(n uint64) { mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: n, TotalBytes: 1 << 40}) }
	free(1 << 40)
	e := mustOpen(t, Options{Dir: "data", FS: mem, DiskReserve: 100 << 20})
	defer mustClose(t, e)
	mustPut(t, e, "a/1", []byte("x"))
	mustPut(t, e, "a/2", []byte("x"))

	free(80 << 20)
	// It is noticed within a mebibyte.
	var err error
	written := 0
	for ; err == nil && written < 2<<20; written += 64 << 10 {
		err = put(e, "a/3", make([]byte, 64<<10))
	}
	if !errors.Is(err, engine.ErrDiskFull) || written > 1<<20+64<<10 {
		t.Fatalf("after %d bytes on a full disk: %v", written, err)
	}
	if _, err := e.Update(ctx, [][]byte{[]byte("a")}, func(engine.Txn) error { return nil }); err != nil {
		t.Errorf("an Update that writes nothing: %v", err)
	}
	if _, _, err := e.Get(ctx, scopeA[0], []byte("a/1")); err != nil {
		t.Errorf("reads go on: %v", err)
	}
	remove := func() error {
		_, err := e.Update(ctx, [][]byte{[]byte("a")}, func(tx engine.Txn) error {
			tx.Delete([]byte("a/1"))
			tx.Delete([]byte("a/2"))
			tx.Set([]byte("a/log"), []byte("deleted"))
			return nil
		})
		return err
	}
	if err := remove(); err != nil {
		t.Errorf("deleting may use half of the reserve: %v", err)
	}
	free(40 << 20)
	if err := remove(); !errors.Is(err, engine.ErrDiskFull) {
		t.Errorf("deleting beyond that: %v", err)
	}
	free(1 << 30)
	mustPut(t, e, "a/4", []byte("x"))
}
