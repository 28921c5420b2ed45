package pebble

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
)

// memoryAfterWriteErrorFS is the file system that Pebble uses: the real one until a write fails that Pebble
// cannot survive, and memory afterwards.
//
// If a write to its log, its manifest, a marker or a directory fails, Pebble ends the process. It panics, in
// some places with its commit lock held, or it calls Logger.Fatalf and expects it not to return. If it
// continued, it might delete files that the manifest on disk still refers to, since it cannot know whether
// its last edit was written. And if the panic is recovered, Pebble's locks stay held: writers and Close hang.
//
// The fence hides the failure from Pebble. At the first such failure it trips: it records the cause, and from
// then on nothing is written to the disk. Writes to files on disk are dropped but reported as done, removals
// are ignored, and new files are created in memory. Pebble continues and can be closed normally. The folder
// stays as it was at the moment of the failure, as after a crash: all acknowledged writes are in it. The
// fence trips before the failed call returns to Pebble, so a caller that waits for that call finds the cause
// set. Engine checks the fence after each barrier, so it never acknowledges a commit that needed a dropped
// write.
//
// The order of events makes this safe. If a file was created in memory or a write was dropped, the fence had
// tripped before. So anything that Pebble writes as a consequence, such as the manifest edit that names the
// file, is dropped as well.
//
// Tables are different. Pebble retries a flush or a compaction that fails, so errors on tables are passed on,
// before and after the fence trips. After it trips, a flush goes to memory (at most the tables of a few write
// buffers), which frees the writers that wait for it. A compaction, which could be of any size, fails, and
// the scheduler admits no other.
type memoryAfterWriteErrorFS struct {
	vfs.FS
	dir     string // folder of the protected files
	log     *slog.Logger
	space   *diskSpaceMonitor
	logs    *walListFileWriter
	spares  reservedFileDescriptors
	scratch *vfs.MemFS
	cause   atomic.Pointer[error]
}

func newFence(fs vfs.FS, log *slog.Logger, s *diskSpaceMonitor) *memoryAfterWriteErrorFS {
	dir := fs.PathDir(fs.PathJoin(s.dir, "x")) // spelled as Pebble does
	f := &memoryAfterWriteErrorFS{FS: fs, dir: dir, log: log, space: s, scratch: vfs.NewMem()}
	f.logs = &walListFileWriter{fs: f, dir: s.dir, log: log}
	return f
}

// check cuts off the disk, and logs why, if err is not nil.
func (f *memoryAfterWriteErrorFS) check(err error) {
	if err != nil {
		f.trip(err)
	}
}

// trip cuts off the disk after a failed write, and logs the first cause.
func (f *memoryAfterWriteErrorFS) trip(cause error) {
	if f.cut(cause) {
		f.log.Error("a write to disk failed; nothing more is written until the process is restarted", "error",
			cause)
	}
}

// cut cuts off the disk, without logging: nothing is written to it any more, and waits for free space end.
// It returns false if the disk had already been cut off.
func (f *memoryAfterWriteErrorFS) cut(cause error) bool {
	err := fmt.Errorf("%w: %w", engine.ErrFailed, cause)
	first := f.cause.CompareAndSwap(nil, &err)
	if first {
		f.space.release()
	}
	return first
}

// err returns nil, or, once the disk is cut off after a failed write, engine.ErrFailed with the cause.
func (f *memoryAfterWriteErrorFS) err() error {
	if p := f.cause.Load(); p != nil {
		return *p
	}
	return nil
}

// release closes the marker that lists the logs, and the spare file descriptors.
func (f *memoryAfterWriteErrorFS) release() {
	f.logs.close()
	f.spares.close()
}

func (f *memoryAfterWriteErrorFS) tripped() bool { return f.cause.Load() != nil }

// fileErrorConsequence says what an error on a file means for Pebble.
type fileErrorConsequence int

const (
	plain     fileErrorConsequence = iota // an error is passed on
	critical                              // Pebble does not survive the error
	flushed                               // a table written by a flush, which Pebble retries
	compacted                             // a table written by a compaction, which Pebble retries
)

