package store

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// family finds or makes the siblings of a family. The caller holds mu.
func (cat *catalog) family(f record.Family) *record.Members {
	s := cat.resources[f]
	if s == nil {
		s = &record.Members{Names: make(map[string]*record.Resource)}
		cat.resources[f] = s
	}
	return s
}

// loadResources reads the records of all kinds. Databases and containers are loaded before.
func (ds *dataset) loadResources(r engine.Reader, cat *catalog) error {
	for k := range record.Kinds {
		err := host.ScanRecords(r, record.Kinds[k].Record, func(key []byte, rec record.Resource) error {
			f, id, err := record.ParseKey(record.ResourceKind(k), key)
			if err != nil {
				return err
			}
			ds.loadMark(rec.TS)
			rec.ID = id
			cat.family(f).Set(nil, &rec)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// families are all families that go with a container.
func (c *Container) families() []record.Family {
	return []record.Family{record.FamilyOf(KindStoredProcedure, c.cid), record.FamilyOf(KindTrigger, c.cid), record.FamilyOf(KindFunction, c.cid)}
}

// families are all families that go with a database, its containers' not included. The caller holds the
// catalog's lock.
func (d *Database) families() []record.Family {
	all := []record.Family{record.FamilyOf(KindUser, d.rec.Num), record.FamilyOf(KindEncryptionKey, d.rec.Num)}
	if users := d.ds.cat.resources[all[0]]; users != nil {
		for _, u := range users.List {
			all = append(all, all[0].Below(u)...)
		}
	}
	return all
}

// forgetFamilies is dropFamilies for the memory. The caller holds mu.
func (cat *catalog) forgetFamilies(families []record.Family) {
	for _, f := range families {
		delete(cat.resources, f)
	}
}

// putResource writes a record in the place of old, which is nil for a new one and may have another id.
func putResource(t engine.Txn, f record.Family, old, rec *record.Resource) {
	if old != nil && old.ID != rec.ID {
		t.Delete(f.Key(old.ID))
	}
	t.Set(f.Key(rec.ID), rec.Encode())
}

// dropResource deletes a record, and those of all that belongs to it.
func dropResource(t engine.Txn, f record.Family, rec *record.Resource) {
	t.Delete(f.Key(rec.ID))
	dropFamilies(t, f.Below(rec))
}

// dropFamilies deletes the records of whole families.
func dropFamilies(t engine.Txn, families []record.Family) {
	for _, f := range families {
		t.DeleteRange(layout.CatalogChildren(record.Kinds[f.Kind].Record, f.Owner))
	}
}
