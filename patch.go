package mayfly

import (
	"context"
	"encoding/json"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// PatchOperation is one operation of a Patch, as in Cosmos DB. The Value nil is JSON's null.
type PatchOperation struct {
	Op    string `json:"op"`   // "add", "set", "replace", "remove", "incr" or "move"
	Path  string `json:"path"` // of the value to change: "/page", "/items/0"; "/items/-" appends to an array
	Value any    `json:"value,omitempty"`
	From  string `json:"from,omitempty"` // only for "move": the path from which the value is moved
}

// Patch changes parts of a document by up to 10 operations, which are executed in order, all or none. The
// program does not have to read the document first: two concurrent increments are both counted. Patch returns
// ErrNotFound if the document does not exist or has expired, ErrPreconditionFailed if the condition of
// IfMatch does not hold, and ErrBadRequest if an operation does not fit the content of the document, or would
// change its id or its partition key.
func (c *Container) Patch(ctx context.Context, pk PartitionKey, id string, operations []PatchOperation,
	opts ...WriteOption) (d Document, err error) {
	key, err := partitionKey(pk)
	if err != nil {
		return Document{}, err
	}
	op, err := patch(id, operations, opts)
	if err != nil {
		return Document{}, err
	}
	err = c.do(ctx, func(c *store.Container) error {
		it, _, err := c.Patch(ctx, key, id, *op.Patch, op.WriteOptions)
		d = result(it, err)
		return err
	})
	return d, c.about(err, key, id)
}

// Patch changes parts of a document in the transaction: see Container.Patch.
func (tx *Tx) Patch(id string, operations []PatchOperation, opts ...WriteOption) (Document, error) {
	op, err := patch(id, operations, opts)
	if err != nil {
		return Document{}, err
	}
	r := tx.x.Do(op)
	return result(r.Item, r.Err), tx.in.about(r.Err, tx.key, id)
}

// patch returns a patch as a store operation.
func patch(id string, operations []PatchOperation, opts []WriteOption) (op store.ItemOperation, err error) {
	w, err := writeOptions(opts)
	if err != nil {
		return op, err
	}
	if w.ttl != nil {
		operations = append(operations[:len(operations):len(operations)],
			PatchOperation{Op: "set", Path: "/ttl", Value: *w.ttl})
	}
	text, err := json.Marshal(operations)
	if err != nil {
		return op, badRequest("a patch cannot be written as JSON: "+err.Error(), err)
	}
	p, err := jsondoc.ParsePatch(text)
	if err != nil {
		return op, inputError(err)
	}
	return store.ItemOperation{Kind: store.OperationPatch, ID: id, Patch: &store.Patch{Operations: p},
		WriteOptions: w.WriteOptions}, nil
}
