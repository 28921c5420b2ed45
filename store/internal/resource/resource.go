package resource

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// UserOrScriptResource is one version of a small resource: a user, permission, client encryption key or
// script.
type UserOrScriptResource struct {
	ID, RID   string
	Self      string // the rid path, with its trailing slash
	ETag      string // with its literal quotes
	Timestamp int64  // seconds since 1970 of the last change
	Created   int64  // second of its creation, since 1970
	// Body is the JSON object as the client sent it, without the properties that the server adds. It must
	// not be modified.
	Body []byte
}

// ResourcesByKindAndOwner holds all small resources (users, permissions, client encryption keys, scripts) of
// a catalog, by kind and owner. A family without an entry is empty.
type ResourcesByKindAndOwner map[record.OwnerAndKind]*record.OwnedResourcesOfKind

// Family returns the resources of one kind and owner, and creates their entry in the set if it is missing.
func (s ResourcesByKindAndOwner) Family(f record.OwnerAndKind) *record.OwnedResourcesOfKind {
	m := s[f]
	if m == nil {
		m = &record.OwnedResourcesOfKind{Names: make(map[string]*record.SmallResource)}
		s[f] = m
	}
	return m
}

// Find returns the resource of one kind and owner with an id, or nil.
func (s ResourcesByKindAndOwner) Find(f record.OwnerAndKind, id string) *record.SmallResource {
	if m := s[f]; m != nil {
		return m.Names[id]
	}
	return nil
}

// Members returns the resources of one kind and owner in order of creation.
func (s ResourcesByKindAndOwner) Members(f record.OwnerAndKind) []*record.SmallResource {
	if m := s[f]; m != nil {
		return m.List
	}
	return nil
}

// Forget removes all resources of the given kinds and owners from the set.
func (s ResourcesByKindAndOwner) Forget(families []record.OwnerAndKind) {
	for _, f := range families {
		delete(s, f)
	}
}

// Catalog is the part of a store's catalog that the operations on small resources need.
type Catalog interface {
	Lock(ctx context.Context) error // serializes changes; a caller holds it for one change
	Unlock()
	// Change changes records of the catalog in one transaction, durably. The caller holds Lock.
	Change(ctx context.Context, fn func(*host.CatalogTxn) error) error
	Resources() ResourcesByKindAndOwner // the caller holds Lock or Guard
	Guard() *sync.RWMutex               // guards Resources; taken after Lock
}

// ResourceOwner is the database or the container that resources belong to.
type ResourceOwner struct {
	Database    uint32 // its number, or that of the container's database
	Incarnation uint32 // as used in etags
	Self        string // its rid path, with a trailing slash
	Exists      func() bool
	Stamp       func() int64                               // returns the second to store for a change
	CheckGrant  func(context.Context, jsondoc.Value) error // returns an error if a permission is not valid
}

// ChildResources gives access to the children of one kind of one database, user or container. The value stays
// usable until the owner is dropped; then changes return CodeOwnerNotFound.
type ChildResources struct {
	in     Catalog
	of     ResourceOwner
	family record.OwnerAndKind
}

// Of returns the resources of kind k that belong to an owner: the database, user or container with the
// given number. of is the database or container that links and error texts contain.
func Of(in Catalog, k record.ResourceKind, number uint32, of ResourceOwner) ChildResources {
	return ChildResources{in: in, of: of, family: record.FamilyOf(k, number)}
}

// Permissions returns the permissions of a user. It returns CodeNotFound if there is no such user.
func (r ChildResources) Permissions(user string) (ChildResources, error) {
	r.in.Guard().RLock()
	defer r.in.Guard().RUnlock()
	u := r.find(user)
	if u == nil {
		return ChildResources{}, value.NotFound("user", user)
	}
	of, users := r.of, r.family
	of.Self = r.selfOf(u.Num)
	of.Exists = func() bool {
		members := r.in.Resources()[users]
		if members == nil {
			return false
		}
		_, found := members.Index(u.Num)
		return found
	}
	return Of(r.in, record.KindPermission, u.Num, of), nil
}

// find returns the record of the resource with an id, or nil if there is none. The caller holds, at least for
// reading, the lock that serializes changes of the catalog or the one that guards the catalog in memory.
func (r ChildResources) find(id string) *record.SmallResource {
	return r.in.Resources().Find(r.family, id)
}

