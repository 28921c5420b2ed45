package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/resource"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// The catalog is small and kept in memory as a whole. A change of it is one transaction in the catalog's
// scope, made under the catalog's lock. The change becomes visible in memory only when it is durable.

// catalog holds the databases, containers, offers and small resources of a dataset, by several keys.
// openDataset.mu guards it.
type catalog struct {
	names      map[string]*Database
	databases  []*Database // in order of creation
	offers     []record.Offer
	containers []*Container // of all databases, in order of creation
	cids       map[uint32]*Container
	resources  resource.ResourcesByKindAndOwner
}

// catalogKinds returns the letters of the record kinds that the store keeps in the catalog.
func catalogKinds() string {
	kinds := []byte{layout.KindDatabase, layout.KindContainer, layout.KindOffer, layout.KindDrop,
		layout.KindFormer, layout.KindUpgrade}
	for _, k := range record.Kinds {
		kinds = append(kinds, k.Record)
	}
	return string(kinds)
}

// loadCatalog reads the whole catalog.
func (ds *openDataset) loadCatalog(ctx context.Context) error {
	return ds.view(ctx, func(r engine.Reader) error {
		cat, err := ds.readCatalog(r, nil)
		if err == nil {
			ds.setCatalog(cat)
		}
		return err
	})
}

// reread reads the whole catalog again, after another server has changed it (host.OpenedTenant.Reload).
// Databases and containers that are in memory already keep their objects. A container whose stored record
// has changed gets the new state.
func (ds *openDataset) reread(ctx context.Context, r engine.Reader) error {
	var changed []*Container
	next, err := ds.readCatalog(r, func(c *Container, rec record.Container) error {
		same, err := record.Same(&rec, &c.state.Load().Rec)
		if err == nil && !same {
			changed = append(changed, c)
		}
		return err
	})
	if err != nil {
		return err
	}
	ds.mu.Lock()
	ds.setCatalog(next)
	ds.mu.Unlock()
	for _, c := range changed {
		if err := c.refreshFrom(ctx, r, c.state.Load()); err != nil {
			return err
		}
	}
	ds.db.catalogWatch.Notify()
	ds.splitter.Wake()
	ds.reindexer.Wake()
	return nil
}

// readCatalog reads the whole catalog. For a database or a container that is in memory already it uses the
// existing object. It calls the function known, unless that is nil, with each such container and its stored
// record.
func (ds *openDataset) readCatalog(r engine.Reader,
	known func(*Container, record.Container) error) (*catalog, error) {
	cat := &catalog{names: make(map[string]*Database), cids: make(map[uint32]*Container),
		resources: make(resource.ResourcesByKindAndOwner)}
	for _, load := range []func(engine.Reader, *catalog) error{
		ds.loadDatabases,
		func(r engine.Reader, cat *catalog) error { return ds.loadContainers(r, cat, known) },
		ds.loadOffers,
		ds.loadResources,
	} {
		if err := load(r, cat); err != nil {
			return nil, err
		}
	}
	return cat, nil
}

// setCatalog makes cat the catalog of the dataset. The caller holds mu or is the only user of the dataset.
func (ds *openDataset) setCatalog(cat *catalog) {
	for _, d := range cat.databases {
		d.containers, d.byName = nil, make(map[string]*Container)
	}
	for _, c := range cat.containers {
		c.d.containers = append(c.d.containers, c)
		c.d.byName[c.name] = c
	}
	ds.cat = *cat
}

func (ds *openDataset) loadOffers(r engine.Reader, cat *catalog) error {
	err := host.ScanRecords(r, layout.KindOffer, func(_ []byte, rec record.Offer) error {
		ds.loadMark(rec.TS)
		cat.offers = append(cat.offers, rec)
		return nil
	})
	work.SortBy(cat.offers, func(o record.Offer) uint32 { return o.Num })
	return err
}

func (ds *openDataset) loadDatabases(r engine.Reader, cat *catalog) error {
	err := host.ScanRecords(r, layout.KindDatabase, func(_ []byte, rec record.Database) (err error) {
		d := ds.cat.names[rec.ID]
		if d == nil || d.rec != rec {
			d = &Database{ds: ds, rec: rec}
			if d.clock, err = ds.in.LoadClock(r, rec.Num, clockOf(rec.ID)); err != nil {
				return err
			}
			ds.loadMark(rec.TS)
		}
		cat.names[rec.ID] = d
		cat.databases = append(cat.databases, d)
		return nil
	})
	work.SortBy(cat.databases, func(d *Database) uint32 { return d.rec.Num })
	return err
}

