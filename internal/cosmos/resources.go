package cosmos

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// smallKinds maps the kinds of small resources (users, permissions, client encryption keys and scripts) to
// their kinds in the store and the names of their feeds.
var smallKinds = map[ResourceKind]struct {
	kind store.ResourceKind
	key  string
}{
	KindUser:          {store.KindUser, "Users"},
	KindPermission:    {store.KindPermission, "Permissions"},
	KindEncryptionKey: {store.KindEncryptionKey, "ClientEncryptionKeys"},
	KindSproc:         {store.KindStoredProcedure, "StoredProcedures"},
	KindTrigger:       {store.KindTrigger, "Triggers"},
	KindUDF:           {store.KindFunction, "UserDefinedFunctions"},
}

// resourceParent is the database, user or container, addressed by a path, that contains users, permissions,
// client encryption keys or scripts.
type resourceParent struct {
	store.ChildResources
	owner string // rid of the parent
	byRID bool
	in    *store.Container // container; nil if the resources belong to a database
}

// resources returns the parent of the resource that the path of the request addresses. The parent is a
// database, user or container; the resource is a user, permission, client encryption key or script, or the
// list of all of one kind.
func (s *Service) resources(c *requestInProgress) (p resourceParent, err error) {
	k := smallKinds[c.req.Kind].kind
	switch c.req.Kind {
	case KindSproc, KindTrigger, KindUDF:
		in, rid, err := s.within(c)
		if err != nil {
			return p, err
		}
		c.setPosition(in.container)
		return resourceParent{in.container.Resources(k), rid, in.byRID, in.container}, nil
	}
	d, byRID, err := s.database(c)
	if err != nil {
		return p, fault.Owner(err)
	}
	c.out.setDatabasePaths(d.RID(), d.ID())
	p = resourceParent{ChildResources: d.Resources(k), owner: d.RID(), byRID: byRID}
	if k != store.KindPermission {
		return p, nil
	}
	if err := c.in.checkTokenLife(); err != nil {
		return p, err
	}
	user, err := resourceParent{ChildResources: d.Resources(store.KindUser),
		byRID: byRID}.named(c.req.Address.ID(1))
	if err == nil {
		p.owner = user.RID
		p.ChildResources, err = d.Permissions(user.ID)
	}
	return p, fault.Owner(err)
}

// named returns the child resource with the given id. If the request's path consists of resource ids, id is
// the child's resource id (rid), otherwise its name.
func (p resourceParent) named(id string) (store.UserOrScriptResource, error) {
	if p.byRID {
		return p.ReadByRID(id)
	}
	return p.Read(id)
}

func (s *Service) listResources(c *requestInProgress) error {
	f, err := s.resourceFeed(c)
	if err != nil {
		return err
	}
	return sendFeed(c, f)
}

func (s *Service) queryResources(c *requestInProgress) error {
	f, err := s.resourceFeed(c)
	if err != nil {
		return err
	}
	return queryFeed(c, f)
}

func (s *Service) resourceFeed(c *requestInProgress) (f resourceFeed[store.UserOrScriptResource], err error) {
	p, err := s.resources(c)
	if err != nil {
		return f, err
	}
	return resourceFeed[store.UserOrScriptResource]{
		key:      smallKinds[c.req.Kind].key,
		owner:    p.owner,
		rows:     p.List(),
		position: func(r store.UserOrScriptResource) string { return resourcePosition(r.RID) },
		render:   func(dst []byte, r store.UserOrScriptResource) []byte { return c.appendResource(dst, r) },
	}, nil
}

// resourcePosition returns, as hexadecimal text that sorts in the order of creation, the number in the rid of
// a user, permission, client encryption key or script.
func resourcePosition(rid string) string {
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(rid, "-", "/"))
	if err != nil || len(b) < 8 {
		return ""
	}
	if len(b) == 8 {
		return ridPosition(rid)
	}
	return fmt.Sprintf("%016X", binary.LittleEndian.Uint64(b[len(b)-8:]))
}

func (s *Service) createResource(c *requestInProgress) error {
	return s.writeResource(c, func(p resourceParent) (store.UserOrScriptResource, int, error) {
		r, err := p.Create(c.ctx, c.req.Body)
		return r, StatusCreated, err
	})
}

func (s *Service) upsertResource(c *requestInProgress) error {
	return s.writeResource(c, func(p resourceParent) (store.UserOrScriptResource, int, error) {
		r, inserted, err := p.Upsert(c.ctx, c.req.Body, c.in.writeOptions())
		if inserted {
			return r, StatusCreated, err
		}
		return r, StatusOK, err
	})
}

func (s *Service) replaceResource(c *requestInProgress) error {
	return s.writeResource(c, func(p resourceParent) (store.UserOrScriptResource, int, error) {
		old, err := p.named(c.req.Address.Leaf())
		if err != nil {
			return old, 0, err
		}
		r, err := p.Replace(c.ctx, old.ID, c.req.Body, c.in.writeOptions())
		return r, StatusOK, err
	})
}

// writeResource calls write and responds with the resource that write returns.
func (s *Service) writeResource(c *requestInProgress, write func(resourceParent) (store.UserOrScriptResource,
	int,
	error)) error {
	p, err := s.resources(c)
	if err != nil {
		return err
	}
	r, status, err := write(p)
	if err != nil {
		return err
	}
	return c.sendResource(p, status, r)
}

// resource returns the addressed resource and its parent.
func (s *Service) resource(c *requestInProgress) (p resourceParent, r store.UserOrScriptResource, err error) {
	if p, err = s.resources(c); err == nil {
		r, err = p.named(c.req.Address.Leaf())
	}
	return p, r, err
}

func (s *Service) readResource(c *requestInProgress) error {
	p, r, err := s.resource(c)
	if err != nil {
		return err
	}
	if c.in.IfNoneMatch != "" && bareETag(c.in.IfNoneMatch) == bareETag(r.ETag) {
		c.out.setETag(r.ETag)
		return c.noContent(StatusNotModified)
	}
	return c.sendResource(p, StatusOK, r)
}

func (s *Service) deleteResource(c *requestInProgress) error {
	p, r, err := s.resource(c)
	if err != nil {
		return err
	}
	if err := p.Delete(c.ctx, r.ID, c.in.writeOptions()); err != nil {
		return err
	}
	return c.noContent(StatusNoContent)
}

func (c *requestInProgress) sendResource(p resourceParent, status int, r store.UserOrScriptResource) error {
	c.out.setETag(r.ETag)
	if p.in != nil {
		c.setScriptQuota(p.in)
	}
	return c.json(status, c.appendResource(nil, r))
}

// appendResource appends the JSON of a user, permission, client encryption key or script: the members that
// the client sent, followed by those of the server.
func (c *requestInProgress) appendResource(dst []byte, r store.UserOrScriptResource) []byte {
	dst = append(dst, r.Body...)
	dst[len(dst)-1] = ',' // replaces the closing brace
	dst = appendSystem(dst, r.RID, r.Self, r.ETag, r.Timestamp)
	switch c.req.Kind {
	case KindUser:
		dst = append(dst, `,"_permissions":"permissions/"`...)
	case KindEncryptionKey:
		dst = strconv.AppendInt(append(dst, `,"_cts":`...), r.Created, 10)
	case KindPermission:
		dst = jsondoc.AppendString(append(dst, `,"_token":`...), c.issueToken(r))
	}
	return append(dst, '}')
}
