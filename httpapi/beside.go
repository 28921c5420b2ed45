package httpapi

import (
	"github.com/mayflydb/mayfly/cosmos"
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// What the handlers of Mayfly's own surface share with the operations.

// container finds the container that the path names.
func (s *Server) container(c *call) (*store.Container, error) {
	return s.ops.Container(c.ctx(), &c.req, &c.ans)
}

// database finds the database that the path names.
func (s *Server) database(c *call) (*store.Database, error) {
	return s.ops.Database(c.ctx(), &c.req, &c.ans)
}

func (c *call) setReceiptOf(r store.Receipt) { c.srv.ops.Receipt(c.ctx(), &c.req, &c.ans, r) }

func (c *call) sendBatch(ops []store.Operation, out store.BatchResult) error {
	if err := c.srv.ops.Batch(c.ctx(), &c.req, &c.ans, ops, out); err != nil {
		return err
	}
	return c.json(c.ans.Status, c.ans.Body)
}

func decodeObject(body []byte) (doc.Value, error) { return cosmos.DecodeObject(body) }

func decodeText(body doc.Value, name string) (string, error) { return cosmos.DecodeText(body, name) }
