package pebble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
)

// A snapshot is a Pebble checkpoint in its own folder: hard links to the tables, which never change, and
// copies of the other files, which are small. So a snapshot costs a few file operations, even if the data
// are large. It takes disk space only when compactions have replaced the tables that it shares with the
// data. On a file system without hard links the tables are copied.
//
// The folder is created under a name that begins with a dot, and renamed once it is complete and durable. A
// crash therefore leaves the whole snapshot or none; the next Open removes the remains.

const (
	snapshotFolder   = "snapshots"
	unfinishedPrefix = ".new-" // prefix of the folder of a snapshot that is being created or removed
	noteFile         = "NOTE"
)

var _ engine.Snapshotter = (*Engine)(nil)

// Snapshot stores the current state durably under a name: see engine.Snapshotter.
func (e *Engine) Snapshot(ctx context.Context, name string, note []byte) error {
	if !engine.NewSnapshotName(name) {
		return fmt.Errorf("%w: %q", engine.ErrSnapshotName, name)
	}
	return e.withSnapshot(ctx, name, func(h *dataFolder) error {
		if err := e.fence.err(); err != nil {
			return err
		}
		e.space.check()
		if err := e.space.admit(0, false); err != nil {
			return err
		}
		if _, err := h.fs.Stat(h.snapshot(name)); err == nil {
			return fmt.Errorf("%w: %s", engine.ErrSnapshotExists, name)
		}
		draft := h.snapshot(unfinishedPrefix + name)
		err := e.checkpoint(h, draft, note)
		if err == nil {
			err = h.fs.Rename(draft, h.snapshot(name))
		}
		if err == nil {
			err = syncDir(h.fs, h.fs.PathJoin(h.root, snapshotFolder))
		}
		if err != nil {
			return errors.Join(fileError(err), h.fs.RemoveAll(draft))
		}
		return nil
	})
}

// checkpoint writes a snapshot of the engine to the folder dir, which it creates, and syncs it. note is
// stored with the snapshot.
func (e *Engine) checkpoint(h *dataFolder, dir string, note []byte) error {
	if err := h.fs.RemoveAll(dir); err != nil {
		return err
	}
	// Flushing the memory tables first leaves no log to replay when the snapshot is opened. Writes that are
	// not flushed, because the disk is full or because they arrive during the checkpoint, are in the log; of
	// these, the acknowledged ones have been synced. Without a log, the snapshot has what the flush wrote:
	// all that was acknowledged before.
	flushed, err := e.db.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-flushed:
	case <-e.space.flushFailed():
	}
	if err := e.libraryCheckpoint(dir); err != nil {
		return err
	}
	if err := e.cutCopiedLog(h.fs, dir); err != nil {
		return err
	}
	// If the fence has tripped since, part of the checkpoint may be in memory only.
	if err := e.fence.err(); err != nil {
		return err
	}
	if err := writeFile(h.fs, h.fs.PathJoin(dir, noteFile), note); err != nil {
		return err
	}
	return syncDir(h.fs, dir)
}

// libraryCheckpoint creates a checkpoint. Pebble panics if a folder cannot be synced; libraryCheckpoint
// turns the panic into an error. This is safe: Pebble releases its resources while the panic unwinds, and
// the folder is not part of the data.
func (e *Engine) libraryCheckpoint(dir string) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case runtime.Error:
			panic(cause)
		case error:
			err = cause
		default:
			panic(cause)
		}
	}()
	return e.db.Checkpoint(dir)
}

// Snapshots returns the snapshots, sorted by name.
func (e *Engine) Snapshots(ctx context.Context) (list []engine.SnapshotInfo, err error) {
	err = e.withFolder(ctx, func(h *dataFolder) error {
		names, err := h.fs.List(h.fs.PathJoin(h.root, snapshotFolder))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fileError(err)
		}
		slices.Sort(names)
		for _, name := range names {
			if !engine.ValidSnapshotName(name) {
				continue
			}
			s, err := h.describe(name)
			if err != nil {
				return fileError(err)
			}
			list = append(list, s)
		}
		return nil
	})
	return list, err
}

// DropSnapshot removes a snapshot, or fails with engine.ErrNoSnapshot. The name can be used again at once.
// A crash leaves at most files that the next Open removes.
func (e *Engine) DropSnapshot(ctx context.Context, name string) error {
	return e.withSnapshot(ctx, name, func(h *dataFolder) error {
		if err := h.mustHave(name); err != nil {
			return err
		}
		grave := h.snapshot(unfinishedPrefix + name)
		if err := h.fs.RemoveAll(grave); err != nil {
			return fileError(err)
		}
		if err := h.fs.Rename(h.snapshot(name), grave); err != nil {
			return fileError(err)
		}
		return fileError(errors.Join(syncDir(h.fs, h.fs.PathJoin(h.root, snapshotFolder)),
			h.fs.RemoveAll(grave)))
	})
}