// List returns all resources in order of creation.
func (r ChildResources) List() []UserOrScriptResource {
	r.in.Guard().RLock()
	defer r.in.Guard().RUnlock()
	s := r.in.Resources()[r.family]
	if s == nil {
		return nil
	}
	list := make([]UserOrScriptResource, len(s.List))
	for i, rec := range s.List {
		list[i] = r.render(rec)
	}
	return list
}

// Read returns the resource with an id. It returns CodeNotFound if there is none.
func (r ChildResources) Read(id string) (UserOrScriptResource, error) {
	r.in.Guard().RLock()
	defer r.in.Guard().RUnlock()
	rec := r.find(id)
	if rec == nil {
		return UserOrScriptResource{}, r.absent(id)
	}
	return r.render(rec), nil
}

// ReadByRID returns the resource with a resource id. It returns CodeBadRequest if rid is not a valid rid
// of this kind and owner, and CodeNotFound if there is no such resource.
func (r ChildResources) ReadByRID(rid string) (UserOrScriptResource, error) {
	b, ok := layout.ParseRID(rid, len(r.ridBytes(0)))
	if !ok {
		return UserOrScriptResource{}, value.BadRID(rid)
	}
	num := binary.BigEndian.Uint32(b[len(b)-4:])
	if len(b) == 16 {
		num = binary.LittleEndian.Uint32(b[8:])
	}
	if num&layout.CIDBit != 0 || layout.RIDText(r.ridBytes(num)) != rid { // otherwise it is a container's rid
		return UserOrScriptResource{}, value.BadRID(rid)
	}
	r.in.Guard().RLock()
	defer r.in.Guard().RUnlock()
	if s := r.in.Resources()[r.family]; s != nil {
		if i, found := s.Index(num); found {
			return r.render(s.List[i]), nil
		}
	}
	return UserOrScriptResource{}, r.absent(rid)
}

func (r ChildResources) absent(id string) error {
	return value.NotFound(record.Kinds[r.family.Kind].Word, id)
}

func (r ChildResources) render(rec *record.SmallResource) UserOrScriptResource {
	return UserOrScriptResource{ID: rec.ID, RID: layout.RIDText(r.ridBytes(rec.Num)), Self: r.selfOf(rec.Num),
		ETag: layout.ETagText(r.of.Incarnation, 4,
			rec.LSN), Timestamp: rec.TS, Created: rec.Created(), Body: rec.Body}
}

func (r ChildResources) selfOf(num uint32) string {
	return r.of.Self + record.Kinds[r.family.Kind].Path + "/" + layout.RIDText(r.ridBytes(num)) + "/"
}

// ridBytes returns the rid of the resource that has the number num among the resources of this kind and
// owner.
func (r ChildResources) ridBytes(num uint32) []byte {
	switch r.family.Kind {
	case record.KindUser:
		return layout.UserRIDBytes(r.of.Database, num)
	case record.KindPermission:
		return binary.LittleEndian.AppendUint64(layout.UserRIDBytes(r.of.Database, r.family.Owner),
			uint64(num))
	case record.KindEncryptionKey:
		return layout.EncryptionKeyRIDBytes(r.of.Database, num)
	}
	return layout.ChildRIDBytes(r.of.Database, r.family.Owner,
		record.Kinds[r.family.Kind].RidType<<60|uint64(num))
}

// Create creates a resource. It returns CodeConflict if the id is taken. For a permission it also returns
// CodeConflict if the user already has one for the same resource. It returns CodeBadRequest for an invalid
// body, CodeNotFound if a permission is for something that does not exist, and CodeOwnerNotFound if the
// owner is gone.
func (r ChildResources) Create(ctx context.Context, body []byte) (UserOrScriptResource, error) {
	return r.write(ctx, body, func(checkedBody) (*record.SmallResource, error) { return nil, nil })
}

// Upsert replaces the resource with the body's id. If there is none, it creates it and ignores o.IfMatch.
func (r ChildResources) Upsert(ctx context.Context, body []byte,
	o value.WriteOptions) (res UserOrScriptResource, inserted bool, err error) {
	res, err = r.write(ctx, body, func(d checkedBody) (*record.SmallResource, error) {
		old := r.find(d.id)
		inserted = old == nil
		if inserted {
			return nil, nil
		}
		return old, value.CheckIfMatch(o.IfMatch, r.render(old).ETag)
	})
	return res, inserted && err == nil, err
}

