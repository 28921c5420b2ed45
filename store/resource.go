package store

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// Users, permissions, client encryption keys and scripts are small, few and asked for often (a trigger with
// every write), so they are part of the catalog: in memory whole, under a name that is unique among its
// siblings, changed by one durable transaction at a time. They go with what they belong to: a database, a
// container, a user.

// Resource is one state of a small resource.
type Resource struct {
	ID, RID   string
	Self      string // the rid path, with its trailing slash
	ETag      string // with its literal quotes
	Timestamp int64  // seconds since 1970 of the last change
	Created   int64  // the same of its creation
	// Body is the JSON object as it was sent, without the properties that the server adds. It must not be
	// changed.
	Body []byte
}

// Resources are the children of one kind of one database, user or container. The value stays good until that
// is dropped; then changes fail with CodeOwnerNotFound.
type Resources struct {
	ds     *dataset
	d      *Database
	c      *Container // of scripts
	family record.Family
	self   string // of the owner
}

// Resources are the users or the client encryption keys of the database. Any other kind is a defect of the
// caller: there are none of it here.
func (d *Database) Resources(k record.ResourceKind) Resources {
	return Resources{ds: d.ds, d: d, family: record.FamilyOf(k, d.rec.Num), self: "dbs/" + d.RID() + "/"}
}

// Permissions are the permissions of one user: CodeNotFound where there is no such user.
func (d *Database) Permissions(user string) (Resources, error) {
	users := d.Resources(KindUser)
	d.ds.mu.RLock()
	defer d.ds.mu.RUnlock()
	u := users.find(user)
	if u == nil {
		return Resources{}, notFound("user", user)
	}
	return Resources{ds: d.ds, d: d, family: record.FamilyOf(KindPermission, u.Num), self: users.selfOf(u.Num)}, nil
}

// Resources are the scripts of the container of one kind.
func (c *Container) Resources(k record.ResourceKind) Resources {
	return Resources{ds: c.ds, d: c.d, c: c, family: record.FamilyOf(k, c.cid), self: c.self()}
}

// find finds a record by name; nil where there is none. The caller holds mu or the catalog's lock.
func (r Resources) find(id string) *record.Resource {
	if s := r.ds.cat.resources[r.family]; s != nil {
		return s.Names[id]
	}
	return nil
}

// List is all of them in order of creation.
func (r Resources) List() []Resource {
	r.ds.mu.RLock()
	defer r.ds.mu.RUnlock()
	s := r.ds.cat.resources[r.family]
	if s == nil {
		return nil
	}
	list := make([]Resource, len(s.List))
	for i, rec := range s.List {
		list[i] = r.render(rec)
	}
	return list
}

// Read finds one by its id: CodeNotFound where there is none.
func (r Resources) Read(id string) (Resource, error) {
	r.ds.mu.RLock()
	defer r.ds.mu.RUnlock()
	rec := r.find(id)
	if rec == nil {
		return Resource{}, r.absent(id)
	}
	return r.render(rec), nil
}

// ReadByRID finds one by its resource id: CodeBadRequest where rid cannot be one of these, CodeNotFound where
// there is none.
func (r Resources) ReadByRID(rid string) (Resource, error) {
	b, ok := layout.ParseRID(rid, len(r.ridBytes(0)))
	if !ok {
		return Resource{}, badRID(rid)
	}
	num := binary.BigEndian.Uint32(b[len(b)-4:])
	if len(b) == 16 {
		num = binary.LittleEndian.Uint32(b[8:])
	}
	if num&layout.CIDBit != 0 || layout.RIDText(r.ridBytes(num)) != rid { // with that bit it is a container's
		return Resource{}, badRID(rid)
	}
	r.ds.mu.RLock()
	defer r.ds.mu.RUnlock()
	if s := r.ds.cat.resources[r.family]; s != nil {
		if i, found := s.Index(num); found {
			return r.render(s.List[i]), nil
		}
	}
	return Resource{}, r.absent(rid)
}

func (r Resources) absent(id string) error {
	return notFound(record.Kinds[r.family.Kind].Word, id)
}

func (r Resources) render(rec *record.Resource) Resource {
	return Resource{ID: rec.ID, RID: layout.RIDText(r.ridBytes(rec.Num)), Self: r.selfOf(rec.Num),
		ETag: layout.ETagText(r.ds.incarnation, 4,
			rec.LSN), Timestamp: rec.TS, Created: rec.Created(), Body: rec.Body}
}

func (r Resources) selfOf(num uint32) string {
	return r.self + record.Kinds[r.family.Kind].Path + "/" + layout.RIDText(r.ridBytes(num)) + "/"
}

// ridBytes is the rid of the member with that number.
func (r Resources) ridBytes(num uint32) []byte {
	switch r.family.Kind {
	case KindUser:
		return layout.UserRIDBytes(r.d.rec.Num, num)
	case KindPermission:
		return binary.LittleEndian.AppendUint64(layout.UserRIDBytes(r.d.rec.Num, r.family.Owner), uint64(num))
	case KindEncryptionKey:
		return layout.EncryptionKeyRIDBytes(r.d.rec.Num, num)
	}
	return layout.ChildRIDBytes(r.d.rec.Num, r.family.Owner,
		record.Kinds[r.family.Kind].RidType<<60|uint64(num))
}