func (f *memoryAfterWriteErrorFS) kindOf(name string, category vfs.DiskWriteCategory) fileErrorConsequence {
	switch base := f.PathBase(name); {
	case f.PathDir(name) != f.dir:
		return plain // a file of a checkpoint: an error does not harm the data
	case strings.HasSuffix(base, ".log"), strings.HasPrefix(base, "MANIFEST-"), strings.HasPrefix(base,
		"marker."):
		return critical
	case !strings.HasSuffix(base, ".sst") && !strings.HasSuffix(base, ".blob"):
		return plain
	case category == "pebble-memtable-flush":
		return flushed
	default:
		return compacted
	}
}

// inScratch returns the name of a file in the file system in memory that is used after the disk was cut off.
// Pebble's files are all in one folder, so the base name suffices.
func (f *memoryAfterWriteErrorFS) inScratch(name string) string { return "/" + f.PathBase(name) }

func (f *memoryAfterWriteErrorFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	k := f.kindOf(name, category)
	if k == flushed || k == compacted {
		f.space.wait()
	}
	if f.tripped() {
		return f.createInScratch(name, k)
	}
	file, err := f.open(k, func() (vfs.File, error) { return f.FS.Create(name, category) })
	return f.created(file, err, name, k)
}

// ReuseForWrite turns an old log file into a new one.
func (f *memoryAfterWriteErrorFS) ReuseForWrite(oldname, newname string,
	category vfs.DiskWriteCategory) (vfs.File, error) {
	k := f.kindOf(newname, category)
	if f.tripped() {
		return f.createInScratch(newname, k)
	}
	if err := f.forget(oldname); err != nil {
		f.trip(err)
	}
	if f.tripped() {
		return f.createInScratch(newname, k)
	}
	file, err := f.open(k, func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, category) })
	return f.created(file, err, newname, k)
}

// open opens a file by calling the function open. For a file without which the engine cannot write, it uses a
// spare file descriptor if the process has no other one left.
func (f *memoryAfterWriteErrorFS) open(k fileErrorConsequence, open func() (vfs.File,
	error)) (file vfs.File, err error) {
	if k != critical && k != flushed {
		return open()
	}
	err = f.spares.openWithSpare(func() error { file, err = open(); return err })
	return file, err
}

// created returns the wrapper of file, which was created under name for Pebble. If creating it failed with
// err and k says that the engine cannot continue without such a file, it cuts off the disk (no more writes
// reach it) and creates the file in memory. For other files it returns err.
func (f *memoryAfterWriteErrorFS) created(file vfs.File, err error, name string,
	k fileErrorConsequence) (vfs.File, error) {
	if n, log := f.logNumber(name); log && err == nil {
		if err = f.logs.recordCreated(n); err != nil {
			_ = file.Close() // the new log cannot be used
		}
	}
	switch {
	case err == nil:
		return &writeErrorHidingFile{File: file, fence: f, kind: k}, nil
	case k == critical:
		f.trip(err)
		return f.createInScratch(name, k)
	default:
		f.space.failed(k, err)
		return nil, err
	}
}

func (f *memoryAfterWriteErrorFS) createInScratch(name string, k fileErrorConsequence) (vfs.File, error) {
	if k == compacted {
		return nil, f.err()
	}
	return f.scratch.Create(f.inScratch(name), vfs.WriteCategoryUnspecified)
}

func (f *memoryAfterWriteErrorFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if f.tripped() {
		if file, err := f.scratch.Open(f.inScratch(name), opts...); err == nil {
			return file, nil
		}
	}
	return f.FS.Open(name, opts...)
}

func (f *memoryAfterWriteErrorFS) Stat(name string) (vfs.FileInfo, error) {
	if f.tripped() {
		if info, err := f.scratch.Stat(f.inScratch(name)); err == nil {
			return info, nil
		}
	}
	return f.FS.Stat(name)
}

func (f *memoryAfterWriteErrorFS) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	k := plain
	if f.PathDir(f.PathJoin(name, "x")) == f.dir {
		k = critical
	}
	return &writeErrorHidingFile{File: dir, fence: f, kind: k}, nil
}

