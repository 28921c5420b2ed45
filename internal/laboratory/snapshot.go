package laboratory

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
)

// StoreSnapshotInfo is a saved state of the whole store.
type StoreSnapshotInfo struct {
	Name      string    `json:"name"`
	Time      time.Time `json:"time"`
	Bytes     int64     `json:"bytes"`
	Databases []string  `json:"databases" nullable:"false"`
}

// Snapshots is a list of snapshots.
type Snapshots struct {
	Snapshots []StoreSnapshotInfo `json:"snapshots" nullable:"false"`
}

func snapshotOf(s store.SnapshotInfo) StoreSnapshotInfo {
	return StoreSnapshotInfo{Name: s.Name, Time: s.Time, Bytes: s.Bytes, Databases: s.Databases}
}

func (l *Laboratory) listSnapshots(ctx context.Context, _ *route.NoBody) (Snapshots, error) {
	list, err := l.db.Snapshots(ctx)
	if err != nil {
		return Snapshots{}, err
	}
	out := Snapshots{make([]StoreSnapshotInfo, len(list))}
	for i, s := range list {
		out.Snapshots[i] = snapshotOf(s)
	}
	return out, nil
}

const snapshotNameText = "The body must have a 'name'."

type createSnapshotRequest struct {
	Name string   `json:"name" missing:"The body must have a 'name'." minLength:"1" maxLength:"64"`
	_    struct{} `body:"optional" additionalProperties:"false"`
}

func (l *Laboratory) createSnapshot(ctx context.Context, in *createSnapshotRequest) (StoreSnapshotInfo,
	error) {
	if in.Name == "" {
		return StoreSnapshotInfo{}, route.BadRequest(snapshotNameText)
	}
	s, err := l.db.Snapshot(ctx, in.Name)
	if err != nil {
		return StoreSnapshotInfo{}, err
	}
	return snapshotOf(s), nil
}

// SnapshotNameParameter is the part of a request that names a snapshot in its path.
type SnapshotNameParameter struct {
	Snapshot string `path:"name" description:"Name of the snapshot."`
}

func (l *Laboratory) deleteSnapshot(ctx context.Context, in *SnapshotNameParameter) (route.NoBody, error) {
	return route.NoBody{}, l.db.DeleteSnapshot(ctx, in.Snapshot)
}

type restoreSnapshotRequest struct {
	Database  *string `json:"database,omitempty" description:"Restore only it; absent: the whole store."`
	Container *string `json:"container,omitempty" description:"Restore only this one of 'database'."`
	SnapshotNameParameter
	_ struct{} `body:"optional" additionalProperties:"false"`
}

// RestoreSnapshotResult is the response to a request that restores a snapshot: the ids of the databases that
// exist now.
type RestoreSnapshotResult struct {
	Databases []string `json:"databases" nullable:"false"`
}

func (l *Laboratory) restoreSnapshot(ctx context.Context,
	in *restoreSnapshotRequest) (RestoreSnapshotResult, error) {
	var err error
	switch {
	case in.Container != nil && in.Database == nil:
		return RestoreSnapshotResult{}, route.BadRequest("'container' requires 'database'.")
	case in.Container != nil:
		_, err = l.db.RestoreContainer(ctx, in.Snapshot, *in.Database, *in.Container)
	case in.Database != nil:
		_, err = l.db.RestoreDatabase(ctx, in.Snapshot, *in.Database)
	default:
		err = l.db.Restore(ctx, in.Snapshot)
	}
	if err != nil {
		return RestoreSnapshotResult{}, err
	}
	return l.restored(), nil
}

// restored returns the response to a restore: the ids of the databases that exist now.
func (l *Laboratory) restored() RestoreSnapshotResult {
	out := RestoreSnapshotResult{[]string{}}
	for _, d := range l.db.Databases() {
		out.Databases = append(out.Databases, d.ID())
	}
	return out
}

const forkText = "The body must have 'database', the one to copy, and 'as', the name of the copy."

type forkDatabaseRequest struct {
	Database string `json:"database" description:"Id of the database in the snapshot."`
	As       string `json:"as" description:"Id of the new database."`
	SnapshotNameParameter
	_ struct{} `body:"optional" additionalProperties:"false"`
}

// ForkDatabaseResult is the response to a request that copies a database of a snapshot to a new database.
type ForkDatabaseResult struct {
	RID string `json:"_rid"`
	ID  string `json:"id"`
}

func (l *Laboratory) forkSnapshot(ctx context.Context, in *forkDatabaseRequest) (ForkDatabaseResult, error) {
	if in.Database == "" || in.As == "" {
		return ForkDatabaseResult{}, route.BadRequest(forkText)
	}
	d, err := l.db.ForkDatabase(ctx, in.Snapshot, in.Database, in.As)
	if err != nil {
		return ForkDatabaseResult{}, err
	}
	return ForkDatabaseResult{d.RID(), d.ID()}, nil
}
