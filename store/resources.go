package store

import (
	"context"
	"sync"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/resource"
)

// Resources returns the users or the client encryption keys of the database. k must be one of these kinds:
// a database has no others.
func (d *Database) Resources(k record.ResourceKind) ChildResources {
	return resource.Of(resourceCatalogAdapter{d.ds}, k, d.rec.Num, resource.ResourceOwner{
		Database: d.rec.Num, Incarnation: d.ds.incarnation, Self: "dbs/" + d.RID() + "/",
		Exists: func() bool { return d.ds.cat.names[d.rec.ID] == d },
		Stamp:  d.ds.stamp,
		CheckGrant: func(ctx context.Context, v jsondoc.Value) error {
			_, err := resource.ParseGrant(ctx, v, permissionNameResolver{d.ds})
			return err
		},
	})
}

// Permissions returns the permissions of one user. It fails with CodeNotFound if there is no such user.
func (d *Database) Permissions(user string) (ChildResources, error) {
	return d.Resources(KindUser).Permissions(user)
}

// Resources returns the container's scripts of one kind.
func (c *Container) Resources(k record.ResourceKind) ChildResources {
	return resource.Of(resourceCatalogAdapter{c.ds}, k, c.cid, resource.ResourceOwner{
		Database: c.d.rec.Num, Incarnation: c.ds.incarnation, Self: c.self(),
		Exists: func() bool { return c.ds.cat.cids[c.cid] == c },
		Stamp:  c.ds.stamp,
	})
}

// PermissionGrant parses what a permission grants. It fails with CodeNotFound if the permission names
// something that has been deleted.
func (db *DB) Grant(ctx context.Context, permission UserOrScriptResource) (PermissionGrant, error) {
	return resource.ParseGrant(ctx, jsondoc.Of(permission.Body), permissionNameResolver{db.live()})
}

// resourceCatalogAdapter gives package resource access to the catalog.
type resourceCatalogAdapter struct{ ds *openDataset }

// Lock takes the catalog's lock.
func (cat resourceCatalogAdapter) Lock(ctx context.Context) error { return cat.ds.lockCatalog(ctx) }

// Unlock releases the catalog's lock.
func (cat resourceCatalogAdapter) Unlock() { cat.ds.in.Catalog().Unlock() }

// Change runs fn as one transaction on the catalog. The caller holds the lock.
func (cat resourceCatalogAdapter) Change(ctx context.Context, fn func(*host.CatalogTxn) error) error {
	return cat.ds.changeCatalog(ctx, fn)
}

// Resources returns the catalog's small resources: users, permissions, client encryption keys and scripts.
// The caller holds the catalog's lock (Lock) or the mutex that Guard returns.
func (cat resourceCatalogAdapter) Resources() resource.ResourcesByKindAndOwner {
	return cat.ds.cat.resources
}

// Guard returns the mutex that protects the catalog in memory.
func (cat resourceCatalogAdapter) Guard() *sync.RWMutex { return &cat.ds.mu }

// permissionNameResolver resolves the names in permissions.
type permissionNameResolver struct{ ds *openDataset }

// HasRID reports whether there is a database with this resource id. Links in permissions may name a database
// by its resource id or by its name.
func (n permissionNameResolver) HasRID(database string) bool {
	_, err := n.ds.databaseByRID(database)
	return err == nil
}

// HasDatabase fails if there is no database with the given id.
func (n permissionNameResolver) HasDatabase(id string) error {
	_, err := n.ds.database(id)
	return err
}

// Target returns the container with these ids, which the resource link of a permission names.
func (n permissionNameResolver) Target(database, container string) (resource.PermissionTarget, error) {
	d, err := n.ds.database(database)
	if err != nil {
		return nil, err
	}
	c, err := d.Container(container)
	return permissionTarget{c}, err
}

// permissionTarget is a container to which a permission gives access.
type permissionTarget struct{ *Container }

// CheckKey fails if a partition key does not fit the container's definition.
func (c permissionTarget) CheckKey(pk definition.PartitionKey) error {
	_, err := c.def.ScopeKey(pk)
	return err
}

// Exists fails if the container has no live item with the given key and id.
func (c permissionTarget) Exists(ctx context.Context, pk definition.PartitionKey, id string) error {
	if _, err := c.def.FullKey(pk, id); err != nil {
		return nil
	}
	_, _, err := c.Read(ctx, pk, id, ReadOptions{})
	return err
}

// loadResources reads the records of small resources of all kinds: users, permissions, client encryption keys
// and scripts. Databases and containers must be loaded before.
func (ds *openDataset) loadResources(r engine.Reader, cat *catalog) error {
	for k := range record.Kinds {
		err := host.ScanRecords(r, record.Kinds[k].Record, func(key []byte, rec record.SmallResource) error {
			f, id, err := record.ParseKey(record.ResourceKind(k), key)
			if err != nil {
				return err
			}
			ds.loadMark(rec.TS)
			rec.ID = id
			cat.resources.Family(f).Set(nil, &rec)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// families returns all families of small resources (a family is the resources of one kind and owner) that
// belong to a container.
func (c *Container) families() []record.OwnerAndKind {
	return []record.OwnerAndKind{
		record.FamilyOf(KindStoredProcedure, c.cid),
		record.FamilyOf(KindTrigger, c.cid),
		record.FamilyOf(KindFunction, c.cid),
	}
}

// families returns all families of small resources (a family is the resources of one kind and owner) that
// belong to a database, without those of its containers. The caller holds the catalog's lock.
func (d *Database) families() []record.OwnerAndKind {
	all := []record.OwnerAndKind{
		record.FamilyOf(KindUser, d.rec.Num),
		record.FamilyOf(KindEncryptionKey, d.rec.Num),
	}
	if users := d.ds.cat.resources[all[0]]; users != nil {
		for _, u := range users.List {
			all = append(all, all[0].Below(u)...)
		}
	}
	return all
}
