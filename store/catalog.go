package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// The catalog is small and kept in memory whole. A change of it is one transaction in the catalog's scope,
// made under its lock, and shows in memory only when it is durable.

type databaseRecord struct {
	ID  string `json:"id"`
	Num uint32 `json:"num"`
	TS  int64  `json:"ts"`
	LSN uint64 `json:"lsn"`
}

type containerRecord struct {
	CID      uint32          `json:"cid"`
	TS       int64           `json:"ts"`
	LSN      uint64          `json:"lsn"`
	Spec     json.RawMessage `json:"spec"`
	Policy   ttl.Policy      `json:"policy"`
	Ranges   []rangeRecord   `json:"ranges"`
	RangeLSN uint64          `json:"rangeLSN"`        // catalog LSN of the last change of Ranges
	Slots    int             `json:"slots,omitempty"` // that were ever given to a range, where a split has asked for one
	Split    *splitRecord    `json:"split,omitempty"`

	// IndexedBy are older specs by which documents may still be indexed; none where all are indexed by Spec.
	// IndexRound counts the changes that made it so.
	IndexedBy  []json.RawMessage `json:"indexedBy,omitempty"`
	IndexRound uint32            `json:"indexRound,omitempty"`

	Settings ContainerSettings `json:"settings,omitzero"`
	// MovesSince is the second in which the settings got an archive: what had expired before is not moved. 0:
	// there is none.
	MovesSince int64 `json:"movesSince,omitempty"`
	// Log is there while the container keeps a log of expiries.
	Log *logRecord `json:"log,omitempty"`
}

type rangeRecord struct {
	ID      int    `json:"id"`
	Slot    uint16 `json:"slot"`
	Min     string `json:"min"` // EPK, upper-case hexadecimal
	Max     string `json:"max"`
	Parents []int  `json:"parents,omitempty"` // the range that it came from, behind those that that came from
	TS      int64  `json:"ts"`
	LSN     uint64 `json:"lsn,omitempty"` // catalog LSN of its making; 0: as old as the container, which was never split
}

type offerRecord struct {
	Num      uint32                `json:"num"`
	Database uint32                `json:"database"`
	CID      uint32                `json:"cid,omitempty"` // 0: the database's own
	TS       int64                 `json:"ts"`
	LSN      uint64                `json:"lsn"`
	Asked    definition.Throughput `json:"throughput"`
	// Ranges is how many partition ranges a raise asks for, be they there already or not; 0: none has.
	Ranges int `json:"ranges,omitempty"`
}

// catalog is guarded by resident.mu.
type catalog struct {
	names      map[string]*Database
	databases  []*Database // in order of creation
	offers     []offerRecord
	containers []*Container // of all databases, in order of creation
	cids       map[uint32]*Container
	resources  map[family]*siblings // a family that is not there is empty
}

// catalogKinds are the letters of the store's records.
func catalogKinds() string {
	kinds := []byte{layout.KindDatabase, layout.KindContainer, layout.KindOffer, layout.KindDrop}
	for _, k := range resourceKinds {
		kinds = append(kinds, k.record)
	}
	return string(kinds)
}

// loadCatalog reads the whole catalog.
func (db *resident) loadCatalog(ctx context.Context) error {
	db.cat = catalog{names: make(map[string]*Database), cids: make(map[uint32]*Container),
		resources: make(map[family]*siblings)}
	return db.view(ctx, func(r engine.Reader) error {
		if err := db.loadDatabases(r); err != nil {
			return err
		}
		if err := db.loadContainers(r); err != nil {
			return err
		}
		if err := db.loadOffers(r); err != nil {
			return err
		}
		return db.loadResources(r)
	})
}

func (db *resident) loadOffers(r engine.Reader) error {
	err := host.ScanRecords(r, layout.KindOffer, func(_ []byte, rec offerRecord) error {
		db.loadMark(rec.TS)
		db.cat.offers = append(db.cat.offers, rec)
		return nil
	})
	sortBy(db.cat.offers, func(o offerRecord) uint32 { return o.Num })
	return err
}