// logNumber returns the number of a log file. log is false if the file is not a log of the data.
func (f *memoryAfterWriteErrorFS) logNumber(name string) (n uint64, log bool) {
	if f.PathDir(name) != f.dir {
		return 0, false
	}
	return logNumber(f.PathBase(name))
}

// forget records in the marker that lists the logs that a log is about to be removed. It does nothing for
// other files. If it fails, the log must not be removed.
func (f *memoryAfterWriteErrorFS) forget(name string) error {
	if n, log := f.logNumber(name); log {
		return f.logs.recordRemoved(n)
	}
	return nil
}

func (f *memoryAfterWriteErrorFS) Remove(name string) error {
	if f.tripped() {
		return nil
	}
	if err := f.forget(name); err != nil || f.tripped() {
		return err // Pebble retries later
	}
	return f.FS.Remove(name)
}

func (f *memoryAfterWriteErrorFS) RemoveAll(name string) error {
	if f.tripped() {
		return nil
	}
	return f.FS.RemoveAll(name)
}

func (f *memoryAfterWriteErrorFS) Rename(oldname, newname string) error {
	if f.tripped() {
		return f.scratch.Rename(f.inScratch(oldname), f.inScratch(newname))
	}
	return f.FS.Rename(oldname, newname)
}

func (f *memoryAfterWriteErrorFS) MkdirAll(dir string, perm os.FileMode) error {
	if f.tripped() {
		return nil
	}
	return f.FS.MkdirAll(dir, perm)
}

func (f *memoryAfterWriteErrorFS) Link(oldname, newname string) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.FS.Link(oldname, newname)
}

func (f *memoryAfterWriteErrorFS) OpenReadWrite(name string, category vfs.DiskWriteCategory,
	opts ...vfs.OpenOption) (vfs.File,
	error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	return f.FS.OpenReadWrite(name, category, opts...)
}

func (f *memoryAfterWriteErrorFS) Unwrap() vfs.FS { return f.FS }

// writeErrorHidingFile is a file that is open for writing, or a directory, on a memoryAfterWriteErrorFS. If a
// write or a sync fails in a way that would make Pebble end the process, it hides the error and cuts off the
// disk.
type writeErrorHidingFile struct {
	vfs.File
	fence *memoryAfterWriteErrorFS
	kind  fileErrorConsequence
}

// do runs op, a write or a sync of the file. If an error on this kind of file would make Pebble end the
// process, do hides the error: it cuts off the disk and returns nil. Once the disk is cut off, do no longer
// runs op.
func (f *writeErrorHidingFile) do(op func() error) error {
	if err := f.fence.err(); err != nil {
		if f.kind == critical {
			return nil
		}
		return err
	}
	err := op()
	if err != nil && f.kind == critical {
		f.fence.trip(err)
		return nil
	}
	if err != nil {
		f.fence.space.failed(f.kind, err)
	}
	return err
}

func (f *writeErrorHidingFile) Write(p []byte) (n int, err error) {
	err = f.do(func() error { n, err = f.File.Write(p); return err })
	if err == nil {
		n = len(p) // also if the fence dropped the write
	}
	return n, err
}

func (f *writeErrorHidingFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do(func() error { n, err = f.File.WriteAt(p, off); return err })
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (f *writeErrorHidingFile) Sync() error     { return f.do(f.File.Sync) }
func (f *writeErrorHidingFile) SyncData() error { return f.do(f.File.SyncData) }

func (f *writeErrorHidingFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() error { full, err = f.File.SyncTo(length); return err })
	return full, err
}

// Preallocate reserves space for the file on disk, unless a failed write has cut off the disk. An error has
// no consequences, because Pebble ignores it.
func (f *writeErrorHidingFile) Preallocate(offset, length int64) error {
	if f.fence.tripped() {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

// Close closes the file. A failure counts as a failed write, because Close may be the first call that reports
// one.
func (f *writeErrorHidingFile) Close() error {
	err := f.File.Close()
	if err != nil && f.kind == critical {
		f.fence.trip(err)
		return nil
	}
	return err
}