// Create makes a new one. It fails with CodeConflict where the id is taken (or for a permission, where the
// user has one for the same thing), CodeBadRequest for a body that the service refuses, CodeNotFound where a
// permission is for something that does not exist, and CodeOwnerNotFound where the owner is gone.
func (r Resources) Create(ctx context.Context, body []byte) (Resource, error) {
	d, err := r.draft(ctx, body)
	if err != nil {
		return Resource{}, err
	}
	if err := r.ds.lockCatalog(ctx); err != nil {
		return Resource{}, err
	}
	defer r.ds.in.Catalog().Unlock()
	return r.put(ctx, nil, d)
}

// Upsert replaces the one that has the body's id, or creates it. An o.IfMatch counts for the former.
func (r Resources) Upsert(ctx context.Context, body []byte, o WriteOptions) (res Resource, inserted bool,
	err error) {
	d, err := r.draft(ctx, body)
	if err != nil {
		return Resource{}, false, err
	}
	if err := r.ds.lockCatalog(ctx); err != nil {
		return res, inserted, err
	}
	defer r.ds.in.Catalog().Unlock()
	old := r.find(d.id)
	if old != nil {
		if err := checkIfMatch(o.IfMatch, r.render(old).ETag); err != nil {
			return Resource{}, false, err
		}
	}
	res, err = r.put(ctx, old, d)
	return res, old == nil, err
}

// Replace changes one: CodeNotFound where there is none, CodePreconditionFailed where o.IfMatch names another
// etag. The body of a user or a permission may give it a new id; CodeConflict where that is taken.
func (r Resources) Replace(ctx context.Context, id string, body []byte, o WriteOptions) (Resource, error) {
	d, err := r.draft(ctx, body)
	if err != nil {
		return Resource{}, err
	}
	if err := r.ds.lockCatalog(ctx); err != nil {
		return Resource{}, err
	}
	defer r.ds.in.Catalog().Unlock()
	old := r.find(id)
	if old == nil {
		return Resource{}, r.absent(id)
	}
	if err := checkIfMatch(o.IfMatch, r.render(old).ETag); err != nil {
		return Resource{}, err
	}
	if d.id != id && !record.Kinds[r.family.Kind].Renames {
		return Resource{}, fault.New(fault.CodeBadRequest,
			fmt.Sprintf("The 'id' of a %s cannot be changed: '%s' is not '%s'.",
				record.Kinds[r.family.Kind].Word, d.id, id))
	}
	return r.put(ctx, old, d)
}

// Delete removes one, with all that belongs to it: CodeNotFound where there is none, CodePreconditionFailed
// where o.IfMatch names another etag.
func (r Resources) Delete(ctx context.Context, id string, o WriteOptions) error {
	if err := r.ds.lockCatalog(ctx); err != nil {
		return err
	}
	defer r.ds.in.Catalog().Unlock()
	old := r.find(id)
	if old == nil {
		return r.absent(id)
	}
	if err := checkIfMatch(o.IfMatch, r.render(old).ETag); err != nil {
		return err
	}
	err := r.ds.changeCatalog(ctx, func(t *host.Change) error {
		dropResource(t, r.family, old)
		return nil
	})
	if err != nil {
		return err
	}
	r.ds.mu.Lock()
	defer r.ds.mu.Unlock()
	r.ds.cat.resources[r.family].Remove(old)
	r.ds.cat.forgetFamilies(r.family.Below(old))
	return nil
}

// put stores a draft in the place of old, which is nil for a new one. The caller holds the catalog's lock.
func (r Resources) put(ctx context.Context, old *record.Resource, d resourceDraft) (Resource, error) {
	if !r.owned() {
		return Resource{}, fault.New(fault.CodeOwnerNotFound, "What the "+record.Kinds[r.family.Kind].Word+
			" belongs to does not exist any more.")
	}
	if taken := r.find(d.id); taken != nil && taken != old {
		return Resource{}, alreadyExists(record.Kinds[r.family.Kind].Word, d.id)
	}
	if err := r.checkSiblings(old, d); err != nil {
		return Resource{}, err
	}
	db := r.ds
	rec := &record.Resource{ID: d.id, Body: d.body}
	err := db.changeCatalog(ctx, func(t *host.Change) error {
		rec.TS, rec.LSN = db.stamp(), t.NextLSN(host.CatalogScope())
		if old != nil {
			rec.Num, rec.Made = old.Num, old.Created()
		} else {
			rec.Num = t.Number()
		}
		putResource(t, r.family, old, rec)
		return nil
	})
	if err != nil {
		return Resource{}, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.cat.family(r.family).Set(old, rec)
	return r.render(rec), nil
}

// owned reports whether the owner is still there. The caller holds the catalog's lock.
func (r Resources) owned() bool {
	cat := &r.ds.cat
	switch {
	case r.c != nil:
		return cat.cids[r.c.cid] == r.c
	case r.family.Kind == KindPermission:
		users := cat.resources[record.FamilyOf(KindUser, r.d.rec.Num)]
		if users == nil {
			return false
		}
		_, found := users.Index(r.family.Owner)
		return found
	}
	return cat.names[r.d.rec.ID] == r.d
}
