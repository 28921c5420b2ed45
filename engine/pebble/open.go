package pebble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
)

// Open opens the data folder, or creates one if Dir is missing or empty. It fails with
//
//   - ErrOptions if the options are invalid;
//   - engine.ErrLocked if the folder is already open, in this process or another;
//   - engine.ErrNotDatabase if Dir is a file or a folder with other contents, or, with ReadOnly,
//     is empty or missing;
//   - engine.ErrNewerFormat if a newer release has written the folder;
//   - engine.ErrCorrupt if the files are invalid;
//   - engine.ErrDiskFull or engine.ErrFailed if the disk could not be written;
//
// each with details wrapped. Nothing is written before the folder is known to be a database or empty. ctx is
// checked only before the work begins.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := prepare(&o); err != nil {
		return nil, err
	}
	if o.ReadOnly {
		o.FS = newOverlay(o.FS)
	}
	lock, err := pebble.LockDirectory(o.Dir, o.FS)
	if err != nil {
		return nil, lockError(o.Dir, err)
	}
	e, err := openAt(o, lock)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("opening %s: %w", o.Dir, err)
	}
	return e, nil
}

// openAt opens the data of a locked folder, which may be in a subfolder.
func openAt(o Options, lock *pebble.Lock) (*Engine, error) {
	h, dir, err := openDataFolder(o, lock)
	if err != nil {
		return nil, openError(err)
	}
	if dir != o.Dir {
		o.Dir, lock = dir, nil
	}
	e, err := open(o, lock)
	if err != nil {
		return nil, err
	}
	e.folder, e.afterClose = h, h.lock.Close
	h.clear(dir)
	return e, nil
}

// open opens the data in o.Dir; with a nil lock Pebble locks the folder itself.
func open(o Options, lock *pebble.Lock) (*Engine, error) {
	if err := inspect(o); err != nil {
		return nil, openError(err)
	}
	s := newSpace(o)
	e := &Engine{
		dir:     o.Dir,
		lock:    lock,
		fence:   newFence(o.FS, o.Logger, s),
		space:   s,
		log:     o.Logger,
		first:   o.FirstLSN,
		block:   o.lsnBlock,
		strict:  o.Strict,
		memory:  o.Memory || o.ReadOnly,
		noLog:   o.noLog,
		rows:    newRowCache(rowCacheBytes(o.CacheBytes)),
		scopes:  lsnScopeStates{m: map[string]*lsnScopeState{}},
		drained: make(chan struct{}, 1),
	}
	if !e.memory {
		e.fence.spares.fill()
	}
	db, err := e.openTwice(o)
	// If the disk failed, the fence let Open continue: the database can only be closed.
	if failed := e.fence.err(); failed != nil {
		if err == nil {
			_ = db.Close()
		}
		err = failed
	}
	if err != nil {
		e.fence.release()
		return nil, openError(err)
	}
	e.db = db
	if !o.ReadOnly { // compactions would fill the memory with their tables
		e.compactions.open()
	}
	s.probe()
	s.enableDelays()
	return e, nil
}

// openTwice opens the database. If there is a log to replay, it opens and closes the database once before.
//
// The replay of a log flushes tables, and for each of them Pebble 2.1.7 starts a goroutine that measures it.
// If a later step of Open fails, the data that this goroutine reads are closed under it, and it panics where
// no caller can recover. So the first open does not measure, and the second has nothing to replay and starts
// to measure only when no step can fail any more. Neither compacts (see compactionScheduler).
func (e *Engine) openTwice(o Options) (*pebble.DB, error) {
	replay, err := hasLog(o)
	if err != nil {
		return nil, err
	}
	if replay {
		p := e.libraryOptions(o)
		p.DisableTableStats = true
		db, err := openLibrary(o.Dir, p)
		if err == nil {
			err = errors.Join(db.Flush(), db.Close())
		}
		if err == nil {
			err = e.fence.err()
		}
		if err != nil {
			return nil, err
		}
	}
	return openLibrary(o.Dir, e.libraryOptions(o))
}

// hasLog reports whether there is a log that may contain writes.
func hasLog(o Options) (bool, error) {
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		info, err := o.FS.Stat(o.FS.PathJoin(o.Dir, name))
		if err != nil {
			return false, err
		}
		if info.Size() > 0 {
			return true, nil
		}
	}
	return false, nil
}

