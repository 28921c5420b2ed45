package httpapi

import (
	"context"

	"github.com/mayflydb/mayfly/cosmos"
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// importItems is POST /_mayfly/dbs/{db}/colls/{coll}/import: {"documents": [...], "create"?: true} upserts up
// to 100 documents, or creates them, each with the age that it has by its _ts or its member _mayfly; see
// store.ParseImport. The partition key is that of the document. It answers with a list of results as a batch
// does, without documents; 207 says that not all have succeeded.
func (s *Server) importItems(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	ops, err := decodeImport(c.ctx(), c.req.Body)
	if err != nil {
		return err
	}
	out, r, err := coll.Batch(c.ctx(), definition.PartitionKey{}, ops, store.BatchOptions{ContinueOnError: true})
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	return c.sendBatch(ops, out)
}

// decodeImport reads the documents of an import, and ends with ctx between any two of them.
func decodeImport(ctx context.Context, body []byte) (ops []store.Operation, err error) {
	v, err := cosmos.DecodeKept(body)
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
