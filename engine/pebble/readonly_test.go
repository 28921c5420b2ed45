package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/crashdisk"
)

// contents returns the contents of all files below a folder by their paths. The path of a folder ends with
// "/".
func contents(t *testing.T, fs vfs.FS, dir string) map[string]string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{dir + "/": ""}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			maps.Copy(all, contents(t, fs, path))
			continue
		}
		data, err := readFile(fs, path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(data)
	}
	return all
}

// unchanged runs f, and fails the test if it adds, removes or changes a file below the folder dir.
func unchanged(t *testing.T, fs vfs.FS, dir string, f func()) {
	t.Helper()
	before := contents(t, fs, dir)
	f()
	after := contents(t, fs, dir)
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
	for name, data := range before {
		if now, ok := after[name]; !ok {
			t.Errorf("%s is gone", name)
		} else if now != data {
			t.Errorf("%s has changed", name)
		}
	}
}

// readAndWrite opens a folder with Options.ReadOnly, checks its number of keys (not if keys is negative),
// and writes keys and a snapshot, which must not reach the disk.
func readAndWrite(t *testing.T, o Options, keys int) {
	t.Helper()
	o.ReadOnly = true
	e, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := countKeys(t, e); keys >= 0 && n != keys {
		t.Errorf("%d keys, want %d", n, keys)
	}
	if _, err := Open(ctx, o); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("a second opener: %v", err)
	}
	mustPut(t, e, "a/new", []byte(strings.Repeat("x", 1<<20)))
	if err := e.Snapshot(ctx, "seen", nil); err != nil {
		t.Fatal(err)
	}
	mustPut(t, e, "a/newer", []byte("x"))
	mustClose(t, e)
}

// TestReadOnly checks that an engine with Options.ReadOnly leaves the folder unchanged: after a killed
// process, after a clean Close, without a lock file, and with a snapshot.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	rest := logged(t, 64<<10, 500)
	mustClose(t, mustOpen(t, Options{Dir: "data", FS: rest}))
	noLock := logged(t, 0, 500)
	if err := noLock.Remove("data/LOCK"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	live := crashdisk.New()
	e := mustOpen(t, Options{Dir: "data", FS: live})
	for i := range 500 {
		mustPut(t, e, fmt.Sprintf("a/%06d", i), []byte("x"))
	}
	if err := e.Snapshot(ctx, "old", nil); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		mustPut(t, e, fmt.Sprintf("a/1%06d", i), []byte("x"))
	}
	whole := live.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
	mustClose(t, e)
	for name, mem := range map[string]*crashdisk.Disk{
		"killed": logged(t, 0, 500), "killed among tables": logged(t, 64<<10, 500), "at rest": rest, "without its lock": noLock, "with a snapshot": whole,
	} {
		t.Run(name, func(t *testing.T) {
			unchanged(t, mem, "data", func() { readAndWrite(t, Options{Dir: "data", FS: mem}, 500) })
			mustClose(t, mustOpen(t, Options{Dir: "data", FS: mem})) // and can be opened to be written
		})
	}
}

// TestReadOnlyAfterCrash checks that an engine with Options.ReadOnly leaves a folder unchanged that a
// crash at a random moment has left.
func TestReadOnlyAfterCrash(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		mem := crashdisk.New()
		e := mustOpen(t, Options{Dir: "data", FS: mem, memTable: 64 << 10})
		crashed := crashDuring(t, e, mem, rng)
		unchanged(t, crashed, "data", func() { readAndWrite(t, Options{Dir: "data", FS: crashed}, -1) })
	}
}

// TestReadOnlyOnDisk checks that an engine with Options.ReadOnly leaves a folder on the real disk
// unchanged, also if its path is not in the shortest form.
func TestReadOnlyOnDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	e := mustOpen(t, Options{Dir: dir})
	for i := range 100 {
		mustPut(t, e, fmt.Sprintf("a/%06d", i), []byte("x"))
	}
	mustClose(t, e)
	longer := dir + "/../data" // filepath.Join would shorten it to dir
	unchanged(t, vfs.Default, dir, func() { readAndWrite(t, Options{Dir: longer}, 100) })
}

// TestReadOnlyDamagedLog checks that Open with ReadOnly reports a damaged or missing log and leaves it
// unchanged, and that with AcceptDamagedLog as well it shows the data that would remain.
func TestReadOnlyDamagedLog(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"damaged", "missing"} {
		mem := logged(t, 0, 500)
		logs := find(t, mem, logSuffix)
		name := "data/" + logs[len(logs)-1]
		if how == "missing" {
			if err := mem.Remove(name); err != nil {
				t.Fatal(err)
			}
		} else {
			data, err := readFile(mem, name)
			if err != nil {
				t.Fatal(err)
			}
			data[20000] ^= 1
			if err := writeFile(mem, name, data); err != nil {
				t.Fatal(err)
			}
		}
		unchanged(t, mem, "data", func() {
			for range 2 {
				_, err := Open(ctx, Options{Dir: "data", FS: mem, ReadOnly: true})
				if !errors.Is(err, engine.ErrDamagedLog) || !strings.Contains(err.Error(), logs[len(logs)-1]) {
					t.Errorf("%s: %v", how, err)
				}
			}
			e, err := Open(ctx, Options{Dir: "data", FS: mem, ReadOnly: true, AcceptDamagedLog: true})
			if err != nil {
				t.Fatal(err)
			}
			if n := countKeys(t, e); n >= 500 {
				t.Errorf("%s: %d keys are left", how, n)
			}
			mustClose(t, e)
		})
	}
}

// TestReadOnlyWithoutDatabase checks that Open with ReadOnly fails for an empty folder and for a missing one,
// and creates nothing.
func TestReadOnlyWithoutDatabase(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	if err := mem.MkdirAll("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, Options{Dir: "empty", FS: mem, ReadOnly: true}); !errors.Is(err, engine.ErrNotDatabase) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Open(ctx, Options{Dir: "none", FS: mem, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if names, err := mem.List(""); err != nil || len(names) != 1 {
		t.Errorf("the disk holds %v, %v", names, err)
	}
}
