package store

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/classify"
)

// A snapshot is all data of the host at one moment, under a name; package host reports how it goes back to
// one.
//
// What it goes back to is a new incarnation of the old: etags differ, numbers of databases and containers go
// on from the higher of the two, and every range goes on above the highest LSN that any range of the old has
// issued. So nothing that a client still holds names something else than it did: an etag fails its condition,
// a session token is satisfied, a continuation of a change feed goes on with what is written from now on.
// (That documents went back is not in the feed.)

// Snapshot describes one snapshot.
type Snapshot struct {
	Name      string
	Time      time.Time // of the server's clock, when it was made
	Databases []string
	// Bytes on disk. Files that it shares with the data, or with other snapshots, count in full.
	Bytes int64
}

func readSnapshot(h host.Snapshot) (Snapshot, error) {
	s := Snapshot{Name: h.Name, Time: h.Time, Bytes: h.Bytes}
	if raw, ok := h.Notes[noteDatabases]; ok {
		if err := host.DecodeRecord(raw, &s.Databases); err != nil {
			return s, classify.ToFault(err)
		}
	}
	return s, nil
}

// Snapshot keeps the present state of the whole store under a name: all that has been acknowledged, and the
// state of virtual clocks. It takes a few milliseconds and little room, whatever the size. It fails with
// CodeConflict where the name is taken, CodeBadRequest for a name that is not 1 to 64 lower-case letters,
// digits, '-', '_' and '.', CodeDiskFull, and CodeForbidden where the engine keeps no snapshots.
func (db *DB) Snapshot(ctx context.Context, name string) (Snapshot, error) {
	s, err := db.host.Snapshot(ctx, name)
	if err != nil {
		return Snapshot{}, classify.ToFault(err)
	}
	return readSnapshot(s)
}

// Snapshots are all snapshots by name.
func (db *DB) Snapshots(ctx context.Context) ([]Snapshot, error) {
	kept, err := db.host.Snapshots(ctx)
	if err != nil {
		return nil, classify.ToFault(err)
	}
	list := make([]Snapshot, len(kept))
	for i, s := range kept {
		if list[i], err = readSnapshot(s); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// DeleteSnapshot frees a snapshot: CodeNotFound where there is none. What was restored from it stays.
func (db *DB) DeleteSnapshot(ctx context.Context, name string) error {
	return classify.ToFault(db.host.DeleteSnapshot(ctx, name))
}

// Restore puts the whole store, and what lives with it in its host, back to a snapshot, at once and in one
// step: a crash leaves the one or the other. What was written since the snapshot is gone; virtual clocks go
// back too. Operations that run meanwhile, and all that is done with a Database or Container looked up
// before, fail with CodeUnavailable; see Incarnation. It fails with CodeNotFound where there is no such
// snapshot and CodeDiskFull; where it fails the store goes on as it was.
func (db *DB) Restore(ctx context.Context, name string) error {
	return classify.ToFault(db.host.Restore(ctx, name))
}

// Adopt makes a store of its own of data that were copied, such as a snapshot's: etags of the two differ from
// then on. The engine must be freshly opened; Open, with the same neighbours, comes after.
func Adopt(ctx context.Context, e engine.Engine, neighbours ...host.Tenant) error {
	return classify.ToFault(host.Adopt(ctx, e, append([]host.Tenant{tenant{}}, neighbours...)...))
}
