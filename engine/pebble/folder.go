package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/mayflydb/mayfly/engine"
)

// prepare creates the data folder if it does not exist, and replaces o.Dir by its absolute path. It fails
// if the path is a file or a folder with other contents, or, with ReadOnly, holds no database.
func prepare(o *Options) error {
	names, err := o.FS.List(o.Dir)
	switch {
	case err == nil:
		if name := foreign(names); name != "" {
			return fmt.Errorf("%w: %s holds %s", engine.ErrNotDatabase, o.Dir, name)
		}
		if o.ReadOnly && !slices.ContainsFunc(names, isOurs) {
			return fmt.Errorf("%w: %s holds no data", engine.ErrNotDatabase, o.Dir)
		}
	case errors.Is(err, fs.ErrNotExist) && o.ReadOnly:
		return fmt.Errorf("reading the data folder: %w", err)
	case errors.Is(err, fs.ErrNotExist):
		if err := o.FS.MkdirAll(o.Dir, 0o755); err != nil {
			return fmt.Errorf("making the data folder: %w", err)
		}
	default:
		if info, statErr := o.FS.Stat(o.Dir); statErr == nil && !info.IsDir() {
			return fmt.Errorf("%w: %s is a file", engine.ErrNotDatabase, o.Dir)
		}
		return fmt.Errorf("reading the data folder: %w", err)
	}
	if o.FS == vfs.Default {
		// Each folder needs one canonical name: the lock detects a second opener in this process by it.
		abs, err := filepath.Abs(o.Dir)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			return fmt.Errorf("resolving the data folder: %w", err)
		}
		o.Dir = abs
	}
	return nil
}

// foreign returns the name of a file that does not belong in a data folder, or "" if there is none.
func foreign(names []string) string {
	found := ""
	for _, name := range names {
		switch {
		case isOurs(name):
			return ""
		case name == "LOCK", name == "lost+found", strings.HasPrefix(name, "."):
			// Left by an incomplete Open, by the file system or by a file manager.
		default:
			found = name
		}
	}
	return found
}

// isOurs reports whether a file belongs to a database, even to an incomplete one.
func isOurs(name string) bool {
	return name == "CURRENT" || strings.HasPrefix(name, "MANIFEST-") || strings.HasPrefix(name, "marker.")
}

// inspect checks a folder, before Pebble opens it, for damage that Pebble reports unclearly or not at all.
// If the manifest is missing, Pebble starts an empty database. If a part of the manifest is unreadable,
// Pebble takes this part for the end. In both cases it deletes the tables that the manifest does not list.
func inspect(o Options) error {
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return err
	}
	format, err := marker(o, names, "format-version")
	if err != nil {
		return err
	}
	manifest, err := marker(o, names, "manifest")
	if err != nil {
		return err
	}
	if err := checkFormat(format); err != nil {
		return err
	}
	// The manifest is created first and the format is recorded last, so an empty folder may have a manifest
	// alone.
	hasTables := slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".sst") })
	if manifest == "" && (format != "" || hasTables) {
		return fmt.Errorf("%w: no marker names its manifest", engine.ErrCorrupt)
	}
	if manifest == "" {
		return nil
	}
	if err := checkManifest(o, manifest); err != nil {
		return err
	}
	return checkLogs(o, names)
}

// marker returns the value of the Pebble marker with this name, which is a file whose name ends with the
// value. names are the files of the folder. The value is "" if there is no such marker.
func marker(o Options, names []string, name string) (string, error) {
	m, value, err := atomicfs.LocateMarkerInListing(o.FS, o.Dir, name, names)
	if err == nil {
		err = m.Close()
	}
	var op *fs.PathError
	if err != nil && !errors.As(err, &op) {
		err = fmt.Errorf("%w: %w", engine.ErrCorrupt, err)
	}
	return value, err
}

func checkFormat(value string) error {
	if value == "" {
		return nil
	}
	v, err := strconv.ParseUint(value, 10, 64)
	switch {
	case err != nil || v < uint64(pebble.FormatMinSupported):
		return fmt.Errorf("%w: its format is %q", engine.ErrCorrupt, value)
	case v > uint64(formatVersion):
		return fmt.Errorf("%w: %d, this release knows %d", engine.ErrNewerFormat, v, formatVersion)
	}
	return nil
}

// checkManifest accepts a manifest that ends in the middle of a record, as a crash leaves it, and fails if
// the manifest is damaged. Each record is synced before the next is written, so no record can follow a torn
// one.
func checkManifest(o Options, name string) error {
	f, err := o.FS.Open(o.FS.PathJoin(o.Dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	r := record.NewReader(bytes.NewReader(data), 0)
	good := int64(0)
	for {
		rec, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, rec)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			break
		}
		good = r.Offset()
	}
	if at := nextChunk(data, int(good)+1, beginsRecord); at >= 0 {
		return fmt.Errorf("%w: %s is damaged between bytes %d and %d", engine.ErrCorrupt, name, good, at)
	}
	return nil
}

// beginsRecord reports whether a chunk of a manifest is a whole record, or the beginning of one.
func beginsRecord(c recordChunkHeader) bool { return c.kind == chunkFull || c.kind == chunkFirst }
