package mayfly

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// Document is one version of a document.
type Document struct {
	ID        string
	ETag      string    // changes with every write: see IfMatch
	Timestamp time.Time // time of the last write, in whole seconds
	ExpiresAt time.Time // zero: the document does not expire under the current settings
	JSON      []byte    // the text of the document, with the system properties _etag, _ts, _rid and _self
}

// Decode decodes the document into the value that into points to, as json.Unmarshal does.
func (d Document) Decode(into any) error { return json.Unmarshal(d.JSON, into) }

func document(it store.Item) Document {
	d := Document{ID: it.ID(), ETag: it.ETag(), Timestamp: time.Unix(it.Timestamp(), 0).UTC(),
		JSON: it.AppendJSON(nil)}
	if e := it.Expiry(); e.Mortal {
		d.ExpiresAt = time.Unix(e.ExpiresAt, 0).UTC()
	}
	return d
}

// WriteOption is an option of a write: a condition under which the document is written, or a change of what
// is written.
type WriteOption func(*writeConfig) error

// writeConfig collects the options of a write.
type writeConfig struct {
	store.WriteOptions
	ttl *int32
}

// IfMatch makes a write conditional: the document must exist and have this etag. Otherwise the write returns
// ErrPreconditionFailed; Replace, Patch and Delete return ErrNotFound if there is no document. Create rejects
// the option with ErrBadRequest.
func IfMatch(etag string) WriteOption {
	return func(w *writeConfig) error {
		if etag == "" { // an empty etag would be no condition
			return badRequest("no document has an empty etag", nil)
		}
		w.IfMatch = etag
		return nil
	}
}

// TTL sets the document's own time to live, in whole seconds or Forever: its property "ttl". It takes effect
// only if the container has a DefaultTTL.
func TTL(d time.Duration) WriteOption {
	return func(w *writeConfig) error {
		s, err := seconds(d)
		own := int32(s)
		w.ttl = &own
		return err
	}
}

func writeOptions(opts []WriteOption) (w writeConfig, err error) {
	for _, opt := range opts {
		if err := opt(&w); err != nil {
			return w, err
		}
	}
	return w, nil
}

// text returns the JSON text of a document given as a Document, as text in a []byte or json.RawMessage, or as
// a value for encoding/json. Text that is not a document is rejected later, by the store.
func (w *writeConfig) text(document any) (text []byte, err error) {
	switch d := document.(type) {
	case Document:
		text = d.JSON
	case *Document:
		if d != nil {
			text = d.JSON
		}
	case []byte:
		text = d
	case json.RawMessage:
		text = d
	default:
		if text, err = json.Marshal(document); err != nil {
			return nil, badRequest("the document cannot be written as JSON: "+err.Error(), err)
		}
	}
	if w.ttl == nil || jsondoc.Valid(text, jsondoc.Limits{}) != nil || jsondoc.Of(text).Kind() != jsondoc.Object {
		return text, nil
	}
	operations := `[{"op":"set","path":"/ttl","value":` + strconv.Itoa(int(*w.ttl)) + `}]`
	patch, err := jsondoc.ParsePatch([]byte(operations))
	if err == nil {
		text, err = patch.Apply(text)
	}
	return text, inputError(err)
}

// Create writes a new document. The document is a value that encoding/json encodes as an object, or JSON text
// as []byte or json.RawMessage. Create returns ErrConflict if a document with the same partition key has the
// same id or the same values of a unique key, and ErrTooLarge if the document has more than 2 MB.
func (c *Container) Create(ctx context.Context, document any, opts ...WriteOption) (Document, error) {
	return c.write(ctx, store.OperationCreate, document, opts)
}

// Upsert creates a document, or replaces the document with the same id and partition key. With IfMatch it
// only replaces, and returns ErrPreconditionFailed if the document does not exist or has another etag.
func (c *Container) Upsert(ctx context.Context, document any, opts ...WriteOption) (Document, error) {
	return c.write(ctx, store.OperationUpsert, document, opts)
}

// Replace replaces the document with the same id and partition key. It returns ErrNotFound if no such
// document exists, and ErrPreconditionFailed if the condition of IfMatch does not hold.
func (c *Container) Replace(ctx context.Context, document any, opts ...WriteOption) (Document, error) {
	return c.write(ctx, store.OperationReplace, document, opts)
}