// Replace replaces the resource with an id. It returns CodeNotFound if there is none, and
// CodePreconditionFailed if o.IfMatch is another etag. The body of a user or a permission may change the
// id; Replace returns CodeConflict if the new id is taken.
func (r ChildResources) Replace(ctx context.Context, id string, body []byte,
	o value.WriteOptions) (UserOrScriptResource, error) {
	return r.write(ctx, body, func(d checkedBody) (*record.SmallResource, error) {
		old := r.find(id)
		if old == nil {
			return nil, r.absent(id)
		}
		if err := value.CheckIfMatch(o.IfMatch, r.render(old).ETag); err != nil {
			return nil, err
		}
		if kind := &record.Kinds[r.family.Kind]; d.id != id && !kind.Renames {
			return nil, fault.New(fault.CodeBadRequest,
				fmt.Sprintf("The 'id' of a %s cannot be changed: '%s' is not '%s'.", kind.Word, d.id, id))
		}
		return old, nil
	})
}

// write stores a body. It calls replaced under the catalog's lock to get the record that the body replaces;
// nil means that the record is new. write may call replaced more than once.
func (r ChildResources) write(ctx context.Context, body []byte,
	replaced func(checkedBody) (*record.SmallResource, error)) (res UserOrScriptResource, err error) {
	d, err := r.draft(ctx, body)
	if err != nil {
		return UserOrScriptResource{}, err
	}
	err = host.RetryMoved(func() (err error) {
		res, err = r.writeOnce(ctx, d, replaced)
		return err
	})
	return res, err
}

func (r ChildResources) writeOnce(ctx context.Context, d checkedBody,
	replaced func(checkedBody) (*record.SmallResource, error)) (UserOrScriptResource, error) {
	if err := r.in.Lock(ctx); err != nil {
		return UserOrScriptResource{}, err
	}
	defer r.in.Unlock()
	old, err := replaced(d)
	if err != nil {
		return UserOrScriptResource{}, err
	}
	return r.put(ctx, old, d)
}

// Delete removes a resource and everything that belongs to it. It returns CodeNotFound if there is none,
// and CodePreconditionFailed if o.IfMatch is another etag.
func (r ChildResources) Delete(ctx context.Context, id string, o value.WriteOptions) error {
	return host.RetryMoved(func() error { return r.deleteOnce(ctx, id, o) })
}

func (r ChildResources) deleteOnce(ctx context.Context, id string, o value.WriteOptions) error {
	if err := r.in.Lock(ctx); err != nil {
		return err
	}
	defer r.in.Unlock()
	old := r.find(id)
	if old == nil {
		return r.absent(id)
	}
	if err := value.CheckIfMatch(o.IfMatch, r.render(old).ETag); err != nil {
		return err
	}
	err := r.in.Change(ctx, func(t *host.CatalogTxn) error {
		Drop(t, r.family, old)
		return nil
	})
	if err != nil {
		return err
	}
	r.in.Guard().Lock()
	defer r.in.Guard().Unlock()
	r.in.Resources()[r.family].Remove(old)
	r.in.Resources().Forget(r.family.Below(old))
	return nil
}

// put stores a body that has passed its checks, in place of old, which is nil for a new record. The caller
// holds the catalog's lock.
func (r ChildResources) put(ctx context.Context, old *record.SmallResource,
	d checkedBody) (UserOrScriptResource, error) {
	if !r.of.Exists() {
		return UserOrScriptResource{}, fault.New(fault.CodeOwnerNotFound,
			"What the "+record.Kinds[r.family.Kind].Word+
				" belongs to does not exist any more.")
	}
	if taken := r.find(d.id); taken != nil && taken != old {
		return UserOrScriptResource{}, value.AlreadyExists(record.Kinds[r.family.Kind].Word, d.id)
	}
	if err := r.checkSiblings(old, d); err != nil {
		return UserOrScriptResource{}, err
	}
	rec := &record.SmallResource{ID: d.id, Body: d.body}
	err := r.in.Change(ctx, func(t *host.CatalogTxn) error {
		rec.TS, rec.LSN = r.of.Stamp(), t.NextLSN(host.CatalogScope())
		if old != nil {
			rec.Num, rec.Made = old.Num, old.Created()
		} else {
			rec.Num = t.Number()
		}
		Put(t, r.family, old, rec)
		return nil
	})
	if err != nil {
		return UserOrScriptResource{}, err
	}
	r.in.Guard().Lock()
	defer r.in.Guard().Unlock()
	r.in.Resources().Family(r.family).Set(old, rec)
	return r.render(rec), nil
}
