package store

import "context"

// HoldIndexer keeps documents from being indexed anew until the function that it returns is called, which
// must be before the store is closed or swept.
func (db *DB) HoldIndexer() (release func()) {
	x := &db.live().reindexer
	x.Turn.Lock()
	return x.Turn.Unlock
}

// SweepHeld sweeps while the indexer is held.
func (db *DB) SweepHeld(ctx context.Context) error {
	_, err := db.live().in.SweepNow(ctx)
	return err
}

// DiedSince is the last second in which something of a container died that was alive in second to.
func (db *DB) DiedSince(ctx context.Context, database, container string, to int64) (int64, error) {
	d, err := db.Database(database)
	if err != nil {
		return 0, err
	}
	c, err := d.Container(container)
	if err != nil {
		return 0, err
	}
	return c.diedSince(ctx, to)
}
