package store

import (
	"context"
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// A database alone is brought back by copying its keys out of the snapshot, under container numbers that are
// new: all that a container has begins with its number and names it nowhere else. Each of the copies has a
// drop record from before its first key until the one transaction that puts the database into the catalog; so
// whatever ends the work in between leaves nothing but keys that nobody can reach, which are erased at once
// or by the next Open.

// ForkDatabase makes a database of the one that was called source when the snapshot was made, under a name
// that is free. Its containers come with their items, settings, scripts and throughputs, its virtual clock
// and its encryption keys come too; users and permissions stay behind, since they name the source. It copies
// all keys, so it takes as long as the database is large, and reads and writes of other databases go on
// meanwhile. It fails with CodeNotFound where there is no such snapshot or it holds no such database, and
// CodeConflict where the name is taken.
func (db *DB) ForkDatabase(ctx context.Context, snapshot, source, as string) (*Database, error) {
	if err := definition.ValidateID("database", as); err != nil {
		return nil, err
	}
	return db.copyFromSnapshot(ctx, snapshot, source, func(b *databaseCopy) error {
		if _, err := b.db.database(as); err == nil {
			return value.AlreadyExists("database", as)
		}
		b.as = as
		return nil
	})
}

// RestoreDatabase puts one database back to what a snapshot has of it, users and permissions included; the
// others stay as they are. It is a fork that takes the old one's place in one step, and costs as much. It
// fails with CodeNotFound where there is no such snapshot or it holds no such database; whether the database
// exists now does not matter.
func (db *DB) RestoreDatabase(ctx context.Context, snapshot, id string) (*Database, error) {
	return db.copyFromSnapshot(ctx, snapshot, id, func(b *databaseCopy) error {
		b.as = id
		b.users = true
		b.old, _ = b.db.database(id) // nil where there is none: then there is nothing to replace
		return nil
	})
}

// databaseCopy is one database on its way out of a snapshot.
type databaseCopy struct {
	db    *dataset
	from  *Database // in the snapshot
	as    string
	users bool      // bring users and permissions
	old   *Database // to be replaced, or nil

	d          *Database
	containers []*Container
	offers     []*record.Offer
	families   []broughtFamily
}

// broughtFamily is a family of small resources under its new owner.
type broughtFamily struct {
	record.Family
	records []*record.Resource
}

// visit is the store in a copy of a snapshot: it is read there and never started.
type visit struct {
	tenant
	there *dataset
}

// Open implements host.Tenant.
func (v *visit) Open(ctx context.Context, in *host.Instance) (r host.OpenTenant, err error) {
	v.there, err = v.db.moveIn(ctx, in)
	return host.OpenTenant{Life: v.there, ClockUser: dated{v.there}}, err
}

// copyFromSnapshot opens the snapshot and copies a database of it. settle fills in what is asked for; it is
// called under the catalog's lock, once before the copying and once after it.
func (db *DB) copyFromSnapshot(ctx context.Context, name, source string,
	settle func(*databaseCopy) error) (d *Database, err error) {
	v := &visit{tenant: tenant{&DB{opts: Options{}.withDefaults(), memory: db.memory, heavy: db.heavy}}}
	err = db.host.WithSnapshot(ctx, name, []host.Tenant{v},
		func(ctx context.Context, _ *host.Instance) error {
			from, err := v.there.database(source)
			if err != nil {
				return err
			}
			b := &databaseCopy{db: db.live(), from: from}
			d, err = b.run(ctx, settle)
			return err
		})
	return d, classify.ToFault(err)
}

// run copies the database.
func (b *databaseCopy) run(ctx context.Context, settle func(*databaseCopy) error) (*Database, error) {
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

// allot hands out the new numbers and leaves the drop records.
func (b *databaseCopy) allot(ctx context.Context, settle func(*databaseCopy) error) error {
	db := b.db
	if err := db.lockCatalog(ctx); err != nil {
		return err
	}
	defer db.in.Catalog().Unlock()
	if err := settle(b); err != nil {
		return err
	}
	return db.changeCatalog(ctx, func(t *host.Change) error {
		b.containers, b.offers, b.families = nil, nil, nil
		b.number(t)
		if err := b.makeContainers(t); err != nil {
			return err
		}
		b.announce(t)
		return nil
	})
}

// number makes the database, its resources and its throughput.
func (b *databaseCopy) number(next *host.Change) {
	db, from := b.db, b.from
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

// addFamily takes a family over, under another owner and with new numbers.
func (b *databaseCopy) addFamily(next *host.Change, f record.Family,
	owner uint32) (records []*record.Resource) {
	for _, rec := range b.from.ds.cat.resources.Members(f) {
		fresh := *rec
		fresh.Num = next.Number()
		records = append(records, &fresh)
	}
	if len(records) > 0 {
		b.families = append(b.families, broughtFamily{record.FamilyOf(f.Kind, owner), records})
	}
	return records
}

// addOffer takes the throughput of a container over; with number 0 that of the database.
func (b *databaseCopy) addOffer(next *host.Change, was, is uint32) {
	for _, o := range b.from.ds.cat.offers {
		if o.Database == b.from.rec.Num && o.CID == was {
			b.offers = append(b.offers, &record.Offer{Num: next.Number(), Database: b.d.rec.Num, CID: is,
				Asked: o.Asked, Ranges: o.Ranges})
		}
	}
}

func (b *databaseCopy) makeContainers(next *host.Change) error {
	for _, was := range b.from.containers {
		st := was.state.Load()
		rec := st.rec
		rec.CID = next.Number() | layout.CIDBit
		rec.Ranges = slices.Clone(rec.Ranges)
		c, err := newContainer(b.d, rec, st.spec)
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

// finish puts the database into the catalog, on disk and in memory, in the place of the old one where there
// is one.
func (b *databaseCopy) finish(ctx context.Context, settle func(*databaseCopy) error) error {
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
	var replaced []*Container
	if b.old != nil {
		replaced = b.old.Containers()
	}
	err := closeAll(ctx, replaced, func() error {
		if err := b.rise(ctx, replaced); err != nil {
			return err
		}
		return b.commit(ctx, replaced)
	})
	if err != nil {
		return err
	}
	var families []record.Family
	if b.old != nil {
		families = b.old.families()
	}
	db.mu.Lock()
	if b.old != nil {
		db.cat.removeDatabase(b.old, replaced, families)
	}
	b.publish()
	db.mu.Unlock()
	db.eraseAll(ctx, replaced)
	db.reindexer.Wake()
	db.in.WakeReaper()
	db.splitter.Wake()
	db.door.subscribers.Notify()
	return nil
}

// load reads what was copied, as Open would, and refuses what Open would refuse.
func (b *databaseCopy) load(ctx context.Context) error {
	if err := b.d.clock.Copy(b.from.clock); err != nil {
		return err
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

// publish adds everything to the catalog in memory. The caller holds mu.
func (b *databaseCopy) publish() {
	cat := &b.db.cat
	cat.names[b.as] = b.d
	cat.databases = append(slices.Clip(cat.databases), b.d)
	for _, c := range b.containers {
		cat.add(c)
		raise(&c.used, c.moment()) // it does not come back to be deleted at once for idleness
	}
	for _, o := range b.offers {
		cat.addOffer(o)
	}
	for _, f := range b.families {
		for _, rec := range f.records {
			cat.resources.Family(f.Family).Set(nil, rec)
		}
	}
}
