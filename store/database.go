package store

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Database holds containers. A *Database stays valid until it is dropped; then calls that would change it
// fail with CodeNotFound.
type Database struct {
	db         *DB
	rec        databaseRecord
	containers []*Container          // in order of creation; guarded by DB.mu
	byName     map[string]*Container // guarded by DB.mu
	spending   budget                // of the throughput that its containers share

	clock    storeClock
	ownClock atomic.Bool // the clock is not the server's
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
func (db *DB) Databases() []*Database {
	db = db.live()
	db.mu.RLock()
	defer db.mu.RUnlock()
	return slices.Clone(db.cat.databases)
}

// Database finds a database by id: CodeNotFound where there is none.
func (db *DB) Database(id string) (*Database, error) {
	db = db.live()
	db.mu.RLock()
	d := db.cat.names[id]
	db.mu.RUnlock()
	if d == nil {
		return nil, notFound("database", id)
	}
	return d, nil
}

// DatabaseByRID finds a database by its resource id: CodeBadRequest where rid is not one, CodeNotFound where
// there is no such database.
func (db *DB) DatabaseByRID(rid string) (*Database, error) {
	db = db.live()
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
	return fail(CodeNotFound, "Resource Not Found: the "+what+" '"+id+"' does not exist.")
}

func badRID(rid string) error { return fail(CodeBadRequest, "'"+rid+"' is not a valid resource id.") }

// CreateDatabase makes a database; with a throughput its containers share it. It fails with CodeConflict
// where the id is taken and CodeBadRequest for an id or a throughput that the service refuses.
func (db *DB) CreateDatabase(ctx context.Context, id string, t definition.Throughput) (*Database, error) {
	db = db.live()
	if err := definition.ValidateID("database", id); err != nil {
		return nil, err
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	if err := db.ddl.take(ctx); err != nil {
		return nil, err
	}
	defer db.ddl.release()
	if _, err := db.Database(id); err == nil {
		return nil, fail(CodeConflict, "Resource with specified id or name already exists: database '"+id+"'.")
	}
	d := &Database{db: db, byName: make(map[string]*Container)}
	next := db.meta
	var offer *offerRecord
	err := db.changeCatalog(ctx, func(txn engine.Txn) error {
		next = db.meta
		d.rec = databaseRecord{ID: id, Num: next.take(), TS: db.stamp(), LSN: txn.NextLSN(layout.CatalogScope())}
		if offer = nil; !t.IsZero() {
			offer = &offerRecord{Num: next.take(), Database: d.rec.Num, Asked: t}
		}
		if err := putOffer(txn, offer, d.rec.TS); err != nil {
			return err
		}
		if err := setRecord(txn, layout.MetaKey(), next); err != nil {
			return err
		}
		return setRecord(txn, layout.DatabaseKey(id), d.rec)
	})
	if err != nil {
		return nil, err
	}
	d.startClock()
	db.meta = next
	db.mu.Lock()
	defer db.mu.Unlock()
	db.cat.names[id] = d
	db.cat.databases = append(db.cat.databases, d)
	db.cat.addOffer(offer)
	return d, nil
}

// take hands out the next number of the catalog.
func (m *meta) take() uint32 {
	n := m.Next
	m.Next++
	return n
}

// changeCatalog runs one transaction of the catalog's scope. The caller holds ddl.
func (db *DB) changeCatalog(ctx context.Context, fn func(engine.Txn) error) error {
	_, err := db.eng.Update(ctx, [][]byte{layout.CatalogScope()}, fn)
	return wrap(err)
}

// DeleteDatabase drops a database with all that is in it. It fails with CodeNotFound where there is none and
// with CodePreconditionFailed where o.IfMatch names another etag.
func (db *DB) DeleteDatabase(ctx context.Context, id string, o WriteOptions) error {
	db = db.live()
	if err := db.ddl.take(ctx); err != nil {
		return err
	}
	defer db.ddl.release()
	d, err := db.Database(id)
	if err != nil {
		return err
	}
	if err := checkIfMatch(o.IfMatch, d.ETag()); err != nil {
		return err
	}
	containers := d.Containers()
	var m meta
	err = closeAll(ctx, containers, func() error {
		return db.changeCatalog(ctx, func(t engine.Txn) (err error) {
			for _, c := range containers {
				dropContainerRecords(t, c, db.cat.offers)
			}
			dropDatabaseRecords(t, d, db.cat.offers)
			m, err = db.noteHighest(t, containers)
			return err
		})
	})
	if err != nil {
		return err
	}
	db.meta = m
	families := d.families()
	db.mu.Lock()
	for _, c := range containers {
		db.cat.remove(c)
	}
	db.cat.forgetFamilies(families)
	delete(db.cat.names, id)
	db.cat.databases = without(db.cat.databases, d)
	db.cat.dropOffers(func(o offerRecord) bool { return o.Database == d.rec.Num })
	db.mu.Unlock()
	db.line.subscribers.notify()
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
func (db *DB) eraseAll(ctx context.Context, containers []*Container) {
	for _, c := range containers {
		if err := db.eraseContainer(context.WithoutCancel(ctx), c.cid); err != nil {
			db.opts.Logger.Warn("freeing a dropped container failed; the next start will finish it", "container", c.name, "error", err)
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
	return fail(CodePreconditionFailed, "One of the specified pre-condition is not met")
}
