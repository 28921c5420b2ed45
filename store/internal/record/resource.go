package record

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/store/internal/layout"
)

// ResourceKind is a kind of small resource: user, permission, client encryption key or script.
type ResourceKind uint8

// Kinds describes each kind of small resource. Path is the keyword of the kind in links. Record is the letter
// of its records in the catalog. RidType is the type in the rid of a container's child.
var Kinds = [...]struct {
	Path    string
	Word    string // for messages
	Record  byte
	RidType uint64
	Renames bool   // a replace may change the id
	System  string // a property that the server adds and clients send back
}{
	KindUser: {Path: "users", Word: "user", Record: 'u', Renames: true, System: "_permissions"},
	KindPermission: {Path: "permissions", Word: "permission", Record: 'p', Renames: true,
		System: "_token"},
	KindEncryptionKey: {Path: "clientencryptionkeys", Word: "client encryption key", Record: 'e',
		System: "_cts"},
	KindStoredProcedure: {Path: "sprocs", Word: "stored procedure", Record: 'r', RidType: 8},
	KindTrigger:         {Path: "triggers", Word: "trigger", Record: 't', RidType: 7},
	KindFunction:        {Path: "udfs", Word: "user defined function", Record: 'f', RidType: 6},
}

// The kinds of small resources, with the owner of each.
const (
	KindUser            ResourceKind = iota // of a database
	KindPermission                          // of a user
	KindEncryptionKey                       // of a database
	KindStoredProcedure                     // of a container
	KindTrigger                             // of a container
	KindFunction                            // of a container: a user defined function
)

// OwnerAndKind identifies all small resources of one kind that belong to one owner: the users of a database,
// for example. Such a set is called a family; names are unique within it.
type OwnerAndKind struct {
	Kind  ResourceKind
	Owner uint32
}

// FamilyOf returns the OwnerAndKind of the resources of kind k that belong to an owner.
func FamilyOf(k ResourceKind, owner uint32) OwnerAndKind { return OwnerAndKind{k, owner} }

// SmallResource is the record of a small resource (a user, permission, client encryption key or script). Its
// key holds the ID.
type SmallResource struct {
	ID   string          `json:"-"`
	Num  uint32          `json:"num"` // never reused; its order is that of creation
	TS   int64           `json:"ts"`
	Made int64           `json:"made,omitempty"` // the second of its creation if it differs from TS
	LSN  uint64          `json:"lsn"`
	Body json.RawMessage `json:"body"`
}

// OwnedResourcesOfKind are the resources of one OwnerAndKind, kept in memory.
type OwnedResourcesOfKind struct {
	List  []*SmallResource // sorted by Num
	Names map[string]*SmallResource
}

// Encode returns the record as stored in the catalog. It does not use encoding/json, which would rewrite
// characters of the body.
func (rec *SmallResource) Encode() []byte {
	made := ""
	if rec.Made != 0 {
		made = fmt.Sprintf(`,"made":%d`, rec.Made)
	}
	return fmt.Appendf(nil, `{"num":%d,"ts":%d%s,"lsn":%d,"body":%s}`, rec.Num, rec.TS, made, rec.LSN,
		rec.Body)
}

// Created returns the second of the resource's creation.
func (rec *SmallResource) Created() int64 {
	if rec.Made != 0 {
		return rec.Made
	}
	return rec.TS
}

// Below returns the sets of resources that belong to the resource rec and are deleted with it: the
// permissions of a user. rec is one of the resources that f stands for.
func (f OwnerAndKind) Below(rec *SmallResource) []OwnerAndKind {
	if f.Kind == KindUser {
		return []OwnerAndKind{{KindPermission, rec.Num}}
	}
	return nil
}

// Key returns the catalog key of the resource with this id among the resources of the family, those of one
// kind and owner.
func (f OwnerAndKind) Key(id string) []byte {
	return layout.CatalogKey(Kinds[f.Kind].Record, f.Owner, id)
}

// Index returns the index in List of the member with a number, and true. If there is no such member, it
// returns the index at which it would be inserted, and false.
func (s *OwnedResourcesOfKind) Index(num uint32) (int, bool) {
	return slices.BinarySearchFunc(s.List, num,
		func(rec *SmallResource, num uint32) int { return int(int64(rec.Num) - int64(num)) })
}

// Set replaces old by rec, or adds rec if old is nil.
func (s *OwnedResourcesOfKind) Set(old, rec *SmallResource) {
	if old != nil {
		s.Remove(old)
	}
	i, _ := s.Index(rec.Num)
	s.List = slices.Insert(s.List, i, rec)
	s.Names[rec.ID] = rec
}

// Remove removes the resource rec from the list and from the index of names.
func (s *OwnedResourcesOfKind) Remove(rec *SmallResource) {
	if i, found := s.Index(rec.Num); found {
		s.List = slices.Delete(s.List, i, i+1)
	}
	delete(s.Names, rec.ID)
}

// ParseKey returns the OwnerAndKind and the id in a record's catalog key.
func ParseKey(k ResourceKind, key []byte) (OwnerAndKind, string, error) {
	id, err := layout.CatalogName(key)
	return OwnerAndKind{k, layout.CatalogParent(key)}, id, err
}

// OwnerKind returns the letter of the catalog records of the owners of such resources: databases for users
// and encryption keys, users for permissions, and containers for scripts.
func (f OwnerAndKind) OwnerKind() byte {
	switch f.Kind {
	case KindUser, KindEncryptionKey:
		return layout.KindDatabase
	case KindPermission:
		return Kinds[KindUser].Record
	}
	return layout.KindContainer
}