func (db *resident) loadDatabases(r engine.Reader) error {
	err := host.ScanRecords(r, layout.KindDatabase, func(_ []byte, rec databaseRecord) error {
		d := &Database{db: db, rec: rec, byName: make(map[string]*Container)}
		db.cat.names[rec.ID] = d
		db.cat.databases = append(db.cat.databases, d)
		db.loadMark(rec.TS)
		var err error
		d.clock, err = db.in.LoadClock(r, rec.Num, clockOf(rec.ID))
		return err
	})
	sortBy(db.cat.databases, func(d *Database) uint32 { return d.rec.Num })
	return err
}

func (db *resident) loadContainers(r engine.Reader) error {
	owners := make(map[uint32]*Database, len(db.cat.databases))
	for _, d := range db.cat.databases {
		owners[d.rec.Num] = d
	}
	err := host.ScanRecords(r, layout.KindContainer, func(key []byte, rec containerRecord) error {
		d := owners[layout.CatalogParent(key)]
		if d == nil {
			return fmt.Errorf("%w: a container without its database", engine.ErrCorrupt)
		}
		spec, _, err := definition.ParseContainerSpec(rec.Spec, false)
		if err != nil {
			return fmt.Errorf("%w: container record: %v", engine.ErrCorrupt, err)
		}
		c, err := newContainer(d, rec, spec)
		if err != nil {
			return err
		}
		if err := c.load(r); err != nil {
			return err
		}
		db.cat.add(c)
		return nil
	})
	sortBy(db.cat.containers, func(c *Container) uint32 { return c.cid })
	for _, d := range db.cat.databases {
		sortBy(d.containers, func(c *Container) uint32 { return c.cid })
	}
	return err
}

// load reads what is known of a container beside its record.
func (c *Container) load(r engine.Reader) error {
	rec := &c.state.Load().rec
	c.note(markSettings, rec.TS)
	c.note(markSettings, rec.Policy.ChangedAt)
	c.note(markSettings, rec.MovesSince)
	return c.loadSlots(r)
}

// add and remove keep the places that know a container alike. The caller holds resident.mu or is alone.
func (cat *catalog) add(c *Container) {
	cat.containers = append(slices.Clip(cat.containers), c)
	cat.cids[c.cid] = c
	c.d.containers = append(c.d.containers, c)
	c.d.byName[c.name] = c
}

func (cat *catalog) remove(c *Container) {
	cat.containers = without(cat.containers, c)
	delete(cat.cids, c.cid)
	cat.forgetFamilies(c.families())
	c.d.containers = without(c.d.containers, c)
	delete(c.d.byName, c.name)
}

// finishDrops removes the keys of containers whose drop a crash interrupted.
func (db *resident) finishDrops(ctx context.Context) error {
	var cids []uint32
	err := db.view(ctx, func(r engine.Reader) error {
		return host.ScanRecords(r, layout.KindDrop, func(key []byte, _ struct{}) error {
			cids = append(cids, layout.CatalogParent(key))
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, cid := range cids {
		if err := db.eraseContainer(ctx, cid); err != nil {
			return err
		}
	}
	return nil
}

// eraseContainer removes every key of a container that nothing can reach any more, and its drop record.
func (db *resident) eraseContainer(ctx context.Context, cid uint32) error {
	_, err := db.eng.Update(ctx, [][]byte{host.CatalogScope()}, func(t engine.Txn) error {
		t.DeleteRange(layout.ContainerRange(cid))
		t.Delete(layout.DropKey(cid))
		return nil
	})
	return err
}

// dropContainerRecords takes a container out of the catalog and leaves a drop record: from then on nothing
// can reach its keys, and they are erased, now or by the next Open.
func dropContainerRecords(t engine.Txn, c *Container, offers []offerRecord) {
	t.Delete(layout.ContainerKey(c.d.rec.Num, c.name))
	for _, o := range offers {
		if o.CID == c.cid {
			t.Delete(layout.OfferKey(o.Num))
		}
	}
	dropFamilies(t, c.families())
	t.Set(layout.DropKey(c.cid), []byte("{}"))
}

// dropDatabaseRecords takes a database out of the catalog. Its containers have gone before.
func dropDatabaseRecords(t *host.Change, d *Database, offers []offerRecord) {
	for _, o := range offers {
		if o.Database == d.rec.Num && o.CID == 0 {
			t.Delete(layout.OfferKey(o.Num))
		}
	}
	dropFamilies(t, d.families())
	d.clock.Forget(t)
	t.Delete(layout.DatabaseKey(d.rec.ID))
}
