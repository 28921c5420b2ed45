package mayfly

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// Args are the parameters of a query. A key is the name of a parameter without the @. Values are encoded by
// encoding/json.
type Args map[string]any

// QueryOption is an option of a query or a list of documents.
type QueryOption func(*store.QueryRequest) error

// With sets the parameters of a query.
func With(args Args) QueryOption {
	return func(q *store.QueryRequest) error {
		for name, value := range args {
			text, err := json.Marshal(value)
			if err != nil {
				return badRequest("the parameter '"+name+"' cannot be written as JSON: "+err.Error(), err)
			}
			p := store.QueryParameter{Name: "@" + strings.TrimPrefix(name, "@"), Value: jsondoc.Of(text)}
			q.Parameters = append(q.Parameters, p)
		}
		return nil
	}
}

// In restricts a query or a list to the documents of a partition key. If pk is a HierarchicalKey with fewer
// levels than the container has, it covers the documents of all keys that begin with these levels.
func In(pk PartitionKey) QueryOption {
	return func(q *store.QueryRequest) (err error) {
		q.Scope.Partition, err = partitionKey(pk)
		return err
	}
}

// PageSize sets how many rows are read from the store at a time. A loop that ends early may have read up to n
// rows that it does not use. Default: 100.
func PageSize(n int) QueryOption {
	return func(q *store.QueryRequest) error {
		q.MaxItems = n
		return nil
	}
}

func queryRequest(text string, opts []QueryOption) (q store.QueryRequest, err error) {
	q.Text = text
	for _, opt := range opts {
		if err := opt(&q); err != nil {
			return q, err
		}
	}
	return q, nil
}

// Query runs a query in the SQL of Cosmos DB, and yields its rows, each decoded into a T: for SELECT * whole
// documents, otherwise the selected values. If T is json.RawMessage, rows are not decoded. Without the option
// In, the query covers all partitions. Rows are read in pages while the loop runs. All rows of a page come
// from the same state of the data; later pages can contain later writes. An error ends the loop.
//
//	for s, err := range mayfly.Query[Session](ctx, sessions, "SELECT * FROM c WHERE c.user = @user", mayfly.With(mayfly.Args{"user": "ada"})) {
func Query[T any](ctx context.Context, c *Container, text string, opts ...QueryOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q, err := queryRequest(text, opts)
		if err != nil {
			yield(*new(T), err)
			return
		}
		rows := newRowDecoder[T]()
		for {
			var page store.QueryPage
			err := c.do(ctx, func(c *store.Container) (err error) {
				page, _, err = c.Query(ctx, q)
				return err
			})
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range page.Rows {
				if v, err := rows.decode(row); !yield(v, err) || err != nil {
					return
				}
			}
			if q.Continuation = page.Continuation; q.Continuation == "" {
				return
			}
		}
	}
}

// rowDecoder decodes rows, which are known to be valid JSON. A json.RawMessage therefore gets a row without
// another check.
type rowDecoder[T any] struct {
	value *T
	raw   *json.RawMessage // value, if it is a json.RawMessage
}

func newRowDecoder[T any]() rowDecoder[T] {
	v := new(T)
	raw, _ := any(v).(*json.RawMessage)
	return rowDecoder[T]{v, raw}
}

func (d rowDecoder[T]) decode(text []byte) (T, error) {
	if d.raw != nil {
		*d.raw = slices.Clip(text)
		return *d.value, nil
	}
	v := new(T) // no variable of the function, which would be allocated for a json.RawMessage too
	err := json.Unmarshal(text, v)
	return *v, err
}

// One returns the first row of a query, for queries that have only one. It returns ErrNotFound if the query
// has no row. It does not check whether there are more rows.
func One[T any](ctx context.Context, c *Container, text string, opts ...QueryOption) (T, error) {
	for v, err := range Query[T](ctx, c, text, opts...) {
		return v, err
	}
	return *new(T), &fault.Error{Code: fault.CodeNotFound, Message: "The query has no row."}
}

// Documents yields all documents of the container, or with the option In those of a partition key. Within a
// partition they are in the order of their creation.
func (c *Container) Documents(ctx context.Context, opts ...QueryOption) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		q, err := queryRequest("", opts)
		if err != nil {
			yield(Document{}, err)
			return
		}
		for o := q.ListOptions; ; {
			var page store.ItemPage
			err := c.do(ctx, func(c *store.Container) (err error) {
				page, _, err = c.List(ctx, o)
				return err
			})
			if err != nil {
				yield(Document{}, err)
				return
			}
			for _, it := range page.Items {
				if !yield(document(it), nil) {
					return
				}
			}
			if o.Continuation = page.Continuation; o.Continuation == "" {
				return
			}
		}
	}
}

// Items yields all documents of the container, or with the option In those of a partition key, each decoded
// into a T.
func Items[T any](ctx context.Context, c *Container, opts ...QueryOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for d, err := range c.Documents(ctx, opts...) {
			var v T
			if err == nil {
				err = d.Decode(&v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}
