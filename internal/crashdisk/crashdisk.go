package crashdisk

import (
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk is a disk in memory. Its methods may be called from many goroutines.
type Disk struct {
	*vfs.MemFS
	whole sync.RWMutex // held for writing by CrashClone, for reading by what has more than one step
}

// New makes an empty disk.
func New() *Disk { return &Disk{MemFS: vfs.NewCrashableMem()} }

// CrashClone is another disk, as this one is after a crash now: with all that was synced, and with as much of
// the rest as cfg says.
func (d *Disk) CrashClone(cfg vfs.CrashCloneCfg) *Disk {
	d.whole.Lock()
	defer d.whole.Unlock()
	return &Disk{MemFS: d.MemFS.CrashClone(cfg)}
}

// ReuseForWrite implements vfs.FS.
func (d *Disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.whole.RLock()
	defer d.whole.RUnlock()
	return d.MemFS.ReuseForWrite(oldname, newname, category)
}

// Link implements vfs.FS.
func (d *Disk) Link(oldname, newname string) error {
	d.whole.RLock()
	defer d.whole.RUnlock()
	return d.MemFS.Link(oldname, newname)
}

// Lock implements vfs.FS. The file is unlocked by closing it.
func (d *Disk) Lock(name string) (io.Closer, error) {
	d.whole.RLock()
	defer d.whole.RUnlock()
	return d.MemFS.Lock(name)
}
