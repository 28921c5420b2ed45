package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// maxTransacting is the time limit of a transaction of Transact. Scripts have the same limit.
const maxTransacting = 5 * time.Second

// Transaction is the running transaction that Transact passes to its function. It gives access to one logical
// partition. It is for one goroutine, and ends when the function returns.
type Transaction struct {
	ctx context.Context
	c   *Container
	t   *transaction.Tx
	key definition.PartitionKey // full

	mu     sync.Mutex // held by each operation, so that the transaction does not end in the middle of one
	ended  error      // why no operation is allowed any more; nil while they are
	charge float64    // RU so far
}

// Transact runs fn as one transaction on one logical partition. All changes of fn take effect, or none if
// fn returns an error, which Transact returns unchanged. fn sees its own writes. An operation that fails
// has no effect, and fn may continue after it.
//
// Other writes of the partition range wait for fn; reads do not. So fn has 5 seconds. After that, or when
// ctx ends, the transaction is rolled back (CodeCanceled). fn itself cannot be stopped, but all its further
// operations fail. fn runs more than once if an expired item has to be moved to an archive first. It must
// not write to the container except through the transaction: such a write would wait for fn forever. If fn
// panics, Transact panics with the same value.
//
// CodeTooLarge: the transaction writes more than 16 MB.
func (c *Container) Transact(ctx context.Context, pk definition.PartitionKey,
	fn func(*Transaction) error) (OperationReceipt, error) {
	key, err := c.def.FullKey(pk, "")
	if err != nil {
		return c.refused(), err
	}
	var charge float64
	var given error // returned by fn
	r, err := c.update(ctx, c.items.Locate(key, ""), func(t *transaction.Tx) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		x := &Transaction{ctx: ctx, c: c, t: t, key: key}
		given = x.run(cancel, fn)
		charge = x.charge
		return given
	})
	r.Charge = value.RoundCharge(value.ChargeFailure + charge)
	if given != nil {
		return r, given
	}
	return r, err
}

// carriedPanic carries a panic of fn, or its end by runtime.Goexit, to the caller.
type carriedPanic struct{ cause any }

func (e *carriedPanic) Error() string {
	return fmt.Sprintf("the function of a transaction panicked: %v", e.cause)
}

var errExited = &carriedPanic{"it ended its goroutine"}

// run runs fn until it returns or its time is up. fn has a goroutine of its own so that it can be
// abandoned. A goroutine that never returns cannot be joined, but its operations no longer reach the
// transaction.
func (x *Transaction) run(cancel context.CancelFunc, fn func(*Transaction) error) error {
	done := make(chan error, 1)
	go func() {
		err := error(errExited)
		defer func() {
			if cause := recover(); cause != nil {
				err = &carriedPanic{cause}
			}
			done <- err
		}()
		err = fn(x)
	}()
	fires, stop := x.c.ds.opts.Wall.After(maxTransacting)
	defer stop()
	var err error
	select {
	case err = <-done:
	case <-x.ctx.Done():
		err = classify.ToFault(x.ctx.Err())
	case <-fires:
		err = fault.New(fault.CodeCanceled, "The transaction took longer than 5 seconds and was given up.")
	}
	cancel() // a running operation ends soon
	x.mu.Lock()
	x.ended = fault.New(fault.CodeUnavailable, "The transaction is over.")
	x.mu.Unlock()
	if e, ok := err.(*carriedPanic); ok && e != errExited {
		panic(e.cause)
	}
	return err
}

// Do carries out one operation. It does not run triggers.
func (x *Transaction) Do(op ItemOperation) ItemOperationResult {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.halted(); err != nil {
		return value.Failed(err)
	}
	if len(op.PreTriggers)+len(op.PostTriggers) > 0 {
		return value.Failed(fault.New(fault.CodeBadRequest, "A transaction runs no triggers."))
	}
	p, err := x.c.prepare(x.key, op)
	if err != nil {
		return value.Failed(err)
	}
	if string(p.PK) != string(x.key.AppendOrdered(nil)) {
		return value.Failed(fault.New(fault.CodeBadRequest,
			"A transaction is on one partition key; the document has another one."))
	}
	r := x.t.Apply(p)
	x.charge += r.Charge
	if r.Fatal() {
		x.ended = r.Err
	}
	return r
}

// Query returns one page of a query over the partition. It sees the writes of the transaction.
func (x *Transaction) Query(q QueryRequest) (QueryPage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.halted(); err != nil {
		return QueryPage{}, err
	}
	q.Scope = KeyOrRange{Partition: x.key}
	page, err := x.c.queryIn(x.ctx, x.t, q)
	x.charge += value.ChargeRows(page.Stats)
	return QueryPage{Rows: page.Rows, Continuation: page.Cursor, Stats: page.Stats}, classify.ToFault(err)
}

// halted returns an error if no operation is allowed any more.
func (x *Transaction) halted() error {
	if x.ended == nil && x.ctx.Err() != nil {
		x.ended = classify.ToFault(x.ctx.Err())
	}
	return x.ended
}

// Changed returns a channel that is closed when something in the container has changed, or the store is
// closed. To follow a feed, take the channel, read the feed, and wait for the channel if there is nothing
// new.
func (c *Container) Changed() <-chan struct{} { return c.await(&c.notifier) }

// PartitionKeyOf returns the partition key of a document of this container. The document must be valid
// JSON.
func (c *Container) PartitionKeyOf(document []byte) definition.PartitionKey {
	return c.def.Extract(document)
}

// queryIn returns one page of a query over a logical partition. It sees the writes of transaction t.
func (c *Container) queryIn(ctx context.Context, t *transaction.Tx,
	q QueryRequest) (page query.Page, err error) {
	plan, err := query.Prepare(q.Text, q.Parameters, c.items.QueryInfo(t.State))
	if err != nil {
		return page, err
	}
	state := c.viewState(t.State, t.Now)
	sp, err := scan.Resolve(state, t.State.InFormer(q.Scope))
	if err != nil {
		return page, err
	}
	src := &scan.DocumentSource{State: state, Range: state.RangeByID(t.Range.ID), Span: &sp, Reader: t.Txn}
	udfs := c.scripts().Functions(ctx)
	env := query.NewEnv(c.queryTime, c.ds.in.Elapsed())
	env.UDF = udfs.Call
	defer c.ds.db.memory.Attach(&env)()
	page, err = plan.Run(ctx, []query.DocumentSource{src}, env,
		query.RunOptions{MaxItems: q.MaxItems, MaxBytes: MaxPageBytes, Cursor: q.Continuation,
			Scope: sp.Name()})
	udfs.Close()
	if cerr := src.Close(); err == nil {
		err = cerr
	}
	return page, err
}
