package mayfly

import (
	"context"
	"iter"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// Tx is a transaction on the documents of one partition key: see Container.Transact. Only one goroutine may
// use it, and only until the function that was passed to Transact returns.
type Tx struct {
	x   *store.Transaction
	c   *store.Container
	in  *Container
	key definition.PartitionKey
}

// Transact runs fn as one transaction on the documents of one partition key. If fn returns nil, all its
// writes are durable when Transact returns. If fn returns an error, nothing is written, and Transact returns
// that error. fn sees its own writes; other readers see them after the commit.
//
// While fn runs, other writes to the same partition range (a part of the container, by the hash of the
// partition key) wait; reads do not wait. After 5 seconds, or when ctx ends, the transaction is rolled back
// with ErrCanceled. Transact may call fn more than once, so fn must have no other effects. fn must write to
// the container only through tx: another write would wait for the end of the transaction.
//
//	err := accounts.Transact(ctx, "ada", func(tx *mayfly.Tx) error {
//		a, err := mayfly.ReadIn[Account](tx, "checking")
//		if err != nil {
//			return err
//		}
//		a.Balance -= 10
//		_, err = tx.Replace(a)
//		return err
//	})
func (c *Container) Transact(ctx context.Context, pk PartitionKey, fn func(tx *Tx) error) error {
	key, err := partitionKey(pk)
	if err != nil {
		return err
	}
	return c.do(ctx, func(found *store.Container) error {
		_, err := found.Transact(ctx, key, func(x *store.Transaction) error { return fn(&Tx{x, found, c, key}) })
		return err
	})
}

// Create writes a new document in the transaction: see Container.Create. If it fails, it has written nothing,
// and the transaction can continue.
func (tx *Tx) Create(document any, opts ...WriteOption) (Document, error) {
	return tx.write(store.OperationCreate, document, opts)
}

// Upsert creates or replaces a document in the transaction: see Container.Upsert.
func (tx *Tx) Upsert(document any, opts ...WriteOption) (Document, error) {
	return tx.write(store.OperationUpsert, document, opts)
}

// Replace replaces a document in the transaction: see Container.Replace.
func (tx *Tx) Replace(document any, opts ...WriteOption) (Document, error) {
	return tx.write(store.OperationReplace, document, opts)
}

func (tx *Tx) write(kind store.ItemOperationKind, document any, opts []WriteOption) (Document, error) {
	op, err := operation(kind, document, opts)
	if err != nil {
		return Document{}, err
	}
	r := tx.x.Do(op)
	return result(r.Item, r.Err), tx.in.about(unmatched(kind, op, r.Err), tx.key, idOf(op))
}

// Read returns a document as the transaction sees it: see Container.Read.
func (tx *Tx) Read(id string) (Document, error) {
	r := tx.x.Do(store.ItemOperation{Kind: store.OperationRead, ID: id})
	return result(r.Item, r.Err), tx.in.about(r.Err, tx.key, id)
}

// Delete deletes a document in the transaction: see Container.Delete.
func (tx *Tx) Delete(id string, opts ...WriteOption) error {
	w, err := writeOptions(opts)
	if err != nil {
		return err
	}
	r := tx.x.Do(store.ItemOperation{Kind: store.OperationDelete, ID: id, WriteOptions: w.WriteOptions})
	return tx.in.about(r.Err, tx.key, id)
}

// ReadIn reads a document in a transaction and decodes it into a T: see the function Read.
func ReadIn[T any](tx *Tx, id string) (v T, err error) {
	d, err := tx.Read(id)
	if err == nil {
		err = d.Decode(&v)
	}
	return v, err
}

// QueryIn works like the function Query, but reads in a transaction: it queries the documents of the
// transaction's partition key, including the writes of the transaction.
func QueryIn[T any](tx *Tx, text string, opts ...QueryOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q, err := queryRequest(text, opts)
		if err == nil && !q.Scope.Partition.IsZero() {
			err = badRequest("a transaction is on one partition key; In has no place in it", nil)
		}
		rows := newRowDecoder[T]()
		for err == nil {
			var page store.QueryPage
			if page, err = tx.x.Query(q); err != nil {
				break
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
		yield(*new(T), err)
	}
}
