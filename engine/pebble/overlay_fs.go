package pebble

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// overlayFS is a file system that leaves the disk unchanged. It reads from disk; files that are written are
// kept in memory, and renames, links and removals are only recorded. Its user sees an ordinary file system:
// a folder can be opened, its logs replayed and half-done work finished, while the folder on disk stays
// unchanged.
//
// Only the lock is real: no other process may write to the files that are being read.
type overlayFS struct {
	disk vfs.FS

	mu  sync.Mutex
	mem *vfs.MemFS // takes precedence over the disk
	// at maps the new name of a renamed or linked file to its name on disk. The keys are in the form of
	// the in-memory file system. "" means that the file on disk with this name, and everything below it,
	// is hidden, because it was deleted or replaced.
	at map[string]string
}

func newOverlay(disk vfs.FS) *overlayFS {
	return &overlayFS{disk: disk, mem: vfs.NewMem(), at: map[string]string{}}
}

// inMem returns a name in the form of the in-memory file system: with slashes on every system.
func inMem(name string) string { return path.Clean("/" + filepath.ToSlash(name)) }

func missing(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

// onDisk returns the name under which the disk has a file. It returns false if the file is deleted.
func (o *overlayFS) onDisk(name string) (string, bool) {
	if at, ok := o.at[inMem(name)]; ok {
		return at, at != ""
	}
	for dir := name; ; {
		up := o.disk.PathDir(dir)
		if up == dir {
			return name, true
		}
		if at, ok := o.at[inMem(up)]; ok && at == "" {
			return "", false
		}
		dir = up
	}
}

// statMem and statDisk describe a file in memory and on disk. They return fs.ErrNotExist if there is no
// such file.
func (o *overlayFS) statMem(name string) (vfs.FileInfo, error) { return o.mem.Stat(inMem(name)) }

func (o *overlayFS) statDisk(name string) (vfs.FileInfo, error) {
	at, ok := o.onDisk(name)
	if !ok {
		return nil, missing("stat", name)
	}
	return o.disk.Stat(at)
}

func (o *overlayFS) stat(name string) (vfs.FileInfo, error) {
	if info, err := o.statMem(name); err == nil {
		return info, nil
	}
	return o.statDisk(name)
}

// makeRoom creates, in the file system in memory, the folder that will contain a new file, if so far only the
// disk has that folder. It fails if neither has it.
func (o *overlayFS) makeRoom(name string) error {
	dir := o.disk.PathDir(name)
	if _, err := o.stat(dir); err != nil {
		return err
	}
	return o.mem.MkdirAll(inMem(dir), 0o755)
}

func (o *overlayFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.create(name, category)
}

func (o *overlayFS) create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := o.makeRoom(name); err != nil {
		return nil, err
	}
	return o.mem.Create(inMem(name), category)
}

func (o *overlayFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.statMem(name); err == nil {
		return o.mem.Open(inMem(name), opts...)
	}
	at, ok := o.onDisk(name)
	if !ok {
		return nil, missing("open", name)
	}
	return o.disk.Open(at, opts...)
}