func (c *Container) write(ctx context.Context, kind store.ItemOperationKind, document any,
	opts []WriteOption) (d Document, err error) {
	op, err := operation(kind, document, opts)
	if err != nil {
		return Document{}, err
	}
	var key definition.PartitionKey
	err = c.do(ctx, func(c *store.Container) error {
		var it store.Item
		var err error
		switch op.Kind {
		case store.OperationCreate:
			it, _, err = c.Create(ctx, definition.PartitionKey{}, op.Body, op.WriteOptions)
		case store.OperationUpsert:
			it, _, err = c.Upsert(ctx, definition.PartitionKey{}, op.Body, op.WriteOptions)
		default:
			it, _, err = c.Replace(ctx, c.PartitionKeyOf(op.Body), op.ID, op.Body, op.WriteOptions)
		}
		d = result(it, err)
		if err != nil && jsondoc.Valid(op.Body, jsondoc.Limits{}) == nil {
			key = c.PartitionKeyOf(op.Body)
		}
		return err
	})
	return d, c.about(unmatched(kind, op, err), key, idOf(op))
}

// idOf returns the id of the document of a write.
func idOf(op store.ItemOperation) string {
	if op.ID != "" {
		return op.ID
	}
	return jsondoc.Of(op.Body).Member("id").Str()
}

// unmatched returns the error for the caller of a write of the given kind; op is the operation that was
// executed, and err its error. If an Upsert with IfMatch was executed as a Replace, ErrNotFound becomes
// ErrPreconditionFailed. All other errors stay as they are.
func unmatched(kind store.ItemOperationKind, op store.ItemOperation, err error) error {
	if kind == op.Kind || fault.ErrorCode(err) != fault.CodeNotFound {
		return err
	}
	return &fault.Error{Code: fault.CodePreconditionFailed,
		Message: "There is no document '" + op.ID + "' any more that could have the etag."}
}

// result returns the document as it is after a successful operation.
func result(it store.Item, err error) Document {
	if err != nil {
		return Document{}
	}
	return document(it)
}

// operation returns a write of a whole document as a store operation. An Upsert with IfMatch becomes a
// Replace, since it must not create a document; unmatched converts the error of this Replace.
func operation(kind store.ItemOperationKind, document any, opts []WriteOption) (op store.ItemOperation,
	err error) {
	w, err := writeOptions(opts)
	if err != nil {
		return op, err
	}
	op = store.ItemOperation{Kind: kind, WriteOptions: w.WriteOptions}
	switch conditional := op.IfMatch != ""; {
	case conditional && kind == store.OperationCreate:
		return op, badRequest("a document that is created has no etag yet to match", nil)
	case conditional && kind == store.OperationUpsert:
		op.Kind = store.OperationReplace
	}
	if op.Body, err = w.text(document); err != nil || op.Kind != store.OperationReplace {
		return op, err
	}
	if err := jsondoc.Valid(op.Body, jsondoc.Limits{}); err != nil {
		return op, inputError(err)
	}
	id := jsondoc.Of(op.Body).Member("id")
	if id.Kind() != jsondoc.String {
		return op, badRequest("a document is an object with a string 'id'", nil)
	}
	op.ID = id.Str()
	return op, nil
}

// Read returns a document. It returns ErrNotFound if the document does not exist or has expired.
func (c *Container) Read(ctx context.Context, pk PartitionKey, id string) (d Document, err error) {
	key, err := partitionKey(pk)
	if err != nil {
		return Document{}, err
	}
	err = c.do(ctx, func(c *store.Container) error {
		it, _, err := c.Read(ctx, key, id, store.ReadOptions{})
		d = result(it, err)
		return err
	})
	return d, c.about(err, key, id)
}

// Delete deletes a document. It returns ErrNotFound if the document does not exist or has expired, and
// ErrPreconditionFailed if the condition of IfMatch does not hold.
func (c *Container) Delete(ctx context.Context, pk PartitionKey, id string, opts ...WriteOption) error {
	key, err := partitionKey(pk)
	if err != nil {
		return err
	}
	w, err := writeOptions(opts)
	if err != nil {
		return err
	}
	err = c.do(ctx, func(c *store.Container) error {
		_, err := c.Delete(ctx, key, id, w.WriteOptions)
		return err
	})
	return c.about(err, key, id)
}

// DeletePartition deletes all documents of a partition key. When it returns, no read returns them any more;
// their space is freed in the background.
func (c *Container) DeletePartition(ctx context.Context, pk PartitionKey) error {
	key, err := partitionKey(pk)
	if err != nil {
		return err
	}
	return c.do(ctx, func(c *store.Container) error {
		_, err := c.DeletePartition(ctx, key)
		return err
	})
}

// Read reads a document and decodes it into a T. It returns ErrNotFound if the document does not exist or has
// expired.
func Read[T any](ctx context.Context, c *Container, pk PartitionKey, id string) (v T, err error) {
	d, err := c.Read(ctx, pk, id)
	if err == nil {
		err = d.Decode(&v)
	}
	return v, err
}
