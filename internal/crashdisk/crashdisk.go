package crashdisk

import (
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk is a file system in memory (a vfs.FS) whose state after a simulated crash can be copied at any time
// with CrashClone. It is safe for concurrent use.
type Disk struct {
	*vfs.MemFS
	// whole makes CrashClone copy a consistent state: CrashClone holds it for writing, and operations that
	// consist of several steps hold it for reading.
	whole sync.RWMutex
}

// New returns an empty disk.
func New() *Disk { return &Disk{MemFS: vfs.NewCrashableMem()} }

// CrashClone returns the disk as it would be after a crash now: with all synced data, and the share of the
// unsynced data that cfg determines.
func (d *Disk) CrashClone(cfg vfs.CrashCloneCfg) *Disk {
	d.whole.Lock()
	defer d.whole.Unlock()
	return &Disk{MemFS: d.MemFS.CrashClone(cfg)}
}

// ReuseForWrite renames the file oldname to newname and opens it to be overwritten: see vfs.FS.
func (d *Disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.whole.RLock()
	defer d.whole.RUnlock()
	return d.MemFS.ReuseForWrite(oldname, newname, category)
}

// Link gives a file a second name: see vfs.FS.
func (d *Disk) Link(oldname, newname string) error {
	d.whole.RLock()
	defer d.whole.RUnlock()
	return d.MemFS.Link(oldname, newname)
}

// Lock locks a file until the result is closed: see vfs.FS.
func (d *Disk) Lock(name string) (io.Closer, error) {
	d.whole.RLock()
	defer d.whole.RUnlock()
	return d.MemFS.Lock(name)
}
