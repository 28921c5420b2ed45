package store

import (
	"context"
	"slices"

	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// Database holds containers. A *Database stays valid until it is dropped; then calls that would change it
// fail with CodeNotFound.
type Database struct {
	db         *resident
	rec        record.Database
	containers []*Container          // in order of creation; guarded by resident.mu
	byName     map[string]*Container // guarded by resident.mu
	spending   work.RequestBudget    // of the throughput that its containers share

	clock *host.Clock // its own, or one that follows the server's
}

// ID is the database's id.
func (d *Database) ID() string { return d.rec.ID }

// RID is the database's resource id.
func (d *Database) RID() string { return layout.RIDText(layout.DatabaseRIDBytes(d.rec.Num)) }

// ETag is the database's etag, with its literal quotes.
func (d *Database) ETag() string { return layout.ETagText(d.db.incarnation, 2, d.rec.LSN) }

// Timestamp is when the database was made, in seconds since 1970.
func (d *Database) Timestamp() int64 { return d.rec.TS }

// Databases are all databases in order of creation.
func (db *DB) Databases() []*Database { return db.live().databases() }

func (db *resident) databases() []*Database {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return slices.Clone(db.cat.databases)
}

// Database finds a database by id: CodeNotFound where there is none.
func (db *DB) Database(id string) (*Database, error) { return db.live().database(id) }

func (db *resident) database(id string) (*Database, error) {
	db.mu.RLock()
	d := db.cat.names[id]
	db.mu.RUnlock()
	if d == nil {
		return nil, notFound("database", id)
	}
	return d, nil
}

// CatchUp makes known in memory what another store over the same engine has changed of databases, containers
// and all that is defined in them, and tells whether there was something. Who does not find what he looks for
// by name asks it, and looks again. While a change of this store is being made durable it waits for that.
func (db *DB) CatchUp(ctx context.Context) (changed bool, err error) {
	changed, err = db.live().in.Catalog().CatchUp(ctx)
	return changed, classify.ToFault(err)
}

// DatabaseByRID finds a database by its resource id: CodeBadRequest where rid is not one, CodeNotFound where
// there is no such database.
func (db *DB) DatabaseByRID(rid string) (*Database, error) { return db.live().databaseByRID(rid) }

func (db *resident) databaseByRID(rid string) (*Database, error) {
	b, ok := layout.ParseRID(rid, 4)
	if !ok {
		return nil, badRID(rid)
	}
	db.mu.RLock()
	defer db.mu.RUnlock()
	for _, d := range db.cat.databases {
		if string(layout.DatabaseRIDBytes(d.rec.Num)) == string(b) {
			return d, nil
		}
	}
	return nil, notFound("database", rid)
}

func notFound(what, id string) error {
	return fault.New(fault.CodeNotFound, "Resource Not Found: the "+what+" '"+id+"' does not exist.")
}

func badRID(rid string) error {
	return fault.New(fault.CodeBadRequest, "'"+rid+"' is not a valid resource id.")
}

// CreateDatabase makes a database; with a throughput its containers share it. It fails with CodeConflict
// where the id is taken and CodeBadRequest for an id or a throughput that the service refuses.
func (db *DB) CreateDatabase(ctx context.Context, id string, t definition.Throughput) (*Database, error) {
	return db.live().createDatabase(ctx, id, t)
}

func (db *resident) createDatabase(ctx context.Context, id string, asked definition.Throughput) (*Database,
	error) {
	if err := definition.ValidateID("database", id); err != nil {
		return nil, err
	}
	if err := asked.Validate(); err != nil {
		return nil, err
	}
	if err := db.lockCatalog(ctx); err != nil {
		return nil, err
	}
	defer db.in.Catalog().Unlock()
	if _, err := db.database(id); err == nil {
		return nil, fault.New(fault.CodeConflict,
			"Resource with specified id or name already exists: database '"+
				id+"'.")
	}
	d := &Database{db: db, byName: make(map[string]*Container)}
	var offer *record.Offer
	err := db.changeCatalog(ctx, func(t *host.Change) error {
		d.rec = record.Database{ID: id, Num: t.Number(), TS: db.stamp(), LSN: t.NextLSN(host.CatalogScope())}
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
	d.clock = db.in.NewClock(d.rec.Num, clockOf(id))
	db.mu.Lock()
	defer db.mu.Unlock()
	db.cat.names[id] = d
	db.cat.databases = append(db.cat.databases, d)
	db.cat.addOffer(offer)
	return d, nil
}

// DeleteDatabase drops a database with all that is in it. It fails with CodeNotFound where there is none and
// with CodePreconditionFailed where o.IfMatch names another etag.
func (db *DB) DeleteDatabase(ctx context.Context, id string, o WriteOptions) error {
	return db.live().deleteDatabase(ctx, id, o)
}

func (db *resident) deleteDatabase(ctx context.Context, id string, o WriteOptions) error {
	if err := db.lockCatalog(ctx); err != nil {
		return err
	}
	defer db.in.Catalog().Unlock()
	d, err := db.database(id)
	if err != nil {
		return err
	}
	if err := checkIfMatch(o.IfMatch, d.ETag()); err != nil {
		return err
	}
	containers := d.Containers()
	err = closeAll(ctx, containers, func() error {
		return db.commitDrop(ctx, containers, func(t *host.Change) error {
			for _, c := range containers {
				if err := dropContainerRecords(t, c, db.cat.offers); err != nil {
					return err
				}
			}
			dropDatabaseRecords(t, d, db.cat.offers)
			t.NoteHighest(highest(containers))
			return nil
		})
	})
	if err != nil {
		return err
	}
	families := d.families()
	db.mu.Lock()
	for _, c := range containers {
		db.cat.remove(c)
	}
	db.cat.forgetFamilies(families)
	delete(db.cat.names, id)
	db.cat.databases = work.Without(db.cat.databases, d)
	db.cat.dropOffers(func(o record.Offer) bool { return o.Database == d.rec.Num })
	db.mu.Unlock()
	db.door.subscribers.Notify()
	db.eraseAll(ctx, containers)
	return nil
}

// closeAll takes the gates of containers in order, so that nothing is in flight in any of them, runs fn, and
// where that succeeds marks them all as dropped.
func closeAll(ctx context.Context, containers []*Container, fn func() error) error {
	if len(containers) == 0 {
		return fn()
	}
	return containers[0].change(ctx, func(st containerState, _ int64) (containerState, error) {
		err := closeAll(ctx, containers[1:], fn)
		st.dropped = true
		return st, err
	})
}

// eraseAll frees what dropped containers held. They are gone already, whatever happens here: what is left by
// an error or a crash is finished by the next Open.
func (db *resident) eraseAll(ctx context.Context, containers []*Container) {
	for _, c := range containers {
		if err := db.eraseContainer(context.WithoutCancel(ctx), c.cid); err != nil {
			db.opts.Logger.Warn("freeing a dropped container failed; the next start will finish it",
				"container", c.name, "error", err)
		}
	}
}

// checkIfMatch applies an If-Match condition to a resource that exists.
func checkIfMatch(condition, etag string) error {
	if condition == "" || condition == "*" || layout.ETagMatches(condition, etag) {
		return nil
	}
	return preconditionFailed()
}

func preconditionFailed() error {
	return fault.New(fault.CodePreconditionFailed, "One of the specified pre-condition is not met")
}

// highest is the highest LSN that a client can have seen of the ranges of containers.
func highest(containers []*Container) (high uint64) {
	for _, c := range containers {
		for _, s := range c.state.Load().ranges {
			high = max(high, c.db.eng.Horizon(s.scope))
		}
	}
	return high
}
