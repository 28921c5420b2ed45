package pebble

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
)

// descriptorLimitedFS is a file system without free file descriptors: it can create a file only while the
// engine has closed one of its spare descriptors.
type descriptorLimitedFS struct {
	vfs.FS
	spares atomic.Pointer[reservedFileDescriptors] // others have used up the rest; nil: there are plenty
	failed atomic.Int32
}

func (c *descriptorLimitedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if s := c.spares.Load(); s != nil {
		s.mu.Lock()
		free := spareFiles - len(s.files)
		s.mu.Unlock()
		if free == 0 {
			c.failed.Add(1)
			return nil, &tooManyFilesError{name}
		}
	}
	return c.FS.Create(name, category)
}

func (c *descriptorLimitedFS) Unwrap() vfs.FS { return c.FS }

type tooManyFilesError struct{ name string }

func (e *tooManyFilesError) Error() string { return "open " + e.name + ": " + syscall.EMFILE.Error() }
func (e *tooManyFilesError) Unwrap() error { return syscall.EMFILE }

// TestWritesWithoutFreeDescriptors checks that an engine in a process without free file descriptors can still
// create logs and tables and so continue to write.
func TestWritesWithoutFreeDescriptors(t *testing.T) {
	t.Parallel()
	fs := &descriptorLimitedFS{FS: vfs.NewMem()}
	e := mustOpen(t, Options{Dir: "data", FS: fs, memTable: 64 << 10})
	fs.spares.Store(&e.fence.spares)
	for i := range 3000 {
		mustPut(t, e, fmt.Sprintf("a/%06d", i), []byte(strings.Repeat("x", 100)))
	}
	if fs.failed.Load() == 0 {
		t.Error("nothing was made that needs a descriptor")
	}
	if err := e.View(ctx, func(engine.Reader) error { return nil }); err != nil {
		t.Error(err)
	}
	fs.spares.Store(nil)
	if n := countKeys(t, e); n != 3000 {
		t.Errorf("%d keys", n)
	}
	mustClose(t, e)
	if len(e.fence.spares.files) != 0 {
		t.Error("spare files are open after Close")
	}
}
