package engine

import (
	"context"
	"errors"
	"strings"
)

// Snapshotter is an optional interface of an engine that can store named states of all its data and restore
// one of them. A snapshot is immutable. The caller must not call its methods, or Close, concurrently.
type Snapshotter interface {
	// Snapshot stores the current state durably under a name, with a note of the caller. The snapshot
	// contains everything acknowledged before the call, and no partial transaction. It fails with
	// ErrSnapshotExists if the name is taken. A failure or a crash leaves nothing under that name.
	Snapshot(ctx context.Context, name string, note []byte) error

	// Snapshots lists the snapshots, sorted by name.
	Snapshots(ctx context.Context) ([]SnapshotInfo, error)

	// DropSnapshot removes a snapshot, or fails with ErrNoSnapshot.
	DropSnapshot(ctx context.Context, name string) error

	// OpenSnapshot opens a private copy of a snapshot as a separate engine. Writes to it are lost at its
	// Close; the snapshot does not change. It fails with ErrNoSnapshot if there is none of that name.
	OpenSnapshot(ctx context.Context, name string) (Engine, error)

	// Restore replaces the data of this engine by a snapshot, in one step that is atomic even across a crash.
	// It opens the snapshot as a new engine, stops this one (running calls are waited for, later ones fail
	// with ErrClosed), and runs adopt, which may write to the new engine. On success the new engine is
	// returned, the data of this engine are deleted, and the caller only has to Close this engine. On failure
	// this engine continues unchanged.
	Restore(ctx context.Context, name string, adopt func(next Engine) error) (Engine, error)
}

// SnapshotInfo describes a stored, named state of all data of an engine: see Snapshotter.
type SnapshotInfo struct {
	Name  string
	Note  []byte // the caller's
	Bytes int64  // size on disk, including files shared with the data or with other snapshots
}

var (
	// ErrNoSnapshot is returned if there is no snapshot of that name.
	ErrNoSnapshot = errors.New("engine: no such snapshot")
	// ErrSnapshotExists is returned by Snapshot if the name is taken.
	ErrSnapshotExists = errors.New("engine: the snapshot exists already")
	// ErrSnapshotName is returned for an invalid name of a snapshot. A valid name has 1 to 64 lower-case
	// letters, digits, '-', '_' and '.', begins with a letter or a digit, and does not end with a dot.
	ErrSnapshotName = errors.New("engine: not a name for a snapshot")
)

// maxSnapshotName is the maximum length of a snapshot's name in bytes.
const maxSnapshotName = 64

// ValidSnapshotName reports whether a snapshot can have this name: 1 to 64 lower-case letters, digits, '-',
// '_' and '.'; the first is a letter or a digit and the last is not a dot. Two such names stay different on a
// file system that ignores case. A new snapshot needs a name that is a valid file name on every system: see
// NewSnapshotName.
func ValidSnapshotName(name string) bool {
	if name == "" || len(name) > maxSnapshotName || name[len(name)-1] == '.' {
		return false
	}
	for i := range len(name) {
		switch b := name[i]; {
		case b >= 'a' && b <= 'z', b >= '0' && b <= '9':
		case i > 0 && (b == '-' || b == '_' || b == '.'):
		default:
			return false
		}
	}
	return true
}

// NewSnapshotName reports whether a new snapshot may be given this name: it must be valid and must not be a
// device name of Windows. Device names are reserved with any suffix after a dot: "con", "nul.1", "com3".
func NewSnapshotName(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return false
	}
	port := len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && stem[3] >= '0' && stem[3] <= '9'
	return !port && ValidSnapshotName(name)
}