// libraryOptions returns Pebble's options for one opening.
func (e *Engine) libraryOptions(o Options) *pebble.Options {
	p := o.library()
	p.FS = e.fence
	p.Lock = e.lock
	p.Logger = &logger{log: o.Logger, fence: e.fence}
	e.compactions = newScheduler(e.fence)
	p.EventListener = listen(o.Logger, e.fence, e.compactions)
	p.Experimental.CompactionScheduler = e.compactions
	return p
}

// openLibrary opens the database and turns Pebble's panic over invalid files into an error.
func openLibrary(dir string, p *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			db, err = nil, fmt.Errorf("%w: %v", engine.ErrCorrupt, cause)
		}
	}()
	return pebble.Open(dir, p)
}

// lockError distinguishes a folder that is in use from one that cannot be written. Pebble's error has a
// path if the lock file cannot be created, and none if the lock is held.
func lockError(dir string, err error) error {
	var op *fs.PathError
	if errors.As(err, &op) {
		return fmt.Errorf("locking %s: %w", dir, err)
	}
	return fmt.Errorf("%w: %s: %w", engine.ErrLocked, dir, err)
}

// openError translates an error of opening into the engine's errors. It keeps an error of the operating
// system, except for a missing file. It takes a missing file (Pebble only opens files that must exist) and
// all other errors for invalid content.
func openError(err error) error {
	var op *fs.PathError
	var errno syscall.Errno
	switch {
	case errors.Is(err, engine.ErrCorrupt), errors.Is(err, engine.ErrNewerFormat):
		return err
	case vfs.IsNoSpaceError(err):
		return fmt.Errorf("%w: %w", engine.ErrDiskFull, err)
	case errors.Is(err, engine.ErrFailed):
		return err
	case pebble.IsCorruptionError(err), errors.Is(err, fs.ErrNotExist), errors.Is(err,
		pebble.ErrDBNotPristine):
		return fmt.Errorf("%w: %w", engine.ErrCorrupt, err)
	case errors.As(err, &op), errors.As(err, &errno):
		return err
	default:
		return fmt.Errorf("%w: %w", engine.ErrCorrupt, err)
	}
}

// Close waits for running calls, makes everything durable and releases the resources. It returns an error
// if some data may not be durable.
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return engine.ErrClosed
	}
	e.stop()
	defer e.fence.release()
	if e.folder == nil {
		// The data are discarded: cut the fence so that nothing is flushed and no compaction is waited for.
		e.fence.cut(errReplaced)
		_ = e.db.Close()
		return e.afterClose()
	}
	err := e.settle()
	// Everything is in the log. The write of a table that waits for room on a full disk may fail now.
	e.space.release()
	flushed := false
	if err == nil && !e.memory {
		// A flush leaves no log to replay at the next start. If it fails, the next start replays the log.
		flushed = e.db.Flush() == nil
	}
	if e.fence.err() == nil {
		if closed := e.db.Close(); err == nil {
			err = closed
		}
		if err == nil && flushed {
			err = e.fence.logs.recordNoLogs()
		}
	} else {
		_ = e.db.Close() // the error concerns files in memory only
	}
	if ended := e.afterClose(); err == nil {
		err = ended
	}
	return err
}

// settle makes all applied commits durable. For each scope (a key prefix with its own sequence of LSNs) it
// also stores the exact next LSN, so that the next Open leaves no gap in the sequence.
func (e *Engine) settle() error {
	if err := e.fence.err(); err != nil {
		return err
	}
	b := e.db.NewBatch()
	defer b.Close()
	for _, s := range e.scopes.m {
		if s.next == 0 || s.next == s.storedCeiling() {
			continue
		}
		key := engine.CeilingKey(s.key)
		// A dropped scope has no ceiling any more: do not write it again.
		if _, closer, err := e.db.Get(key); err == nil {
			_ = closer.Close()
			if err := b.Set(key, ceilingValue(s.next), nil); err != nil {
				return err
			}
		}
	}
	if !b.Empty() {
		if err := e.db.Apply(b, pebble.NoSync); err != nil {
			return err
		}
	}
	return e.sync()
}
