package store

import (
	"context"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// mostAhead is the maximum number of seconds by which the clock of a snapshot may be ahead of the
// database's clock when a container is restored. The database's clock is then set to the time of the
// snapshot's clock, and stands still until its usual time has caught up with that.
const mostAhead = 300

// RestoreContainer restores one container from a snapshot, with its definition, settings, scripts and its
// own throughput. The rest of its database stays unchanged, including the clock. It copies the keys of this
// container only, so its duration depends on the container's size. The container need not exist now. It
// fails with CodeNotFound if there is no such snapshot, if the snapshot has no such container, or if the
// database does not exist now. It fails with CodeConflict if the database's clock is well behind the
// snapshot's: restored items would lie in its future.
func (db *DB) RestoreContainer(ctx context.Context, snapshot, database, id string) (*Container, error) {
	d, err := db.copyFromSnapshot(ctx, snapshot, database, func(b *forkedDatabase) error {
		if b.from.byName[id] == nil {
			return value.NotFound("container", id)
		}
		d, err := b.db.database(database)
		if err != nil {
			return err
		}
		if b.into != nil && b.into != d { // the database was deleted and created again since
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
