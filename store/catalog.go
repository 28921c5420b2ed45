package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// The catalog is small and kept in memory whole. A change of it is one transaction in the catalog's scope,
// made under DB.ddl, and shows in memory only when it is durable.

// formatVersion is the layout of keys and values. Open refuses any other one. In format 1 a sequence was the
// number of a write, without a position in its transaction.
const formatVersion = 2

type meta struct {
	Format      int    `json:"format"`
	Incarnation uint32 `json:"incarnation"` // random; a new one for each store, restore and memory start
	Next        uint32 `json:"next"`        // the next number for a database, container or offer
	// Highest is the highest LSN of the ranges that have been dropped, and of all at the last restore; see
	// adopt.
	Highest uint64 `json:"highest,omitempty"`
}

// readable fails with engine.ErrNewerFormat or engine.ErrOlderFormat for data of another format.
func (m *meta) readable() error {
	switch {
	case m.Format > formatVersion:
		return fmt.Errorf("%w: format %d, this program reads %d", engine.ErrNewerFormat, m.Format, formatVersion)
	case m.Format < formatVersion:
		return fmt.Errorf("%w: format %d, this program reads %d", engine.ErrOlderFormat, m.Format, formatVersion)
	}
	return nil
}

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
	IndexRules int               `json:"indexRules,omitempty"` // by which all documents are indexed; see indexRules

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
	Num      uint32     `json:"num"`
	Database uint32     `json:"database"`
	CID      uint32     `json:"cid,omitempty"` // 0: the database's own
	TS       int64      `json:"ts"`
	LSN      uint64     `json:"lsn"`
	Asked    Throughput `json:"throughput"`
	// Ranges is how many partition ranges a raise asks for, be they there already or not; 0: none has.
	Ranges int `json:"ranges,omitempty"`
}

// catalog is guarded by DB.mu.
type catalog struct {
	names      map[string]*Database
	databases  []*Database // in order of creation
	offers     []offerRecord
	containers []*Container // of all databases, in order of creation
	cids       map[uint32]*Container
	resources  map[family]*siblings // a family that is not there is empty
}

// loadCatalog reads the whole catalog, or writes the first record of a new store.
func (db *DB) loadCatalog(ctx context.Context) error {
	db.cat = catalog{names: make(map[string]*Database), cids: make(map[uint32]*Container),
		resources: make(map[family]*siblings)}
	fresh := false
	err := db.eng.View(ctx, func(r engine.Reader) error {
		raw, err := r.Get(layout.MetaKey())
		if isAbsent(err) {
			fresh = true
			return nil
		}
		if err != nil {
			return err
		}
		if err := decodeRecord(raw, &db.meta); err != nil {
			return err
		}
		if err := db.meta.readable(); err != nil {
			return err
		}
		if err := db.restoreClock(r); err != nil {
			return err
		}
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
	if err == nil && fresh {
		err = db.initMeta(ctx)
	}
	db.incarnation = db.meta.Incarnation
	return err
}

func (db *DB) loadOffers(r engine.Reader) error {
	err := scanRecords(r, layout.KindOffer, func(_ []byte, rec offerRecord) error {
		db.loadMark(rec.TS)
		db.cat.offers = append(db.cat.offers, rec)
		return nil
	})
	sortBy(db.cat.offers, func(o offerRecord) uint32 { return o.Num })
	return err
}

// rewriteMeta writes the catalog's first record as it is.
func rewriteMeta(t engine.Txn) error {
	v, err := t.Get(layout.MetaKey())
	if err == nil {
		t.Set(layout.MetaKey(), bytes.Clone(v))
	}
	return err
}

func (db *DB) initMeta(ctx context.Context) error {
	incarnation, err := newIncarnation()
	if err != nil {
		return err
	}
	db.meta = meta{Format: formatVersion, Incarnation: incarnation, Next: 1}
	_, err = db.eng.Update(ctx, [][]byte{layout.CatalogScope()}, func(t engine.Txn) error {
		return setRecord(t, layout.MetaKey(), db.meta)
	})
	return err
}

func (db *DB) loadDatabases(r engine.Reader) error {
	err := scanRecords(r, layout.KindDatabase, func(_ []byte, rec databaseRecord) error {
		d := &Database{db: db, rec: rec, byName: make(map[string]*Container)}
		db.cat.names[rec.ID] = d
		db.cat.databases = append(db.cat.databases, d)
		db.loadMark(rec.TS)
		return d.restoreClock(r)
	})
	sortBy(db.cat.databases, func(d *Database) uint32 { return d.rec.Num })
	return err
}

func (db *DB) loadContainers(r engine.Reader) error {
	owners := make(map[uint32]*Database, len(db.cat.databases))
	for _, d := range db.cat.databases {
		owners[d.rec.Num] = d
	}
	err := scanRecords(r, layout.KindContainer, func(key []byte, rec containerRecord) error {
		d := owners[binary.BigEndian.Uint32(key[2:])]
		if d == nil {
			return fmt.Errorf("%w: a container without its database", engine.ErrCorrupt)
		}
		spec, _, err := ParseContainerSpec(rec.Spec, false)
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

// add and remove keep the places that know a container alike. The caller holds DB.mu or is alone.
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
func (db *DB) finishDrops(ctx context.Context) error {
	var cids []uint32
	err := db.eng.View(ctx, func(r engine.Reader) error {
		return scanRecords(r, layout.KindDrop, func(key []byte, _ struct{}) error {
			cids = append(cids, binary.BigEndian.Uint32(key[2:]))
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
func (db *DB) eraseContainer(ctx context.Context, cid uint32) error {
	_, err := db.eng.Update(ctx, [][]byte{layout.CatalogScope()}, func(t engine.Txn) error {
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
func dropDatabaseRecords(t engine.Txn, d *Database, offers []offerRecord) {
	for _, o := range offers {
		if o.Database == d.rec.Num && o.CID == 0 {
			t.Delete(layout.OfferKey(o.Num))
		}
	}
	dropFamilies(t, d.families())
	t.Delete(layout.ClockKey(d.rec.Num))
	t.Delete(layout.DatabaseKey(d.rec.ID))
}

// keepClock writes the state of a virtual clock: the server's for 0, else that of a database, which has none
// of its own where s is nil.
func keepClock(t engine.Txn, database uint32, s *ttl.State) error {
	if s == nil {
		t.Delete(layout.ClockKey(database))
		return nil
	}
	return setRecord(t, layout.ClockKey(database), s)
}

func setRecord(t engine.Txn, key []byte, rec any) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	t.Set(key, raw)
	return nil
}

func decodeRecord(raw []byte, rec any) error {
	if err := json.Unmarshal(raw, rec); err != nil {
		return fmt.Errorf("%w: catalog record: %v", engine.ErrCorrupt, err)
	}
	return nil
}

// scanRecords decodes all records of a kind in key order.
func scanRecords[T any](r engine.Reader, kind byte, fn func(key []byte, rec T) error) (err error) {
	it := r.Scan(layout.CatalogKind(kind), false)
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
	}()
	for it.Next() {
		if len(it.Key()) < layout.CatalogHead {
			return fmt.Errorf("%w: catalog key %x", engine.ErrCorrupt, it.Key())
		}
		var rec T
		if err := decodeRecord(it.Value(), &rec); err != nil {
			return err
		}
		if err := fn(it.Key(), rec); err != nil {
			return err
		}
	}
	return nil
}
