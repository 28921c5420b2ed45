package store

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// family is a kind and the number of the owner: what names are unique in.
type family struct {
	kind  ResourceKind
	owner uint32
}

// resourceRecord is what the catalog keeps. The id is the name in the key.
type resourceRecord struct {
	id   string
	Num  uint32          `json:"num"` // never reused; its order is that of creation
	TS   int64           `json:"ts"`
	Made int64           `json:"made,omitempty"` // the second of its creation, where that is not ts
	LSN  uint64          `json:"lsn"`
	Body json.RawMessage `json:"body"`
}

// siblings are the members of one family; guarded by resident.mu, changed under the catalog's lock as well.
type siblings struct {
	list  []*resourceRecord // by number
	names map[string]*resourceRecord
}

// encode is the record as the catalog keeps it. encoding/json would rewrite characters of the body.
func (rec *resourceRecord) encode() []byte {
	made := ""
	if rec.Made != 0 {
		made = fmt.Sprintf(`,"made":%d`, rec.Made)
	}
	return fmt.Appendf(nil, `{"num":%d,"ts":%d%s,"lsn":%d,"body":%s}`, rec.Num, rec.TS, made, rec.LSN,
		rec.Body)
}

// made is the second of its creation.
func (rec *resourceRecord) made() int64 {
	if rec.Made != 0 {
		return rec.Made
	}
	return rec.TS
}

// putResource writes a record in the place of old, which is nil for a new one and may have another id.
func putResource(t engine.Txn, f family, old, rec *resourceRecord) {
	if old != nil && old.id != rec.id {
		t.Delete(f.key(old.id))
	}
	t.Set(f.key(rec.id), rec.encode())
}

// dropResource deletes a record, and those of all that belongs to it.
func dropResource(t engine.Txn, f family, rec *resourceRecord) {
	t.Delete(f.key(rec.id))
	dropFamilies(t, f.below(rec))
}

// below are the families that go with a member.
func (f family) below(rec *resourceRecord) []family {
	if f.kind == KindUser {
		return []family{{KindPermission, rec.Num}}
	}
	return nil
}

// key is the catalog key of the member of that name.
func (f family) key(id string) []byte {
	return layout.CatalogKey(resourceKinds[f.kind].record, f.owner, id)
}

// family finds or makes the siblings of a family. The caller holds mu.
func (cat *catalog) family(f family) *siblings {
	s := cat.resources[f]
	if s == nil {
		s = &siblings{names: make(map[string]*resourceRecord)}
		cat.resources[f] = s
	}
	return s
}

// index finds a member by its number.
func (s *siblings) index(num uint32) (int, bool) {
	return slices.BinarySearchFunc(s.list, num,
		func(rec *resourceRecord, num uint32) int { return int(int64(rec.Num) - int64(num)) })
}

// set puts rec in the place of old, or adds it where old is nil.
func (s *siblings) set(old, rec *resourceRecord) {
	if old != nil {
		s.remove(old)
	}
	i, _ := s.index(rec.Num)
	s.list = slices.Insert(s.list, i, rec)
	s.names[rec.id] = rec
}

func (s *siblings) remove(rec *resourceRecord) {
	if i, found := s.index(rec.Num); found {
		s.list = slices.Delete(s.list, i, i+1)
	}
	delete(s.names, rec.id)
}

// loadResources reads the records of all kinds. Databases and containers are loaded before.
func (db *resident) loadResources(r engine.Reader, cat *catalog) error {
	for k := range resourceKinds {
		err := host.ScanRecords(r, resourceKinds[k].record, func(key []byte, rec resourceRecord) error {
			f, id, err := resourceName(ResourceKind(k), key)
			if err != nil {
				return err
			}
			db.loadMark(rec.TS)
			rec.id = id
			cat.family(f).set(nil, &rec)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// resourceName reads the family and the id that a record's key names.
func resourceName(k ResourceKind, key []byte) (family, string, error) {
	id, err := layout.CatalogName(key)
	return family{k, layout.CatalogParent(key)}, id, err
}

// families are all families that go with a container.
func (c *Container) families() []family {
	return []family{{KindStoredProcedure, c.cid}, {KindTrigger, c.cid}, {KindFunction, c.cid}}
}

// families are all families that go with a database, its containers' not included. The caller holds the
// catalog's lock.
func (d *Database) families() []family {
	all := []family{{KindUser, d.rec.Num}, {KindEncryptionKey, d.rec.Num}}
	if users := d.db.cat.resources[all[0]]; users != nil {
		for _, u := range users.list {
			all = append(all, all[0].below(u)...)
		}
	}
	return all
}

// dropFamilies deletes the records of whole families.
func dropFamilies(t engine.Txn, families []family) {
	for _, f := range families {
		t.DeleteRange(layout.CatalogChildren(resourceKinds[f.kind].record, f.owner))
	}
}

// forgetFamilies is dropFamilies for the memory. The caller holds mu.
func (cat *catalog) forgetFamilies(families []family) {
	for _, f := range families {
		delete(cat.resources, f)
	}
}
