package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/mayflydb/mayfly/engine"
)

// A dataFolder is a data folder with these contents:
//
//	LOCK                      held while any engine has the folder open
//	MANIFEST-…, *.sst, …      the data, until a snapshot is restored for the first time
//	marker.data.N.live-N      names the folder that holds the data since then
//	live-N/                   that folder
//	snapshots/NAME/           the snapshots
//	scratch-N/                copies of snapshots opened by OpenSnapshot
//
// The marker is changed by creating its next file. So at any moment it names either the old data or the new
// data, and both are complete. Data that the marker does not name are removed, at once or by the next Open.
//
// When a snapshot is restored, the data folder passes from the old engine to the new one. The last engine
// releases the lock.
type dataFolder struct {
	o    Options // Dir is the root
	fs   vfs.FS
	root string
	lock *pebble.Lock
	last uint64 // highest number of a live-N or scratch-N folder
}

const (
	dataMarker    = "data"
	livePrefix    = "live-"
	scratchPrefix = "scratch-"
)

// openDataFolder reads the data folder. dir is the folder in it that holds the current data.
func openDataFolder(o Options, lock *pebble.Lock) (h *dataFolder, dir string, err error) {
	h = &dataFolder{o: o, fs: o.FS, root: o.Dir, lock: lock}
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return nil, "", err
	}
	value, err := marker(o, names, dataMarker)
	if err != nil {
		return nil, "", err
	}
	if value == "" {
		dir = h.root
	} else if dir, err = h.marked(names, value); err != nil {
		return nil, "", err
	}
	for _, name := range names {
		for _, prefix := range []string{livePrefix, scratchPrefix} {
			if n, ok := numberIn(name, prefix, ""); ok {
				h.last = max(h.last, n)
			}
		}
	}
	return h, dir, nil
}

// marked returns the path of the folder of the current data. value is the value of the data folder's marker:
// the folder's name. names are the files in the data folder; marked fails with engine.ErrCorrupt if the
// folder is not among them.
func (h *dataFolder) marked(names []string, value string) (string, error) {
	if _, ok := numberIn(value, livePrefix, ""); !ok {
		return "", fmt.Errorf("%w: its marker says %q", engine.ErrCorrupt, value)
	}
	if !slices.Contains(names, value) {
		return "", fmt.Errorf("%w: the folder %s, which holds the data, is missing", engine.ErrCorrupt, value)
	}
	return h.fs.PathJoin(h.root, value), nil
}

// clear removes all data except those in the folder live. It only frees disk space, so a failure is just
// logged.
func (h *dataFolder) clear(live string) {
	for _, name := range h.list(h.root) {
		path := h.fs.PathJoin(h.root, name)
		_, old := numberIn(name, livePrefix, "")
		_, scratch := numberIn(name, scratchPrefix, "")
		if (old || scratch) && path != live {
			h.remove(path)
		}
	}
	if live != h.root {
		h.erase(h.root)
	}
	folder := h.fs.PathJoin(h.root, snapshotFolder)
	for _, name := range h.list(folder) {
		if strings.HasPrefix(name, unfinishedPrefix) {
			h.remove(h.fs.PathJoin(folder, name))
		}
	}
}

// erase removes the data in dir. If dir is the data folder itself, only Pebble's files in it are removed;
// otherwise dir is removed as a whole.
func (h *dataFolder) erase(dir string) {
	if dir != h.root {
		h.remove(dir)
		return
	}
	for _, name := range h.list(dir) {
		if isData(name) {
			h.remove(h.fs.PathJoin(dir, name))
		}
	}
}

// list returns the names in a folder, or nil if it does not exist.
func (h *dataFolder) list(dir string) []string {
	names, err := h.fs.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.o.Logger.Warn("obsolete files in a folder could not be listed", "path", dir, "error", err)
	}
	return names
}

func (h *dataFolder) remove(path string) {
	if err := h.fs.RemoveAll(path); err != nil {
		h.o.Logger.Warn("an obsolete file could not be removed", "path", path, "error", err)
	}
}

// isData reports whether a file directly in the data folder belongs to Pebble's data.
func isData(name string) bool {
	return isTable(name) || strings.HasSuffix(name, ".log") || strings.HasPrefix(name, "MANIFEST-") ||
		strings.HasPrefix(name, "OPTIONS-") || strings.HasPrefix(name, "marker.manifest.") ||
		strings.HasPrefix(name, "marker.format-version.") || strings.HasPrefix(name, "marker."+logMarker+".")
}

// openCopy copies the snapshot name into a new folder, whose name is prefix and a number, and opens the
// copy.
func (h *dataFolder) openCopy(name, prefix string) (*Engine, error) {
	if err := h.mustHave(name); err != nil {
		return nil, err
	}
	h.last++
	dir := h.fs.PathJoin(h.root, prefix+strconv.FormatUint(h.last, 10))
	err := h.fs.RemoveAll(dir)
	if err == nil {
		err = copyData(h.fs, h.snapshot(name), dir)
	}
	if err != nil {
		h.remove(dir)
		return nil, fileError(err)
	}
	o := h.o
	o.Dir = dir
	e, err := open(o, nil)
	if err != nil {
		h.remove(dir)
		return nil, fmt.Errorf("opening the snapshot %s: %w", name, err)
	}
	e.afterClose = func() error { h.remove(dir); return nil }
	return e, nil
}

// errHalfRestored is wrapped by an error after which it is unknown whether the old or the restored data are
// current. Opening the folder again determines that.
var errHalfRestored = errors.New("moving to the restored data failed half-way")

// move makes dir the folder of the current data. If it fails with errHalfRestored, the current data may be
// those in dir or the old ones; otherwise a failure leaves the old ones current.
func (h *dataFolder) move(dir string) (err error) {
	m, before, err := atomicfs.LocateMarker(h.fs, h.root, dataMarker)
	if err != nil {
		return fileError(err)
	}
	defer func() {
		// Pebble panics if the folder cannot be synced.
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errHalfRestored, cause)
		}
		if closed := m.Close(); err == nil && closed != nil {
			h.o.Logger.Warn("the marker of the data folder could not be closed", "error", closed)
		}
	}()
	// The folder itself must be durable before the marker names it.
	if err := syncDir(h.fs, h.root); err != nil {
		return fileError(err)
	}
	if err := m.Move(h.fs.PathBase(dir)); err != nil {
		if now, readErr := atomicfs.ReadMarker(h.fs, h.root, dataMarker); readErr != nil || now != before {
			return fmt.Errorf("%w: %w", errHalfRestored, err)
		}
		return fileError(err)
	}
	return nil
}
