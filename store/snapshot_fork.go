package store

import (
	"context"
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// A single database is restored by copying its keys from the snapshot to new container numbers: every key
// of a container begins with its number and contains it nowhere else. Each copy has a drop record, written
// before its first key and removed by the one transaction that adds the database to the catalog. So an
// interrupted copy leaves only unreachable keys, which are erased at once or by the next Open.

// ForkDatabase creates a database as a copy of the database source in a snapshot, under a name that is
// free. It copies containers with their items, settings, scripts and throughputs, the virtual clock and the
// encryption keys. It does not copy users and permissions, since they refer to the source. Its duration
// depends on the size of the database; reads and writes of other databases continue during the copy. It
// fails with CodeNotFound if there is no such snapshot or the snapshot has no such database, and with
// CodeConflict if the name is taken.
func (db *DB) ForkDatabase(ctx context.Context, snapshot, source, as string) (*Database, error) {
	if err := definition.ValidateID("database", as); err != nil {
		return nil, err
	}
	return db.copyFromSnapshot(ctx, snapshot, source, func(b *forkedDatabase) error {
		if _, err := b.db.database(as); err == nil {
			return value.AlreadyExists("database", as)
		}
		b.as = as
		return nil
	})
}

// RestoreDatabase restores one database from a snapshot, including users and permissions; the others stay
// unchanged. It copies the database like ForkDatabase, which takes as long, and replaces the old one in one
// step. It fails with CodeNotFound if there is no such snapshot or the snapshot has no such database. The
// database need not exist now.
func (db *DB) RestoreDatabase(ctx context.Context, snapshot, id string) (*Database, error) {
	return db.copyFromSnapshot(ctx, snapshot, id, func(b *forkedDatabase) error {
		b.as = id
		b.users = true
		b.old, _ = b.db.database(id) // nil if there is none: then nothing is replaced
		return nil
	})
}

// forkedDatabase is a copy of one database, or of one of its containers, from a snapshot.
type forkedDatabase struct {
	db    *openDataset
	from  *Database // in the snapshot
	as    string
	users bool      // copy users and permissions
	old   *Database // to be replaced, or nil
	into  *Database // the database that gets the single container; nil if a whole database is copied
	only  string    // the container's id; "" if into is nil

	d          *Database
	containers []*Container
	offers     []*record.Offer
	families   []copiedResourcesOfKind
}

// copiedResourcesOfKind is a copied family of small resources (all users of a database, for instance) under
// its new owner.
type copiedResourcesOfKind struct {
	record.OwnerAndKind
	records []*record.SmallResource
}

// readOnlySnapshotStore is the store in a copy of a snapshot. It is only read and never started.
type readOnlySnapshotStore struct {
	dbTenantAdapter
	there *openDataset
}

// Open loads the catalog of the snapshot's copy.
func (v *readOnlySnapshotStore) Open(ctx context.Context,
	in *host.EngineInstance) (r host.OpenedTenant, err error) {
	v.there, err = v.db.moveIn(ctx, in)
	return host.OpenedTenant{Life: v.there, ClockObserver: clockMoveParticipant{v.there}}, err
}

// copyFromSnapshot opens the snapshot and copies the database source from it. settle chooses which parts are
// copied, and where to. It is called under the catalog's lock, once before the copy and once after it,
// because the catalog may have changed meanwhile.
func (db *DB) copyFromSnapshot(ctx context.Context, name, source string,
	settle func(*forkedDatabase) error) (d *Database, err error) {
	v := &readOnlySnapshotStore{dbTenantAdapter: dbTenantAdapter{&DB{
		opts: Options{}.withDefaults(), memory: db.memory,
		heavy: db.heavy}}}
	err = db.host.WithSnapshot(ctx, name, []host.Tenant{v},
		func(ctx context.Context, _ *host.EngineInstance) error {
			from, err := v.there.database(source)
			if err != nil {
				return err
			}
			b := &forkedDatabase{db: db.live(), from: from}
			d, err = b.run(ctx, settle)
			return err
		})
	return d, classify.ToFault(err)
}

// run copies the database, and erases what it has copied if it fails. It calls settle, which determines what
// is copied and where to, under the catalog's lock: once before the copy and once after it, because the
// catalog may have changed meanwhile.
func (b *forkedDatabase) run(ctx context.Context, settle func(*forkedDatabase) error) (*Database, error) {
	if err := b.allot(ctx, settle); err != nil {
		return nil, err
	}
	err := b.copy(ctx)
	if err == nil {
		err = b.finish(ctx, settle)
	}
	if err != nil {
		b.db.eraseAll(ctx, b.containers)
		return nil, err
	}
	return b.d, nil
}

// allot prepares the copy in the catalog: it lets settle choose what is copied and where to, gives the new
// database and containers their numbers, and writes the drop records by which the next Open erases the
// copy if it is interrupted.
func (b *forkedDatabase) allot(ctx context.Context, settle func(*forkedDatabase) error) error {
	db := b.db
	if err := db.lockCatalog(ctx); err != nil {
		return err
	}
	defer db.in.Catalog().Unlock()
	if err := settle(b); err != nil {
		return err
	}
	return db.changeCatalog(ctx, func(t *host.CatalogTxn) error {
		b.containers, b.offers, b.families = nil, nil, nil
		b.number(t)
		if err := b.makeContainers(t); err != nil {
			return err
		}
		b.announce(t)
		return nil
	})
}

// number creates the record of the new database with a new number, and copies its small resources and its
// throughput.
func (b *forkedDatabase) number(next *host.CatalogTxn) {
	db, from := b.db, b.from
	if b.into != nil {
		b.d = b.into
		return
	}
	num := next.Number()
	b.d = &Database{ds: db, rec: record.Database{ID: b.as, Num: num}, byName: make(map[string]*Container)}
	b.d.clock = db.in.NewClock(num, clockOf(from.ID())+" in the snapshot")
	b.addFamily(next, record.FamilyOf(KindEncryptionKey, from.rec.Num), b.d.rec.Num)
	if b.users {
		users := b.addFamily(next, record.FamilyOf(KindUser, from.rec.Num), b.d.rec.Num)
		for i, u := range from.ds.cat.resources.Members(record.FamilyOf(KindUser, from.rec.Num)) {
			b.addFamily(next, record.FamilyOf(KindPermission, u.Num), users[i].Num)
		}
	}
	b.addOffer(next, 0, 0)
}

// addFamily copies the small resources of one kind and owner to another owner, with new numbers.
func (b *forkedDatabase) addFamily(next *host.CatalogTxn, f record.OwnerAndKind,
	owner uint32) (records []*record.SmallResource) {
	for _, rec := range b.from.ds.cat.resources.Members(f) {
		fresh := *rec
		fresh.Num = next.Number()
		records = append(records, &fresh)
	}
	if len(records) > 0 {
		b.families = append(b.families, copiedResourcesOfKind{record.FamilyOf(f.Kind, owner), records})
	}
	return records
}

// addOffer copies a container's throughput to the new database. was and is are the container's numbers in the
// original and in the copy. If both are 0, it copies the throughput of the database itself.
func (b *forkedDatabase) addOffer(next *host.CatalogTxn, was, is uint32) {
	for _, o := range b.from.ds.cat.offers {
		if o.Database == b.from.rec.Num && o.CID == was {
			b.offers = append(b.offers, &record.Offer{Num: next.Number(), Database: b.d.rec.Num, CID: is,
				Asked: o.Asked, Ranges: o.Ranges})
		}
	}
}

// sources returns the containers of the snapshot that are copied.
func (b *forkedDatabase) sources() []*Container {
	if b.into != nil {
		return []*Container{b.from.byName[b.only]}
	}
	return b.from.containers
}

func (b *forkedDatabase) makeContainers(next *host.CatalogTxn) error {
	for _, was := range b.sources() {
		st := was.state.Load()
		rec := st.Rec
		rec.CID = next.Number() | layout.CIDBit
		rec.Ranges = slices.Clone(rec.Ranges)
		c, err := newContainer(b.d, rec, st.Spec)
		if err != nil {
			return err
		}
		b.containers = append(b.containers, c)
		b.addOffer(next, was.cid, c.cid)
		for _, f := range was.families() {
			b.addFamily(next, f, c.cid)
		}
	}
	return nil
}

// finish adds the copied database to the catalog, on disk and in memory. It replaces the old database if
// there is one. Before that it calls settle again, which determines what is copied and where to, because the
// catalog may have changed during the copy.
func (b *forkedDatabase) finish(ctx context.Context, settle func(*forkedDatabase) error) error {
	db := b.db
	if err := db.lockCatalog(ctx); err != nil {
		return err
	}
	defer db.in.Catalog().Unlock()
	if err := settle(b); err != nil {
		return err
	}
	if err := b.load(ctx); err != nil {
		return classify.ToFault(err)
	}
	replaced := b.replaced()
	err := closeAll(ctx, replaced, func() error {
		if err := b.raiseLSNs(ctx, replaced); err != nil {
			return err
		}
		return b.commit(ctx, replaced)
	})
	if err != nil {
		return err
	}
	var families []record.OwnerAndKind
	if b.old != nil {
		families = b.old.families()
	}
	db.mu.Lock()
	switch {
	case b.old != nil:
		db.cat.removeDatabase(b.old, replaced, families)
	case b.into != nil:
		db.cat.removeContainers(replaced)
	}
	b.publish()
	db.mu.Unlock()
	db.eraseAll(ctx, replaced)
	db.reindexer.Wake()
	db.in.WakeReaper()
	db.splitter.Wake()
	db.db.catalogWatch.Notify()
	return nil
}

// replaced returns the containers that the copy replaces.
func (b *forkedDatabase) replaced() []*Container {
	switch {
	case b.old != nil:
		return b.old.Containers()
	case b.into != nil && b.into.byName[b.only] != nil:
		return []*Container{b.into.byName[b.only]}
	}
	return nil
}

// load reads the stored state of the copied containers into memory, so that they can be used like containers
// that Open has loaded. It also copies the clock of the database. It fails if Open would fail with these
// data.
func (b *forkedDatabase) load(ctx context.Context) error {
	if b.into == nil {
		if err := b.d.clock.Copy(b.from.clock); err != nil {
			return err
		}
	}
	err := b.db.view(ctx, func(r engine.Reader) error {
		for _, c := range b.containers {
			if err := c.loadPartitions(r); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, b.d.clock.CheckStepBack())
}

// publish adds the copied database, its containers, throughputs and small resources to the catalog in memory.
// The caller holds mu.
func (b *forkedDatabase) publish() {
	cat := &b.db.cat
	if b.into == nil {
		cat.names[b.as] = b.d
		cat.databases = append(slices.Clip(cat.databases), b.d)
	}
	for _, c := range b.containers {
		cat.add(c)
		container.Raise(&c.used, c.moment()) // restart its idle time, so that it is not deleted at once
	}
	for _, o := range b.offers {
		cat.addOffer(o)
	}
	for _, f := range b.families {
		for _, rec := range f.records {
			cat.resources.Family(f.OwnerAndKind).Set(nil, rec)
		}
	}
}
