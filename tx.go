package mayfly

import (
	"context"
	"iter"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// Tx is a transaction on the documents of one partition key: see Container.Transact. It must be used by one
// goroutine only, and not after its function has returned.
type Tx struct {
	x   *store.Transaction
	c   *store.Container
	in  *Container
	key definition.PartitionKey
}

// Transact runs fn as one transaction on the documents of one partition key. If fn returns nil, all its
// writes are durable when Transact returns. If fn returns an error, nothing is written and Transact returns
// that error. fn sees its own writes; others see them after the commit.
//
// Other writes to the container's range wait for fn, reads do not. fn has 5 seconds: after that, or when ctx
// ends, the transaction is rolled back with ErrCanceled. fn may run more than once and must write to the
// container only through tx.
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

// Create is Container.Create. A failed operation has written nothing, and the transaction may continue after
// it.
func (tx *Tx) Create(document any, opts ...WriteOption) (Document, error) {
	return tx.write(store.OperationCreate, document, opts)
}

// Upsert is Container.Upsert.
func (tx *Tx) Upsert(document any, opts ...WriteOption) (Document, error) {
	return tx.write(store.OperationUpsert, document, opts)
}

// Replace is Container.Replace.
func (tx *Tx) Replace(document any, opts ...WriteOption) (Document, error) {
	return tx.write(store.OperationReplace, document, opts)
}

func (tx *Tx) write(kind store.OperationKind, document any, opts []WriteOption) (Document, error) {
	op, err := operation(kind, document, opts)
	if err != nil {
		return Document{}, err
	}
	r := tx.x.Do(op)
	return result(r.Item, r.Err), tx.in.about(unmatched(kind, op, r.Err), tx.key, idOf(op))
}

// Read is Container.Read.
func (tx *Tx) Read(id string) (Document, error) {
	r := tx.x.Do(store.Operation{Kind: store.OperationRead, ID: id})
	return result(r.Item, r.Err), tx.in.about(r.Err, tx.key, id)
}

// Delete is Container.Delete.
func (tx *Tx) Delete(id string, opts ...WriteOption) error {
	w, err := writeOptions(opts)
	if err != nil {
		return err
	}
	r := tx.x.Do(store.Operation{Kind: store.OperationDelete, ID: id, WriteOptions: w.WriteOptions})
	return tx.in.about(r.Err, tx.key, id)
}

// ReadIn is Read within a transaction.
func ReadIn[T any](tx *Tx, id string) (v T, err error) {
	d, err := tx.Read(id)
	if err == nil {
		err = d.Decode(&v)
	}
	return v, err
}

// QueryIn is Query within a transaction: over the documents of its partition key, including the transaction's
// writes.
func QueryIn[T any](tx *Tx, text string, opts ...QueryOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q, err := queryRequest(text, opts)
		if err == nil && !q.Scope.Partition.IsZero() {
			err = badRequest("a transaction is on one partition key; In has no place in it", nil)
		}
		for err == nil {
			var page store.QueryPage
			if page, err = tx.x.Query(q); err != nil {
				break
			}
			for _, row := range page.Rows {
				if v, err := decode[T](row); !yield(v, err) || err != nil {
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
