package store

import "context"

// HoldIndexer stops the reindexer until release is called, which must happen before the store is closed or
// SweepNow is called.
func (db *DB) HoldIndexer() (release func()) {
	x := &db.live().reindexer
	x.Turn.Lock()
	return x.Turn.Unlock
}

// SweepHeld purges all expired items, as SweepNow does. Unlike SweepNow it can be called while a test has
// stopped the reindexer, the background task that builds indexes.
func (db *DB) SweepHeld(ctx context.Context) error {
	_, err := db.live().in.SweepNow(ctx)
	return err
}

// DiedSince returns the latest second after to in which an item of the container expired that is not
// purged yet, or 0.
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
