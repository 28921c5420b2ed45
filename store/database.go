package store

import (
	"context"
	"slices"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// Database holds containers. A *Database stays valid until it is dropped. After that, calls that change it
// fail with CodeNotFound.
type Database struct {
	ds         *openDataset
	rec        record.Database
	containers []*Container          // in order of creation; guarded by openDataset.mu
	byName     map[string]*Container // guarded by openDataset.mu
	spending   work.ThroughputBudget // of the throughput that its containers share

	clock *host.NonDecreasingClock // its own, or one that follows the server's
}

// ID returns the database's id.
func (d *Database) ID() string { return d.rec.ID }

// RID returns the database's resource id.
func (d *Database) RID() string { return layout.RIDText(layout.DatabaseRIDBytes(d.rec.Num)) }

// ETag returns the database's etag, with its literal quotes.
func (d *Database) ETag() string { return layout.ETagText(d.ds.incarnation, 2, d.rec.LSN) }

// Timestamp returns when the database was created, in seconds since 1970.
func (d *Database) Timestamp() int64 { return d.rec.TS }

// Databases returns all databases in order of creation.
func (db *DB) Databases() []*Database { return db.live().databases() }

func (ds *openDataset) databases() []*Database {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	return slices.Clone(ds.cat.databases)
}

// Database returns the database with the given id. It fails with CodeNotFound if there is none.
func (db *DB) Database(id string) (*Database, error) { return db.live().database(id) }

func (ds *openDataset) database(id string) (*Database, error) {
	ds.mu.RLock()
	d := ds.cat.names[id]
	ds.mu.RUnlock()
	if d == nil {
		return nil, value.NotFound("database", id)
	}
	return d, nil
}

// CatchUp loads the changes that other servers on the same engine have made to databases, containers and
// the resources in them. A caller that does not find something by its name calls CatchUp and looks again.
// CatchUp waits while a change of this store is being made durable.
func (db *DB) CatchUp(ctx context.Context) error { return db.live().catchUp(ctx) }

// catchUp does the work of DB.CatchUp. It must not be called in a transaction or a view of the engine.
func (ds *openDataset) catchUp(ctx context.Context) error {
	return classify.ToFault(ds.in.Catalog().CatchUp(ctx))
}

// DatabaseByRID returns the database with the given resource id. It fails with CodeBadRequest if rid is
// malformed, and with CodeNotFound if there is no such database.
func (db *DB) DatabaseByRID(rid string) (*Database, error) { return db.live().databaseByRID(rid) }

func (ds *openDataset) databaseByRID(rid string) (*Database, error) {
	b, ok := layout.ParseRID(rid, 4)
	if !ok {
		return nil, value.BadRID(rid)
	}
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, d := range ds.cat.databases {
		if string(layout.DatabaseRIDBytes(d.rec.Num)) == string(b) {
			return d, nil
		}
	}
	return nil, value.NotFound("database", rid)
}

// CreateDatabase creates a database. If t is not zero, the database's containers share it as their
// throughput. It fails with CodeConflict if the id is taken, and with CodeBadRequest for an id or a
// throughput that Cosmos DB refuses.
func (db *DB) CreateDatabase(ctx context.Context, id string,
	t definition.Throughput) (d *Database, err error) {
	err = host.RetryMoved(func() (err error) {
		d, err = db.live().createDatabase(ctx, id, t)
		return err
	})
	return d, err
}

func (ds *openDataset) createDatabase(ctx context.Context, id string,
	asked definition.Throughput) (*Database, error) {
	if err := definition.ValidateID("database", id); err != nil {
		return nil, err
	}
	if err := asked.Validate(); err != nil {
		return nil, err
	}
	if err := ds.lockCatalog(ctx); err != nil {
		return nil, err
	}
	defer ds.in.Catalog().Unlock()
	if _, err := ds.database(id); err == nil {
		return nil, value.AlreadyExists("database", id)
	}
	d := &Database{ds: ds, byName: make(map[string]*Container)}
	var offer *record.Offer
	err := ds.changeCatalog(ctx, func(t *host.CatalogTxn) error {
		d.rec = record.Database{ID: id, Num: t.Number(), TS: ds.stamp(), LSN: t.NextLSN(host.CatalogScope())}
		if offer = nil; !asked.IsZero() {
			offer = &record.Offer{Num: t.Number(), Database: d.rec.Num, Asked: asked}
		}
		if err := putOffer(t, offer, d.rec.TS); err != nil {
			return err
		}
		return host.SetRecord(t, layout.DatabaseKey(id), d.rec)
	})
	if err != nil {
		return nil, err
	}
	d.clock = ds.in.NewClock(d.rec.Num, clockOf(id))
	ds.mu.Lock()
	ds.cat.names[id] = d
	ds.cat.databases = append(ds.cat.databases, d)
	ds.cat.addOffer(offer)
	ds.mu.Unlock()
	ds.db.catalogWatch.Notify()
	return d, nil
}

// DeleteDatabase drops a database and everything in it. It fails with CodeNotFound if there is none and
// with CodePreconditionFailed if o.IfMatch is another etag.
func (db *DB) DeleteDatabase(ctx context.Context, id string, o WriteOptions) error {
	return host.RetryMoved(func() error { return db.live().deleteDatabase(ctx, id, o) })
}

func (ds *openDataset) deleteDatabase(ctx context.Context, id string, o WriteOptions) error {
	if err := ds.lockCatalog(ctx); err != nil {
		return err
	}
	defer ds.in.Catalog().Unlock()
	d, err := ds.database(id)
	if err != nil {
		return err
	}
	if err := value.CheckIfMatch(o.IfMatch, d.ETag()); err != nil {
		return err
	}
	containers := d.Containers()
	err = ds.retryDrop(ctx, containers, func() error {
		return closeAll(ctx, containers, func() error {
			return ds.commitDrop(ctx, containers, func(t *host.CatalogTxn) error {
				if err := dropContainerRecords(t, containers, ds.cat.offers); err != nil {
					return err
				}
				dropDatabaseRecords(t, d, ds.cat.offers)
				t.RecordHighest(highest(containers))
				return nil
			})
		})
	})
	if err != nil {
		return err
	}
	families := d.families()
	ds.mu.Lock()
	ds.cat.removeDatabase(d, containers, families)
	ds.mu.Unlock()
	ds.db.catalogWatch.Notify()
	ds.eraseAll(ctx, containers)
	return nil
}

// closeAll takes the gates (locks) of the containers exclusively and in order, so that no operation is
// running in any of them, and runs fn. If fn succeeds, closeAll marks all containers as dropped.
func closeAll(ctx context.Context, containers []*Container, fn func() error) error {
	if len(containers) == 0 {
		return fn()
	}
	return containers[0].change(ctx, func(st container.State, _ int64) (container.State, error) {
		err := closeAll(ctx, containers[1:], fn)
		st.Dropped = true
		return st, err
	})
}

// eraseAll frees the space of dropped containers. The containers have left the catalog already, so an error
// does no harm: the next Open erases keys that are left after an error or a crash.
func (ds *openDataset) eraseAll(ctx context.Context, containers []*Container) {
	var cids []uint32
	for _, c := range containers {
		cids = append(cids, c.cid)
	}
	if err := ds.eraseContainers(context.WithoutCancel(ctx), cids); err != nil {
		ds.opts.Logger.Warn("deleting the data of dropped containers failed; the next start will finish it",
			"containers", len(cids), "first", containers[0].name, "error", err)
	}
}

// highest returns the highest LSN that a client can have received from the containers' ranges.
func highest(containers []*Container) (high uint64) {
	for _, c := range containers {
		for _, s := range c.state.Load().Ranges {
			high = max(high, c.ds.eng.Horizon(s.Scope))
		}
	}
	return high
}
