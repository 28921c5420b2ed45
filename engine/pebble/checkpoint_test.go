package pebble

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
)

func adoptNothing(engine.Engine) error { return nil }

func valueOf(t *testing.T, e engine.Engine, key string) string {
	t.Helper()
	var value string
	err := e.View(ctx, func(r engine.Reader) error {
		v, err := r.Get([]byte(key))
		value = string(v)
		if errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestSnapshots checks that a snapshot does not change when the data, an opened copy or another snapshot
// is changed, and that files which are no longer needed are removed from the data folder.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	e := mustOpen(t, Options{Dir: "d", FS: mem})
	mustPut(t, e, "k", []byte("1"))
	for _, name := range []string{"b", "a"} {
		if err := e.Snapshot(ctx, name, []byte("note "+name)); err != nil {
			t.Fatal(err)
		}
	}
	mustPut(t, e, "k", []byte("2"))
	list, err := e.Snapshots(ctx)
	if err != nil || len(list) != 2 || list[0].Name != "a" || string(list[1].Note) != "note b" || list[0].Bytes == 0 {
		t.Fatalf("%+v, %v", list, err)
	}

	copied, err := e.OpenSnapshot(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if v := valueOf(t, copied, "k"); v != "1" {
		t.Errorf("the copy has %q", v)
	}
	if err := put(copied.(*Engine), "k", []byte("3")); err != nil {
		t.Error(err)
	}
	if err := copied.Close(); err != nil {
		t.Error(err)
	}

	for range 2 {
		next, err := e.Restore(ctx, "a", adoptNothing)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.Get(ctx, scopeA[0], []byte("k")); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("the engine that was replaced answers: %v", err)
		}
		mustClose(t, e)
		if err := e.Close(); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("closed twice: %v", err)
		}
		e = next.(*Engine)
		if v := valueOf(t, e, "k"); v != "1" {
			t.Errorf("restored: %q", v)
		}
		mustPut(t, e, "k", []byte("4"))
	}
	if err := e.DropSnapshot(ctx, "a"); err != nil {
		t.Error(err)
	}
	mustClose(t, e)

	e = mustOpen(t, Options{Dir: "d", FS: mem})
	defer mustClose(t, e)
	if v := valueOf(t, e, "k"); v != "4" {
		t.Errorf("opened again: %q", v)
	}
	names, err := mem.List("d")
	slices.Sort(names)
	if got := strings.Join(names, " "); err != nil || got != "LOCK live-3 marker.data.000002.live-3 snapshots" {
		t.Errorf("the folder holds %s, %v", got, err)
	}
	if names, err := mem.List("d/snapshots"); err != nil || !slices.Equal(names, []string{"b"}) {
		t.Errorf("the snapshots are %v, %v", names, err)
	}
}

// TestSnapshotInMemory checks that an engine in memory writes no log, and that its snapshot still contains
// everything written before.
func TestSnapshotInMemory(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Options{Memory: true})
	mustPut(t, e, "k", []byte("1"))
	mustPut(t, e, "large", make([]byte, 12<<20)) // larger than a memory table
	if err := e.Snapshot(ctx, "s", nil); err != nil {
		t.Fatal(err)
	}
	mustPut(t, e, "k", []byte("2"))
	for range 2 {
		if n := e.db.Metrics().WAL.BytesIn; n != 0 {
			t.Errorf("%d bytes of log", n)
		}
		next, err := e.Restore(ctx, "s", adoptNothing)
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, e)
		e = next.(*Engine)
		if v, n := valueOf(t, e, "k"), len(valueOf(t, e, "large")); v != "1" || n != 12<<20 {
			t.Errorf("restored: %q and %d bytes", v, n)
		}
		mustPut(t, e, "k", []byte("3"))
	}
	mustClose(t, e)
}

// TestRestoreRefused checks that if the function passed to Restore fails, the old engine continues with
// the old data and the copy of the snapshot is removed.
func TestRestoreRefused(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	e := mustOpen(t, Options{Dir: "d", FS: mem})
	defer mustClose(t, e)
	mustPut(t, e, "k", []byte("1"))
	if err := e.Snapshot(ctx, "s", nil); err != nil {
		t.Fatal(err)
	}
	mustPut(t, e, "k", []byte("2"))
	_, err := e.Restore(ctx, "s", func(next engine.Engine) error {
		if err := put(next.(*Engine), "k", []byte("3")); err != nil {
			t.Error(err)
		}
		if _, _, err := e.Get(ctx, scopeA[0], []byte("k")); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("the old engine answers while the new one is adopted: %v", err)
		}
		return errTest
	})
	if !errors.Is(err, errTest) {
		t.Errorf("%v", err)
	}
	if v := valueOf(t, e, "k"); v != "2" {
		t.Errorf("it goes on with %q", v)
	}
	mustPut(t, e, "k", []byte("5"))
	names, err := mem.List("d")
	if err != nil || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, livePrefix) }) {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}

// TestOpenMissingMarkedFolder checks that Open fails with engine.ErrCorrupt, instead of creating a new
// database, if the marker in the data folder names a folder that does not exist.
func TestOpenMissingMarkedFolder(t *testing.T) {
	t.Parallel()
	for _, lose := range []func(fs vfs.FS) error{
		func(fs vfs.FS) error { return fs.RemoveAll("d/live-1") },
		func(fs vfs.FS) error { return fs.Rename("d/marker.data.000001.live-1", "d/marker.data.000001.LOCK") },
	} {
		mem := vfs.NewMem()
		e := mustOpen(t, Options{Dir: "d", FS: mem})
		if err := e.Snapshot(ctx, "s", nil); err != nil {
			t.Fatal(err)
		}
		next, err := e.Restore(ctx, "s", adoptNothing)
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, e)
		mustClose(t, next.(*Engine))
		if err := lose(mem); err != nil {
			t.Fatal(err)
		}
		if e, err := Open(ctx, Options{Dir: "d", FS: mem}); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("opened: %v, %v", e, err)
		}
	}
}

func TestCopySnapshot(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	o := Options{Dir: "d", FS: mem}
	e := mustOpen(t, o)
	defer mustClose(t, e)
	mustPut(t, e, "k", []byte("1"))
	if err := e.Snapshot(ctx, "s", nil); err != nil {
		t.Fatal(err)
	}
	if err := CopySnapshot(o, "s", "new"); err != nil {
		t.Fatal(err)
	}
	copied := mustOpen(t, Options{Dir: "new", FS: mem})
	if v := valueOf(t, copied, "k"); v != "1" {
		t.Errorf("the copy has %q", v)
	}
	mustClose(t, copied)
	for _, tc := range []struct {
		name, to string
		want     error
	}{{"s", "new", fs.ErrExist}, {"t", "other", engine.ErrNoSnapshot}, {"", "other", engine.ErrSnapshotName}} {
		if err := CopySnapshot(o, tc.name, tc.to); !errors.Is(err, tc.want) {
			t.Errorf("%s to %s: %v", tc.name, tc.to, err)
		}
	}
}