// OpenSnapshot opens a private copy of a snapshot as a separate engine: see engine.Snapshotter.
func (e *Engine) OpenSnapshot(ctx context.Context, name string) (engine.Engine, error) {
	var copied *Engine
	err := e.withSnapshot(ctx, name, func(h *dataFolder) (err error) {
		copied, err = h.openCopy(name, scratchPrefix)
		return err
	})
	if err != nil {
		return nil, err
	}
	return copied, nil
}

// withSnapshot runs fn with the data folder, for an operation on the snapshot called name. Close waits for
// fn. It fails with engine.ErrSnapshotName if no snapshot can have that name.
func (e *Engine) withSnapshot(ctx context.Context, name string, fn func(*dataFolder) error) error {
	if !engine.ValidSnapshotName(name) {
		return fmt.Errorf("%w: %q", engine.ErrSnapshotName, name)
	}
	return e.withFolder(ctx, fn)
}

// withFolder runs fn with the data folder, as a call for which Close waits. It fails if the engine has no
// snapshots.
func (e *Engine) withFolder(ctx context.Context, fn func(*dataFolder) error) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.folder == nil {
		return fmt.Errorf("%w: this engine is a copy of a snapshot", engine.ErrNoSnapshot)
	}
	return fn(e.folder)
}

// snapshot returns the path of a snapshot's folder.
func (h *dataFolder) snapshot(name string) string {
	return h.fs.PathJoin(h.root, snapshotFolder, name)
}

func (h *dataFolder) mustHave(name string) error {
	_, err := h.fs.Stat(h.snapshot(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", engine.ErrNoSnapshot, name)
	}
	return fileError(err)
}

func (h *dataFolder) describe(name string) (s engine.SnapshotInfo, err error) {
	s.Name = name
	dir := h.snapshot(name)
	files, err := h.fs.List(dir)
	if err != nil {
		return s, err
	}
	for _, file := range files {
		info, err := h.fs.Stat(h.fs.PathJoin(dir, file))
		if err != nil {
			return s, err
		}
		s.Bytes += info.Size()
	}
	s.Note, err = readFile(h.fs, h.fs.PathJoin(dir, noteFile))
	return s, err
}

// copyData copies source to target, so that the copy can be opened without changing source: tables are
// linked, other files are copied.
func copyData(f vfs.FS, source, target string) error {
	names, err := f.List(source)
	if err != nil {
		return err
	}
	if err := f.MkdirAll(target, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		old, fresh := f.PathJoin(source, name), f.PathJoin(target, name)
		switch {
		case name == noteFile, name == "LOCK":
		case isTable(name):
			err = vfs.LinkOrCopy(f, old, fresh)
		default:
			err = vfs.Copy(f, old, fresh)
		}
		if err != nil {
			return err
		}
	}
	return syncDir(f, target)
}

func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

func syncDir(f vfs.FS, dir string) error {
	d, err := f.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func writeFile(f vfs.FS, name string, data []byte) error {
	file, err := f.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

func readFile(f vfs.FS, name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	return data, errors.Join(err, file.Close())
}

// fileError translates an error on the files of a snapshot into the engine's errors. No such error harms the
// data.
func fileError(err error) error {
	switch {
	case err == nil:
		return nil
	case vfs.IsNoSpaceError(err):
		return fmt.Errorf("%w: %w", engine.ErrDiskFull, err)
	case errors.Is(err, engine.ErrFailed), errors.Is(err, engine.ErrDiskFull), errors.Is(err,
		engine.ErrCorrupt):
		return err
	default:
		return fmt.Errorf("%w: %w", engine.ErrRead, err)
	}
}

// CopySnapshot copies a snapshot of the data folder o.Dir to a new data folder, which must not exist. Tables
// are linked if the file system supports it, otherwise copied. The data folder may be open, in this process
// or another. The copy is not changed in any other way: see store.Adopt. It fails with engine.ErrNoSnapshot,
// engine.ErrSnapshotName, or fs.ErrExist if the target folder exists. A failure leaves nothing of the copy.
func CopySnapshot(o Options, name, to string) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if !engine.ValidSnapshotName(name) {
		return fmt.Errorf("%w: %q", engine.ErrSnapshotName, name)
	}
	if _, err := o.FS.Stat(to); err == nil {
		return &fs.PathError{Op: "copy a snapshot to", Path: to, Err: fs.ErrExist}
	}
	h := &dataFolder{o: o, fs: o.FS, root: o.Dir}
	if err := h.mustHave(name); err != nil {
		return err
	}
	if err := copyData(o.FS, h.snapshot(name), to); err != nil {
		return errors.Join(fileError(err), o.FS.RemoveAll(to))
	}
	return nil
}
