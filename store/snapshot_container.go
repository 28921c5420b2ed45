package store

import (
	"context"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// mostAhead is by how many seconds the clock of a snapshot may be ahead of the one that dates a container
// which comes back from it: that clock stands still until it has caught up.
const mostAhead = 300

// RestoreContainer puts one container back to what a snapshot has of it, with its definition, settings,
// scripts and throughput of its own; what else is in its database stays as it is, the clock included. It
// copies the keys of the database's container alone, so it takes as long as that is large. Whether the
// container exists now does not matter. It fails with CodeNotFound where there is no such snapshot, where it
// holds no such container, or where the database does not exist now, and CodeConflict where the database's
// clock is well behind the snapshot's: what comes back would lie in its future.
func (db *DB) RestoreContainer(ctx context.Context, snapshot, database, id string) (*Container, error) {
	d, err := db.copyFromSnapshot(ctx, snapshot, database, func(b *databaseCopy) error {
		if b.from.byName[id] == nil {
			return value.NotFound("container", id)
		}
		d, err := b.db.database(database)
		if err != nil {
			return err
		}
		if b.into != nil && b.into != d { // it was deleted meanwhile, and made again
			return value.NotFound("database", database)
		}
		if b.from.clock.Seconds() > d.clock.Seconds()+mostAhead {
			return fault.New(fault.CodeConflict, "The clock of the database '"+database+
				"' is behind that of the snapshot: restore the database, or move its clock.")
		}
		b.into, b.as, b.only = d, database, id
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d.Container(id)
}
