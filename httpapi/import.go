package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/ttl"
)

// parseImport reads the headers by which a create or an upsert has a _ts in the past. They want the master
// key.
func (h *reqHeaders) parseImport(name, value string) (err error) {
	if h.imported == nil {
		h.imported = new(store.ImportOptions)
	}
	switch name {
	case "X-Mayfly-Timestamp":
		h.imported.Timestamp, err = strconv.ParseInt(value, 10, 64)
		if err != nil || h.imported.Timestamp < 1 {
			return badHeader(name, value)
		}
	case "X-Mayfly-Age":
		h.imported.Age, err = parseSpan(name, value)
	default:
		h.imported.ExpiresIn, err = parseSpan(name, value)
	}
	return err
}

// parseSpan reads a duration that is not negative: "90s", "29d".
func parseSpan(name, value string) (time.Duration, error) {
	d, err := ttl.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, badHeader(name, value)
	}
	return d, nil
}

// importItems is POST /_mayfly/dbs/{db}/colls/{coll}/import: {"documents": [...], "create"?: true} upserts up
// to 100 documents, or creates them, each with the age that it has by its _ts or its member _mayfly; see
// store.ParseImport. The partition key is that of the document. It answers with a list of results as a batch
// does, without documents; 207 says that not all have succeeded.
func (s *Server) importItems(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	ops, err := decodeImport(c.ctx(), c.body)
	if err != nil {
		return err
	}
	out, r, err := coll.Batch(c.ctx(), definition.PartitionKey{}, ops, store.BatchOptions{ContinueOnError: true})
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	return c.sendBatch(ops, out, false)
}

// decodeImport reads the documents of an import, and ends with ctx between any two of them.
func decodeImport(ctx context.Context, body []byte) (ops []store.Operation, err error) {
	v, err := decodeKept(body)
	if err != nil {
		return nil, err
	}
	kind, list := store.OperationUpsert, doc.Value{}
	v.Each(func(name string, v doc.Value) bool {
		switch name {
		case "documents":
			list = v
		case "create":
			if v.Kind() != doc.Bool {
				err = badRequest("'create' must be true or false.")
			} else if v.Bool() {
				kind = store.OperationCreate
			}
		default:
			err = badRequest("'" + name + "' is not known: an import takes 'documents' and 'create'.")
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	if list.Kind() != doc.Array {
		return nil, badRequest("'documents' must be an array of documents.")
	}
	list.Each(func(_ string, v doc.Value) bool {
		if err = ctx.Err(); err != nil {
			return false
		}
		op := store.Operation{Kind: kind, NoContent: true}
		var o store.ImportOptions
		op.Body, o, op.Err = store.ParseImport(v.Raw())
		op.Import = &o
		ops = append(ops, op)
		return true
	})
	return ops, err
}

// refuseImport is the answer to an import by somebody who does not have the master key.
func refuseImport() error {
	return wireErr(http.StatusForbidden, 0, "An import needs the master key.")
}
