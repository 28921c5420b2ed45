package pebble

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
)

// walGrowingDuringReadFS is a file system on which the next write-ahead log that is opened for reading grows
// between two reads: the first read returns what the file has, with zeros up to the size of the read, as a
// file does whose space was allocated in advance, and grow is called before the second read.
type walGrowingDuringReadFS struct {
	vfs.FS
	grow func() // nil: logs are read as usual
	name string // of the log that grows
}

// Open implements vfs.FS.
func (f *walGrowingDuringReadFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil || f.grow == nil || !strings.HasSuffix(name, logSuffix) {
		return file, err
	}
	grow := f.grow
	f.grow, f.name = nil, name
	return &growingLogFile{File: file, grow: grow}, nil
}

// growingLogFile is a log opened by a walGrowingDuringReadFS.
type growingLogFile struct {
	vfs.File
	at   int64
	grow func() // nil after the first read
}

// Read implements vfs.File.
func (g *growingLogFile) Read(p []byte) (n int, err error) {
	n, err = g.ReadAt(p, g.at)
	if grow := g.grow; grow != nil && (err == nil || err == io.EOF) {
		clear(p[n:])
		g.grow, n, err = nil, len(p), nil
		grow()
	}
	g.at += int64(n)
	return n, err
}

// TestSnapshotOfAGrowingLog checks that a snapshot can be opened although its copy of the write-ahead log was
// made while writes were acknowledged: it contains all earlier writes, and of the later ones none or the
// first ones.
func TestSnapshotOfAGrowingLog(t *testing.T) {
	t.Parallel()
	disk := &walGrowingDuringReadFS{FS: vfs.NewMem()}
	e := mustOpen(t, Options{Dir: "d", FS: disk})
	defer mustClose(t, e)
	mustPut(t, e, "before", []byte("1"))
	value := make([]byte, 20<<10)
	const later = 6
	grown := false
	disk.grow = func() {
		grown = true
		for i := range later {
			mustPut(t, e, fmt.Sprint("later", i), value)
		}
	}
	if err := e.Snapshot(ctx, "s", nil); err != nil {
		t.Fatal(err)
	}
	if !grown {
		t.Fatal("no log was copied")
	}
	copied, err := e.OpenSnapshot(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if v := valueOf(t, copied, "before"); v != "1" {
		t.Errorf("before: %q", v)
	}
	missing := false
	for i := range later {
		has := valueOf(t, copied, fmt.Sprint("later", i)) != ""
		if has && missing {
			t.Errorf("later%d is in the snapshot without an earlier write", i)
		}
		missing = missing || !has
	}
	if err := copied.Close(); err != nil {
		t.Error(err)
	}
}

// TestSnapshotOfADamagedLog checks that a snapshot fails if the write-ahead log in the data folder is damaged
// itself, so that its copy lacks acknowledged writes.
func TestSnapshotOfADamagedLog(t *testing.T) {
	t.Parallel()
	disk := &walGrowingDuringReadFS{FS: vfs.NewMem()}
	e := mustOpen(t, Options{Dir: "d", FS: disk})
	defer func() { _ = e.Close() }()
	disk.grow = func() {
		for i := range 6 {
			mustPut(t, e, fmt.Sprint("k", i), make([]byte, 20<<10))
		}
		file, err := disk.FS.OpenReadWrite(disk.name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(make([]byte, 40<<10), 0); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Snapshot(ctx, "s", nil); !errors.Is(err, engine.ErrDamagedLog) {
		t.Errorf("the error is %v", err)
	}
	if list, err := e.Snapshots(ctx); err != nil || len(list) > 0 {
		t.Errorf("there are snapshots: %v, %v", list, err)
	}
}
