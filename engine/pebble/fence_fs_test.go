package pebble

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"
)

// onDisk returns the names and contents of the files in the folder "data".
func onDisk(t *testing.T, fs vfs.FS) (files []string) {
	t.Helper()
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		f, err := fs.Open("data/" + name)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		files = append(files, fmt.Sprintf("%s: %s", name, content))
	}
	return files
}

// TestFileSystemAfterFailedWrite cuts off the disk by a failed write of each kind, and then calls everything
// that Pebble may call: no call returns an error that Pebble cannot survive, and nothing on the disk changes.
func TestFileSystemAfterFailedWrite(t *testing.T) {
	t.Parallel()
	const wal, manifest, table = "data/000004.log", "data/MANIFEST-000001", "data/000005.sst"
	for name, fail := range map[string]func(f *memoryAfterWriteErrorFS, open vfs.File) error{
		"write": func(f *memoryAfterWriteErrorFS,
			open vfs.File) error {
			_, err := open.Write([]byte("lost"))
			return err
		},
		"sync":         func(f *memoryAfterWriteErrorFS, open vfs.File) error { return open.Sync() },
		"sync of data": func(f *memoryAfterWriteErrorFS, open vfs.File) error { return open.SyncData() },
		"new log": func(f *memoryAfterWriteErrorFS,
			open vfs.File) error {
			_, err := f.Create("data/000006.log", "")
			return err
		},
		"log made anew": func(f *memoryAfterWriteErrorFS, open vfs.File) error {
			_, err := f.ReuseForWrite(wal, "data/000007.log", "")
			return err
		},
		"new manifest": func(f *memoryAfterWriteErrorFS,
			open vfs.File) error {
			_, err := f.Create("data/MANIFEST-000009", "")
			return err
		},
		"new marker": func(f *memoryAfterWriteErrorFS,
			open vfs.File) error {
			_, err := f.Create("data/marker.x.000001.y", "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var broken error
			mem := vfs.NewMem()
			base := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
					return broken
				}
				return nil
			}))
			must(t, mem.MkdirAll("data", 0o755))
			o, err := Options{Dir: "data", FS: base}.withDefaults()
			must(t, err)
			f := newFence(base, slog.New(slog.DiscardHandler), newSpace(o))
			dir, err := f.OpenDir("data")
			must(t, err)
			var open []vfs.File
			for _, name := range []string{wal, manifest, table} {
				file, err := f.Create(name, "")
				must(t, err)
				_, err = file.Write([]byte("kept"))
				must(t, err)
				open = append(open, file)
			}
			if f.err() != nil {
				t.Fatal("the fence has tripped before anything failed")
			}

			broken = syscall.EIO
			must(t, fail(f, open[0]))
			if f.err() == nil {
				t.Fatal("the fence has not tripped")
			}
			broken = nil // the disk would work again
			before := onDisk(t, mem)

			for _, file := range open[:2] {
				n, err := file.Write([]byte("dropped"))
				if n != 7 || err != nil {
					t.Errorf("Write: %d, %v", n, err)
				}
				must(t, file.Sync())
				must(t, file.SyncData())
				_, err = file.SyncTo(1)
				must(t, err)
				must(t, file.Preallocate(0, 100))
			}
			must(t, dir.Sync())
			if _, err := open[2].Write([]byte("refused")); err == nil {
				t.Error("a table that was begun on disk is not refused")
			}
			must(t, f.Remove(manifest))
			must(t, f.RemoveAll("data"))
			must(t, f.MkdirAll("data/more", 0o755))
			for _, name := range []string{"data/000010.log", "data/MANIFEST-000011", "data/000012.sst", "data/tmp"} {
				file, err := f.Create(name, "pebble-memtable-flush")
				must(t, err)
				_, err = file.Write([]byte("in memory"))
				must(t, err)
				must(t, file.Sync())
				must(t, file.Close())
			}
			must(t, f.Rename("data/tmp", "data/OPTIONS-000013"))
			_, err = f.ReuseForWrite(wal, "data/000014.log", "")
			must(t, err)
			if _, err := f.Create("data/000015.sst", "pebble-compaction"); err == nil {
				t.Error("a compaction may go on")
			}
			if f.Link(wal, "data/link") == nil {
				t.Error("a link is made")
			}
			if _, err := f.OpenReadWrite("data/rw", ""); err == nil {
				t.Error("a file is opened for writing")
			}
			// What was made in memory can be read back, and so can what is on disk.
			for name, want := range map[string]string{"data/000012.sst": "in memory", "data/OPTIONS-000013": "in memory", table: "kept"} {
				file, err := f.Open(name)
				must(t, err)
				content, err := io.ReadAll(file)
				must(t, err)
				if string(content) != want {
					t.Errorf("%s reads %q, want %q", name, content, want)
				}
				info, err := f.Stat(name)
				must(t, err)
				if info.Size() != int64(len(want)) {
					t.Errorf("%s has %d bytes, want %d", name, info.Size(), len(want))
				}
			}
			if diff := cmp.Diff(before, onDisk(t, mem)); diff != "" {
				t.Errorf("the disk has changed (-before +after):\n%s", diff)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