// OpenReadWrite copies the file from disk into memory and opens the copy.
func (o *overlayFS) OpenReadWrite(name string, category vfs.DiskWriteCategory,
	opts ...vfs.OpenOption) (vfs.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.makeRoom(name); err != nil {
		return nil, err
	}
	if _, err := o.statMem(name); err != nil {
		if _, err := o.statDisk(name); err == nil {
			at, _ := o.onDisk(name)
			data, err := readFile(o.disk, at)
			if err == nil {
				err = writeFile(o.mem, inMem(name), data)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return o.mem.OpenReadWrite(inMem(name), category, opts...)
}

// OpenDir opens a folder for syncing. The sync does nothing.
func (o *overlayFS) OpenDir(name string) (vfs.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.makeRoom(o.disk.PathJoin(name, "x")); err != nil {
		return nil, err
	}
	return o.mem.OpenDir(inMem(name))
}

func (o *overlayFS) Remove(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.stat(name); err != nil {
		return err
	}
	if _, err := o.statMem(name); err == nil {
		if err := o.mem.Remove(inMem(name)); err != nil {
			return err
		}
	}
	o.at[inMem(name)] = ""
	return nil
}

func (o *overlayFS) RemoveAll(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.mem.RemoveAll(inMem(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o.at[inMem(name)] = ""
	return nil
}

func (o *overlayFS) Rename(oldname, newname string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.place(oldname, newname, o.mem.Rename, func() { o.at[inMem(oldname)] = "" })
}

func (o *overlayFS) Link(oldname, newname string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.stat(newname); err == nil {
		return &os.LinkError{Op: "link", Old: oldname, New: newname, Err: fs.ErrExist}
	}
	return o.place(oldname, newname, o.mem.Link, func() {})
}

// place gives the file oldname the name newname and then calls done. If oldname is in memory, it calls
// inMemory to do this; otherwise it records the new name. A folder on disk cannot be renamed: a read-only
// engine has no reason to do so.
func (o *overlayFS) place(oldname, newname string, inMemory func(oldname, newname string) error,
	done func()) error {
	if err := o.makeRoom(newname); err != nil {
		return err
	}
	info, err := o.statDisk(oldname)
	if err == nil && info.IsDir() {
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: errors.ErrUnsupported}
	}
	at, _ := o.onDisk(oldname)
	if _, memErr := o.statMem(oldname); memErr == nil {
		err = inMemory(inMem(oldname), inMem(newname))
		at = ""
	} else if err == nil {
		if _, shadow := o.statMem(newname); shadow == nil {
			err = o.mem.Remove(inMem(newname))
		}
	}
	if err != nil {
		return err
	}
	o.at[inMem(newname)] = at
	done()
	return nil
}

// ReuseForWrite creates a new file, since the old one is on disk and must not be overwritten.
func (o *overlayFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := o.Remove(oldname); err != nil {
		return nil, err
	}
	return o.Create(newname, category)
}

func (o *overlayFS) MkdirAll(dir string, perm os.FileMode) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if info, err := o.stat(dir); err == nil && info.IsDir() {
		return nil
	}
	return o.mem.MkdirAll(inMem(dir), perm)
}

func (o *overlayFS) List(dir string) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	inMemory, memErr := o.mem.List(inMem(dir))
	var names []string
	diskErr := missing("open", dir)
	if at, ok := o.onDisk(dir); ok {
		names, diskErr = o.disk.List(at)
	}
	if memErr != nil && diskErr != nil {
		return nil, diskErr
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		_, ok := o.onDisk(o.disk.PathJoin(dir, name))
		return !ok
	})
	for key, at := range o.at { // files on disk that are only recorded under this folder
		if at != "" && path.Dir(key) == inMem(dir) {
			names = append(names, path.Base(key))
		}
	}
	names = append(names, inMemory...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (o *overlayFS) Stat(name string) (vfs.FileInfo, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stat(name)
}

// Lock locks the file on disk. If the lock file has to be created, Lock removes it again while the lock is
// held, where the system permits this.
func (o *overlayFS) Lock(name string) (io.Closer, error) {
	_, err := o.disk.Stat(name)
	lock, lockErr := o.disk.Lock(name)
	if lockErr != nil || !errors.Is(err, fs.ErrNotExist) {
		return lock, lockErr
	}
	return closerFunc(func() error {
		_ = o.disk.Remove(name)
		return lock.Close()
	}), nil
}

// closerFunc is a function as an io.Closer.
type closerFunc func() error

func (f closerFunc) Close() error { return f() }

func (o *overlayFS) PathBase(name string) string    { return o.disk.PathBase(name) }
func (o *overlayFS) PathJoin(elem ...string) string { return o.disk.PathJoin(elem...) }
func (o *overlayFS) PathDir(name string) string     { return o.disk.PathDir(name) }

// GetDiskUsage returns vfs.ErrUnsupported: files are written to memory, so the free space of the disk does
// not matter.
func (o *overlayFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{}, vfs.ErrUnsupported
}

// Unwrap returns nil, so that no caller bypasses the overlay.
func (o *overlayFS) Unwrap() vfs.FS { return nil }
