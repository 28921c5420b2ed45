package resource

import (
	"context"
	"net/url"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// PermissionGrant is the access that a permission gives: to a container, or to one child of it.
//
// A container is identified by its resource id and not by its name, so a permission does not apply to a
// later container of the same name. An item is identified by its id or by its resource id, as in the
// permission.
type PermissionGrant struct {
	Write     bool   // mode All, not Read
	Container string // resource id
	// Type is "docs", "sprocs", "triggers" or "udfs" for a child of the container, and empty for the
	// container itself.
	Type      string
	ID        string                  // of the child; empty if RID is set
	RID       string                  // of the child
	Partition definition.PartitionKey // if set, only this partition key
}

// PermissionNameResolver resolves the names in permissions. HasRID reports whether a database has the given
// resource id. HasDatabase fails with CodeNotFound if there is no database with the given name; Target fails
// with the same code if there is no such container.
type PermissionNameResolver interface {
	HasRID(database string) bool
	HasDatabase(id string) error
	Target(database, container string) (PermissionTarget, error)
}

// PermissionTarget is the container that a permission names, or whose child it names.
type PermissionTarget interface {
	RID() string
	CheckKey(pk definition.PartitionKey) error
	// Exists returns CodeNotFound if there is no such item. If no partition key is given, it can check this
	// only in a container whose partition key is the id.
	Exists(ctx context.Context, pk definition.PartitionKey, id string) error
	Resources(k record.ResourceKind) ChildResources
}

// ParseGrant parses a permission: its mode, the link of the resource, and the partition key. It returns
// CodeNotFound if the permission names something that does not exist.
func ParseGrant(ctx context.Context, v jsondoc.Value,
	names PermissionNameResolver) (g PermissionGrant, err error) {
	if err := checkWord(v, "permissionMode", "Read", "All"); err != nil {
		return g, err
	}
	g.Write = strings.EqualFold(v.Member("permissionMode").Str(), "All")
	if pk := v.Member("resourcePartitionKey"); pk.Kind() != jsondoc.Undefined && pk.Kind() != jsondoc.Null {
		if g.Partition, err = definition.ParsePartitionKey(pk.Raw()); err != nil {
			return g, err
		}
	}
	link := v.Member("resource").Str()
	parts := splitLink(link)
	if len(parts) == 0 {
		return g, badResource(link)
	}
	if _, ok := layout.ParseRID(parts[1], 4); ok {
		if err := g.byRID(parts); err != nil || names.HasRID(parts[1]) {
			return g, err
		}
		// The name of a database may look like a rid. A rid that does not exist is accepted, as in Cosmos
		// DB.
		if names.HasDatabase(parts[1]) != nil {
			return g, nil
		}
	}
	return g, g.byName(ctx, names, parts)
}

func badResource(link string) error {
	return fault.New(fault.CodeBadRequest,
		"The resource '"+link+"' of the permission is neither a container nor an item or a script in one.")
}

// splitLink splits dbs/x/colls/y or dbs/x/colls/y/docs/z into its parts. It returns nil for any other
// link. The last id may contain slashes.
func splitLink(link string) []string {
	parts := strings.SplitN(strings.Trim(link, "/"), "/", 6)
	if len(parts) != 4 && len(parts) != 6 || !strings.EqualFold(parts[0], "dbs") ||
		!strings.EqualFold(parts[2], "colls") {
		return nil
	}
	if len(parts) == 6 {
		parts[4] = strings.ToLower(parts[4])
		switch parts[4] {
		case "docs", "sprocs", "triggers", "udfs":
		default:
			return nil
		}
	}
	for _, p := range parts {
		if p == "" {
			return nil
		}
	}
	return parts
}

// byRID sets the grant from a link of resource ids, split into its parts. The ids must be well-formed, and
// each must belong to a child of the resource before it.
func (g *PermissionGrant) byRID(parts []string) error {
	coll, ok := layout.ParseRID(parts[3], 8)
	db, _ := layout.ParseRID(parts[1], 4)
	if !ok || string(coll[:4]) != string(db) {
		return value.BadRID(parts[3])
	}
	g.Container = parts[3]
	if len(parts) < 6 {
		return nil
	}
	child, ok := layout.ParseRID(parts[5], 16)
	if !ok || string(child[:8]) != string(coll) {
		return value.BadRID(parts[5])
	}
	g.Type, g.RID = parts[4], parts[5]
	return nil
}

// byName sets the grant from a resource link that consists of names, such as "dbs/d/colls/c", whose parts are
// parts. It looks the names up and fails if one does not exist. Names may be escaped or not, since clients
// write both.
func (g *PermissionGrant) byName(ctx context.Context, names PermissionNameResolver, parts []string) error {
	database, err := tryEscaped(parts[1],
		func(id string) (string, error) { return id, names.HasDatabase(id) })
	if err != nil {
		return err
	}
	c, err := tryEscaped(parts[3], func(id string) (PermissionTarget,
		error) {
		return names.Target(database, id)
	})
	if err != nil {
		return err
	}
	g.Container = c.RID()
	if !g.Partition.IsZero() {
		if err := c.CheckKey(g.Partition); err != nil {
			return err
		}
	}
	if len(parts) < 6 {
		return nil
	}
	if g.Type = parts[4]; g.Type == "docs" {
		g.ID, err = tryEscaped(parts[5],
			func(id string) (string, error) { return id, c.Exists(ctx, g.Partition, id) })
		return err
	}
	for k, facts := range record.Kinds {
		if facts.Path == g.Type {
			script, err := tryEscaped(parts[5], c.Resources(record.ResourceKind(k)).Read)
			g.RID = script.RID
			return err
		}
	}
	return badResource(strings.Join(parts, "/"))
}

// tryEscaped calls find with a name as given. If that fails, it calls find with the unescaped name.
func tryEscaped[T any](name string, find func(string) (T, error)) (T, error) {
	found, err := find(name)
	if plain, perr := url.PathUnescape(name); err != nil && perr == nil && plain != name {
		if other, oerr := find(plain); oerr == nil {
			return other, nil
		}
	}
	return found, err
}
