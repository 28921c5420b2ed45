package store

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/classify"
)

// A snapshot is all data of the host at one moment, under a name; package host restores it.
//
// The restored data are a new incarnation of the replaced data: etags differ, numbers of databases and
// containers continue from the higher of the two, and every range continues above the highest LSN that any
// range has issued before the restore. So an identifier that a client still holds never names something
// else: a condition on an old etag fails, a session token is satisfied, and a continuation of a change feed
// continues with what is written from now on. (The feed does not show that documents have earlier versions
// again.)

// SnapshotInfo describes a snapshot: a stored state of the whole store, which can be restored by its name.
type SnapshotInfo struct {
	Name      string
	Time      time.Time // of the server's clock, at the snapshot
	Databases []string
	// Bytes is the size on disk. Files shared with the data or with other snapshots count in full.
	Bytes int64
}

func readSnapshot(h host.SnapshotInfo) (SnapshotInfo, error) {
	s := SnapshotInfo{Name: h.Name, Time: h.Time, Bytes: h.Bytes}
	if raw, ok := h.Notes[noteDatabases]; ok {
		if err := host.DecodeRecord(raw, &s.Databases); err != nil {
			return s, classify.ToFault(err)
		}
	}
	return s, nil
}

// Snapshot keeps the current state of the whole store under a name: everything that has been acknowledged,
// and the state of virtual clocks. It takes a few milliseconds and little space, whatever the size of the
// data. It fails with CodeConflict if the name is taken, with CodeBadRequest for a name that is not 1 to 64
// lower-case letters, digits, '-', '_' and '.', with CodeDiskFull, and with CodeForbidden if the engine does
// not support snapshots.
func (db *DB) Snapshot(ctx context.Context, name string) (SnapshotInfo, error) {
	s, err := db.host.Snapshot(ctx, name)
	if err != nil {
		return SnapshotInfo{}, classify.ToFault(err)
	}
	return readSnapshot(s)
}

// Snapshots returns all snapshots, sorted by name.
func (db *DB) Snapshots(ctx context.Context) ([]SnapshotInfo, error) {
	kept, err := db.host.Snapshots(ctx)
	if err != nil {
		return nil, classify.ToFault(err)
	}
	list := make([]SnapshotInfo, len(kept))
	for i, s := range kept {
		if list[i], err = readSnapshot(s); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// DeleteSnapshot deletes a snapshot. It fails with CodeNotFound if there is none. Data restored from it
// stay.
func (db *DB) DeleteSnapshot(ctx context.Context, name string) error {
	return classify.ToFault(db.host.DeleteSnapshot(ctx, name))
}

// Restore replaces the whole store, and the other tenants of its host, by a snapshot, in one step: after a
// crash the store has either the old or the restored data. Everything written since the snapshot is lost;
// virtual clocks go back too. Running operations, and all later use of a Database or Container looked up
// before, fail with CodeUnavailable; see Incarnation. Restore fails with CodeNotFound if there is no such
// snapshot, and with CodeDiskFull. If it fails, the store continues unchanged.
func (db *DB) Restore(ctx context.Context, name string) error {
	return classify.ToFault(db.host.Restore(ctx, name))
}

// Adopt turns copied data, such as a snapshot's, into a store of its own: from then on its etags differ from
// the original's. The engine must be freshly opened. neighbours are the other tenants with data on the
// engine, such as queues. Afterwards the caller opens the engine with Open and the same neighbours.
func Adopt(ctx context.Context, e engine.Engine, neighbours ...host.Tenant) error {
	return classify.ToFault(host.Adopt(ctx, e, append([]host.Tenant{dbTenantAdapter{}}, neighbours...)...))
}
