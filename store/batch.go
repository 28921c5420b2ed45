package store

import (
	"context"
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// Limits of a batch, as in Cosmos DB.
const (
	MaxBatchOperations = 100
	maxBatchBytes      = 2 << 20 // of all documents in the request
	maxBatchAnswer     = 4 << 20 // of all documents in the response
)

// ErrTooManyOperations is the cause of the error for a batch with more than MaxBatchOperations operations.
// The size of the documents does not matter.
var ErrTooManyOperations = errors.New("more operations than a batch may have")

// BatchOptions are the options of a batch. The zero value makes the operations independent of each other.
type BatchOptions struct {
	// Atomic makes the batch one transaction on items of one partition key: all operations take effect, in
	// order and with one LSN, or none does. Without it the operations are independent, and each may have
	// its own partition key.
	Atomic bool
	// ContinueOnError continues after an operation that failed. It is ignored if Atomic is set.
	ContinueOnError bool
	// Range is the id of the partition range in which all items lie; empty means any range. The batch fails
	// with CodeRangeGone if the range does not exist. An operation on an item in another range fails with
	// CodeRangeGone.
	Range string
	// Session lists the positions that reads must have reached; otherwise the batch fails with
	// CodeSessionNotAvailable and nothing is written. A batch that only writes ignores Session, as a single
	// write does.
	Session []SessionTokenEntry
}

// BatchResult contains the results of the operations of a batch.
type BatchResult struct {
	// Results are the results of the operations, in their order. An operation that was not tried or was
	// undone because another one failed has CodeFailedDependency.
	Results []ItemOperationResult
	// Mixed reports whether an operation failed or returned CodeNotModified.
	Mixed bool
}

// Batch carries out up to 100 operations. The failure of one operation is in its result. The returned error
// means that the batch as a whole is refused: CodeBadRequest for a batch without operations or with too
// many, CodePartitionKeyMismatch for an atomic batch with an incomplete key, CodeTooLarge for documents of
// more than 2 MB, CodeOwnerNotFound if the container has been dropped.
//
// The results hold documents of 4 MB at most. An atomic batch that would exceed that fails as a whole, and
// its last operation has CodeTooLarge, as in Cosmos DB. In other batches a read that would exceed the limit
// fails with CodeTooLarge; a write that would exceed it succeeds and returns an Item whose Body is nil.
//
// pk is the partition key of the operations that have none. The receipt has the sum of the charges, and the
// id and LSN of the partition range that was written or read last.
func (c *Container) Batch(ctx context.Context, pk definition.PartitionKey, ops []ItemOperation,
	o BatchOptions) (BatchResult, OperationReceipt, error) {
	if err := c.checkBatch(ctx, pk, ops, o); err != nil {
		return BatchResult{}, c.refused(), err
	}
	b := &batchExecution{c: c, o: o, ops: ops, list: make([]*transaction.PreparedOperation, len(ops)),
		results: make([]ItemOperationResult, len(ops))}
	b.receipt.Range, b.receipt.LSN = c.Position(o.Range)
	if err := c.large(ctx, weightOfAll(ops), func() { b.prepare(ctx, pk) }); err != nil {
		return BatchResult{}, c.refused(), err
	}
	if err := b.run(ctx); err != nil {
		return BatchResult{}, b.receipt, err
	}
	out := BatchResult{Results: b.results}
	b.receipt.Charge = 0
	for i := range b.results {
		out.Mixed = out.Mixed || b.results[i].Err != nil
		b.receipt.Charge += b.results[i].Charge
	}
	b.receipt.Charge = value.RoundCharge(max(b.receipt.Charge, value.ChargeFailure))
	return out, b.receipt, nil
}

// weightOfAll returns how long the documents and conditions of a batch take to parse, as the number of bytes
// of JSON that would take as long.
func weightOfAll(ops []ItemOperation) (n int) {
	for i := range ops {
		n += weightOfOperation(&ops[i])
	}
	return n
}

// checkBatch checks the batch as a whole, before its operations are checked one by one.
func (c *Container) checkBatch(ctx context.Context, pk definition.PartitionKey, ops []ItemOperation,
	o BatchOptions) error {
	if len(ops) == 0 {
		return fault.New(fault.CodeBadRequest, "Batch request has no operations.")
	}
	if len(ops) > MaxBatchOperations {
		return &fault.Error{Code: fault.CodeBadRequest,
			Message: "Batch request has more operations than what is supported.", Err: ErrTooManyOperations}
	}
	size := 0
	for i := range ops {
		size += len(ops[i].Body)
	}
	if size > maxBatchBytes {
		return fault.New(fault.CodeTooLarge, "Request size is too large")
	}
	if o.Atomic && pk.IsZero() && !c.def.SystemKey {
		return fault.New(fault.CodeBadRequest, "PartitionKey value must be supplied for this operation.")
	}
	if o.Atomic {
		if _, err := c.def.FullKey(pk, ""); err != nil {
			return err
		}
	}
	if o.Range != "" && !c.stateWith(ctx, o.Range).KnowsRange(o.Range) {
		return scan.RangeGone(o.Range)
	}
	return nil
}

func (b *batchExecution) run(ctx context.Context) error {
	if err := b.checkSession(ctx); err != nil {
		return err
	}
	switch {
	case b.o.Atomic:
		return b.runAtomic(ctx)
	case b.o.ContinueOnError:
		return b.runAll(ctx)
	default:
		return b.runEach(ctx)
	}
}

// batchExecution is a batch that is being carried out.
type batchExecution struct {
	c       *Container
	o       BatchOptions
	ops     []ItemOperation
	list    []*transaction.PreparedOperation // nil if results has the operation's error already
	results []ItemOperationResult
	receipt OperationReceipt
	answer  int // bytes of the documents in the response so far
}

// errRolledBack ends the transaction of an atomic batch in which an operation failed.
var errRolledBack = errors.New("an operation of the batch failed")

var errAnswerTooLarge = fault.New(fault.CodeTooLarge, "Response size is too large")

var errFailedDependency = fault.New(fault.CodeFailedDependency,
	"The operation was not carried out because another one of its batch failed.")

// prepare prepares the operations. It checks ctx before each of them; after the end of ctx the remaining
// ones fail with its error.
func (b *batchExecution) prepare(ctx context.Context, pk definition.PartitionKey) {
	for i := range b.ops {
		if err := ctx.Err(); err != nil {
			b.results[i] = value.Failed(classify.ToFault(err))
			continue
		}
		if b.o.Atomic && !b.ops[i].Partition.IsZero() && !b.c.def.Matches(b.ops[i].Partition, pk) {
			b.results[i] = value.Failed(fault.New(fault.CodePartitionKeyMismatch, definition.MismatchText))
			continue
		}
		p, err := b.c.prepare(pk, b.ops[i])
		if err == nil {
			err = b.admit(b.c.state.Load(), p)
		}
		if err != nil {
			b.results[i] = value.Failed(err)
			continue
		}
		b.list[i] = p
	}
}

// admit fails with CodeRangeGone if the item of an operation is not in the partition range to which the
// client sent the batch. It is called before the transaction, to save a useless transaction in another range,
// and again inside it, where the state cannot change.
func (b *batchExecution) admit(st *container.State, p *transaction.PreparedOperation) error {
	if b.o.Range == "" {
		return nil
	}
	if !st.LiesIn(p.EPK, b.o.Range) {
		return scan.RangeGone(b.o.Range)
	}
	return nil
}

// apply carries out the i-th operation in its transaction, which may run more than once. answer is the number
// of bytes that the operations before it have added to the response; apply adds its own.
func (b *batchExecution) apply(t *transaction.Tx, i int, answer *int) ItemOperationResult {
	p, op := b.list[i], &b.ops[i]
	if err := t.Ctx.Err(); err != nil {
		return value.Failed(classify.ToFault(err))
	}
	if err := b.admit(t.State, p); err != nil {
		return value.Failed(err)
	}
	r := t.Apply(p)
	if r.Item.IsZero() || op.NoContent && op.Kind != OperationRead {
		return r
	}
	size := len(r.Item.Body())
	if *answer+size <= maxBatchAnswer {
		*answer += size
		return r
	}
	if op.Kind == OperationRead || b.o.Atomic {
		return value.Failed(errAnswerTooLarge)
	}
	r.Item = r.Item.WithoutBody()
	return r
}

// checkSession checks, if the batch reads anything, that each of its ranges has reached the LSN in the
// client's session token.
func (b *batchExecution) checkSession(ctx context.Context) error {
	reads := func(op ItemOperation) bool { return op.Kind == OperationRead }
	if len(b.o.Session) == 0 || !slices.ContainsFunc(b.ops, reads) {
		return nil
	}
	if err := b.c.checkPositions(ctx, b.o.Session); err != nil {
		return err
	}
	st := b.c.state.Load()
	asked := make(map[*container.Partition]bool)
	for _, p := range b.list {
		if p == nil {
			continue
		}
		s := st.RangeOf(p.EPK)
		if asked[s] {
			continue
		}
		asked[s] = true
		if err := b.c.checkSession(s, b.o.Session); err != nil {
			return err
		}
	}
	return nil
}

// runAtomic carries out all operations in one transaction. If one operation fails, all of them fail.
func (b *batchExecution) runAtomic(ctx context.Context) error {
	if b.list[0] == nil {
		b.skip(0, 0)
		return nil
	}
	culprit := -1
	r, err := b.c.updateConditional(ctx, transaction.Together(b.list), b.list, func(t *transaction.Tx) error {
		t.Prefetch(b.list)
		culprit = -1
		answer := 0
		for i, p := range b.list {
			if p != nil {
				b.results[i] = b.apply(t, i, &answer)
			}
			if b.results[i].Fatal() {
				return b.results[i].Err
			}
			if !b.results[i].Refused() {
				continue
			}
			if culprit = i; errors.Is(b.results[i].Err, errAnswerTooLarge) {
				culprit = len(b.list) - 1
				b.results[culprit] = value.Failed(errAnswerTooLarge)
			}
			return errRolledBack
		}
		return nil
	})
	b.receipt = r
	if culprit >= 0 {
		b.skip(0, culprit)
		return nil
	}
	return err
}

// skip sets CodeFailedDependency for the operations from first on, except the one that failed.
func (b *batchExecution) skip(first, culprit int) {
	for i := first; i < len(b.results); i++ {
		if i != culprit {
			b.results[i] = ItemOperationResult{Err: errFailedDependency}
		}
	}
}

// runEach carries out the operations one by one and stops at the first that fails; that failure is in its
// result. The returned error is CodeOwnerNotFound: the container has been dropped.
func (b *batchExecution) runEach(ctx context.Context) error {
	for i, p := range b.list {
		if p != nil {
			if err := b.runRanges(ctx, []int{i}); err != nil {
				return err
			}
		}
		if b.results[i].Refused() {
			b.skip(i+1, i)
			return nil
		}
	}
	return nil
}

// runAll carries out all operations, even if some of them fail; failures are in the results. The returned
// error is CodeOwnerNotFound: the container has been dropped.
func (b *batchExecution) runAll(ctx context.Context) error {
	var list []int
	for i, p := range b.list {
		if p != nil {
			list = append(list, i)
		}
	}
	return b.runRanges(ctx, list)
}

// runRanges carries out the operations of a list. Operations on items of one range share a transaction,
// since waiting for the disk takes most of the time. Operations on one item keep their order. If a shared
// transaction fails as a whole, for instance because of its size, each of its operations gets a transaction
// of its own, so that no operation fails because of another. runRanges fails only if the container has
// been dropped, with CodeOwnerNotFound; the caller may repeat the batch in the new container of that name.
func (b *batchExecution) runRanges(ctx context.Context, list []int) error {
	for len(list) > 0 {
		left, err := b.runRange(ctx, list)
		switch {
		case err == nil:
			list = left
			continue
		case fault.ErrorCode(err) == fault.CodeOwnerNotFound:
			return err
		case len(list) == 1:
			b.results[list[0]] = value.Failed(err)
			return nil
		}
		for _, i := range list {
			if err := b.runRanges(ctx, []int{i}); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// runRange carries out, in one transaction, those operations of the batch whose items lie in the same range
// as the item of the first. list contains the indexes of the operations in the batch. runRange returns the
// indexes of the operations in other ranges.
func (b *batchExecution) runRange(ctx context.Context, list []int) (left []int, err error) {
	answer := b.answer
	patches := make([]*transaction.PreparedOperation, 0, len(list))
	for _, i := range list {
		patches = append(patches, b.list[i])
	}
	r, err := b.c.updateConditional(
		ctx,
		transaction.Together(patches),
		patches,
		func(t *transaction.Tx) error {
			t.Prefetch(patches)
			left, answer = left[:0], b.answer
			for _, i := range list {
				if !t.Range.Holds(b.list[i].EPK) {
					left = append(left, i)
					continue
				}
				if b.results[i] = b.apply(t, i, &answer); b.results[i].Fatal() {
					return b.results[i].Err
				}
			}
			return nil
		},
	)
	r.Lint |= b.receipt.Lint
	b.receipt = r
	if err == nil {
		b.answer = answer
	}
	return left, err
}
