package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Causes of an *Error, besides errors of the system.
var (
	ErrQuota   = errors.New("the space for intermediate results is used up")
	ErrCorrupt = errors.New("an intermediate result was not read as it was written")
)

// ErrStopped is returned by an operation on temporary files when the function spend that the caller has
// passed to it returns false, because the query has exceeded a limit.
var ErrStopped = errors.New("spill: stopped")

// Error reports a temporary file that could not be created, written or read.
type Error struct {
	Op  string // "create", "write", "read"
	Err error  // ErrQuota, ErrCorrupt, or an error of the operating system
}

func (e *Error) Error() string { return fmt.Sprintf("temporary file: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// pattern is the pattern for the names of temporary files. Where the system allows it, a file is removed
// right after it was opened, so that it has no name while it is used.
const pattern = "spill-*.tmp"

// TempDir is a folder of temporary files. It is safe for concurrent use.
type TempDir struct {
	path string
	most int64
	used atomic.Int64
	open atomic.Int64
}

// Open creates a folder, if it does not exist, and removes the files that an earlier process has left in it.
// Two processes must not use the same folder at the same time. most is the limit in bytes of all its files
// together. It returns the error of the operating system.
func Open(path string, most int64) (*TempDir, error) {
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
	return &TempDir{path: path, most: most}, nil
}

// Used returns the size of all files in bytes.
func (d *TempDir) Used() int64 { return d.used.Load() }

// Files returns the number of open files.
func (d *TempDir) Files() int { return int(d.open.Load()) }

// tempFile is one temporary file: it is written sequentially and read at any offset.
type tempFile struct {
	dir  *TempDir
	f    *os.File
	size int64
	name string // set if the system cannot remove an open file
}

func (d *TempDir) create() (*tempFile, error) {
	f, err := os.CreateTemp(d.path, pattern)
	if err != nil {
		return nil, &Error{"create", err}
	}
	d.open.Add(1)
	t := &tempFile{dir: d, f: f}
	if os.Remove(f.Name()) != nil {
		t.name = f.Name()
	}
	return t, nil
}

// write appends bytes.
func (t *tempFile) write(b []byte) error {
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

// read fills b with the bytes at an offset.
func (t *tempFile) read(b []byte, at int64) error {
	if _, err := t.f.ReadAt(b, at); err != nil {
		return &Error{"read", err}
	}
	return nil
}

// close removes the file. It may be called more than once.
func (t *tempFile) close() {
	if t == nil || t.f == nil {
		return
	}
	_ = t.f.Close() // its contents are no longer needed
	if t.name != "" {
		_ = os.Remove(t.name) // if that fails, the next Open removes it
	}
	t.f = nil
	t.dir.used.Add(-t.size)
	t.dir.open.Add(-1)
}
