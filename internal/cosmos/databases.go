package cosmos

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// database returns the database that the path names, by id or by rid. byRID reports whether the path
// consists of rids.
//
// Both this server and clients recognize a path of rids by the form of its first id. However, a database may
// have a name of that form. Therefore an existing name takes precedence over a rid, so that a request by
// name never reaches another database. The path is taken for a path of rids in two cases only: no database
// has that name, or the database with that name does not contain the next name of the path while the
// database with that rid contains the next rid.
func (s *Service) database(c *requestInProgress) (d *store.Database, byRID bool, err error) {
	id := c.req.Address.Database()
	d, err = s.db.Database(id)
	if !c.req.Address.ByRID || err == nil && c.containsNext(d, false) {
		return d, false, err
	}
	other, ridErr := s.db.DatabaseByRID(id)
	if err == nil && (ridErr != nil || !c.containsNext(other, true)) {
		return d, false, nil
	}
	return other, true, ridErr
}

// containsNext reports whether the database contains the next element of the path: by its rid if byRID is
// set, otherwise by its name. It is true if the path ends at the database.
func (c *requestInProgress) containsNext(d *store.Database, byRID bool) bool {
	if c.req.Address.N < 2 {
		return true
	}
	next := c.req.Address.ID(1)
	of := func(k store.ResourceKind) error {
		_, err := resourceParent{ChildResources: d.Resources(k), byRID: byRID}.named(next)
		return err
	}
	var err error
	switch c.req.Kind {
	case KindUser, KindPermission:
		err = of(store.KindUser)
	case KindEncryptionKey:
		err = of(store.KindEncryptionKey)
	default:
		if byRID {
			_, err = d.ContainerByRID(next)
		} else {
			_, err = d.Container(next)
		}
	}
	return err == nil
}

func (s *Service) listDatabases(c *requestInProgress) error {
	return sendFeed(c, s.databaseFeed())
}

func (s *Service) queryDatabases(c *requestInProgress) error {
	return queryFeed(c, s.databaseFeed())
}

func (s *Service) databaseFeed() resourceFeed[*store.Database] {
	return resourceFeed[*store.Database]{
		key:      "Databases",
		rows:     s.db.Databases(),
		position: func(d *store.Database) string { return ridPosition(d.RID()) },
		render:   appendDatabase,
	}
}

func (s *Service) createDatabase(c *requestInProgress) error {
	body, err := decodeObject(c.req.Body)
	if err != nil {
		return err
	}
	id := body.Member("id")
	if id.Kind() != jsondoc.String {
		return BadRequest("The input content is invalid because the required property 'id' is missing " +
			"or is not a string.")
	}
	d, err := s.db.CreateDatabase(c.ctx, id.Str(), c.in.Throughput)
	if err != nil {
		return err
	}
	return c.sendDatabase(StatusCreated, d)
}

func (s *Service) readDatabase(c *requestInProgress) error {
	d, _, err := s.database(c)
	if err != nil {
		return err
	}
	return c.sendDatabase(StatusOK, d)
}

func (s *Service) deleteDatabase(c *requestInProgress) error {
	d, _, err := s.database(c)
	if err != nil {
		return err
	}
	if err := s.db.DeleteDatabase(c.ctx, d.ID(), c.in.writeOptions()); err != nil {
		return err
	}
	return c.noContent(StatusNoContent)
}

func (c *requestInProgress) sendDatabase(status int, d *store.Database) error {
	c.out.setETag(d.ETag())
	return c.json(status, appendDatabase(nil, d))
}
