package resource

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// Put writes the record rec of a resource in place of its old record. old is nil for a new resource. If the
// id has changed, Put deletes the key of the old id.
func Put(t engine.Txn, f record.OwnerAndKind, old, rec *record.SmallResource) {
	if old != nil && old.ID != rec.ID {
		t.Delete(f.Key(old.ID))
	}
	t.Set(f.Key(rec.ID), rec.Encode())
}

// Drop deletes a record and the records of everything that belongs to it.
func Drop(t engine.Txn, f record.OwnerAndKind, rec *record.SmallResource) {
	t.Delete(f.Key(rec.ID))
	DropFamilies(t, f.Below(rec))
}

// DropFamilies deletes the records of all resources of the given kinds and owners.
func DropFamilies(t engine.Txn, families []record.OwnerAndKind) {
	for _, f := range families {
		t.DeleteRange(layout.CatalogChildren(record.Kinds[f.Kind].Record, f.Owner))
	}
}
