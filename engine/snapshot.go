package engine

import (
	"context"
	"errors"
	"strings"
)

// Snapshotter is the optional ability of an engine to keep named states of all that it holds, and to go back
// to one. A snapshot is immutable. The caller calls one of its methods, or Close, at a time.
type Snapshotter interface {
	// Snapshot keeps the present state under a name, durably, with a note of the caller's. All that was
	// acknowledged before is in it, and no half of a transaction. It fails with ErrSnapshotExists where the
	// name is taken; a failure or a crash leaves nothing of that name.
	Snapshot(ctx context.Context, name string, note []byte) error

	// Snapshots lists what there is, by name.
	Snapshots(ctx context.Context) ([]Snapshot, error)

	// DropSnapshot frees a snapshot, or fails with ErrNoSnapshot.
	DropSnapshot(ctx context.Context, name string) error

	// OpenSnapshot opens a private copy of a snapshot as an engine of its own; what is written to it is gone
	// with its Close, and the snapshot stays what it is. ErrNoSnapshot where there is none.
	OpenSnapshot(ctx context.Context, name string) (Engine, error)

	// Restore replaces what this engine holds by a snapshot, in one step that a crash cannot divide. It opens
	// the snapshot as a new engine, stops this one (calls that have begun are waited for, later ones fail
	// with ErrClosed), and runs adopt, which may write to the new one. Where that succeeds the new engine is
	// returned, the data of this one is gone for ever and the caller has nothing left to do but to Close it.
	// Where anything fails this engine goes on as if nothing had happened.
	Restore(ctx context.Context, name string, adopt func(next Engine) error) (Engine, error)
}

// Snapshot is one of an engine's snapshots.
type Snapshot struct {
	Name  string
	Note  []byte // the caller's
	Bytes int64  // on disk, counting files that it shares with the data or with other snapshots
}

var (
	// ErrNoSnapshot is returned where there is no snapshot of that name.
	ErrNoSnapshot = errors.New("engine: no such snapshot")
	// ErrSnapshotExists is returned by Snapshot where the name is taken.
	ErrSnapshotExists = errors.New("engine: the snapshot exists already")
	// ErrSnapshotName is returned for a name that cannot be: see ValidSnapshotName.
	ErrSnapshotName = errors.New("engine: not a name for a snapshot")
)

// maxSnapshotName is the longest name in bytes.
const maxSnapshotName = 64

// ValidSnapshotName reports whether a snapshot can have this name: 1 to 64 lower-case letters, digits, '-',
// '_' and '.', the first a letter or a digit and the last no dot. Two such names never become one where case
// does not count. A new snapshot needs one that is a file name on every system, too: see NewSnapshotName.
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

// NewSnapshotName reports whether a snapshot can be given this name: a valid one that names no device of
// Windows. Those are reserved whatever follows a dot: "con", "nul.1", "com3".
func NewSnapshotName(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return false
	}
	port := len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && stem[3] >= '0' && stem[3] <= '9'
	return !port && ValidSnapshotName(name)
}