func (ds *openDataset) loadContainers(r engine.Reader, cat *catalog,
	known func(*Container, record.Container) error) error {
	owners := make(map[uint32]*Database, len(cat.databases))
	for _, d := range cat.databases {
		owners[d.rec.Num] = d
	}
	err := host.ScanRecords(r, layout.KindContainer, func(key []byte, rec record.Container) (err error) {
		d := owners[layout.CatalogParent(key)]
		if d == nil {
			return fmt.Errorf("%w: a container without its database", engine.ErrCorrupt)
		}
		c := ds.cat.cids[rec.CID]
		if c != nil && c.d == d {
			err = known(c, rec)
		} else {
			c, err = d.loadContainer(r, rec)
		}
		if err != nil {
			return err
		}
		cat.containers = append(cat.containers, c)
		cat.cids[c.cid] = c
		return nil
	})
	work.SortBy(cat.containers, func(c *Container) uint32 { return c.cid })
	return err
}

// loadContainer creates a container from its record and the other records stored for it.
func (d *Database) loadContainer(r engine.Reader, rec record.Container) (*Container, error) {
	spec, _, err := definition.ParseContainerSpec(rec.Spec, false)
	if err != nil {
		return nil, fmt.Errorf("%w: container record: %v", engine.ErrCorrupt, err)
	}
	c, err := newContainer(d, rec, spec)
	if err != nil {
		return nil, err
	}
	return c, c.loadPartitions(r)
}

// add adds a container to every collection of the catalog that refers to containers. The caller holds
// openDataset.mu or is the only user of the dataset.
func (cat *catalog) add(c *Container) {
	cat.containers = append(slices.Clip(cat.containers), c)
	cat.cids[c.cid] = c
	c.d.containers = append(c.d.containers, c)
	c.d.byName[c.name] = c
}

// remove removes containers of one database from the catalog. The caller holds openDataset.mu.
func (cat *catalog) remove(list []*Container) {
	if len(list) == 0 {
		return
	}
	removed := make(map[*Container]bool, len(list))
	for _, c := range list {
		removed[c] = true
		delete(cat.cids, c.cid)
		cat.resources.Forget(c.families())
		delete(c.d.byName, c.name)
	}
	without := func(all []*Container) []*Container {
		return slices.DeleteFunc(slices.Clone(all), func(c *Container) bool { return removed[c] })
	}
	cat.containers, list[0].d.containers = without(cat.containers), without(list[0].d.containers)
}

// finishDrops removes the keys of containers whose drop was interrupted by a crash.
func (ds *openDataset) finishDrops(ctx context.Context) error {
	var cids []uint32
	err := ds.view(ctx, func(r engine.Reader) error {
		return host.ScanRecords(r, layout.KindDrop, func(key []byte, _ struct{}) error {
			cids = append(cids, layout.CatalogParent(key))
			return nil
		})
	})
	if err != nil {
		return err
	}
	return ds.eraseContainers(ctx, cids)
}

// eraseAtOnce is the number of containers that are erased in one transaction. A large container is much
// data, but its keys are deleted as ranges.
const eraseAtOnce = 16

// eraseContainers removes every key of containers that have left the catalog, and their drop records.
func (ds *openDataset) eraseContainers(ctx context.Context, cids []uint32) error {
	for some := range slices.Chunk(cids, eraseAtOnce) {
		_, err := ds.eng.Update(ctx, [][]byte{host.CatalogScope()}, func(t engine.Txn) error {
			for _, cid := range some {
				t.DeleteRange(layout.ContainerRange(cid))
				t.Delete(layout.DropKey(cid))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropContainerRecords removes the records of containers from the catalog and writes drop records, after
// which nothing reads the containers' keys. The caller erases the keys; if it cannot, the next Open does.
func dropContainerRecords(t engine.Txn, list []*Container, offers []record.Offer) error {
	dropped := make(map[uint32]bool, len(list))
	for _, c := range list { // first everything that reads: after a deletion of ranges, each read looks at all of them
		dropped[c.cid] = true
		if err := c.keepFormer(t); err != nil {
			return err
		}
	}
	for _, o := range offers {
		if dropped[o.CID] {
			t.Delete(layout.OfferKey(o.Num))
		}
	}
	for _, c := range list {
		t.Delete(layout.ContainerKey(c.d.rec.Num, c.name))
		resource.DropFamilies(t, c.families())
		t.Set(layout.DropKey(c.cid), []byte("{}"))
	}
	return nil
}

// dropDatabaseRecords removes a database from the catalog. Its containers have been removed before.
func dropDatabaseRecords(t *host.CatalogTxn, d *Database, offers []record.Offer) {
	for _, o := range offers {
		if o.Database == d.rec.Num && o.CID == 0 {
			t.Delete(layout.OfferKey(o.Num))
		}
	}
	resource.DropFamilies(t, d.families())
	d.clock.Forget(t)
	t.Delete(layout.DatabaseKey(d.rec.ID))
}
