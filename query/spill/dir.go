package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
)

// What an *Error may have as its cause, besides what the system says.
var (
	ErrQuota   = errors.New("the space for intermediate results is used up")
	ErrCorrupt = errors.New("an intermediate result was not read as it was written")
)

// ErrStopped ends what spend has been false for.
var ErrStopped = errors.New("spill: stopped")

// Error reports a temporary file that could not be made, written or read.
type Error struct {
	Op  string // "create", "write", "read"
	Err error  // ErrQuota, ErrCorrupt or what the system said
}

func (e *Error) Error() string { return fmt.Sprintf("temporary file: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// pattern is how files are called as long as they have a name.
const pattern = "spill-*.tmp"

// Dir is a folder of temporary files. It is used concurrently.
type Dir struct {
	path string
	most int64
	used atomic.Int64
	open atomic.Int64
}

// Open makes a folder, if it is not there, and removes the files that a process before has left in it. No two
// processes may have the same one. All its files together take no more than most bytes. The error is the
// system's.
func Open(path string, most int64) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(path, pattern))
	for _, name := range left {
		if e := os.Remove(name); err == nil {
			err = e
		}
	}
	if err != nil {
		return nil, err
	}
	return &Dir{path: path, most: most}, nil
}

// Used is how many bytes the files take, Files how many there are.
func (d *Dir) Used() int64 { return d.used.Load() }

// Files is how many files are open.
func (d *Dir) Files() int { return int(d.open.Load()) }

// file is one temporary file: it is written from the beginning to the end and read anywhere.
type file struct {
	dir  *Dir
	f    *os.File
	size int64
	name string // where it could not be removed while it is open
}

func (d *Dir) create() (*file, error) {
	f, err := os.CreateTemp(d.path, pattern)
	if err != nil {
		return nil, &Error{"create", err}
	}
	d.open.Add(1)
	t := &file{dir: d, f: f}
	if os.Remove(f.Name()) != nil {
		t.name = f.Name()
	}
	return t, nil
}

// write appends bytes.
func (t *file) write(b []byte) error {
	if n := int64(len(b)); t.dir.used.Add(n) > t.dir.most {
		t.dir.used.Add(-n)
		return &Error{"write", ErrQuota}
	}
	t.size += int64(len(b))
	if _, err := t.f.Write(b); err != nil {
		return &Error{"write", err}
	}
	return nil
}

// read fills b with what is at an offset.
func (t *file) read(b []byte, at int64) error {
	if _, err := t.f.ReadAt(b, at); err != nil {
		return &Error{"read", err}
	}
	return nil
}

// close removes the file. It may be called again.
func (t *file) close() {
	if t == nil || t.f == nil {
		return
	}
	_ = t.f.Close() // nothing of it is needed any more
	if t.name != "" {
		_ = os.Remove(t.name) // if that fails, Open does it
	}
	t.f = nil
	t.dir.used.Add(-t.size)
	t.dir.open.Add(-1)
}
