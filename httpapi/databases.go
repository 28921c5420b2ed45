package httpapi

import (
	"errors"
	"net/http"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// database finds the database that the path names, by id or by rid. byRID tells which it was, since a database
// whose name looks like a rid may be meant by that name: then the rest of the path is names, too.
func (s *Server) database(c *call) (d *store.Database, byRID bool, err error) {
	id := c.target.db()
	if c.target.byRID {
		d, err = s.db.DatabaseByRID(id)
		if err == nil || store.ErrorCode(err) != store.CodeNotFound {
			return d, true, err
		}
	}
	d, err = s.db.Database(id)
	return d, false, err
}

// owner says of a resource that is absent that it is where something else would lie in: Cosmos DB tells clients
// so by a substatus, on which they drop what they have cached about it.
func owner(err error) error {
	var e *store.Error
	if errors.As(err, &e) && e.Code == store.CodeNotFound {
		return &store.Error{Code: store.CodeOwnerNotFound, Message: e.Message, Err: err}
	}
	return err
}

func (s *Server) listDatabases(c *call) error {
	return sendFeed(c, s.databaseFeed())
}

func (s *Server) queryDatabases(c *call) error {
	return queryFeed(c, s.databaseFeed())
}

func (s *Server) databaseFeed() feed[*store.Database] {
	return feed[*store.Database]{
		key:      "Databases",
		rows:     s.db.Databases(),
		position: func(d *store.Database) string { return ridPosition(d.RID()) },
		render:   appendDatabase,
	}
}

func (s *Server) createDatabase(c *call) error {
	body, err := decodeObject(c.body)
	if err != nil {
		return err
	}
	id := body.Member("id")
	if id.Kind() != doc.String {
		return badRequest("The input content is invalid because the required property 'id' is missing or is not a string.")
	}
	d, err := s.db.CreateDatabase(c.ctx(), id.Str(), c.in.throughput)
	if err != nil {
		return err
	}
	return c.sendDatabase(http.StatusCreated, d)
}

func (s *Server) readDatabase(c *call) error {
	d, _, err := s.database(c)
	if err != nil {
		return err
	}
	return c.sendDatabase(http.StatusOK, d)
}

func (s *Server) deleteDatabase(c *call) error {
	d, _, err := s.database(c)
	if err != nil {
		return err
	}
	if err := s.db.DeleteDatabase(c.ctx(), d.ID(), c.in.writeOptions()); err != nil {
		return err
	}
	return c.noContent(http.StatusNoContent)
}

func (c *call) sendDatabase(status int, d *store.Database) error {
	c.setETag(d.ETag())
	return c.json(status, appendDatabase(nil, d))
}
